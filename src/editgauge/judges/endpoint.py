"""A model behind an OpenAI-compatible HTTP endpoint: hosted, or served by vLLM, llama.cpp, Ollama and others."""

from __future__ import annotations

import asyncio
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

from editgauge._util.endpoints import OPENAI, TRIED_AGAIN, EndpointAddress, bounded_body, model_and_url, retry_after
from editgauge.errors import EditGaugeError
from editgauge.judges.chat_format import Body, Dialect, is_filter, read_reply, request_body
from editgauge.judges.faults import Trouble, as_trouble
from editgauge.judges.pictures import DataUrls
from editgauge.judges.questions import Parameters, Question

if TYPE_CHECKING:
    import httpx

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
        return self._address.place

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
        if self._address.key:
            headers["Authorization"] = f"Bearer {self._address.key}"
        # Our own timeout covers the whole attempt. A redirect would carry pictures and key to someone else.
        limits = httpx.Limits(max_connections=self.at_once, max_keepalive_connections=self.at_once)
        return httpx.AsyncClient(headers=headers, timeout=None, limits=limits, follow_redirects=False)  # noqa: S113

    async def _post(self, content: bytes, timeout: float) -> tuple[int, httpx.Headers, bytes]:
        client, address = self._http, self._address.of("chat/completions")
        with as_trouble(self._address, timeout):
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

    def _read(self, status: int, headers: httpx.Headers, content: bytes) -> Body:
        if status != 200:
            raise self._trouble(status, headers, content)
        try:
            body = json.loads(self._address.hidden(content.decode("utf-8")))
            if isinstance(body, dict) and "choices" not in body and "error" in body:
                raise self._trouble(_code(body["error"]), headers, content)
            read_reply(body)
        except (ValueError, RecursionError) as error:
            kind = headers.get("content-type", "no content type")
            message = f"an answer ({kind}) that is no chat completion: {self._address.shown(content)}"
            raise Trouble(message, maybe_paid=True) from error
        return dict(body)

    def _trouble(self, status: int, headers: httpx.Headers, content: bytes) -> Trouble:
        message = f"{status} {self._address.shown(content)}"
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


def open_endpoint(address: str, **options: Any) -> Endpoint:
    """The endpoint of `MODEL@URL`, or of `MODEL` alone at OpenAI."""
    model, url = model_and_url(address, "A judge over HTTP is written openai:MODEL@URL")
    return Endpoint(model, url, **options)


def _code(error: Any) -> int:
    """The status that an error inside a 200 stands for."""
    code = error.get("code") if isinstance(error, dict) else None
    return code if type(code) is int and 400 <= code < 600 else 500
