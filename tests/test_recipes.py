"""Recipes: where an object lies after the work, and which pixels a right outcome may change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._util.images import ImageFile
from editgauge._util.masks import Polygons, Rectangle, bounding_box, dilate_mask
from editgauge.recipes import (
    MARGIN,
    Background,
    Cutout,
    Move,
    Paste,
    Recipe,
    Recolor,
    Remove,
    Replace,
    Resize,
    Restyle,
    Texture,
)

WIDTH, HEIGHT = 120, 100
OUTLINE = Polygons(((20, 30, 40, 30, 40, 60, 20, 60),))
OTHER = Polygons(((0, 0, 200, 0, 200, 100, 0, 100),))
CUTOUT = Cutout(ImageFile("dog.png", __file__), OTHER)  # type: ignore[arg-type]  # never opened
sizes = st.floats(0.1, 5)


def test_a_moved_object_keeps_its_size_and_gets_the_new_center() -> None:
    assert Move(OUTLINE, (80, 50)).placed().box() == pytest.approx((70, 35, 90, 65))


@given(sizes)
def test_a_resized_object_stands_on_the_same_spot(factor: float) -> None:
    left, top, right, bottom = Resize(OUTLINE, factor).placed().box()

    assert ((left + right) / 2, bottom) == pytest.approx((30, 60))
    assert (right - left, bottom - top) == pytest.approx((20 * factor, 30 * factor))


@given(st.floats(-100, 300), st.floats(-100, 300), st.floats(1, 400))
def test_a_pasted_object_stands_at_its_foot_and_keeps_its_proportions(x: float, y: float, height: float) -> None:
    left, top, right, bottom = Paste(CUTOUT, (x, y), height).placed().box()

    assert ((left + right) / 2, bottom) == pytest.approx((x, y))
    assert (right - left, bottom - top) == pytest.approx((2 * height, height))


def test_a_replacement_stands_where_the_old_object_stood_and_is_as_high() -> None:
    assert Replace(OUTLINE, CUTOUT).pasted().placed().box() == pytest.approx((0, 30, 60, 60))


@pytest.mark.parametrize(
    ("recipe", "touched"),
    [
        (Recolor(OUTLINE, "red"), [OUTLINE]),
        (Texture(OUTLINE, "brick"), [OUTLINE]),
        (Remove(OUTLINE), [OUTLINE]),
        (Move(OUTLINE, (90, 50)), [OUTLINE, Move(OUTLINE, (90, 50)).placed()]),
        (Resize(OUTLINE, 1.5), [OUTLINE, Resize(OUTLINE, 1.5).placed()]),
        (Resize(OUTLINE, 0.5), [OUTLINE]),
        (Paste(CUTOUT, (60, 70), 20), [Paste(CUTOUT, (60, 70), 20).placed()]),
        (Replace(OUTLINE, CUTOUT), [OUTLINE, Replace(OUTLINE, CUTOUT).pasted().placed()]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_footprint_is_what_is_touched_and_a_margin(recipe: Recipe, touched: list[Polygons]) -> None:
    expected = np.zeros((HEIGHT, WIDTH), dtype=np.bool_)
    for outline in touched:
        expected |= outline.render(WIDTH, HEIGHT)
    mask = recipe.footprint()

    assert mask is not None
    assert np.array_equal(mask.render(WIDTH, HEIGHT), dilate_mask(expected, MARGIN))


def test_a_new_background_leaves_the_inside_of_what_is_kept() -> None:
    mask = Background((OUTLINE,), "blur").footprint()
    assert mask is not None

    kept = ~mask.render(WIDTH, HEIGHT)

    assert bounding_box(kept) == bounding_box(
        Rectangle(20 + MARGIN, 30 + MARGIN, 41 - MARGIN, 61 - MARGIN).render(WIDTH, HEIGHT)
    )


def test_a_new_style_may_change_everything() -> None:
    assert Restyle("sepia").footprint() is None
