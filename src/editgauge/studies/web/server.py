"""Runs the application, with limits on what a client may take: time, memory and connections."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from editgauge.studies.study import Study
from editgauge.studies.web.app import make_app
from editgauge.studies.web.guard import LARGEST_HEADERS

SECONDS_TO_FINISH = 5
SECONDS_FOR_HEADERS = 20
"""A client that has not told what it wants by then is cut off; a thousand of them would fill the server."""
SECONDS_IDLE = 15
MOST_CONNECTIONS = 500
"""Further ones are told to come again (503)."""


class TimedProtocol(H11Protocol):
    """HTTP as usual, but the headers of every request must arrive in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """The clock starts with the connection."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """The clock stops when all headers are there, and starts over with the first byte of the next request."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody waits any more."""
        self._stop()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._stop()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(SECONDS_FOR_HEADERS, self._cut_off)

    def _cut_off(self) -> None:
        self._deadline = None
        if self.conn.their_state is h11.IDLE and self.transport is not None:
            self.transport.close()

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def server_config(
    app: FastAPI, host: str = "127.0.0.1", port: int = 8000, trusted_proxy: str | None = None
) -> uvicorn.Config:
    """How studies are served.

    No access log is written: personal links are secrets, and who came when is nobody's business.
    """
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=TimedProtocol,
        ws="none",
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=trusted_proxy is not None,
        forwarded_allow_ips=trusted_proxy or "",
        timeout_graceful_shutdown=SECONDS_TO_FINISH,
        timeout_keep_alive=SECONDS_IDLE,
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=LARGEST_HEADERS,
    )


def serve(study: Study, host: str = "127.0.0.1", port: int = 8000, trusted_proxy: str | None = None) -> None:
    """Serves a study until it is stopped.

    Args:
        study: the study, opened.
        host: the address to listen at; 127.0.0.1 is this machine alone.
        port: the port to listen at.
        trusted_proxy: the address of a proxy whose word counts for where a request comes from; several with commas.
    """
    uvicorn.Server(server_config(make_app(study), host, port, trusted_proxy)).run()
