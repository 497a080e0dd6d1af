"""Many pieces of evidence stay readable: what stayed is a ring, every outline has a tone, and remarks are folded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

SQUARE, ROOF = "M0 0h9v9h-9z", "M0 9L5 0L9 9z"


@pytest.fixture
def page(open_page: Callable[..., Page], small_report: Path) -> Page:
    return open_page(small_report, "#gallery")


def test_an_arrow_points_where_a_point_went_and_a_ring_stands_where_one_stayed(page: Page) -> None:
    moved, stayed = (page.evaluate("arrowPath(" + str(ends) + ", 10)") for ends in ([0, 0, 40, 0], [7, 7, 8, 7]))
    assert moved.startswith("M0 0L40 0")
    assert "L" not in stayed
    assert stayed.startswith("M5.5 7a")


def test_outlines_of_one_shape_share_a_line_and_a_tone_and_others_have_their_own(page: Page) -> None:
    marks = [
        {"on": "edited", "outline": SQUARE, "label": "cat"},
        {"on": "edited", "outline": ROOF, "label": "the subject before"},
        {"on": "edited", "outline": SQUARE, "label": "the subject now"},
    ]
    page.evaluate(
        "marks => { const main = document.querySelector('main'); toneOutlines(marks); "
        "labels(main, marks, []); overlay([9, 9], marks, main); }",
        marks,
    )
    assert page.locator("main > .labels li").all_inner_texts() == ["cat, the subject now", "the subject before"]
    color = "each => each.map(path => getComputedStyle(path).stroke)"
    in_the_list = page.locator("main > .labels .stroke").evaluate_all(color)
    in_the_picture = page.locator("main > .evidence .stroke").evaluate_all(color)
    assert in_the_picture == [in_the_list[0], in_the_list[1], in_the_list[0]]
    assert in_the_list[0] != in_the_list[1]


def test_a_card_tells_the_first_remarks_and_folds_the_others(page: Page) -> None:
    page.evaluate("labels(document.querySelector('main'), [], ['one', 'two', 'three', 'four', 'five'], [], 3)")
    assert page.locator("main > ul.labels li").all_inner_texts() == ["one", "two", "three"]
    page.get_by_text("2 more remarks").click()
    assert page.locator("main > details li").all_inner_texts() == ["four", "five"]


def test_a_single_remark_is_not_folded(page: Page) -> None:
    page.evaluate("labels(document.querySelector('main'), [], ['one', 'two', 'three', 'four'], [], 3)")
    assert page.locator("main > ul.labels li").count() == 4
    assert page.locator("main > details").count() == 0
