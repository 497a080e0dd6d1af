"""The leaderboard, the page of changes, and sections on people, failures and captions in a real browser."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from editgauge.reports.diff import diff
from editgauge.reports.leaderboard import leaderboard
from editgauge.reports.report import report
from editgauge.results import ImageStamp, Run
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec
from tests.browser.conftest import PHONE, make_synthetic_run
from tests.browser.test_page import violations

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from editgauge.results import JournalEntry


pytestmark = pytest.mark.slow

OpenPage = Callable[..., "Page"]
SIZES = {"laptop": (1366, 900), "phone": (390, 844)}


@pytest.fixture(scope="module")
def board(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return leaderboard([small_run], out=tmp_path_factory.mktemp("board"))


@pytest.fixture(scope="module")
def with_people(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    edits = list(Run.open(small_run).edits)
    with (folder / "ratings.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["edit", "method", "value", "rater"])
        writer.writerows([edit, "steady", n % 5 + 1, "ada"] for n, edit in enumerate(edits))
    return report(small_run, out=folder / "report", quiet=True, ratings=folder / "ratings.csv")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_the_leaderboard(open_page: OpenPage, board: Path, scheme: str, size: str) -> None:
    page = open_page(board, size=SIZES[size], color_scheme=scheme)
    assert page.title() == "EditGauge leaderboard"
    assert violations(page) == []


@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_where_people_spoke(open_page: OpenPage, with_people: Path, size: str) -> None:
    page = open_page(with_people, "#agreement", size=SIZES[size])
    assert page.locator("#agreement .profile").is_visible()
    assert violations(page) == []


@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_wider_than_the_window(open_page: OpenPage, board: Path, with_people: Path, size: str) -> None:
    for file in (board, with_people):
        page = open_page(file, size=SIZES[size])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_heading_sorts_the_leaderboard_and_again_the_other_way(open_page: OpenPage, board: Path) -> None:
    page = open_page(board)
    methods = page.locator(".board").first.locator("tbody th")
    assert methods.all_inner_texts() == ["steady", "shaky"]
    damage = page.get_by_role("button", name="damage")
    damage.click()
    heading = page.locator("th[aria-sort]").first
    assert heading.get_attribute("aria-sort") == "ascending"
    assert methods.all_inner_texts() == ["steady", "shaky"]
    damage.click()
    assert heading.get_attribute("aria-sort") == "descending"
    assert methods.all_inner_texts() == ["shaky", "steady"]


def test_the_leaderboard_needs_no_javascript_to_be_read(open_page: OpenPage, board: Path) -> None:
    page = open_page(board, java_script_enabled=False)
    assert page.locator(".board").first.is_visible()
    assert page.locator(".sort:visible").count() == 0
    assert page.locator("thead .name:visible").first.inner_text() == "kept"


def test_examples_of_failures_have_small_pictures_that_lead_to_the_gallery(
    open_page: OpenPage, small_report: Path, load_all_pictures: Callable[[Page], None]
) -> None:
    page = open_page(small_report, "#unscored")
    pictures = page.locator("#unscored .examples .thumb img")
    assert pictures.count() > 0
    load_all_pictures(page)
    assert page.evaluate("[...document.querySelectorAll('.thumb img')].every((each) => each.naturalWidth > 0)")
    link = page.locator("#unscored .examples a").first
    edit = link.get_attribute("data-edit")
    link.click()
    page.locator(f"#edit-{edit}").wait_for()


def test_the_methods_section_is_copied(open_page: OpenPage, small_report: Path) -> None:
    page = open_page(small_report, "#measured", permissions=["clipboard-read", "clipboard-write"])
    page.get_by_text("Methods section for a paper").click()
    page.get_by_role("button", name="Copy").click()
    page.get_by_text("Copied.").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("We evaluated on the benchmark synthetic (45 edits")
    assert copied == page.locator("#methods-text").inner_text()


NAME = "difference-captions[a judge with a name that no phone shows in one line]".replace(" ", "-")
SCORES = tuple(ScoreSpec(name, True, (0.0, 100.0)) for name in ("main_matched", "mp", "hr", "objects", "differences"))
ENTRY = ProtocolEntry(about="", paper="", version="1", deviations=(), scores=SCORES)


@pytest.fixture
def captions(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path) -> Path:
    records = [
        make_record(
            f"e{n}",
            {"main_matched": 1.0, "mp": n / 20, "hr": "not_applicable" if n == 7 else 0.5}
            | {"objects": float(n), "differences": 2.0},
            protocol=NAME,
            source=f"{n}.png",
            place=n,
        )
        for n in range(20)
    ]
    actions = ("Add", "Remove")
    extras = {f"e{n}": {"action": actions[n % 2], "majority": {"accuracy": 3 * (n % 2)}} for n in range(20)}
    return report(make_run(*records, protocols={NAME: ENTRY}, extras=extras), out=tmp_path / "report", quiet=True)


def test_the_plots_are_shown_in_the_colors_of_the_page(open_page: Callable[..., Page], captions: Path) -> None:
    page = open_page(captions, "#captions")
    assert page.locator("#captions .panel svg").is_visible()
    line = page.locator("#captions .mp.line")
    assert line.evaluate("path => getComputedStyle(path).fill") == "none"
    assert line.evaluate("path => getComputedStyle(path).stroke") != "none"


def test_actions_come_first_and_then_what_people_say(open_page: Callable[..., Page], captions: Path) -> None:
    page = open_page(captions, "#captions")
    assert page.locator("#captions tbody th").all_inner_texts() == ["Add", "Remove", "people: not done", "people: done"]


def test_a_long_name_of_a_judge_does_not_widen_the_page(open_page: Callable[..., Page], captions: Path) -> None:
    page = open_page(captions, "#captions", size=(390, 844))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


SIDEWAYS = """() => [document.documentElement, ...document.querySelectorAll("*")]
  .filter((each) => each.clientWidth && each.scrollWidth > each.clientWidth + 1)
  .map((each) => `${each.tagName} ${each.className}`)"""


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("changes")
    first, second = (make_synthetic_run(folder / name, 24, seed=seed) for seed, name in enumerate(("old", "new")))
    diff(first, second, report=folder / "changes.html")
    return folder / "changes.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing(open_page: OpenPage, changes: Path, scheme: str, size: str) -> None:
    assert violations(open_page(changes, size=SIZES[size], color_scheme=scheme)) == []


def test_nothing_scrolls_sideways_on_a_phone(open_page: OpenPage, changes: Path) -> None:
    page = open_page(changes, size=PHONE)
    page.locator("details").evaluate_all("(all) => all.forEach((each) => { each.open = true; })")
    assert page.evaluate(SIDEWAYS) == []
    verdict = page.get_by_text("not significant").first.bounding_box()
    assert verdict is not None
    assert verdict["x"] + verdict["width"] <= PHONE[0]


def test_verdicts_are_on_cards_and_filter_the_gallery(
    open_page: OpenPage,
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
) -> None:
    specs = tuple(ScoreSpec(name, True, (0.0, 1.0)) for name in ("edit", "kept", "quality"))
    records = [
        make_record(
            f"e{index}",
            {"edit": edit, "kept": 0.9, "quality": 0.1},
            protocol="editgauge",
            place=index,
            edited_image=ImageStamp("/nowhere/edited.png"),
        )
        for index, edit in enumerate((0.95, 0.05))
    ]
    run = make_run(*records, protocols={"editgauge": ProtocolEntry("Rules.", "none", "1", (), specs)})
    page = open_page(report(run, out=tmp_path / "report", quiet=True), "#gallery")

    answers = page.locator(".card .verdict dd b").all_inner_texts()
    assert answers[:3] == ["yes", "well", "poor"]
    assert not page.locator(".card .values").first.is_visible(), "scores are folded"
    page.locator("[name=done]").select_option("no")
    assert page.evaluate("view.matches.map(([edit]) => edit.id)") == ["e1"]
    assert "done=no" in page.url
    assert violations(page) == []
