"""A model behind an OpenAI-compatible HTTP endpoint: hosted, or served by vLLM, llama.cpp, Ollama and others."""

from __future__ import annotations

import asyncio
import json
import os
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from editgauge.core.errors import BadInput, EditGaugeError
from editgauge.core.fetch.bounded import TooLong, bounded_body
from editgauge.core.files import read_text
from editgauge.judges.chat_format import Body, Dialect, is_filter, read_reply, request_body
from editgauge.judges.faults import Trouble
from editgauge.judges.pictures import DataUrls
from editgauge.judges.questions import Parameters, Question

if TYPE_CHECKING:
    import httpx

OPENAI = "https://api.openai.com/v1"
OPENAI_KEY = "OPENAI_API_KEY"
USUAL_KEY = "EDITGAUGE_JUDGE_KEY"
"""Read for every other endpoint, so that a vendor's key never reaches a stranger."""
MOST_BYTES = 16_000_000
"""An answer is never so long; a broken server may be."""
SHOWN_OF_AN_ERROR = 300
SECRET_FIELD = re.compile(r"key|token|secret|pass|pwd|sig|auth|code|cred", re.IGNORECASE)
ADDRESS = re.compile(r"(?P<model>.+?)(?:@(?P<url>https?://.+))?")
TRIED_AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})


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
        self._url, _, self._query = url.partition("?")
        self._url = self._url.rstrip("/")
        self._secrets = secrets_in(url)
        self._key = _read_key(key or (OPENAI_KEY if self._url == OPENAI else USUAL_KEY), bool(key), self._url)
        self._dialect = Dialect()
        self._pictures = DataUrls()

    @property
    def place(self) -> str:
        """Where it is, for the record: without a name, a password or a query that the address may hold."""
        return without_secrets(self._url)

    @property
    def concessions(self) -> tuple[str, ...]:
        """What is sent otherwise than it was asked for, because the endpoint refused it."""
        return self._dialect.concessions

    async def send(self, question: Question[Any], parameters: Parameters, timeout: float) -> Body:
        """The chat completion; raises `Trouble` when this attempt brought none."""
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
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        # Our own timeout covers the whole attempt. A redirect would carry pictures and key to someone else.
        limits = httpx.Limits(max_connections=self.at_once, max_keepalive_connections=self.at_once)
        return httpx.AsyncClient(headers=headers, timeout=None, limits=limits, follow_redirects=False)  # noqa: S113

    async def _post(self, content: bytes, timeout: float) -> tuple[int, httpx.Headers, bytes]:
        client = self._http
        import httpx

        address = f"{self._url}/chat/completions" + (f"?{self._query}" if self._query else "")
        try:
            async with (
                asyncio.timeout(timeout),
                client.stream("POST", address, content=content) as response,
            ):
                received = bytearray()
                async for piece in response.aiter_raw():
                    received += piece
                    if len(received) > MOST_BYTES:
                        raise Trouble(f"an answer of more than {MOST_BYTES:,} bytes", maybe_paid=True)
                packing = response.headers.get("content-encoding", "")
                return response.status_code, response.headers, bounded_body(bytes(received), packing, MOST_BYTES)
        except TooLong as error:
            raise Trouble(str(error), maybe_paid=True) from error
        except TimeoutError as error:
            raise Trouble(f"no answer within {timeout:g} seconds", maybe_paid=True) from error
        except (httpx.ConnectError, httpx.PoolTimeout) as error:
            raise Trouble(f"{self.place} cannot be reached: {self._hidden(str(error))}") from error
        except httpx.HTTPError as error:
            message = self._hidden(str(error)) or type(error).__name__
            raise Trouble(f"the connection broke: {message}", maybe_paid=True) from error
        except httpx.InvalidURL as error:
            raise BadInput(f"'{self.place}' is not an address: {error}.") from error

    def _read(self, status: int, headers: httpx.Headers, content: bytes) -> Body:
        if status != 200:
            raise self._trouble(status, headers, content)
        try:
            body = json.loads(self._hidden(content.decode("utf-8")))
            if isinstance(body, dict) and "choices" not in body and "error" in body:
                raise self._trouble(_code(body["error"]), headers, content)
            read_reply(body)
        except (ValueError, RecursionError) as error:
            kind = headers.get("content-type", "no content type")
            message = f"an answer ({kind}) that is no chat completion: {self._shown(content)}"
            raise Trouble(message, maybe_paid=True) from error
        return dict(body)

    def _trouble(self, status: int, headers: httpx.Headers, content: bytes) -> Trouble:
        message = f"{status} {self._shown(content)}"
        if is_filter(message):
            return Trouble(message, fault="filtered", again=False)
        if "insufficient_quota" in message:
            return Trouble(f"the account has nothing left: {message}", fault="budget", again=False)
        if status == 401:
            message = f"the endpoint does not accept the key: {message}"
        if status == 404:
            message = (
                f"{self.place} has no such model, or no chat completions (does the address end in /v1?): {message}"
            )
        if status not in TRIED_AGAIN:
            return Trouble(message, fault="rejected", again=False)
        return Trouble(message, wait=retry_after(headers.get("retry-after")), too_fast=status in (429, 529))

    def _shown(self, content: bytes) -> str:
        """How an endpoint's words about its trouble begin, on one line."""
        text = content[: 10 * SHOWN_OF_AN_ERROR].decode("utf-8", "replace")
        return self._hidden(" ".join(text.split()))[:SHOWN_OF_AN_ERROR]

    def _hidden(self, text: str) -> str:
        """The text without our secrets, which an endpoint may repeat: what it says is kept in the run."""
        for secret in (*self._secrets, *((self._key,) if self._key else ())):
            text = text.replace(secret, "***")
        return text


def without_secrets(address: str) -> str:
    """An address for records and messages: without a user name, a password, or fields of its query named like a key.

    >>> without_secrets("openai:tiny@https://me:pass@host/v1?api-key=abc&api-version=2")
    'openai:tiny@https://host/v1?api-version=2'
    """
    place, _, query = re.sub(r"(https?://)[^/?#]*@", r"\1", address).partition("?")
    kept = [field for field in query.split("&") if "=" in field and not SECRET_FIELD.search(field.partition("=")[0])]
    return f"{place}?{'&'.join(kept)}" if kept else place


def secrets_in(url: str) -> tuple[str, ...]:
    """The secrets of an address, as they are written there and as they are sent."""
    login = re.match(r"https?://([^/?#]*)@", url)
    password = login[1].partition(":")[2] or login[1] if login else ""
    fields = (field.partition("=") for field in url.partition("?")[2].split("&"))
    named = [value for name, _, value in fields if SECRET_FIELD.search(name)]
    return tuple(dict.fromkeys(form for each in (password, *named) if each for form in (each, unquote(each))))


def open_endpoint(address: str, **options: Any) -> Endpoint:
    """The endpoint of `MODEL@URL`, or of `MODEL` alone at OpenAI."""
    match = ADDRESS.fullmatch(address)
    if match is None or "@http" in match["model"]:
        shown_address = without_secrets(address)
        raise BadInput(
            f"A judge over HTTP is written openai:MODEL@URL, with http:// or https://; got '{shown_address}'."
        )
    return Endpoint(match["model"], match["url"] or OPENAI, **options)


def retry_after(header: str | None) -> float | None:
    """The seconds that a `Retry-After` header asks for, which may be a number or a date.

    >>> retry_after("2.5"), retry_after("soon"), retry_after("Thu, 01 Jan 1970 00:00:00 GMT")
    (2.5, None, 0.0)
    """
    if not header:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d+)?", header.strip()):
        return float(header)
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def read_secret(name: str) -> str:
    """A secret from an environment variable, or from the file that the variable with `_FILE` names; else nothing."""
    value, file = os.environ.get(name, "").strip(), os.environ.get(f"{name}_FILE", "").strip()
    if value or not file:
        return value
    try:
        return read_text(Path(file)).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"The file that {name}_FILE names cannot be read: {error}.") from error


def _code(error: Any) -> int:
    """The status that an error inside a 200 stands for."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if type(code) is int and 400 <= code < 600 else 500


def _read_key(name: str, named: bool, url: str) -> str | None:
    key = read_secret(name)
    if not key and (named or url == OPENAI):
        raise BadInput(
            f"The key for {without_secrets(url)} is read from the environment variable {name}, or from the file that "
            f"{name}_FILE names; neither is set."
        )
    if key and not key.isascii():
        raise BadInput(f"The key in {name} holds signs that no key has; was it copied whole?")
    return key or None
