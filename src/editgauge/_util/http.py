"""Server limits on time, memory and connections of clients. Needs uvicorn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import h11
import uvicorn
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive
from uvicorn.protocols.http.h11_impl import H11Protocol

LARGEST_HEADERS = 32 * 1024
SECONDS_FOR_HEADERS = 20
"""A client whose headers have not arrived by then is cut off; a thousand of them would fill the server."""
SECONDS_FOR_A_BODY = 60
"""From the headers of a request to the last byte of its content."""
SECONDS_IDLE = 15
MOST_CONNECTIONS = 500
"""Further ones get 503."""


class TimedProtocol(H11Protocol):
    """HTTP as usual, but the headers of every request must arrive in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the time limit with the connection."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Stop the time limit when all headers have arrived; restart it with the next request."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limit."""
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


class GracefulServer(uvicorn.Server):
    """Ends normally after Ctrl-C or SIGTERM once running requests are answered; the caller can then clean up.

    Uvicorn's own server raises the signal again, which kills the process on the spot.
    """

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while serving."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()


def server_config(
    app: ASGIApp,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    trusted_proxy: str | None = None,
    seconds_to_finish: int = 5,
) -> uvicorn.Config:
    """Return the configuration of a server with these limits, without an access log, because URLs may hold secrets."""
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
        timeout_graceful_shutdown=seconds_to_finish,
        timeout_keep_alive=SECONDS_IDLE,
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=LARGEST_HEADERS,
    )


def bounded(receive: Receive, most_bytes: int) -> Receive:
    """Limit size and duration of a request body, also when its length is not declared.

    It raises `HTTPException` with 413 when more than `most_bytes` arrive, and 408 when the last byte is late.
    """
    received, is_whole = 0, False
    until = asyncio.get_running_loop().time() + SECONDS_FOR_A_BODY

    async def receive_some() -> Message:
        nonlocal received, is_whole
        try:
            async with asyncio.timeout_at(None if is_whole else until):
                message = await receive()
        except TimeoutError as error:
            raise HTTPException(408, "The content of the request did not arrive in time.") from error
        is_whole = is_whole or not message.get("more_body", False)
        received += len(message.get("body", b""))
        if received > most_bytes:
            raise HTTPException(413, f"The request is larger than {most_bytes:,} bytes.")
        return message

    return receive_some
