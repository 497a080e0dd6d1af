"""The chat completions protocol: a question as a request, what endpoints refuse, and the reply that comes back."""

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
"""A chat completion as the endpoint sent it."""

_DATED = re.compile(r"[-@:](?:latest|00\d|20\d{2}-?[01]\d-?[0-3]\d|(?:0[1-9]|1[0-2])-?[0-3]\d(?:-?20\d{2})?)")
"""How the release of a model is written behind its name."""
_FILTERED = ("content_filter", "content_policy_violation", "responsibleaipolicyviolation")
MOST_TOKENS = 10**12
"""Of one call; a larger count is no count, and its cost no number."""

_SAID_OF_FORMATS = ("response_format", "json_schema", "structured output", "guided", "grammar", "response format")
_SAID_OF_SIZES = ("too large", "image size", "too many pixels", "maximum context", "context length", "image_too_large")
OPTIONAL = ("temperature", "top_p", "seed")
FIRST_LIMIT, LEAST_SIDE = 768, 192
"""A picture that is too large is sent at 768 pixels a side, then at half of that, and not below 192."""


@dataclass(slots=True)
class Dialect:
    """What an endpoint was found not to understand; learned from its refusals, once each."""

    unwanted_schemas: set[str] = field(default_factory=set)
    tokens: str = "max_tokens"
    """The word for the limit of tokens; newer models of one vendor want another."""
    unwanted: set[str] = field(default_factory=set)
    """Parameters that the model refuses, such as a temperature."""
    most_side: int | None = None
    """The longest side of a picture that the endpoint can take, as far as it complained."""

    @property
    def concessions(self) -> tuple[str, ...]:
        """What is sent otherwise than it was asked for, in words."""
        without = [f"without {name}, which the model refuses" for name in sorted(self.unwanted)]
        return (*without, *([f"pictures of at most {self.most_side} pixels a side"] if self.most_side else []))

    def learns(self, body: Mapping[str, Any], message: str) -> bool:
        """Was the request turned down for something that can be said in another way? Then it is from now on."""
        lowered = message.lower()
        if "max_completion_tokens" in lowered and "max_tokens" in body:
            self.tokens = "max_completion_tokens"
            return True
        for name in OPTIONAL:
            if name in body and name in lowered and not self._says_the_range(lowered):
                self.unwanted.add(name)
                return True
        if any(word in lowered for word in _SAID_OF_SIZES) and _has_pictures(body):
            smaller = (self.most_side or FIRST_LIMIT * 2) // 2
            if smaller >= LEAST_SIDE:
                self.most_side = smaller
                return True
        if "response_format" in body and any(word in lowered for word in _SAID_OF_FORMATS):
            self.unwanted_schemas.add(_key(body["response_format"]))
            return True
        return False

    @staticmethod
    def _says_the_range(message: str) -> bool:
        """A value outside its range is the user's mistake, and leaving it out would hide that."""
        return "between" in message or "less than or equal" in message or "greater than" in message


def _has_pictures(body: Mapping[str, Any]) -> bool:
    return isinstance(body["messages"][0]["content"], list)


def request_body(
    model: str, question: Question[Any], parameters: Parameters, dialect: Dialect, pictures: DataUrls
) -> dict[str, Any]:
    """The chat completion that is asked for: each label before its picture, the words last."""
    content = _content(question, parameters, dialect, pictures)
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": content}]}
    body[dialect.tokens] = parameters.max_tokens
    wanted = {
        "temperature": parameters.temperature,
        "top_p": parameters.top_p,
        "seed": None if parameters.seed is None else parameters.seed + question.repetition,
    }
    body |= {name: value for name, value in wanted.items() if value is not None and name not in dialect.unwanted}
    if question.form.schema is not None:
        schema = {"name": question.form.kind, "strict": True, "schema": question.form.schema}
        response_format = {"type": "json_schema", "json_schema": schema}
        if _key(response_format) not in dialect.unwanted_schemas:
            body["response_format"] = response_format
    return body


def _content(
    question: Question[Any], parameters: Parameters, dialect: Dialect, pictures: DataUrls
) -> str | list[dict[str, Any]]:
    if not question.images:
        return question.words.text  # endpoints without eyes know no list of parts
    parts: list[dict[str, Any]] = []
    most_side = min(parameters.most_side, dialect.most_side or parameters.most_side)
    for shown in question.images:
        url = pictures.url(shown.pixels, most_side, parameters.encoding)
        parts += [{"type": "text", "text": shown.label}, {"type": "image_url", "image_url": {"url": url}}]
    return [*parts, {"type": "text", "text": question.words.text}]


def _key(response_format: Mapping[str, Any]) -> str:
    return json.dumps(response_format, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Reply:
    """The parts of a chat completion that matter here."""

    text: str
    refusal: str | None = None
    finish: str | None = None
    model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def parse_reply(body: ChatCompletion) -> Reply:
    """The reply in a chat completion; raises `ValueError` when it is none."""
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content, refusal = message.get("content"), message.get("refusal")
        finish, model, usage = choice.get("finish_reason"), body.get("model"), body.get("usage") or {}
        if isinstance(content, list):
            content = "".join(part["text"] for part in content if part.get("type") == "text")
        tokens = [usage.get("prompt_tokens"), usage.get("completion_tokens")]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError("the answer has not the shape of a chat completion") from error
    for part in (content, refusal, finish, model):
        if part is not None and not isinstance(part, str):
            raise ValueError(f"a text was expected in the chat completion, found {part!r:.60}")
    counts = [count if type(count) is int and 0 <= count <= MOST_TOKENS else None for count in tokens]
    return Reply(content or "", refusal or None, finish, model or None, *counts)


def find_fault(reply: Reply, model: str, also: tuple[str, ...] = ()) -> tuple[Fault, str] | None:
    """Why a reply must not be read as an answer, or None when it may be."""
    if reply.model is not None and not any(same_model(name, reply.model) for name in (model, *also)):
        return "wrong_model", f"'{model}' was asked, and '{reply.model}' answered"
    if reply.finish == "content_filter":
        return "filtered", "a content filter of the endpoint stopped the answer"
    if reply.refusal:
        return "refused", reply.refusal
    if reply.finish == "length":
        return "truncated", "the answer ran into the limit of tokens; raise max_tokens"
    if not reply.text.strip():
        return "unparsable", "the answer is empty"
    return None


def same_model(wanted_model: str, answered: str) -> bool:
    """Is this the model that was asked for? A date, `latest` or the folder it is in may differ, nothing else.

    >>> same_model("gpt-4o", "gpt-4o-2024-08-06"), same_model("gpt-4o", "gpt-4o-mini")
    (True, False)
    """
    (wanted_maker, wanted), (maker, name) = _plain(wanted_model), _plain(answered)
    dated = name.startswith(wanted) and _DATED.fullmatch(name[len(wanted) :]) is not None
    return (name == wanted or dated) and (wanted_maker == maker or not (wanted_maker and maker))


def is_content_filter(error: Any) -> bool:
    """Does an endpoint's error say that a content filter stepped in?"""
    return any(word in str(error).lower() for word in _FILTERED)


def _plain(name: str) -> tuple[str, str]:
    """Who made a model, where its name says so, and what it is called."""
    folder, _, base = name.strip().lower().rpartition("/")
    return "" if folder.startswith("/") or folder == "models" else folder, base.removesuffix(".gguf")


USUAL_KEY = "EDITGAUGE_JUDGE_KEY"
MOST_BYTES = 16_000_000
"""An answer is never so long; a broken server may be."""


class Endpoint:
    """One model of one endpoint.

    Args:
        model: what the endpoint calls it
        url: where the endpoint is, with its `/v1`
        key: the name of the environment variable that holds the key
        at_once: never more requests at once
    """

    def __init__(self, model: str, url: str = OPENAI, key: str | None = None, at_once: int = 16) -> None:
        self.model = model
        self.at_once = at_once
        self._address = EndpointAddress(url, key, USUAL_KEY)
        self._dialect = Dialect()
        self._pictures = DataUrls()

    @property
    def place(self) -> str:
        """Where it is, for the record: without a name, a password or a query that the address may hold."""
        return self._address.public_url

    @property
    def concessions(self) -> tuple[str, ...]:
        """What is sent otherwise than it was asked for, because the endpoint refused it."""
        return self._dialect.concessions

    async def send(self, question: Question[Any], parameters: Parameters, timeout: float) -> ChatCompletion:
        """The chat completion; raises `RequestError` when this attempt brought none."""
        while True:
            body, encoded = await asyncio.to_thread(self._encoded, question, parameters)
            status, headers, content = await self._post(encoded, timeout)
            if status in (400, 404, 413, 422, 501) and self._dialect.learns(body, content.decode("utf-8", "replace")):
                continue
            return self._read(status, headers, content)

    async def close(self) -> None:
        """Lets the connections go."""
        if "_http" in vars(self):
            await vars(self).pop("_http").aclose()

    def _encoded(self, question: Question[Any], parameters: Parameters) -> tuple[dict[str, Any], bytes]:
        body = request_body(self.model, question, parameters, self._dialect, self._pictures)
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
        # Our own timeout covers the whole attempt. A redirect would carry pictures and key to someone else.
        limits = httpx.Limits(max_connections=self.at_once, max_keepalive_connections=self.at_once)
        return httpx.AsyncClient(headers=headers, timeout=None, limits=limits, follow_redirects=False)  # noqa: S113

    async def _post(self, content: bytes, timeout: float) -> tuple[int, httpx.Headers, bytes]:
        client, address = self._http, self._address.of("chat/completions")
        with translate_http_errors(self._address, timeout):
            async with (
                asyncio.timeout(timeout),
                client.stream("POST", address, content=content) as response,
            ):
                received = bytearray()
                async for piece in response.aiter_raw():
                    received += piece
                    if len(received) > MOST_BYTES:
                        raise RequestError(f"an answer of more than {MOST_BYTES:,} bytes", maybe_paid=True)
                packing = response.headers.get("content-encoding", "")
                return response.status_code, response.headers, decode_body(bytes(received), packing, MOST_BYTES)

    def _read(self, status: int, headers: httpx.Headers, content: bytes) -> ChatCompletion:
        if status != 200:
            raise self._trouble(status, headers, content)
        try:
            body = json.loads(self._address.redact(content.decode("utf-8")))
            if isinstance(body, dict) and "choices" not in body and "error" in body:
                raise self._trouble(_code(body["error"]), headers, content)
            parse_reply(body)
        except (ValueError, RecursionError) as error:
            kind = headers.get("content-type", "no content type")
            message = f"an answer ({kind}) that is no chat completion: {self._address.excerpt(content)}"
            raise RequestError(message, maybe_paid=True) from error
        return dict(body)

    def _trouble(self, status: int, headers: httpx.Headers, content: bytes) -> RequestError:
        message = f"{status} {self._address.excerpt(content)}"
        if is_content_filter(message):
            return RequestError(message, fault="filtered", again=False)
        if "insufficient_quota" in message:
            return RequestError(f"the account has nothing left: {message}", fault="budget", again=False)
        if status == 401:
            message = f"the endpoint does not accept the key: {message}"
        if status == 404:
            message = (
                f"{self.place} has no such model, or no chat completions (does the address end in /v1?): {message}"
            )
        if status not in RETRYABLE_STATUS:
            return RequestError(message, fault="rejected", again=False)
        return RequestError(message, wait=retry_after(headers.get("retry-after")), too_fast=status in (429, 529))


def open_endpoint(address: str, **options: Any) -> Endpoint:
    """The endpoint of `MODEL@URL`, or of `MODEL` alone at OpenAI."""
    model, url = model_and_url(address, "A judge over HTTP is written openai:MODEL@URL")
    return Endpoint(model, url, **options)


def _code(error: Any) -> int:
    """The status that an error inside a 200 stands for."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if type(code) is int and 400 <= code < 600 else 500
