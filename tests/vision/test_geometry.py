"""Positions and regions: hand-worked cases, and laws that hold for all masks."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from editgauge._util.masks import BoolMask
from editgauge._vision.geometry import (
    Third,
    aligned_overlap,
    box_overlap,
    centroid,
    closest,
    containment,
    cropped,
    direction_score,
    largest,
    overlap,
    third,
    third_score,
    way,
)
from editgauge.types import Relation

masks = arrays.arrays(np.bool_, (9, 13), elements=st.booleans()).filter(lambda mask: bool(mask.any()))
points = st.tuples(st.floats(-100, 100), st.floats(-100, 100))
thirds = st.sampled_from(get_args(Third))


@given(masks)
def test_a_mirrored_mask_has_a_mirrored_center(mask: BoolMask) -> None:
    (x, y), (mirrored_x, mirrored_y) = centroid(mask), centroid(mask[:, ::-1])

    assert mirrored_x == pytest.approx(mask.shape[1] - x)
    assert mirrored_y == pytest.approx(y)


@given(points, points, st.sampled_from(["left", "right"]))
def test_mirroring_a_movement_swaps_left_and_right(
    start: tuple[float, float], end: tuple[float, float], side: Relation
) -> None:
    mirrored_start, mirrored_end = ((-x, y) for x, y in (start, end))
    other: Relation = "right" if side == "left" else "left"

    score = direction_score(start, end, side, 50)
    assert score == pytest.approx(direction_score(mirrored_start, mirrored_end, other, 50))


@given(points, points)
def test_no_movement_goes_both_ways(start: tuple[float, float], end: tuple[float, float]) -> None:
    assert min(direction_score(start, end, "left", 1), direction_score(start, end, "right", 1)) == 0


@given(points, points, st.floats(1, 20))
def test_scale_changes_no_direction(start: tuple[float, float], end: tuple[float, float], scale: float) -> None:
    length = math.dist(start, end)
    assume(abs(length - 0.05 * 100) > 1e-3)
    far_start, far_end = ((x * scale, y * scale) for x, y in (start, end))

    scores = direction_score(start, end, "below", 100), direction_score(far_start, far_end, "below", 100 * scale)
    assert scores[0] == pytest.approx(scores[1], abs=1e-6)


def test_the_angle_counts_linearly_and_a_small_step_is_none() -> None:
    at_30_degrees = (math.cos(math.radians(30)), math.sin(math.radians(30)))

    assert direction_score((0, 0), at_30_degrees, "right", 10) == pytest.approx(2 / 3)
    assert direction_score((0, 0), at_30_degrees, "right", 21) == 0


@given(thirds, thirds, thirds)
def test_mirroring_the_picture_changes_no_score_of_thirds(was: Third, now: Third, asked: Third) -> None:
    other: dict[Third, Third] = {"left": "right", "center": "center", "right": "left"}

    assert third_score(was, now, asked) == third_score(other[was], other[now], other[asked])
    assert (way(was, asked) is None) == (was == asked)


@given(st.floats(0, 100, exclude_max=True))
def test_every_point_lies_in_one_third(x: float) -> None:
    assert third(x, 100) == {0: "left", 1: "center", 2: "right"}[min(int(3 * x / 100), 2)] or x in {100 / 3, 200 / 3}


@given(masks, masks)
def test_overlap_is_symmetric_bounded_and_1_for_the_same(one: BoolMask, other: BoolMask) -> None:
    assert overlap(one, other) == overlap(other, one)
    assert 0 <= overlap(one, other) <= containment(one, other) <= 1
    assert overlap(one, one) == containment(one, one) == aligned_overlap(one, one) == 1


@given(masks, st.integers(0, 4), st.integers(0, 4))
def test_moving_a_mask_changes_no_aligned_overlap(mask: BoolMask, down: int, right: int) -> None:
    moved = np.pad(mask, ((down, 4 - down), (right, 4 - right)))

    assert aligned_overlap(np.pad(mask, ((0, 4), (0, 4))), moved) == 1
    assert np.array_equal(cropped(moved), cropped(mask))


def test_which_of_several_is_meant() -> None:
    several = np.zeros((3, 10, 10), np.bool_)
    several[0, :2, :2] = several[1, 4:9, 4:9] = several[2, 8:, :2] = True

    assert largest(several) == 1
    assert closest(several, (0, 10)) == 2


def test_boxes_that_do_not_meet_do_not_overlap() -> None:
    assert box_overlap((0, 0, 1, 1), (2, 2, 3, 3)) == 0
    assert box_overlap((0, 0, 0, 0), (0, 0, 0, 0)) == 0


def test_empty_masks_are_refused() -> None:
    nothing = np.zeros((4, 4), np.bool_)
    for function in (overlap, containment, aligned_overlap):
        with pytest.raises(ValueError, match="empty"):
            function(nothing, nothing)
    with pytest.raises(ValueError, match="empty"):
        centroid(nothing)
