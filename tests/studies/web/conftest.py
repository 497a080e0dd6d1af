"""Studies that are served.

- `online(study, ...)`: the address of a study served by a real server, in a thread of this process.
- `visit(address)`: a client that fills forms as a browser would; `come(address, token)`: one that has come by a link.
- `see(link, ...)`: the page behind a link in Chromium; at the end nothing may have gone wrong or left the server.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import httpx
import numpy as np
import pytest
import skimage
import uvicorn

from editgauge._util.http import server_config
from editgauge._util.images import pixel_hash, read_image, write_png
from editgauge.results import ImageStamp, JournalEntry
from editgauge.studies import Study
from editgauge.studies.web import make_app
from editgauge.studies.web._guard import Rate, RateLimits

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
TOKEN = re.compile(r'name="form-token" value="([0-9a-f]+)"')
EAGER = RateLimits(address=Rate(1e6, 1e6), rater=Rate(1e6, 1e6))
EXPECTED = (
    "Failed to load resource: the server responded with a status of 422",
    "Failed to load resource: the server responded with a status of 503",
)
"""What Chromium itself says about a form that comes back with questions left out, and about a server that is away."""


class Visit:
    """A rater's client: keeps cookies and follows redirects, as a browser without scripts does."""

    def __init__(self, address: str) -> None:
        self.client = httpx.Client(base_url=address, follow_redirects=True, timeout=300)
        self.seen: list[httpx.Response] = []

    def get(self, path: str, **options: Any) -> httpx.Response:
        self.seen.append(self.client.get(path, **options))
        return self.seen[-1]

    def send(self, path: str, fields: dict[str, Any], page: httpx.Response | None = None) -> httpx.Response:
        """Sends the form of a page, by default of the one last seen."""
        result = TOKEN.search((page or self.seen[-1]).text)
        token = {"form-token": result[1]} if result else {}
        self.seen.append(self.client.post(path, data={**token, **fields}))
        return self.seen[-1]


@pytest.fixture
def online() -> Iterator[Callable[..., str]]:
    servers: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(study: Study, limits: RateLimits = EAGER) -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = uvicorn.Server(server_config(make_app(study, limits), port=port, trusted_proxy="127.0.0.1"))
        thread = threading.Thread(target=server.run)
        thread.start()
        servers.append((server, thread))
        deadline = time.monotonic() + 20
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.01)
        return f"http://127.0.0.1:{port}"

    yield start
    for server, thread in servers:
        server.should_exit = True
        thread.join()


@pytest.fixture
def visit() -> Iterator[Callable[[str], Visit]]:
    visits: list[Visit] = []

    def begin(address: str) -> Visit:
        visits.append(Visit(address))
        return visits[-1]

    yield begin
    for item in visits:
        item.client.close()


@pytest.fixture
def come(visit: Callable[[str], Visit]) -> Callable[[str, str], Visit]:
    def enter(address: str, token: str) -> Visit:
        rater = visit(address)
        assert rater.get(f"/enter/{token}").status_code == 200
        return rater

    return enter


@pytest.fixture
def photo_run(tmp_path: Path, make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> Path:
    """Two edits by two methods, of a photograph and with a patch in it, so that there is something to look at."""
    whole = read_image(Path(skimage.__file__).parent / "data" / "astronaut.png")
    photo = np.asarray(cv2.resize(whole, (160, 120), interpolation=cv2.INTER_AREA), dtype=np.uint8)
    records = []
    for number in range(2):
        source = tmp_path / "pictures" / f"{number}.png"
        before = np.roll(photo, 20 * number, axis=1)
        write_png(before, source)
        for shade, method in ((3, "mine"), (5, "theirs")):
            edited = np.roll(photo, 20 * number, axis=1).copy()
            edited[30:60, 40:80] //= shade
            write_png(edited, tmp_path / "pictures" / method / f"{number}.png")
            records.append(
                make_record(
                    f"edit-{number}",
                    {"gain": 0.5, "loss": 0.5},
                    method=method,
                    place=number,
                    edit_type="color",
                    source=f"{number}.png",
                    source_image=ImageStamp.of(source, pixel_hash(before)),
                    edited_image=ImageStamp.of(tmp_path / "pictures" / method / f"{number}.png", pixel_hash(edited)),
                )
            )
    return make_run(*records, name="photos")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for the session: while Playwright lives, an event loop runs in this thread, and asyncio tests would fail."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        assert os.environ.get("CI", "").lower() != "true", "Chromium must be installed where CI runs"
        pytest.skip("NO CHROMIUM FOUND: the pages of studies are not tested. Install chromium.")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield launched
        launched.close()


@pytest.fixture
def see(browser: Browser) -> Iterator[Callable[..., Page]]:
    contexts, problems = [], list[str]()

    def visit(link: str, size: tuple[int, int] = (1366, 900), **options: Any) -> Page:
        options = {"reduced_motion": "reduce", **options}  # a color on its way to another has no contrast of its own
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("console", lambda said: None if said.text.startswith(EXPECTED) else problems.append(said.text))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        home = link.partition("/enter/")[0]
        page.on("request", lambda asked: None if asked.url.startswith(home) else problems.append(asked.url))
        page.goto(link)
        page.wait_for_url(f"{home}/")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert problems == []
