"""The web app of a study: raters come by personal links, the owner looks at `/admin`.

`serve(study, host, port)` runs it; `make_app(study)` is the application itself, for another server. Pages are made on
the server and work without JavaScript; scripts add saving at every answer, looking closely at pictures, and keys.
"""

from editgauge.studies.web._app import make_app, serve

__all__ = ["make_app", "serve"]
