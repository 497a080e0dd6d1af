"""One request to an endpoint for image edits, and what its answer holds: a picture, or a `RequestError`."""

from __future__ import annotations

import base64
import binascii
import json
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from editgauge._util.endpoints import RETRYABLE_STATUS, EndpointAddress, decode_body, retry_after
from editgauge.errors import BadInputError, CannotEditError, EditGaugeError
from editgauge.judges._endpoint import is_content_filter
from editgauge.judges._faults import RequestError, translate_http_errors
from editgauge.methods.absence import RefusedError

if TYPE_CHECKING:
    import httpx

Files = list[tuple[str, tuple[str, bytes, str]]]
"""Name of the field to file name, content and type; a field may come several times."""
MAX_RESPONSE_BYTES = 100_000_000
"""No edited picture is so large, not even in Base64; a broken server may be."""
REFUSAL_CODES = ("moderation_blocked", "safety_violation", "sensitive_content")
"""What image endpoints say of their filters, besides what all endpoints say."""
QUOTA_CODES = ("insufficient_quota", "billing_hard_limit")


class EndpointClient:
    """The way to one endpoint.

    Args:
        address: where it is; its key is sent there, and nowhere else
        picture_hosts: other hosts from which a picture may be fetched that an answer only names

    """

    def __init__(self, address: EndpointAddress, picture_hosts: Collection[str] = ()) -> None:
        self._address = address
        self._hosts = {_host(address.base), *picture_hosts}

    @property
    def endpoint(self) -> str:
        """Where it is, for the record."""
        return self._address.public_url

    def send(self, fields: dict[str, str], files: Files, timeout: float) -> bytes:
        """Send a request and return the image file; raise `RequestError` when a retry may help."""
        headers = {"Authorization": f"Bearer {self._address.key}"} if self._address.key else {}
        status, response_headers, content = self._ask(
            "POST", self._address.of("images/edits"), timeout, data=fields, files=files, headers=headers
        )
        if status != 200:
            raise self._failure(status, response_headers.get("retry-after"), content)
        answer = self._read(response_headers.get("content-type", "no content type"), content)
        if isinstance(answer, bytes):
            return answer
        if _host(answer) not in self._hosts:
            raise CannotEditError(
                f"crashed: the endpoint names a picture on another host ({_host(answer)[:90]!r}), which is not fetched"
                ": request the image itself with `option='response_format=b64_json'`, or allow the host with "
                "`option='picture_hosts=HOST'`"
            )
        status, response_headers, content = self._ask("GET", answer, timeout)
        if status != 200:
            raise RequestError(f"the picture's own address answered {status} {self._address.excerpt(content)}")
        return content

    def _ask(self, verb: str, address: str, timeout: float, **what: Any) -> tuple[int, httpx.Headers, bytes]:
        try:
            import httpx
        except ImportError as error:
            raise EditGaugeError("An editor over HTTP needs httpx: pip install 'editgauge[judges]'") from error
        what["headers"] = {**what.get("headers", {}), "Accept-Encoding": "gzip, identity"}
        until = time.monotonic() + timeout
        with (
            translate_http_errors(self._address, timeout, address),
            # A redirect would carry pictures and key to someone else.
            httpx.stream(verb, address, timeout=timeout, follow_redirects=False, **what) as response,
        ):
            received = bytearray()
            for piece in response.iter_raw():
                received += piece
                if len(received) > MAX_RESPONSE_BYTES:
                    raise RequestError(f"an answer of more than {MAX_RESPONSE_BYTES:,} bytes", maybe_paid=True)
                if time.monotonic() > until:
                    raise RequestError(f"no whole answer within {timeout:g} seconds", maybe_paid=True)
            packing = response.headers.get("content-encoding", "")
            return response.status_code, response.headers, decode_body(bytes(received), packing, MAX_RESPONSE_BYTES)

    def _read(self, kind: str, content: bytes) -> bytes | str:
        """Extract the image bytes, or the URL of the image, from a response."""
        try:
            body = json.loads(content)
            if isinstance(body, dict) and body.get("error") and not body.get("data"):
                raise self._failure(500, None, content)
            first = body["data"][0]
            if first.get("b64_json"):
                return base64.b64decode(first["b64_json"].partition("base64,")[2] or first["b64_json"], validate=True)
            address = first["url"]
            if not isinstance(address, str) or not address.startswith(("https://", "http://")):
                raise ValueError(f"the picture's address is {address!r:.60}")
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, binascii.Error) as error:
            raise RequestError(
                f"an answer ({kind}) without a picture: {self._address.excerpt(content)}", maybe_paid=True
            ) from error
        return address

    def _failure(self, status: int, wait: str | None, content: bytes) -> Exception:
        """Map a failed request to an error: this edit fails, every edit would fail, or a retry may help."""
        message = f"{status} {self._address.excerpt(content)}"
        if is_content_filter(message) or any(word in message.lower() for word in REFUSAL_CODES):
            return RefusedError(message)
        if any(word in message for word in QUOTA_CODES):
            return BadInputError(f"The account at {self.endpoint} has nothing left: {message}")
        if status in (401, 403):
            return BadInputError(f"{self.endpoint} does not accept the key: {message}")
        if status == 404:
            return BadInputError(
                f"{self.endpoint} has no such model, or makes no image edits (does it end in /v1?): {message}"
            )
        if status in RETRYABLE_STATUS:
            return RequestError(message, wait=retry_after(wait), too_fast=status in (429, 529))
        return CannotEditError(f"crashed: the endpoint turned the request down: {message}")


def _host(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""
