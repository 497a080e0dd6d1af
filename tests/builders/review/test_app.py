"""The review page in Chromium: accept, edit, drop, by mouse and by keys; after a reload nothing is lost."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn

from editgauge.builders.editval import editval
from editgauge.builders.review.app import make_app
from editgauge.builders.review.desk import Desk
from editgauge.builders.review.file import ReviewCandidate, read_review
from editgauge.builders.unibench import unibench
from tests.browser.conftest import browser  # noqa: F401 - a fixture
from tests.builders.toys import make_toys

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.slow

LAPTOP, PHONE = (1366, 900), (390, 844)
Serve = Callable[[Path], str]
See = Callable[..., "Page"]


@pytest.fixture
def serve() -> Iterator[Serve]:
    running: list[tuple[uvicorn.Server, threading.Thread]] = []

    def start(file: Path) -> str:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(make_app(Desk(file)), port=port, log_level="critical"))
        thread = threading.Thread(target=server.run)
        thread.start()
        running.append((server, thread))
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        return f"http://127.0.0.1:{port}"

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join()


@pytest.fixture
def see(browser: Browser) -> Iterator[See]:  # noqa: F811 - the fixture of that name
    contexts, problems = [], list[str]()

    def visit(address: str, size: tuple[int, int] = LAPTOP, name: str = "Ann", **options: Any) -> Page:
        options = {"reduced_motion": "reduce", **options}  # a color on its way to another has no contrast of its own
        context = browser.new_context(viewport={"width": size[0], "height": size[1]}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("console", lambda said: None if "status of 422" in said.text else problems.append(said.text))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("request", lambda asked: None if asked.url.startswith(address) else problems.append(asked.url))
        page.goto(address)
        page.fill("#name", name)
        page.click("text=Begin")
        page.wait_for_selector(".candidate")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def built(tmp_path: Path) -> Path:
    toys = make_toys(tmp_path / "toys", 2)
    unibench(
        coco=toys.instances,
        images=toys.images,
        out=tmp_path / "unibench.json",
        captions=toys.captions,
        size=128,
        quiet=True,
    )
    return tmp_path / "unibench.json"


def row(page: Page, candidate: ReviewCandidate) -> Any:
    return page.locator(f'[data-candidate="{candidate.id}"]')


def of(file: Path, task: str, field: str, place: int = 0) -> ReviewCandidate:
    result = read_review(file.with_name("unibench.review.json")).candidates
    return [item for item in result if (item.task, item.field) == (task, field)][place]


def violations(page: Page) -> list[str]:
    page.evaluate((resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    result: list[dict[str, Any]] = page.evaluate("axe.run().then((result) => result.violations)")
    return [f"{item['id']}: {node['html'][:120]}" for item in result for node in item["nodes"][:3]]


def test_accept_edit_drop_reload_and_nothing_is_lost(built: Path, serve: Serve, see: See) -> None:
    page = see(serve(built))
    yes, no = of(built, "change_class", "class", 0), of(built, "change_class", "class", 1)
    moved = of(built, "move", "place")
    row(page, yes).get_by_role("button", name="Accept").click()
    row(page, no).get_by_role("button", name="Drop").click()
    row(page, moved).get_by_role("textbox").fill("on top of")
    row(page, moved).get_by_role("button", name="Save").click()
    for candidate, status in ((yes, "accepted"), (no, "dropped"), (moved, "edited")):
        row(page, candidate).locator(f".chip-{status}").wait_for()
    page.reload()
    assert row(page, yes).locator(".chip").inner_text() == "accepted"
    assert row(page, no).locator(".chip").inner_text() == "dropped"
    assert row(page, moved).get_by_role("textbox").input_value() == "on top of"
    assert "was: " in row(page, moved).inner_text()
    whole = len(read_review(built.with_name("unibench.review.json")).candidates)
    assert page.locator("#whole-told").inner_text() == f"3 of {whole}"
    kept = of(built, "move", "place")
    assert (kept.status, kept.value, kept.by) == ("edited", "on top of", "Ann")
    row(page, no).get_by_role("button", name="Undo").click()
    row(page, no).locator(".chip-proposed").wait_for()
    assert of(built, "change_class", "class", 1).decisions == []


def test_what_is_forbidden_is_told_and_not_saved(built: Path, serve: Serve, see: See) -> None:
    page = see(serve(built))
    color = of(built, "change_color", "color")
    row(page, color).get_by_role("textbox").fill("black")
    row(page, color).get_by_role("button", name="Save").click()
    alert = row(page, color).get_by_role("alert")
    alert.wait_for()
    assert "is the color of 'cat-1' already" in alert.inner_text()
    assert of(built, "change_color", "color").status == "proposed"


def test_by_keys_alone(built: Path, serve: Serve, see: See) -> None:
    page = see(serve(built))
    first, second, third = (of(built, "change_class", "class", index) for index in range(3))
    page.keyboard.press("a")  # nothing is marked yet: this marks the first and decides nothing
    page.keyboard.press("a")
    page.keyboard.press("d")
    row(page, second).locator(".chip-dropped").wait_for()
    page.keyboard.press("e")
    page.keyboard.type("sheep")
    page.keyboard.press("Enter")
    row(page, third).locator(".chip").filter(has_text="edited").or_(
        row(page, third).locator(".chip").filter(has_text="accepted")
    ).wait_for()
    assert [of(built, "change_class", "class", index).status for index in (0, 1)] == ["accepted", "dropped"]
    assert of(built, "change_class", "class", 2).value == "sheep"
    page.keyboard.press("?")
    assert page.locator("#keys").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.wait_for_url(re.compile("000000000002"))
    page.keyboard.press("p")
    page.wait_for_url(re.compile("000000000001"))
    assert row(page, first).locator(".chip").inner_text() == "accepted"
    page.check("#waiting")
    assert not row(page, first).is_visible()


def test_two_reviewers_see_each_other_and_the_outline(built: Path, serve: Serve, see: See) -> None:
    address = serve(built)
    ann, ben = see(address), see(address, name="Ben")
    first = of(built, "change_class", "class")
    row(ann, first).get_by_role("button", name="Drop").click()
    row(ann, first).locator(".chip-dropped").wait_for()
    ben.reload()
    assert "Ann dropped" in row(ben, first).inner_text()
    row(ben, first).get_by_role("button", name="Accept").click()
    row(ben, first).locator(".chip-accepted").wait_for()
    assert [item.by for item in of(built, "change_class", "class").decisions] == ["Ann", "Ben"]
    row(ben, of(built, "change_color", "color", 5)).get_by_role("textbox").focus()  # of the suitcase
    assert ben.locator(".is-shown").get_attribute("data-instance") == "suitcase-1"
    box = ben.locator('[data-instance="suitcase-1"] .line').bounding_box()
    picture = ben.locator(".outlined img").bounding_box()
    assert box
    assert picture
    assert box["x"] > picture["x"] + picture["width"] / 2  # the suitcase lies right


@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_the_page_can_be_used_by_everybody(size: tuple[int, int], built: Path, serve: Serve, see: See) -> None:
    page = see(serve(built), size)
    row(page, of(built, "change_class", "class")).get_by_role("button", name="Drop").click()
    row(page, of(built, "change_class", "class")).locator(".chip-dropped").wait_for()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(color_scheme="dark")
    assert violations(page) == []


def test_editval_is_reviewed_on_the_same_page(tmp_path: Path, serve: Serve, see: See) -> None:
    toys = make_toys(tmp_path / "toys", 2)
    file = editval(coco=toys.instances, images=toys.images, out=tmp_path / "object.json", quiet=True).file
    page = see(serve(file))
    suits = page.locator('[data-candidate="cat/action/suits/cat"]')
    suits.get_by_role("button", name="Drop").click()
    suits.locator(".chip-dropped").wait_for()
    page.reload()
    assert suits.locator(".chip").inner_text() == "dropped"
    assert "action" not in file.read_text().partition('"suitcase"')[0]
    assert violations(page) == []


def test_without_a_script_forms_are_sent_as_forms(built: Path, serve: Serve) -> None:
    first = of(built, "change_class", "class")
    with httpx.Client(base_url=serve(built), follow_redirects=True, trust_env=False) as client:
        said = {"candidate": first.id, "group": first.group, "verdict": "keep", "value": "dragon"}
        assert client.post("/decide", data=said).status_code == 401  # nobody yet
        assert "Who is reviewing?" in client.get("/").text
        assert 'value="' in client.post("/name", data={"name": "Ann"}).text
        assert "not in the class list" in client.post("/decide", data=said).text
        assert client.post("/decide", data={**said, "value": first.value}).status_code == 200
        assert of(built, "change_class", "class").by == "Ann"
        assert client.post("/decide", data={**said, "candidate": "nobody"}).status_code == 404
        assert client.post("/decide", data={**said, "verdict": "burn"}).status_code == 422
        assert client.get("/picture/0", params={"group": first.group}).headers["content-type"] == "image/png"
        assert client.get("/picture/1", params={"group": first.group}).status_code == 404
        assert client.get("/picture/0", params={"group": "../unibench.json"}).status_code == 404
        assert client.get("/?group=nothing").status_code == 404


def test_other_sites_cannot_write(built: Path, serve: Serve) -> None:
    address = serve(built)
    with httpx.Client(base_url=address, trust_env=False) as client:
        assert client.post("/name", data={"name": "Eve"}, headers={"Origin": "https://evil.example"}).status_code == 403
        assert client.get("/", headers={"Host": "evil.example"}).status_code == 400
        assert "frame-ancestors 'none'" in client.get("/").headers["content-security-policy"]


def test_ctrl_c_ends_it_and_tells_how_far_reviewers_agreed(built: Path) -> None:
    first = of(built, "change_class", "class")
    Desk(built).decide(first.id, "Ann", "keep", first.value)
    told = "from editgauge._cli import groups; groups['build']()"
    command = [sys.executable, "-c", told, "review", str(built), "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr
        line = server.stderr.readline()
        address = line.split()[0]
        with httpx.Client(transport=httpx.HTTPTransport(retries=5), trust_env=False) as client:
            assert "Who is reviewing?" in client.get(address).text
        server.send_signal(signal.SIGINT)
        out, _ = server.communicate(timeout=600)
    assert server.returncode == 0
    assert "change_class" in out
    assert "100% of 1" in out
