"""The page opens from disk, asks nothing of the network, and is fit for everybody."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from editgauge.reports.report import report

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from editgauge.results import JournalEntry

OpenPage = Callable[..., "Page"]
TABS = ("Answer", "Gallery", "Edit types", "Methods", "Numbers", "Unscored", "Setup")
SIZES = {"laptop": (1366, 900), "phone": (390, 844)}


def violations(page: Page) -> list[str]:
    axe = (resources.files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
    page.evaluate(axe)
    results: list[dict[str, Any]] = page.evaluate("axe.run().then((result) => result.violations)")
    return [f"{result['id']}: {node['html'][:120]}" for result in results for node in result["nodes"][:3]]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_any_tab(open_page: OpenPage, small_report: Path, scheme: str, size: str) -> None:
    page = open_page(small_report, size=SIZES[size], color_scheme=scheme)
    assert page.title() == "synthetic: EditGauge report"
    for index, tab in enumerate(TABS, start=1):
        page.keyboard.press(str(index))
        page.get_by_role("link", name=tab, exact=True).and_(page.locator("[aria-current]")).wait_for()
        assert page.locator(".tab:visible").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab
        assert violations(page) == [], tab


@pytest.mark.slow
def test_axe_finds_nothing_in_the_slider_and_the_larger_picture(open_page: OpenPage, small_report: Path) -> None:
    page = open_page(small_report, "#gallery?slider=on&text=number+1")
    assert page.locator(".slide").count() > 5
    assert violations(page) == []
    page.locator(".stage.difference").first.click()
    assert page.locator("#larger").is_visible()
    assert violations(page) == []


def test_every_picture_on_the_page_loads(
    open_page: OpenPage, small_report: Path, load_all_pictures: Callable[[Page], None]
) -> None:
    page = open_page(small_report, "#gallery")
    load_all_pictures(page)
    assert page.evaluate("[...document.images].filter((image) => image.naturalWidth === 0).length") == 0
    assert page.locator("#edits img").count() > 10


def test_the_theme_can_be_switched_and_is_kept(open_page: OpenPage, small_report: Path) -> None:
    page = open_page(small_report, color_scheme="light")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    switch = page.get_by_role("button", name="Colors")
    switch.click()
    switch.click()
    assert switch.get_attribute("aria-label") == "Colors: dark"
    assert page.evaluate(background) == "rgb(20, 24, 28)"
    page.reload()
    assert page.evaluate(background) == "rgb(20, 24, 28)"
    switch.click()
    assert page.evaluate(background) == "rgb(255, 255, 255)"


def test_one_score_at_a_time_and_the_address_keeps_it(open_page: OpenPage, small_report: Path) -> None:
    page = open_page(small_report, "#heat_map")
    maps = page.locator("#heat_map .of-score:visible")
    assert maps.count() == 1
    assert "kept" in maps.inner_text()
    page.get_by_label("Score", exact=True).select_option("toy/damage")
    assert maps.count() == 1
    for section in ("heat_map", "methods", "edit_types", "summary", "heat_map"):
        page.evaluate(f"location.hash = '#{section}'")
        assert "damage" in page.locator(f"#{section} .of-score:visible").first.inner_text()
    again = open_page(small_report, f"#{page.url.partition('#')[2]}")
    assert "damage" in again.locator("#heat_map .of-score:visible").inner_text()


def test_paper_shows_tables_and_pictures_but_no_controls(open_page: OpenPage, small_report: Path) -> None:
    page = open_page(small_report, color_scheme="dark")
    page.emulate_media(media="print")
    assert not page.locator(".bar").is_visible()
    assert not page.locator(".filters").is_visible()
    assert page.locator(".heat:visible").count() == 1
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_without_javascript_there_are_tables_and_plots(open_page: OpenPage, small_report: Path) -> None:
    page = open_page(small_report, java_script_enabled=False)
    assert page.locator("#overview tbody tr").count() == 2
    assert page.locator(".heat:visible").count() == 1
    assert page.locator("#methods .profile:visible").count() == 2
    assert page.locator("details.score").count() == 2
    assert page.locator("#summary table:visible").count() == 1
    page.locator("#summary summary").nth(1).click()
    assert page.locator("#summary table:visible").count() == 2
    assert page.get_by_text("The gallery needs JavaScript").is_visible()
    assert not page.locator(".filters").is_visible()


def test_a_single_file_opens_alone(
    open_page: OpenPage, small_run: Path, tmp_path: Path, load_all_pictures: Callable[[Page], None]
) -> None:
    file = report(small_run, out=tmp_path / "alone.html", quiet=True, single_file=True)
    requests: list[str] = []
    page = open_page(file, "#gallery")
    page.on("request", lambda request: requests.append(request.url))
    assert page.evaluate("performance.getEntriesByType('resource').map((each) => each.name)") == []
    assert page.locator("#edits article").count() >= 5
    load_all_pictures(page)
    assert page.evaluate("[...document.images].every((image) => image.naturalWidth > 0)")
    page.locator(".stage.edited").first.click()
    assert page.locator("#larger img").first.is_visible()
    assert all(address.startswith("data:") for address in requests)
    for name in ("src", "href"):
        named = page.evaluate(f"[...document.querySelectorAll('[{name}]')].map((each) => each.getAttribute('{name}'))")
        assert [address for address in named if not address.startswith(("#", "data:"))] == []


@pytest.mark.slow
def test_of_five_thousand_edits_only_those_near_the_window_are_drawn(
    open_page: OpenPage, large_run: Path, tmp_path: Path
) -> None:
    page = open_page(report(large_run, out=tmp_path / "report", quiet=True), "#gallery")
    cards = page.locator("#edits article")
    status = page.get_by_role("status").first
    assert status.inner_text() == "5,000 edits"
    page.get_by_label("Search").fill("number 4321 ")
    assert status.inner_text() == "1 of 5,000 edits"
    assert cards.get_by_role("heading", level=3).inner_text() == "Make number 4321 shine"
    page.get_by_label("Search").fill("zebra")
    assert status.inner_text() == "121 of 5,000 edits"
    page.get_by_role("button", name="Clear").click()
    page.goto(f"{page.url.partition('#')[0]}#edit-e4999")
    page.locator("#edit-e4999").wait_for()
    assert cards.count() < 100


@pytest.mark.parametrize(("size", "beginning", "end"), [("phone", "56px", "0px"), ("laptop", "0px", "0px")])
def test_a_table_fades_where_it_goes_on_and_is_whole_at_its_end(
    open_page: OpenPage, small_report: Path, size: str, beginning: str, end: str
) -> None:
    page = open_page(small_report, "#heat_map", SIZES[size])
    table = page.locator(".scroll:has(.heat)").first
    fade = "each => new Promise(done => requestAnimationFrame(() => requestAnimationFrame("
    fade += "() => done(getComputedStyle(each).getPropertyValue('--fade')))))"
    assert table.evaluate(fade) == beginning
    table.evaluate("each => { each.scrollLeft = each.scrollWidth; }")
    assert table.evaluate(fade) == end


def test_counts_of_what_is_unscored_stay_on_one_line_on_a_phone(open_page: OpenPage, small_report: Path) -> None:
    page = open_page(small_report, "#unscored", SIZES["phone"])
    heights = page.locator(".reasons td.number").evaluate_all("all => all.map(each => each.offsetHeight)")
    assert heights
    assert max(heights) < 50


@pytest.mark.parametrize("size", [SIZES["laptop"], (900, 900)])
def test_the_source_has_its_column_to_itself(
    open_page: OpenPage, small_report: Path, size: tuple[int, int], tmp_path: Path
) -> None:
    """Seven more outcomes of the first edit, so that they need several rows."""
    text = small_report.read_text("utf-8")
    start = text.index('id="gallery-data">') + len('id="gallery-data">')
    end = text.index("</script>", start)
    data = json.loads(text[start:end])
    outcomes = data["edits"][0]["outcomes"]
    outcomes += [{**outcomes[0], "method": f"more {n}"} for n in range(7)]
    (tmp_path / "index.html").write_text(text[:start] + json.dumps(data).replace("<", "\\u003c") + text[end:], "utf-8")
    (tmp_path / "pictures").symlink_to(small_report.parent / "pictures")
    page = open_page(tmp_path / "index.html", "#gallery", size)
    columns = page.locator(".card").first.locator(".outcome")
    boxes = columns.evaluate_all("all => all.map(each => [each.offsetLeft, each.offsetTop])")
    assert len(boxes) == 10
    assert len({top for _, top in boxes}) > 1
    assert [left for left, _ in boxes].count(boxes[0][0]) == 1


def test_an_edit_type_is_folded_only_while_its_score_is_chosen(
    open_page: OpenPage, make_record: Callable[..., JournalEntry], make_run: Callable[..., Path], tmp_path: Path
) -> None:
    run = make_run(
        make_record("a", {"gain": 0.5, "loss": 0.5}, edit_type="color"),
        make_record("b", {"gain": "no_rule", "loss": 0.5}, edit_type="style"),
    )
    page = open_page(report(run, out=tmp_path / "report", quiet=True), "#type-style")
    panel, folded = page.locator("#type-style"), page.locator("#edit_types .folded")
    assert (panel.is_visible(), folded.is_visible()) == (False, True)
    page.get_by_label("Score", exact=True).select_option("toy/loss")
    assert (panel.is_visible(), folded.is_visible()) == (True, False)


SMALL_TEXT = """() => [...document.querySelectorAll("main *, header *, nav *")].filter((element) => {
  const text = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!text || !element.checkVisibility()) return false;
  const drawn = element.getScreenCTM ? element.getScreenCTM().a : 1;
  return element.getClientRects().length && parseFloat(getComputedStyle(element).fontSize) * drawn < 11.95;
}).map((element) => element.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("width", [1400, 1000, 390])
def test_no_text_is_smaller_than_12_pixels(open_page: OpenPage, small_report: Path, width: int) -> None:
    page = open_page(small_report, size=(width, 844))
    for index, tab in enumerate(TABS, start=1):
        page.keyboard.press(str(index))
        page.get_by_role("link", name=tab, exact=True).and_(page.locator("[aria-current]")).wait_for()
        assert page.evaluate(SMALL_TEXT) == [], tab
