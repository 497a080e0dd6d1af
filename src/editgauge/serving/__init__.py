"""Scores over HTTP and during training; models are loaded once, and all requests share their batches.

| file | content |
|---|---|
| `_schema.py` | requests and responses |
| `_scoring.py` | one scorer in this process, or several in worker processes |
| `_worker.py` | a worker process |
| `_app.py` | endpoints, limits, tokens, measurements |
| `serve.py` | `editgauge serve` |
| `client.py` | `editgauge.client(url)` |
| `monitor.py` | `editgauge.Monitor` |
"""
