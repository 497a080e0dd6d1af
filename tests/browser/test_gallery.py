"""The gallery by mouse and by keyboard: filters, order, links, flip, slider, larger picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from editgauge._util.images import Pixels, write_png
from editgauge.evidence import Heat, Note, Scatter, ScatterPoint, to_json
from editgauge.reports.report import report
from editgauge.results import ImageStamp, JournalEntry

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


pytestmark = pytest.mark.slow

OpenPage = Callable[..., "Page"]


@pytest.fixture
def page(open_page: OpenPage, small_report: Path) -> Page:
    return open_page(small_report, "#gallery")


def status(page: Page) -> str:
    return page.get_by_role("status").first.inner_text()


def field(page: Page, name: str) -> Locator:
    return page.locator(f".filters [name={name}]")


def ids(page: Page) -> list[str]:
    """All edits of the list, drawn or not."""
    results: list[str] = page.evaluate("view.matches.map(([edit]) => edit.id)")
    return results


def hash_of(page: Page) -> str:
    return "#" + page.url.partition("#")[2]


def test_filters_narrow_and_the_address_shows_the_same_view(
    page: Page, open_page: OpenPage, small_report: Path
) -> None:
    field(page, "type").select_option("texture")
    assert status(page) == "9 of 45 edits"
    field(page, "method").select_option("shaky")
    assert set(page.locator("#edits .outcome:not(.source) h4 bdi").all_inner_texts()) == {"shaky"}
    field(page, "reason").select_option("missing_outcome")
    assert ids(page) == ["e0003", "e0023", "e0043"]
    assert hash_of(page) == "#gallery?method=shaky&type=texture&reason=missing_outcome&score=toy%2Fkept"
    again = open_page(small_report, hash_of(page))
    assert ids(again) == ids(page)
    assert field(again, "method").input_value() == "shaky"


def test_status_filters_outcomes(page: Page) -> None:
    field(page, "status").select_option("unscored")
    assert ids(page) == ["e0003", "e0023", "e0043"]
    assert page.locator("#edits .why b").all_inner_texts() == ["missing outcome"] * 3


@pytest.mark.parametrize(("score", "worst_is_low"), [("toy/kept", True), ("toy/damage", False)])
def test_order_by_any_score_best_or_worst_first(page: Page, score: str, worst_is_low: bool) -> None:
    field(page, "method").select_option("steady")
    field(page, "sort").select_option("worst")
    field(page, "by").select_option(score)
    index = ["toy/kept", "toy/damage"].index(score)
    rendered = [float(text) for text in page.locator("#edits .values > div dd").all_inner_texts()[index::2]]
    assert rendered == sorted(rendered, reverse=not worst_is_low)
    field(page, "sort").select_option("best")
    assert ids(page)[0] != ""
    best = [float(text) for text in page.locator("#edits .values > div dd").all_inner_texts()[index::2]]
    assert best == sorted(best, reverse=worst_is_low)
    assert f"sort=best&by={score.replace('/', '%2F')}" in hash_of(page)


def test_what_has_no_score_comes_last(page: Page) -> None:
    field(page, "method").select_option("shaky")
    for order in ("worst", "best"):
        field(page, "sort").select_option(order)
        assert set(ids(page)[-3:]) == {"e0003", "e0023", "e0043"}


def test_search_reads_instructions_and_nothing_runs(page: Page) -> None:
    page.get_by_label("Search").fill("ZEBRA")
    assert ids(page) == ["e0040"]
    assert page.locator("#edits h3").inner_text() == "Make number 40 shine like a <b>zebra</b>"
    page.get_by_label("Search").fill("nothing like it")
    assert status(page) == "No edit matches."
    page.get_by_role("button", name="Clear").click()
    assert status(page) == "45 edits"


def test_cards_are_drawn_near_the_window_only_and_scrolling_brings_the_others(page: Page) -> None:
    drawn = page.locator("#edits .card")
    assert 0 < drawn.count() < 45
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    page.locator("#edit-e0044").wait_for()
    page.evaluate("scrollTo(0, 0)")
    page.locator("#edit-e0000").wait_for()
    assert drawn.count() < 45


def test_one_goes_from_edit_to_edit_by_keys(page: Page) -> None:
    for key in ("j", "j", "k"):
        page.keyboard.press(key)
    focused = "document.activeElement.id"
    first = page.evaluate(focused)
    page.keyboard.press("j")
    assert int(page.evaluate(focused).removeprefix("edit-e")) == int(first.removeprefix("edit-e")) + 1
    page.keyboard.press("/")
    page.keyboard.type("j")
    assert page.get_by_label("Search").input_value() == "j"


def test_methods_can_be_hidden(page: Page) -> None:
    names = page.locator("#edits .outcome:not(.source) h4 bdi")
    assert set(names.all_inner_texts()) == {"steady", "shaky"}
    page.keyboard.press("b")
    assert set(names.all_inner_texts()) == {"A", "B"}
    assert "steady" not in page.locator("#edits").inner_html()
    assert "blind=on" in hash_of(page)
    page.locator(".stage.edited").first.click()
    assert page.locator("#larger b").first.inner_text() in {"A", "B"}


@pytest.mark.parametrize("anchor", ["edit-e0033", "method-shaky", "type-color", "unscored"])
def test_a_link_leads_to_its_place(open_page: OpenPage, small_report: Path, anchor: str) -> None:
    page = open_page(small_report, f"#{anchor}")
    box = page.locator(f"#{anchor}").bounding_box()
    assert box
    assert page.viewport_size
    assert -60 <= box["y"] < page.viewport_size["height"]
    assert hash_of(page).startswith(f"#{anchor}")


def test_links_inside_the_page(page: Page) -> None:
    from playwright.sync_api import expect

    page.evaluate("location.hash = '#type-color'")
    page.locator("#type-color").get_by_role("link", name="See them").click()
    expect(page.get_by_role("status").first).to_have_text("9 of 45 edits")
    page.get_by_role("link", name="Unscored", exact=True).click()
    page.locator("#unscored").get_by_role("link", name="e0003").click()
    page.locator("#edit-e0003.target").wait_for()
    assert field(page, "type").input_value() == ""  # the filter would have hidden it
    page.evaluate("location.hash = '#method-shaky'")
    page.locator("#method-shaky").get_by_role("link", name="Its worst edits").click()
    expect(field(page, "sort")).to_have_value("worst")  # the event of a new hash comes later than the click
    page.go_back()
    page.locator("#method-shaky.target").wait_for()


def test_a_link_that_leads_nowhere_is_harmless(open_page: OpenPage, small_report: Path) -> None:
    page = open_page(small_report)
    for anchor in ("#edit-nobody", "#%E0%A4%A", "#gallery?type=unheard&by=of&page=99", "#edit-e0001?page=-4"):
        page.evaluate(f"location.hash = {anchor!r}")
        page.evaluate("new Promise((done) => setTimeout(done))")
        assert page.locator(".tab:visible").count() == 1


def flipped(stage: Locator) -> bool:
    return bool(stage.locator(".before").evaluate("(image) => getComputedStyle(image).visibility === 'visible'"))


def test_press_and_hold_shows_the_source_in_place(page: Page) -> None:
    stage = page.locator(".stage.edited").first
    stage.hover()
    page.mouse.down()
    page.wait_for_timeout(300)
    assert flipped(stage)
    page.mouse.up()
    assert not flipped(stage)
    assert not page.locator("#larger").is_visible()


def test_holding_f_shows_the_source_in_place(page: Page) -> None:
    first, second = page.locator(".stage.edited").nth(0), page.locator(".stage.edited").nth(1)
    first.focus()
    page.keyboard.down("f")
    assert (flipped(first), flipped(second)) == (True, False)
    page.keyboard.up("f")
    assert not flipped(first)
    page.get_by_label("Search").focus()
    page.keyboard.type("f")
    assert page.get_by_label("Search").input_value() == "f"


def covered(stage: Locator) -> float:
    return float(stage.evaluate("(stage) => parseFloat(stage.style.getPropertyValue('--covered'))"))


def test_the_slider_by_mouse_and_by_keyboard(page: Page) -> None:
    page.get_by_label("Slider").check()
    stage = page.locator(".stage.sliding").first
    stage.scroll_into_view_if_needed()
    box = stage.bounding_box()
    assert box
    assert covered(stage) == 50
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.8, middle, steps=4)
    page.mouse.up()
    assert 75 <= covered(stage) <= 85
    before = covered(stage)
    stage.locator("input").focus()
    page.keyboard.press("ArrowLeft")
    assert covered(stage) == before - 1
    page.keyboard.press("Home")
    assert covered(stage) == 0
    assert "slider=on" in hash_of(page)


def test_evidence_is_drawn_and_can_be_hidden(page: Page) -> None:
    card = page.locator("#edit-e0000")
    assert card.locator(".stage.source .outline.stroke").count() == 1
    assert card.locator(".stage.edited .box.stroke").count() == 2
    assert card.get_by_text("patch 0.90").count() == 2
    assert card.locator(".by-protocol").all_inner_texts() == ["toy"] * 3
    page.get_by_label("Evidence of").select_option("none")
    assert card.locator(".evidence").count() == 0
    assert card.locator(".labels").count() == 0


def test_a_larger_picture_by_mouse(page: Page) -> None:
    larger = page.locator("#larger")
    page.locator("#edit-e0002 .stage.edited").first.click()
    assert larger.get_by_role("heading").inner_text() == "Make number 2 shine"
    assert larger.locator("b").first.inner_text() == "steady"
    for form in ("source", "difference", "slider", "edited"):
        larger.get_by_role("button", name=form, exact=True).click()
        assert larger.locator("[aria-pressed=true]").inner_text() == form
    larger.get_by_role("button", name="Next outcome").click()
    assert larger.locator("b").first.inner_text() == "shaky"
    larger.get_by_role("button", name="Close").click()
    assert not larger.is_visible()


def test_a_larger_picture_by_keyboard(page: Page) -> None:
    larger = page.locator("#larger")
    opener = page.locator("#edit-e0002 .stage.edited").first
    opener.focus()
    page.keyboard.press("Enter")
    assert larger.is_visible()
    page.keyboard.down("f")
    assert flipped(larger.locator(".stage"))
    page.keyboard.up("f")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert larger.get_by_role("heading").inner_text() == "Make number 3 shine"
    page.keyboard.press("ArrowRight")
    assert larger.get_by_text("The method gave no image.").is_visible()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    assert larger.get_by_role("heading").inner_text() == "Make number 1 shine"
    page.keyboard.press("Escape")
    assert not larger.is_visible()
    assert page.evaluate("document.activeElement.id") == "edit-e0001", "the page is where the walk ended"


def test_arrows_move_the_slider_and_not_the_page_of_the_dialog(page: Page) -> None:
    larger = page.locator("#larger")
    page.locator("#edit-e0002 .stage.edited").first.click()
    larger.get_by_role("button", name="slider").click()
    page.keyboard.press("ArrowRight")
    assert covered(larger.locator(".stage")) == 51
    assert larger.get_by_role("heading").inner_text() == "Make number 2 shine"


NOTES = "const notes = n => ['one', 'two', 'three', 'four', 'five'].slice(0, n).map(note => ({ note, by: [0] })); "
SQUARE, ROOF = "M0 0h9v9h-9z", "M0 9L5 0L9 9z"


@pytest.fixture
def empty_page(open_page: Callable[..., Page], small_report: Path) -> Page:
    return open_page(small_report, "#gallery")


def test_an_arrow_points_where_a_point_went_and_a_ring_stands_where_one_stayed(empty_page: Page) -> None:
    moved, stayed = (empty_page.evaluate("arrowPath(" + str(ends) + ", 10)") for ends in ([0, 0, 40, 0], [7, 7, 8, 7]))
    assert moved.startswith("M0 0L40 0")
    assert "L" not in stayed
    assert stayed.startswith("M5.5 7a")


def test_what_is_seen_twice_is_named_once_and_outlines_of_another_shape_have_another_tone(empty_page: Page) -> None:
    marks = [
        {"on": "edited", "outline": SQUARE, "label": "cat", "by": [0]},
        {"on": "edited", "outline": ROOF, "label": "the subject before", "by": [0]},
        {"on": "edited", "outline": SQUARE, "label": "cat", "by": [0]},
        {"on": "edited", "box": [1, 1, 3, 3], "label": "dog 0.91", "by": [0]},
        {"on": "edited", "box": [4, 4, 3, 3], "label": "dog 0.85", "by": [0]},
    ]
    empty_page.evaluate(
        "marks => { const main = document.querySelector('main'); toneOutlines(marks); "
        "labels(main, 0, marks, []); overlay([9, 9], marks, main); }",
        marks,
    )
    assert empty_page.locator("main > .labels li").all_inner_texts() == [
        "cat",
        "the subject before",
        "dog 0.91, 0.85",
    ]
    color = "each => each.map(path => getComputedStyle(path).stroke)"
    in_the_list = empty_page.locator("main > .labels .outline.stroke").evaluate_all(color)
    in_the_picture = empty_page.locator("main > .evidence .outline.stroke").evaluate_all(color)
    assert in_the_picture == [in_the_list[0], in_the_list[1], in_the_list[0]]
    assert in_the_list[0] != in_the_list[1]


def test_a_card_tells_the_first_remarks_and_folds_the_others(empty_page: Page) -> None:
    empty_page.evaluate(NOTES + "labels(document.querySelector('main'), 0, [], notes(5), [], 3)")
    assert empty_page.locator("main > ul.labels li").all_inner_texts() == ["one", "two", "three"]
    empty_page.get_by_text("2 more remarks").click()
    assert empty_page.locator("main > details li").all_inner_texts() == ["four", "five"]


def test_a_single_remark_is_not_folded(empty_page: Page) -> None:
    empty_page.evaluate(NOTES + "labels(document.querySelector('main'), 0, [], notes(4), [], 3)")
    assert empty_page.locator("main > ul.labels li").count() == 4
    assert empty_page.locator("main > details").count() == 0


NASTY = "<img src=x onerror=alert(1)>"


@pytest.fixture
def mapped(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], photo: Pixels, tmp_path: Path
) -> Path:
    """The page of one edit with two methods, each with a map on the edited image and a signed one on the source."""
    write_png(photo, tmp_path / "before.png")
    write_png(np.ascontiguousarray(photo[:, ::-1]), tmp_path / "after.png")
    rows, columns = np.mgrid[:16, :16] / 15 - 0.5
    hill = np.exp(-8 * (rows**2 + columns**2)).astype(np.float32)
    pieces = (
        Note("Seen."),
        Heat("edited", hill, f"relevancy of {NASTY}"),
        Heat("source", (2 * columns).astype(np.float32), "edited minus source", signed=True),
    )
    record = make_record(
        source_image=ImageStamp.of(tmp_path / "before.png"),
        edited_image=ImageStamp.of(tmp_path / "after.png"),
        evidence=tuple(to_json(piece) for piece in pieces),
    )
    other = replace(record, method="other")
    return report(make_run(record, other), out=tmp_path / "report", quiet=True)


def opened(page: Page) -> Locator:
    page.get_by_role("button", name="edited by mine, larger").first.click()
    return page.locator("dialog[open]")


def test_a_map_is_laid_over_its_picture_and_taken_away(open_page: OpenPage, mapped: Path) -> None:
    page = open_page(mapped, "#gallery")
    view = opened(page)
    first, second = (view.get_by_role("button", name=name) for name in ("Map: relevancy", "Map: edited minus"))
    assert view.locator(".over").count() == 0
    first.click()
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == f"Map: relevancy of {NASTY}"
    assert first.get_attribute("aria-pressed") == "true"
    over, stage = (view.locator(part).bounding_box() for part in (".over", ".stage"))
    assert over == pytest.approx(stage)
    assert view.locator(".over").evaluate("each => [each.naturalWidth, each.naturalHeight]") == [16, 16]
    assert view.locator(".stage > img").first.evaluate("each => getComputedStyle(each).filter") == "grayscale(1)"
    second.click()
    assert view.get_by_role("button", name="source", exact=True).get_attribute("aria-pressed") == "true"
    assert first.get_attribute("aria-pressed") == "false"
    assert view.locator(".over").get_attribute("alt") == "edited minus source"
    assert view.locator("figure.map.signed .ends").inner_text().split() == ["−1", "0", "+1"]
    second.click()
    assert view.locator(".over").count() == 0


def test_a_map_stays_on_while_one_goes_through_outcomes_and_lies_on_its_own_form_only(
    open_page: OpenPage, mapped: Path
) -> None:
    view = opened(open_page(mapped, "#gallery"))
    view.get_by_role("button", name="Map: relevancy").click()
    view.get_by_role("button", name="Next outcome").click()
    assert view.locator(".title b").inner_text() == "other"
    assert view.locator(".over").count() == 1
    view.get_by_role("button", name="difference").click()
    assert view.locator(".over").count() == 0


def test_the_source_can_be_flipped_in_without_the_map(open_page: OpenPage, mapped: Path) -> None:
    page = open_page(mapped, "#gallery")
    view = opened(page)
    view.get_by_role("button", name="Map: relevancy").click()
    page.keyboard.down("f")
    assert not view.locator(".over").is_visible()
    page.keyboard.up("f")
    assert view.locator(".over").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_open_is_what_is_printed_map_and_scale_included(open_page: OpenPage, mapped: Path, scheme: str) -> None:
    page = open_page(mapped, "#gallery", color_scheme=scheme)
    view = opened(page)
    view.get_by_role("button", name="Map: relevancy").click()
    page.emulate_media(media="print")
    for part in (".over", "figure.map.plain .colors", "figure.map.plain figcaption"):
        assert view.locator(part).is_visible()
    assert not view.get_by_role("button", name="Map: relevancy").is_visible()
    assert not view.locator("figure.map.signed").is_visible()
    assert not page.locator("main").is_visible()
    assert page.evaluate("getComputedStyle(document.querySelector('dialog')).backgroundColor") == "rgb(255, 255, 255)"


POINTS = (
    ScatterPoint("red cat", "source attributes", -1.0, 0.5),
    ScatterPoint(NASTY, "source attributes", -0.5, -0.5),
    ScatterPoint("blue cat", "target attributes", 1.0, 0.0),
    ScatterPoint("ideal edit", "ideal edit", 0.0, 0.25),
)


def test_points_are_drawn_within_the_frame_on_their_side_of_the_line_and_told_in_words(
    open_page: Callable[..., Page], small_report: Path
) -> None:
    page = open_page(small_report)
    chart = to_json(Scatter("where things lie", POINTS, (0.0, -0.5, 0.0, 0.5)))
    page.evaluate("chart => scatter(document.querySelector('main'), chart)", chart)
    figure = page.locator("figure.scatter")
    assert figure.locator(":scope > svg .point").count() == len(POINTS)
    assert figure.locator("li").all_inner_texts() == ["source attributes", "target attributes", "ideal edit"]
    spoken = figure.get_by_role("img").first.get_attribute("aria-label") or ""
    assert (
        spoken
        == f"where things lie. source attributes: red cat, {NASTY}. target attributes: blue cat. ideal edit: ideal edit"
    )
    assert page.locator("figure.scatter img").count() == 0
    frame, line = (figure.locator(part).first.bounding_box() for part in (":scope > svg", ".boundary"))
    boxes = [element.bounding_box() for element in figure.locator(":scope > svg .point").all()]
    assert frame
    assert line
    for box in boxes:
        assert box
        assert frame["x"] <= box["x"] <= box["x"] + box["width"] <= frame["x"] + frame["width"]
    centers = [box["x"] + box["width"] / 2 for box in boxes if box]
    middle = line["x"] + line["width"] / 2  # with the width of its stroke
    assert centers[0] < centers[1] < middle < centers[2]
    assert abs(centers[3] - middle) < 1


def test_a_single_point_stands_in_the_middle(open_page: Callable[..., Page], small_report: Path) -> None:
    page = open_page(small_report)
    page.evaluate("chart => scatter(document.querySelector('main'), chart)", to_json(Scatter("one", POINTS[:1])))
    figure = page.locator("figure.scatter")
    assert figure.locator(".boundary").count() == 0
    assert "NaN" not in (figure.locator(":scope > svg .point").get_attribute("d") or "NaN")
