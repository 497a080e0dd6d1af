"""Many pieces of evidence stay readable: what stayed is a ring, every outline has a tone, and remarks are folded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

NOTES = "const notes = n => ['one', 'two', 'three', 'four', 'five'].slice(0, n).map(note => ({ note, by: [0] })); "
SQUARE, ROOF = "M0 0h9v9h-9z", "M0 9L5 0L9 9z"


@pytest.fixture
def page(open_page: Callable[..., Page], small_report: Path) -> Page:
    return open_page(small_report, "#gallery")


def test_an_arrow_points_where_a_point_went_and_a_ring_stands_where_one_stayed(page: Page) -> None:
    moved, stayed = (page.evaluate("arrowPath(" + str(ends) + ", 10)") for ends in ([0, 0, 40, 0], [7, 7, 8, 7]))
    assert moved.startswith("M0 0L40 0")
    assert "L" not in stayed
    assert stayed.startswith("M5.5 7a")


def test_what_is_seen_twice_is_named_once_and_outlines_of_another_shape_have_another_tone(page: Page) -> None:
    marks = [
        {"on": "edited", "outline": SQUARE, "label": "cat", "by": [0]},
        {"on": "edited", "outline": ROOF, "label": "the subject before", "by": [0]},
        {"on": "edited", "outline": SQUARE, "label": "cat", "by": [0]},
        {"on": "edited", "box": [1, 1, 3, 3], "label": "dog 0.91", "by": [0]},
        {"on": "edited", "box": [4, 4, 3, 3], "label": "dog 0.85", "by": [0]},
    ]
    page.evaluate(
        "marks => { const main = document.querySelector('main'); toneOutlines(marks); "
        "labels(main, 0, marks, []); overlay([9, 9], marks, main); }",
        marks,
    )
    assert page.locator("main > .labels li").all_inner_texts() == [
        "cat",
        "the subject before",
        "dog 0.91, 0.85",
    ]
    color = "each => each.map(path => getComputedStyle(path).stroke)"
    in_the_list = page.locator("main > .labels .outline.stroke").evaluate_all(color)
    in_the_picture = page.locator("main > .evidence .outline.stroke").evaluate_all(color)
    assert in_the_picture == [in_the_list[0], in_the_list[1], in_the_list[0]]
    assert in_the_list[0] != in_the_list[1]


def test_a_card_tells_the_first_remarks_and_folds_the_others(page: Page) -> None:
    page.evaluate(NOTES + "labels(document.querySelector('main'), 0, [], notes(5), [], 3)")
    assert page.locator("main > ul.labels li").all_inner_texts() == ["one", "two", "three"]
    page.get_by_text("2 more remarks").click()
    assert page.locator("main > details li").all_inner_texts() == ["four", "five"]


def test_a_single_remark_is_not_folded(page: Page) -> None:
    page.evaluate(NOTES + "labels(document.querySelector('main'), 0, [], notes(4), [], 3)")
    assert page.locator("main > ul.labels li").count() == 4
    assert page.locator("main > details").count() == 0
