"""What no request gets past: how often, how large, from where; and the headers that every answer carries."""

from __future__ import annotations

import math
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from editgauge.core.http import LARGEST_HEADERS, bounded
from editgauge.studies.web.buckets import Buckets, Rate

LARGEST_REQUEST = 256 * 1024
"""A page with ten texts of full length, in any script, is smaller."""
LONGEST_NUMBER = 12
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
NEVER_KEPT = "no-store"
"""Pages are made again when a rater goes back: what was saved last is shown."""


def add_headers(headers: MutableHeaders) -> None:
    """Adds what every answer carries; an answer may be stricter."""
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Cache-Control", NEVER_KEPT)


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, rate: Rate) -> None:
        self.app = app
        self._buckets = Buckets(rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers by itself what may not pass."""
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
            await self.app(scope, bounded(receive, LARGEST_REQUEST), send_with_headers)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        wait = self._buckets.wait(address(scope))
        if wait:
            return too_many(wait)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LARGEST_HEADERS:
            return PlainTextResponse("That is too much at once.\n", 431)
        if scope["method"] in SAFE_METHODS:
            return None
        if not is_own_origin(headers):
            return PlainTextResponse("This form was not sent from a page of this study.\n", 403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > LONGEST_NUMBER or int(length) > LARGEST_REQUEST:
            return PlainTextResponse("That is too much at once.\n", 413)
        return None


def too_many(wait: float) -> PlainTextResponse:
    """The answer to someone who asks too often."""
    headers = {"Retry-After": str(math.ceil(wait))}
    return PlainTextResponse("Too many requests at once; please wait a moment.\n", 429, headers)


def address(scope: Scope) -> str:
    """Where a request comes from; behind a trusted proxy, where the proxy says it comes from."""
    return scope["client"][0] if scope.get("client") else "unknown"


def is_own_origin(headers: Headers) -> bool:
    """Whether a page of ours sent a form. A client that is no browser does not say, and has no cookies to abuse."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
    return urlsplit(origin).netloc == headers.get("host", "")
