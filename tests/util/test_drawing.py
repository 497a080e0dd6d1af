from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

from editgauge._util.drawing import ABOVE, BELOW, COLORS, LEGIBLE, _arrange, _Frame, _overlap, colored, draw
from editgauge._util.images import Pixels
from editgauge.evidence import Box, Heat, Note, Region, from_json, to_json


def test_nothing_to_draw_leaves_a_large_picture_as_it_is() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (LEGIBLE, LEGIBLE, 3), np.uint8)

    assert np.array_equal(draw(picture, [Note("words only")]), picture)


def test_a_small_picture_is_enlarged_so_that_labels_do_not_hide_it(photo: Pixels) -> None:
    assert max(draw(photo, [Box("source", 10, 10, 60, 60, "face", 0.9)]).shape) == LEGIBLE


def test_a_region_is_tinted_inside_and_nowhere_far_away() -> None:
    picture = np.full((LEGIBLE, LEGIBLE, 3), 100, np.uint8)
    mask = np.zeros((LEGIBLE, LEGIBLE), np.bool_)
    mask[200:400, 200:400] = True

    drawn = draw(picture, [Region("source", mask, "cat")])
    assert np.abs(drawn[300, 300].astype(int) - 100).max() > 10
    assert np.array_equal(drawn[600:, 600:], picture[600:, 600:])


def test_each_label_has_a_color_of_its_own() -> None:
    picture = np.zeros((LEGIBLE, LEGIBLE, 3), np.uint8)
    boxes = [Box("source", 50, 100 + 200 * n, 300, 250 + 200 * n, name) for n, name in enumerate(("cat", "cup", "cat"))]

    drawn = draw(picture, boxes)
    edges = [tuple(drawn[round(box.bottom) - 1, 200].tolist()) for box in boxes]
    assert edges == [COLORS[0], COLORS[1], COLORS[0]]


def test_a_box_at_the_edge_or_without_area_is_drawn_all_the_same() -> None:
    picture = np.zeros((40, 60, 3), np.uint8)

    for box in (
        Box("source", -5, -5, 70, 50, "all", 1.0),
        Box("source", 30, 20, 30, 20, "point"),
        Box("source", 9, 9, 3, 3),
    ):
        assert draw(picture, [box]).any()


def test_a_label_is_whole_at_every_edge_of_the_picture() -> None:
    picture = np.zeros((LEGIBLE, LEGIBLE, 3), np.uint8)
    place = Box("source", 300, 300, 330, 330, "a label that needs some room", 0.5)

    def letters(left: int, top: int) -> int:
        moved = replace(place, left=left, top=top, right=left + 30, bottom=top + 30)
        return int((draw(picture, [moved]) > 250).all(axis=2).sum())

    inside = letters(300, 300)
    assert inside > 100
    assert {letters(left, top) for left in (0, LEGIBLE - 30) for top in (0, LEGIBLE - 30)} == {inside}


Map = NDArray[np.float32]
shapes = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=64)


def maps(low: float) -> st.SearchStrategy[Map]:
    return arrays(np.float32, shapes, elements=st.floats(low, 1, width=32))


def stored(heat: Heat) -> tuple[Heat, int]:
    text = json.dumps(to_json(heat))
    back = from_json(json.loads(text))
    assert isinstance(back, Heat)
    return back, len(text)


@given(st.booleans().flatmap(lambda signed: st.tuples(st.just(signed), maps(-1 if signed else 0))))
def test_a_small_map_comes_back_to_half_a_step_of_eight_bits(given: tuple[bool, Map]) -> None:
    signed, numbers = given
    back, _ = stored(Heat("edited", numbers, "where", signed))
    assert (back.on, back.label, back.signed) == ("edited", "where", signed)
    assert np.abs(back.map - numbers).max() <= 0.5 / (127 if signed else 255) + 1e-6


def test_zero_and_both_ends_of_a_signed_map_are_exact() -> None:
    back, _ = stored(Heat("source", np.array([[-1, 0, 1]], np.float32), signed=True))
    assert back.map.tolist() == [[-1, 0, 1]]


def test_a_large_map_is_stored_coarsely_with_its_form_and_its_mean() -> None:
    numbers = np.tile(np.linspace(0, 1, 640, dtype=np.float32), (320, 1))
    back, length = stored(Heat("edited", numbers))
    assert back.map.shape == (32, 64)
    assert back.map.mean() == pytest.approx(0.5, abs=0.005)
    assert (np.diff(back.map[0]) > 0).all()
    assert length < 3_000


@pytest.mark.parametrize("numbers", [[[-0.1]], [[1.1]], [[np.nan]], [], [0.5]])
def test_numbers_that_no_map_may_hold_are_refused(numbers: Any) -> None:
    with pytest.raises(ValueError, match="from 0 to 1; 'odd' does not"):
        to_json(Heat("edited", np.array(numbers, np.float32), "odd"))


@given(maps(-1))
def test_strength_is_told_by_opacity_and_sign_by_hue(numbers: Map) -> None:
    red, blue, opacity = (colored(numbers, signed=True)[..., channel].astype(int) for channel in (0, 2, 3))
    order = np.argsort(np.abs(numbers), axis=None)
    assert (np.diff(opacity.ravel()[order]) >= 0).all()
    assert (red > blue)[numbers >= 0].all()
    assert (blue > red)[numbers < 0].all()
    np.testing.assert_array_equal(colored(np.abs(numbers)), colored(np.abs(numbers), signed=True))


def test_nothing_is_laid_over_a_zero() -> None:
    assert ABOVE[0][0] == BELOW[-1][0] == 0
    assert ABOVE[0][-1] == BELOW[-1][-1] == 0


def test_a_drawn_picture_is_gray_where_the_map_is_zero_and_colored_where_it_is_not() -> None:
    picture = np.full((LEGIBLE, LEGIBLE, 3), (200, 40, 40), np.uint8)
    numbers = np.zeros((4, 4), np.float32)
    numbers[0, 0], numbers[3, 3] = 1, -1
    drawn = draw(picture, [Heat("edited", numbers, "where", signed=True)]).astype(int)
    assert len(set(drawn[50, 750].tolist())) == 1
    assert drawn[20, 20, 0] > drawn[20, 20, 2] + 50
    assert drawn[-20, -20, 2] > drawn[-20, -20, 0] + 50


def test_labels_of_overlapping_boxes_do_not_cover_each_other() -> None:
    frames = [
        _Frame((100, 100, 300, 300), "cat 0.90", 16, (100, 80, 180, 100)),
        _Frame((102, 101, 290, 310), "dog 0.80", 16, (102, 81, 182, 101)),
        _Frame((0, 0, 50, 50), "edge", 16, (0, -20, 80, 0)),
    ]
    labels = [frame.label for frame in _arrange(frames, (400, 400))]
    assert not any(_overlap(first, second) for first, second in itertools.combinations(labels, 2))
    assert all(min(label) >= 0 for label in labels)
