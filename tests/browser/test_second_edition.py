"""The leaderboard and what the report shows of failures, people and methods, in a real browser."""

from __future__ import annotations

import csv
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from editgauge.reports.leaderboard import leaderboard
from editgauge.reports.report import report
from editgauge.results import Run

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

OpenPage = Callable[..., "Page"]
SIZES = {"laptop": (1366, 900), "phone": (390, 844)}


def violations(page: Page) -> list[str]:
    axe = (resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
    page.evaluate(axe)
    found: list[dict[str, Any]] = page.evaluate("axe.run().then((result) => result.violations)")
    return [f"{each['id']}: {node['html'][:120]}" for each in found for node in each["nodes"][:3]]


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
