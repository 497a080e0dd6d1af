"""Scores over HTTP: models are loaded once, and questions of all requests share their batches.

| file | what it does |
|---|---|
| `schema.py` | what a request holds and what comes back |
| `app.py` | addresses, limits, tokens, measurements |
| `verb.py` | `editgauge serve` |
| `client.py` | `editgauge.client(url)` |
"""
