"""A local server that speaks the chat completions protocol and can be told to misbehave.

- `served`: the server. `served.plan = function(text, count)` decides the reply to the question `text`, which came
  `count` times before: a `dict` is a chat completion, a `str` the text of one, a `Reply` anything else.
- `say(text, **changes)`: a chat completion; `Reply`: status, content, headers, and ways to fail.
- `ask(judge, *questions)`: the answers, or `NoAnswerError` where there is none, all asked concurrently.
- `soon`: a retry policy with waits of milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import Pixels
from editgauge.judges import ModelJudge, NoAnswerError, Question, RetryPolicy

MODEL = "tiny-judge"


@dataclass
class Reply:
    """A response that is no plain answer."""

    status: int = 200
    content: bytes | str | dict[str, Any] = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    hang: float = 0.0
    """Seconds before anything is sent."""
    drip: float = 0.0
    """Seconds between two bytes of the content."""
    cut: int | None = None
    """Number of bytes sent before the connection closes; -1: not even a status."""


def say(
    text: str | None, model: str = MODEL, finish: str = "stop", tokens: tuple[int, int] = (10, 2), **message: Any
) -> dict[str, Any]:
    content = {"role": "assistant", "content": text, **message}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    choice = {"index": 0, "message": content, "finish_reason": finish}
    return {"id": "c1", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}


class Served(ThreadingHTTPServer):
    """HTTP server of the endpoint."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"
        self.plan: Callable[[str, int], dict[str, Any] | str | Reply] = lambda text, seen: '{"answer": "yes"}'
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.seen: Counter[str] = Counter()
        self.answered: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.under_way = self.most_under_way = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Served

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        content = body["messages"][0]["content"]
        text = content if isinstance(content, str) else content[-1]["text"]
        with self.server.lock:
            self.server.requests.append({"path": self.path, **body})
            self.server.keys.append(self.headers["Authorization"])
            seen = self.server.seen[text]
            self.server.seen[text] += 1
            self.server.under_way += 1
            self.server.most_under_way = max(self.server.most_under_way, self.server.under_way)
        try:
            planned = self.server.plan(text, seen)
            answered = isinstance(planned, str | dict)
            message: Any = say(planned) if isinstance(planned, str) else planned
            reply = message if isinstance(message, Reply) else Reply(content=message)
            if answered:
                with self.server.lock:
                    self.server.answered[text] += 1
            self._send(reply)
        finally:
            with self.server.lock:
                self.server.under_way -= 1

    def _send(self, reply: Reply) -> None:
        time.sleep(reply.hang)
        is_json = isinstance(reply.content, dict)
        text = json.dumps(reply.content) if isinstance(reply.content, dict) else reply.content
        content = text.encode() if isinstance(text, str) else text
        headers = {"Content-Type": "application/json" if is_json else "text/html", "Content-Length": str(len(content))}
        lines = [f"HTTP/1.1 {reply.status} OK", *(f"{k}: {v}" for k, v in (headers | reply.headers).items())]
        if reply.cut != -1:
            self.wfile.write("\r\n".join([*lines, "", ""]).encode())
            for piece in [content[i : i + 1] for i in range(len(content))] if reply.drip else [content[: reply.cut]]:
                self.wfile.write(piece)
                time.sleep(reply.drip)
        if reply.cut is not None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    for name in ("OPENAI_API_KEY", "EDITGAUGE_JUDGE_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Served()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(name="say")
def say_fixture() -> Callable[..., dict[str, Any]]:
    return say


@pytest.fixture
def reply() -> type[Reply]:
    return Reply


@pytest.fixture
def soon() -> RetryPolicy:
    return RetryPolicy(attempts=5, timeout=20.0, first_wait=0.002, longest_wait=5.0)


@pytest.fixture
def ask() -> Callable[..., list[Any]]:
    async def ask_one(judge: ModelJudge, question: Question[Any]) -> Any:
        try:
            return await judge.ask(question)
        except NoAnswerError as error:
            return error

    async def ask_all(judge: ModelJudge, questions: tuple[Question[Any], ...]) -> list[Any]:
        async with judge:
            return await asyncio.gather(*(ask_one(judge, question) for question in questions))

    return lambda judge, *questions: asyncio.run(ask_all(judge, questions))


@pytest.fixture
def picture() -> Callable[[int], Pixels]:
    return lambda seed: np.random.default_rng(seed).integers(0, 256, (24, 36, 3), dtype=np.uint8)
