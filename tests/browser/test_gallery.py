"""The gallery by mouse and by keyboard: filters, order, links, flip, slider, larger picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

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
    found: list[str] = page.evaluate("view.matches.map(([edit]) => edit.id)")
    return found


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
    place = ["toy/kept", "toy/damage"].index(score)
    shown = [float(text) for text in page.locator("#edits .values > div dd").all_inner_texts()[place::2]]
    assert shown == sorted(shown, reverse=not worst_is_low)
    field(page, "sort").select_option("best")
    assert ids(page)[0] != ""
    best = [float(text) for text in page.locator("#edits .values > div dd").all_inner_texts()[place::2]]
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
    page.evaluate("location.hash = '#type-color'")
    page.locator("#type-color").get_by_role("link", name="See them").click()
    assert status(page) == "9 of 45 edits"
    page.get_by_role("link", name="Unscored", exact=True).click()
    page.locator("#unscored").get_by_role("link", name="e0003").click()
    page.locator("#edit-e0003.target").wait_for()
    assert field(page, "type").input_value() == ""  # the filter would have hidden it
    page.evaluate("location.hash = '#method-shaky'")
    page.locator("#method-shaky").get_by_role("link", name="Its worst edits").click()
    assert field(page, "sort").input_value() == "worst"
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
