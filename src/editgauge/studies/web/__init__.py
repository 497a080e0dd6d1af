"""The web app of a study: raters come by personal links, the owner looks at `/admin`.

`serve(study, host, port)` runs it; `make_app(study)` is the application itself, for another server. Pages are made on
the server and work without JavaScript; scripts add saving at every answer, looking closely at pictures, and keys.

| file | what it does |
|---|---|
| `app.py`, `server.py` | put everything together; run it |
| `rating.py`, `screening.py`, `admin.py` | the pages, by who asks for them |
| `visitors.py` | who asks: cookies, and tokens against forged forms |
| `guard.py`, `buckets.py` | what no request gets past: headers, sizes, rates |
| `seals.py` | what only this server can have written |
| `forms.py`, `rendering.py` | words in, pages out |
"""

import uvicorn

from editgauge.studies.study import Study
from editgauge.studies.web.app import make_app

__all__ = ["make_app", "serve"]


SECONDS_TO_FINISH = 5


def serve(study: Study, host: str = "127.0.0.1", port: int = 8000) -> None:
    """Serves a study until it is stopped.

    No access log is written: personal links are secrets, and who came when is nobody's business. The addresses that
    a proxy tells are believed when the proxy runs on this machine.

    Args:
        study: the study, opened.
        host: the address to listen at; 127.0.0.1 is this machine alone.
        port: the port to listen at.
    """
    uvicorn.run(
        make_app(study),
        host=host,
        port=port,
        access_log=False,
        server_header=False,
        proxy_headers=True,
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
    )
