"""Chromium through Playwright, and runs to look at.

- `browser`: headless Chromium; without one the tests are skipped, and fail where `CI=true`.
- `open_page(path, ...)`: a page that fails the test on a console error or a request that leaves it.
- `load_all_pictures(page)`: waits for every picture, also those far below.
- `small_report`: the folder report of `make_synthetic_run(…, 45)`; `large_run`: a run of 5,000 edits.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import pytest
import skimage

from editgauge._util.images import Pixels, pixel_hash, read_image, write_png
from editgauge.evidence import Box, Evidence, Note, Region
from editgauge.reports.report import report
from editgauge.results import ImageStamp, JournalEntry, RunWriter, ScoreRecord
from editgauge.results.manifest import Manifest, ProtocolEntry
from editgauge.types import ScoreSpec

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
LAPTOP, PHONE = (1366, 900), (390, 844)
PICTURES = 10
TYPES = ("object_addition", "object_removal", "color", "texture", "style")
METHODS = ("steady", "shaky")
SCORES = (
    ScoreSpec("kept", True, (0.0, 1.0), "How much stayed."),
    ScoreSpec("damage", False, (0.0, 1.0), "How much broke."),
)


def make_synthetic_run(folder: Path, edits: int, side: int = 96, seed: int = 0) -> Path:
    """A run of two methods that shares ten pictures, so that thousands of edits are made in seconds."""
    pairs = _pictures(folder / "images", side)
    evidence = _evidence(side)
    told = [
        {"id": f"e{n:04d}", "source": f"{n % PICTURES}.png", "type": TYPES[n % len(TYPES)]}
        | {"instruction": f"Make number {n} shine" + (" like a <b>zebra</b>" if n % 41 == 40 else ""), "subject": "it"}
        for n in range(edits)
    ]
    lines = "".join(json.dumps(edit) + "\n" for edit in told).encode()
    protocol = ProtocolEntry("A protocol for tests.", "none", "1", (), SCORES)
    manifest = Manifest(
        benchmark="synthetic",
        edits_sha256=hashlib.sha256(lines).hexdigest(),
        edits=edits,
        seed=0,
        models={},
        methods={method: f"/nowhere/{method}" for method in METHODS},
        protocols={"toy": protocol},
        planned={method: {"toy": edits} for method in METHODS},
        editgauge="0.1.0",
    )
    numbers = np.random.default_rng(seed).random((edits, len(METHODS), len(SCORES)))
    with RunWriter(folder / "run", manifest, lines) as writer:
        for n, edit in enumerate(told):
            for m, method in enumerate(METHODS):
                source, edited = pairs[n % PICTURES]
                failed = m == 1 and n % 20 == 3
                values = 0.5 + 0.5 * numbers[n, m] if m == 0 else 0.5 * numbers[n, m]
                records = [
                    ScoreRecord(
                        edit=edit["id"],
                        method=method,
                        seed=0,
                        protocol="toy",
                        spec=spec,
                        value=None if failed else float(value),
                        reason="missing_outcome" if failed else None,
                        detail="There is no file." if failed else "",
                        evidence=evidence if spec is SCORES[0] and not failed else (),
                    )
                    for spec, value in zip(SCORES, (values[0], 1 - values[1]), strict=True)
                ]
                fields = (n, edit["id"], edit["type"], edit["source"], method, 0, "toy")
                writer.append(JournalEntry(*fields, source, None if failed else edited, tuple(records)))
        writer.finish()
    return folder / "run"


def _pictures(folder: Path, side: int) -> list[tuple[ImageStamp, ImageStamp]]:
    folder.mkdir(parents=True)
    whole = read_image(Path(skimage.__file__).parent / "data" / "astronaut.png")
    photo = np.asarray(cv2.resize(whole, (side, side), interpolation=cv2.INTER_AREA), dtype=np.uint8)
    pairs = []
    for number in range(PICTURES):
        source = np.ascontiguousarray(np.roll(photo, side * number // PICTURES, axis=1))
        edited = source.copy()
        edited[side // 4 : side // 2, side // 4 : side // 2] //= 3
        pairs.append((_stamp(source, folder / f"{number}.png"), _stamp(edited, folder / f"{number}-edited.png")))
    return pairs


def _stamp(pixels: Pixels, path: Path) -> ImageStamp:
    write_png(pixels, path)
    return ImageStamp.of(path, pixel_hash(pixels))


def _evidence(side: int) -> tuple[Evidence, ...]:
    mask = np.zeros((side, side), dtype=np.bool_)
    mask[side // 4 : side // 2, side // 4 : side // 2] = True
    box = Box("edited", side / 4, side / 4, side / 2, side / 2, "patch", 0.9)
    return Region("source", mask, "may change"), box, Note("It is darker.")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for the session: while Playwright lives, an event loop runs in this thread, and asyncio tests would fail."""
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        _unavailable("The browser tests need Playwright: pip install -e '.[dev]'.")
    if executable is None:
        _unavailable("NO CHROMIUM FOUND: the pages of the report are not tested. Install chromium.")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield launched
        launched.close()


def _unavailable(why: str) -> None:
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(why)
    pytest.skip(why)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a file in a context of its own; at the end nothing may have gone wrong or left the page."""
    contexts, problems = [], list[str]()

    def visit(path: Path, address: str = "", size: tuple[int, int] = LAPTOP, **options: Any) -> Page:
        options = {"reduced_motion": "reduce", **options}  # a color on its way to another has no contrast of its own
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("request", lambda request: problems.append(request.url) if _leaves(request.url) else None)
        page.goto(path.resolve().as_uri() + address)
        return page

    yield visit
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def load_all_pictures() -> Callable[[Page], None]:
    """By a promise, as the page's policy forbids what Playwright polls with."""

    def load(page: Page) -> None:
        page.evaluate("""() => Promise.all([...document.images].map((image) => {
          image.loading = "eager";
          return image.complete || new Promise((done) => { image.onload = image.onerror = done; });
        }))""")

    return load


def _leaves(address: str) -> bool:
    return not address.startswith(("file:", "data:"))


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_synthetic_run(tmp_path_factory.mktemp("small"), 45)


@pytest.fixture(scope="session")
def small_report(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(small_run, out=tmp_path_factory.mktemp("report"), quiet=True)


@pytest.fixture(scope="session")
def large_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_synthetic_run(tmp_path_factory.mktemp("large"), 5_000, side=48)
