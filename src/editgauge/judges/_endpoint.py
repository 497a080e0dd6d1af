"""Client of OpenAI-compatible endpoints: request body, parameter fallbacks, replies and errors."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from editgauge._util.endpoints import OPENAI, RETRYABLE_STATUS, EndpointAddress, decode_body, model_and_url, retry_after
from editgauge.errors import EditGaugeError
from editgauge.judges._faults import Fault, RequestError, translate_http_errors
from editgauge.judges._questions import DataUrls, Parameters, Question

if TYPE_CHECKING:
    import httpx

ChatCompletion = Mapping[str, Any]
"""A chat completion as buffer."""

_DATED = re.compile(r"[-@:](?:latest|00\d|20\d{2}-?[01]\d-?[0-3]\d|(?:0[1-9]|1[0-2])-?[0-3]\d(?:-?20\d{2})?)")
"""Suffix of a model name that states its release."""
_FILTERED = ("content_filter", "content_policy_violation", "responsibleaipolicyviolation")
MAX_TOKEN_COUNT = 10**12
"""Larger counts are ignored as invalid."""

_FORMAT_ERRORS = ("response_format", "json_schema", "structured output", "guided", "grammar", "response format")
_SIZE_ERRORS = ("too large", "image size", "too many pixels", "maximum context", "context length", "image_too_large")
OPTIONAL = ("temperature", "top_p", "seed")
FIRST_MAX_SIDE, MIN_SIDE = 768, 192
"""After a size error, images are sent with at most 768 pixels a side, then half of that, down to 192."""


@dataclass(slots=True)
class Dialect:
    """Request features that an endpoint does not support, learned from its errors."""

    unsupported_schemas: set[str] = field(default_factory=set)
    tokens: str = "max_tokens"
    """Name of the token limit, which differs between model generations."""
    unsupported: set[str] = field(default_factory=set)
    """Parameters that the model rejects, such as a temperature."""
    most_side: int | None = None
    """Maximum side of an image, learned from size errors."""

    @property
    def concessions(self) -> tuple[str, ...]:
        """Describe the differences between the configured and the sent request."""
        without = [f"without {name}, which the model rejects" for name in sorted(self.unsupported)]
        return (*without, *([f"images of at most {self.most_side} pixels a side"] if self.most_side else []))

    def learns(self, body: Mapping[str, Any], message: str) -> bool:
        """Adapt to an error; return whether the request should be sent again."""
        lowered = message.lower()
        if "max_completion_tokens" in lowered and "max_tokens" in body:
            self.tokens = "max_completion_tokens"
            return True
        for name in OPTIONAL:
            if name in body and name in lowered and not self._is_range_error(lowered):
                self.unsupported.add(name)
                return True
        if any(word in lowered for word in _SIZE_ERRORS) and _has_images(body):
            smaller = (self.most_side or FIRST_MAX_SIDE * 2) // 2
            if smaller >= MIN_SIDE:
                self.most_side = smaller
                return True
        if "response_format" in body and any(word in lowered for word in _FORMAT_ERRORS):
            self.unsupported_schemas.add(_key(body["response_format"]))
            return True
        return False

    @staticmethod
    def _is_range_error(message: str) -> bool:
        """Return whether a value is out of range, which the user must fix."""
        return "between" in message or "less than or equal" in message or "greater than" in message


def _has_images(body: Mapping[str, Any]) -> bool:
    return isinstance(body["messages"][0]["content"], list)


def request_body(
    model: str, question: Question[Any], parameters: Parameters, dialect: Dialect, urls: DataUrls
) -> dict[str, Any]:
    """Build the request: each image after its label, then the text."""
    content = _content(question, parameters, dialect, urls)
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": content}]}
    body[dialect.tokens] = parameters.max_tokens
    options = {
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        "seed": None if parameters.seed is None else parameters.seed + question.repetition,
    }
    body |= {name: value for name, value in options.items() if value is not None and name not in dialect.unsupported}
    if question.form.schema is not None:
        schema = {"name": question.form.kind, "strict": True, "schema": question.form.schema}
        response_format = {"type": "json_schema", "json_schema": schema}
        if _key(response_format) not in dialect.unsupported_schemas:
            body["response_format"] = response_format
    return body


def _content(
    question: Question[Any], parameters: Parameters, dialect: Dialect, urls: DataUrls
) -> str | list[dict[str, Any]]:
    if not question.images:
        return question.words.text  # text-only endpoints reject lists of parts
    parts: list[dict[str, Any]] = []
    most_side = min(parameters.most_side, dialect.most_side or parameters.most_side)
    for image in question.images:
        url = urls.url(image.pixels, most_side, parameters.encoding)
        parts += [{"type": "text", "text": image.label}, {"type": "image_url", "image_url": {"url": url}}]
    return [*parts, {"type": "text", "text": question.words.text}]


def _key(response_format: Mapping[str, Any]) -> str:
    return json.dumps(response_format, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Reply:
    """The relevant parts of a chat completion."""

    text: str
    refusal: str | None = None
    finish: str | None = None
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def parse_reply(body: ChatCompletion) -> Reply:
    """Parse a chat completion; raise `ValueError` if it is malformed."""
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
        finish, model, usage = choice.get("finish_reason"), body.get("model"), body.get("usage") or {}
        if isinstance(content, list):
            content = "".join(part["text"] for part in content if part.get("type") == "text")
        tokens = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("not a chat completion") from error
    for part in (content, refusal, finish, model):
        if part is not None and not isinstance(part, str):
            raise ValueError(f"the chat completion has a non-text value: {part!r:.60}")
    counts = [count if type(count) is int and 0 <= count <= MAX_TOKEN_COUNT else None for count in tokens]
    return Reply(content or "", refusal or None, finish, model or None, *counts)


def find_fault(reply: Reply, model: str, also: tuple[str, ...] = ()) -> tuple[Fault, str] | None:
    """Return the fault of a reply and its detail, or None."""
    if reply.model is not None and not any(same_model(name, reply.model) for name in (model, *also)):
        return "wrong_model", f"'{model}' was requested, '{reply.model}' answered"
    if reply.finish == "content_filter":
        return "filtered", "a content filter of the endpoint stopped the answer"
    if reply.refusal:
        return "refused", reply.refusal
    if reply.finish == "length":
        return "truncated", "the answer reached the token limit; raise max_tokens"
    if not reply.text.strip():
        return "unparsable", "the answer is empty"
    return None


def same_model(requested: str, reported: str) -> bool:
    """Return whether the reported model is the requested one, up to a date, `latest` or a folder.

    >>> same_model("gpt-4o", "gpt-4o-2024-08-06"), same_model("gpt-4o", "gpt-4o-mini")
    (True, False)
    """
    (requested_vendor, base), (vendor, name) = _split_model(requested), _split_model(reported)
    is_dated = name.startswith(base) and _DATED.fullmatch(name[len(base) :]) is not None
    return (name == base or is_dated) and (requested_vendor == vendor or not (requested_vendor and vendor))


def is_content_filter(error: Any) -> bool:
    """Return whether an error was caused by a content filter."""
    return any(word in str(error).lower() for word in _FILTERED)


def _split_model(name: str) -> tuple[str, str]:
    """Split a model name into vendor (may be empty) and base name."""
    folder, _, base = name.strip().lower().rpartition("/")
    return "" if folder.startswith("/") or folder == "models" else folder, base.removesuffix(".gguf")


DEFAULT_KEY_VARIABLE = "EDITGAUGE_JUDGE_KEY"
MAX_RESPONSE_BYTES = 16_000_000


class Endpoint:
    """One model of one endpoint.

    Args:
        model: name of the model.
        url: base URL, including `/v1`.
        key: name of the environment variable with the API key.
        at_once: maximum number of concurrent requests.

    """

    def __init__(self, model: str, url: str = OPENAI, key: str | None = None, at_once: int = 16) -> None:
        self.model = model
        self.at_once = at_once
        self._address = EndpointAddress(url, key, DEFAULT_KEY_VARIABLE)
        self._dialect = Dialect()
        self._urls = DataUrls()

    @property
    def location(self) -> str:
        """URL without credentials and query."""
        return self._address.public_url

    @property
    def concessions(self) -> tuple[str, ...]:
        """Differences between the configured and the sent request."""
        return self._dialect.concessions

    async def send(self, question: Question[Any], parameters: Parameters, timeout: float) -> ChatCompletion:
        """Return a chat completion, or raise `RequestError`."""
        while True:
            body, encoded = await asyncio.to_thread(self._encode, question, parameters)
            status, headers, content = await self._post(encoded, timeout)
            if status in (400, 404, 413, 422, 501) and self._dialect.learns(body, content.decode("utf-8", "replace")):
                continue
            return self._read(status, headers, content)

    async def close(self) -> None:
        """Close the connections."""
        if "_http" in vars(self):
            await vars(self).pop("_http").aclose()

    def _encode(self, question: Question[Any], parameters: Parameters) -> tuple[dict[str, Any], bytes]:
        body = request_body(self.model, question, parameters, self._dialect, self._urls)
        return body, json.dumps(body).encode()

    @cached_property
    def _http(self) -> httpx.AsyncClient:
        try:
            import httpx
        except ImportError as error:
            raise EditGaugeError("A judge over HTTP needs httpx: pip install 'editgauge[judges]'") from error
        headers = {"Content-Type": "application/json", "Accept-Encoding": "gzip, identity"}
        if self._address.key:
            headers["Authorization"] = f"Bearer {self._address.key}"
        # `asyncio.timeout` covers the whole attempt. A redirect would leak images and key.
        limits = httpx.Limits(max_connections=self.at_once, max_keepalive_connections=self.at_once)
        return httpx.AsyncClient(headers=headers, timeout=None, limits=limits, follow_redirects=False)  # noqa: S113

    async def _post(self, content: bytes, timeout: float) -> tuple[int, httpx.Headers, bytes]:
        client, address = self._http, self._address.of("chat/completions")
        with translate_http_errors(self._address, timeout):
            async with (
                asyncio.timeout(timeout),
                client.stream("POST", address, content=content) as response,
            ):
                buffer = bytearray()
                async for chunk in response.aiter_raw():
                    buffer += chunk
                    if len(buffer) > MAX_RESPONSE_BYTES:
                        raise RequestError(f"a response of more than {MAX_RESPONSE_BYTES:,} bytes", maybe_paid=True)
                packing = response.headers.get("content-encoding", "")
                return response.status_code, response.headers, decode_body(bytes(buffer), packing, MAX_RESPONSE_BYTES)

    def _read(self, status: int, headers: httpx.Headers, content: bytes) -> ChatCompletion:
        if status != 200:
            raise self._request_error(status, headers, content)
        try:
            body = json.loads(self._address.redact(content.decode("utf-8")))
            if isinstance(body, dict) and "choices" not in body and "error" in body:
                raise self._request_error(_code(body["error"]), headers, content)
            parse_reply(body)
        except (ValueError, RecursionError) as error:
            kind = headers.get("content-type", "no content type")
            message = f"a response ({kind}) that is not a chat completion: {self._address.excerpt(content)}"
            raise RequestError(message, maybe_paid=True) from error
        return dict(body)

    def _request_error(self, status: int, headers: httpx.Headers, content: bytes) -> RequestError:
        message = f"{status} {self._address.excerpt(content)}"
        if is_content_filter(message):
            return RequestError(message, fault="filtered", again=False)
        if "insufficient_quota" in message:
            return RequestError(f"the quota is used up: {message}", fault="budget", again=False)
        if status == 401:
            message = f"the endpoint does not accept the key: {message}"
        if status == 404:
            message = (
                f"{self.location} has no such model, or no chat completions (does the address end in /v1?): {message}"
            )
        if status not in RETRYABLE_STATUS:
            return RequestError(message, fault="rejected", again=False)
        return RequestError(message, wait=retry_after(headers.get("retry-after")), too_fast=status in (429, 529))


def open_endpoint(address: str, **options: Any) -> Endpoint:
    """Open the endpoint of `MODEL@URL`, or of `MODEL` at OpenAI."""
    model, url = model_and_url(address, "A judge over HTTP is written openai:MODEL@URL")
    return Endpoint(model, url, **options)


def _code(error: Any) -> int:
    """Return the status of an error that came with status 200."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if type(code) is int and 400 <= code < 600 else 500
