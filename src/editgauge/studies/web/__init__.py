"""The web app of a study: raters come by personal links, the owner looks at `/admin`.

`serve(study, host, port)` runs it; `make_app(study)` is the application itself, for another server. Pages are made on
the server and work without JavaScript; scripts add saving at every answer, looking closely at pictures, and keys.

| file | what it does |
|---|---|
| `app.py` | puts everything together; runs it |
| `rating.py`, `screening.py`, `admin.py` | the pages, by who asks for them |
| `visitors.py` | who asks, and what the form says: cookies, and tokens against forged forms |
| `guard.py` | what no request gets past: headers, sizes, rates |
| `seals.py` | what only this server can have written |
| `rendering.py` | the templates, filled |
"""

from editgauge.studies.web.app import make_app, serve

__all__ = ["make_app", "serve"]
