"""Middleware for every request: rate limits, size limits, origin checks and security headers."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from editgauge._util.http import LARGEST_HEADERS, bounded

MAX_CLIENTS = 10_000
"""This many buckets are kept before those that are full again are forgotten."""
MAX_REQUEST_BYTES = 256 * 1024
"""A page with ten texts of full length, in any script, is smaller."""
MAX_NUMBER_DIGITS = 12
"""Digits; Python itself refuses to read numbers of thousands of digits."""
SAFE_METHODS = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not `no-referrer`: browsers would then hide from us that a form is our own (`Origin: null`).
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "X-Robots-Tag": "noindex, nofollow",
}
NO_STORE = "no-store"
"""Pages are made again when a rater goes back: what was saved last is shown."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Rate limit: burst size and sustained requests per second."""

    at_once: float
    per_second: float


@dataclass(frozen=True, slots=True)
class RateLimits:
    """Rate limits of a study's server; many raters may share one address."""

    address: Rate = Rate(1000, 100)
    rater: Rate = Rate(120, 10)
    guesses: Rate = Rate(10, 0.1)
    """Wrong links and wrong passwords, by address."""


class Buckets:
    """Thread-safe token buckets, one per client."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self._clock = clock
        self._levels: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def wait(self, who: str) -> float:
        """Take a token; return 0, or the seconds until one is available."""
        with self._lock:
            level, now = self._level(who)
            if level < 1:
                return (1 - level) / self.rate.per_second
            self._levels[who] = (level - 1, now)
            if len(self._levels) > MAX_CLIENTS:
                self._forget_full()
            return 0.0

    def is_empty(self, who: str) -> bool:
        """Return whether no token is left, without taking one."""
        with self._lock:
            return self._level(who)[0] < 1

    def _level(self, who: str) -> tuple[float, float]:
        now = self._clock()
        level, at = self._levels.get(who, (self.rate.at_once, now))
        return min(self.rate.at_once, level + (now - at) * self.rate.per_second), now

    def _forget_full(self) -> None:
        self._levels = {who: level for who, level in self._levels.items() if self._level(who)[0] < self.rate.at_once}


def add_headers(headers: MutableHeaders) -> None:
    """Add the headers of every response; stricter ones stay."""
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Cache-Control", NO_STORE)


class Guard:
    """Outermost middleware of the application."""

    def __init__(self, app: ASGIApp, rate: Rate) -> None:
        self.app = app
        self._buckets = Buckets(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request or pass it on, with security headers on the response."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                add_headers(MutableHeaders(scope=message))
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
        else:
            await self.app(scope, bounded(receive, MAX_REQUEST_BYTES), send_with_headers)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        wait = self._buckets.wait(address(scope))
        if wait:
            message = "Too many requests at once; please wait a moment.\n"
            return PlainTextResponse(message, 429, {"Retry-After": str(math.ceil(wait))})
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LARGEST_HEADERS:
            return PlainTextResponse("That is too much at once.\n", 431)
        if scope["method"] in SAFE_METHODS:
            return None
        if not is_own_origin(headers):
            return PlainTextResponse("This form was not sent from a page of this study.\n", 403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > MAX_NUMBER_DIGITS or int(length) > MAX_REQUEST_BYTES:
            return PlainTextResponse("That is too much at once.\n", 413)
        return None


def address(scope: Scope) -> str:
    """Return the client address; behind a trusted proxy, the one that the proxy reports."""
    return scope["client"][0] if scope.get("client") else "unknown"


def is_own_origin(headers: Headers) -> bool:
    """Return whether a page of ours sent the form; clients that are no browsers send no origin and are let through."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    return urlsplit(origin).netloc == headers.get("host", "")
