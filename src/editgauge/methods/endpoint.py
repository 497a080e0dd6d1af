"""A model behind an OpenAI-compatible endpoint for image edits: `POST /v1/images/edits`."""

from __future__ import annotations

import base64
import binascii
import json
import tempfile
import time
from collections.abc import Collection, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
from PIL import Image

from editgauge._util.endpoints import (
    OPENAI,
    RETRYABLE_STATUS,
    EndpointAddress,
    decode_body,
    model_and_url,
    retry_after,
)
from editgauge._util.images import png_bytes, read_image
from editgauge.errors import BadImageError, BadInputError, CannotEditError, EditGaugeError
from editgauge.judges._endpoint import is_content_filter
from editgauge.judges._faults import RequestError, translate_http_errors
from editgauge.judges._retry import RetryPolicy
from editgauge.methods import Method
from editgauge.methods.card import RefusedError
from editgauge.methods.options import read_options

if TYPE_CHECKING:
    import httpx

    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.types import Edit

Files = list[tuple[str, tuple[str, bytes, str]]]
"""Name of the field to file name, content and type; a field may come several times."""
MAX_RESPONSE_BYTES = 100_000_000
"""No edited picture is so large, not even in Base64; a broken server may be."""
REFUSAL_CODES = ("moderation_blocked", "safety_violation", "sensitive_content")
"""Codes of content filters of image endpoints."""
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
        """The public URL of the endpoint."""
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


DEFAULT_KEY_VARIABLE = "EDITGAUGE_EDITOR_KEY"
DEFAULT_SETTINGS: dict[str, Any] = {
    "key": "",
    "timeout": 300.0,
    "attempts": 6,
    "longest_wait": 120.0,
    "at_once": 4,
    "price": 0.0,
    "mask": False,
    "send_seed": False,
    "picture_hosts": "",
}
"""Variable of the key, limits of retries, price, and optional fields of a request."""
API_FIELDS = ("size", "quality", "background", "input_fidelity", "output_format", "response_format")
EXTRA_FIELD_PREFIX = "field."
"""Before the name of a field that only some endpoints know: `--option field.guidance_scale=4`."""


class ImageEndpoint(Method):
    """One model of one endpoint.

    Args:
        model: what the endpoint calls it
        url: where the endpoint is, with its `/v1`
        options: by name, as text

    """

    about = "A model behind an OpenAI-compatible endpoint for image edits."
    form = "instruction"
    takes_inputs = True

    def __init__(self, model: str, url: str = OPENAI, options: Mapping[str, str] | None = None) -> None:
        self.name = model.rpartition("/")[2].replace(":", "-")
        self.model = model
        self._url = url
        self._given = dict(options or {})
        extra_fields = {name: "" for name in self._given if name.startswith(EXTRA_FIELD_PREFIX)}
        read = read_options(
            self.name, {**DEFAULT_SETTINGS, **dict.fromkeys(API_FIELDS, ""), **extra_fields}, self._given
        )
        self._fields = {
            name.removeprefix(EXTRA_FIELD_PREFIX): read[name] for name in (*API_FIELDS, *extra_fields) if read[name]
        }
        self.at_once = read["at_once"]
        self.price = read["price"] if "price" in self._given else None
        self._with_mask, self._with_seed = read["mask"], read["send_seed"]
        self._patience = RetryPolicy(
            attempts=read["attempts"], timeout=read["timeout"], longest_wait=read["longest_wait"]
        )
        hosts = [host.strip().lower() for host in read["picture_hosts"].split(",") if host.strip()]
        self._exchange = EndpointClient(EndpointAddress(url, read["key"], DEFAULT_KEY_VARIABLE), hosts)

    def edit(self, edit: Edit, source: Pixels, seed: int) -> Pixels:
        """Return the image that the endpoint sent; a filter's refusal becomes an absence."""
        prompt = self.prompt(edit).text
        fields = {"model": self.model, "prompt": prompt, "n": "1", **self._fields}
        if self._with_seed:
            fields["seed"] = str(seed)
        pictures = [source, *(read_image(image.picture.path) for image in edit.inputs)]
        name = "image" if len(pictures) == 1 else "image[]"
        files = [(name, ("image.png", png_bytes(item), "image/png")) for item in pictures]
        if self._with_mask:
            if edit.mask is None:
                raise CannotEditError(f"the edit '{edit.id}' has no mask, which the endpoint is to be sent")
            height, width = source.shape[:2]
            files.append(("mask", ("mask.png", encode_mask(edit.mask.render(width, height)), "image/png")))
        return _decoded(self._patiently(fields, files, f"{edit.id} {seed}"))

    def settings(self) -> dict[str, Any]:
        """Return the model, the endpoint and the fields of its requests."""
        return {
            "model": self.model,
            "endpoint": self._exchange.endpoint,
            "fields": self._fields,
            "mask": self._with_mask,
            "seed": "sent with every edit" if self._with_seed else "not sent: the endpoint draws its own",
        }

    def variant(self, options: Mapping[str, str]) -> ImageEndpoint:
        """Return the same model with other options."""
        return ImageEndpoint(self.model, self._url, {**self._given, **options})

    def _patiently(self, fields: dict[str, str], files: Files, what: str) -> bytes:
        failed = 0
        while True:
            try:
                return self._exchange.send(fields, files, self._patience.timeout)
            except RequestError as trouble:
                failed += 1
                pause = self._patience.backoff(failed, what) if trouble.wait is None else trouble.wait
                if failed >= self._patience.attempts or pause > self._patience.longest_wait:
                    tries = f"{failed} {'try' if failed == 1 else 'tries'}"
                    raise CannotEditError(f"unreachable: after {tries}: {trouble.message}") from trouble
                time.sleep(pause)


def open_image_endpoint(address: str) -> ImageEndpoint:
    """Open the endpoint `MODEL@URL`, or `MODEL` at OpenAI."""
    return ImageEndpoint(*model_and_url(address, "An image endpoint is written endpoint:MODEL@URL"))


def _decoded(content: bytes) -> Pixels:
    """Decode the image with the common image loader, which reads files."""
    with tempfile.TemporaryDirectory(prefix="editgauge-") as folder:
        file = Path(folder) / "answer"
        file.write_bytes(content)
        try:
            return read_image(file)
        except BadImageError as error:
            raise CannotEditError(f"crashed: the endpoint sent {len(content):,} bytes that are no picture") from error


def encode_mask(where: BoolMask) -> bytes:
    """Black, and transparent where the picture may change: the form that endpoints for image edits want."""
    rgba = np.zeros((*where.shape, 4), dtype=np.uint8)
    rgba[..., 3] = np.where(where, 0, 255)
    buffer = BytesIO()
    Image.fromarray(rgba).save(buffer, "PNG")
    return buffer.getvalue()
