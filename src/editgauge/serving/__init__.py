"""Scores over HTTP: models are loaded once, and questions of all requests share their batches.

| file | what it does |
|---|---|
| `schema.py` | what a request holds and what comes back |
| `scoring.py` | one scorer here, or several in processes of their own |
| `worker.py` | such a process |
| `app.py` | addresses, limits, tokens, measurements |
| `verb.py` | `editgauge serve` |
| `client.py` | `editgauge.client(url)` |
"""
