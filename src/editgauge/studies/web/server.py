"""Runs the application."""

from __future__ import annotations

import uvicorn

from editgauge.studies.study import Study
from editgauge.studies.web.app import make_app

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
