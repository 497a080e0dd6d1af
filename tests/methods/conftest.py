"""An endpoint for image edits on a real socket, which misbehaves as it is told.

- `edits_served`: the endpoint. `edits_served.plan = function(prompt, seen)` decides what becomes of a request, whose
  prompt came `seen` times before: `bytes` are a picture sent in Base64, a `Reply` anything else.
- `make_edit(**parts)`: an edit of a small photograph.
"""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable, Iterator
from email.parser import BytesParser
from pathlib import Path
from typing import Any

import pytest

from editgauge._util.images import ImageFile
from editgauge.types import Edit
from tests.endpoint import Reply, Served, _Handler

Plan = Callable[[str, int], bytes | Reply]


class EditsServed(Served):
    """The endpoint for chat completions, speaking of pictures instead."""

    picture_plan: Plan
    pictures: dict[str, bytes]
    """What lies at addresses of its own, by path."""

    def __init__(self) -> None:
        super().__init__()
        self.RequestHandlerClass = _EditsHandler
        self.pictures = {}


class _EditsHandler(_Handler):
    server: EditsServed

    def do_POST(self) -> None:  # noqa: N802 - the name that the server asks for
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        message = BytesParser().parsebytes(head + self.rfile.read(int(self.headers["Content-Length"])))
        parts: Any = message.get_payload()
        sent = {part.get_param("name", header="content-disposition"): part.get_payload(decode=True) for part in parts}
        with self.server.lock:
            prompt = sent["prompt"].decode()
            self.server.requests.append({"path": self.path, **sent})
            self.server.keys.append(self.headers["Authorization"])
            seen = self.server.seen[prompt]
            self.server.seen[prompt] += 1
        planned = self.server.picture_plan(prompt, seen)
        if isinstance(planned, bytes):
            planned = Reply(content={"created": 0, "data": [{"b64_json": base64.b64encode(planned).decode()}]})
        self._send(planned)

    def do_GET(self) -> None:  # noqa: N802
        self.server.keys.append(self.headers["Authorization"])
        result = self.server.pictures.get(self.path)
        self._send(Reply(404) if result is None else Reply(content=result, headers={"Content-Type": "image/png"}))


@pytest.fixture
def edits_served(monkeypatch: pytest.MonkeyPatch) -> Iterator[EditsServed]:
    for name in ("OPENAI_API_KEY", "EDITGAUGE_EDITOR_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = EditsServed()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def make_edit() -> Callable[..., Edit]:
    def make(**parts: Any) -> Edit:
        usual = {"id": "cat-black", "type": "color", "instruction": "make the cat black", "subject": "cat"}
        return Edit(source=ImageFile("cat", Path("cat.png")), **{**usual, "to": "black", **parts})

    return make
