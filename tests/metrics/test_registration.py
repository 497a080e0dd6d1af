"""Known shifts, scales and crops of photographs are found again, whatever was edited in the picture."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import skimage.data
from hypothesis import given, settings
from hypothesis import strategies as st

from editgauge.core.images import Pixels, resized
from editgauge.metrics.registration import Alignment, Matrix, align


def photograph(name: str) -> Pixels:
    return np.asarray(getattr(skimage.data, name)(), np.uint8)


SOURCE = photograph("astronaut")[:384]
OTHER = resized(photograph("coffee"), 512, 384)
HEIGHT, WIDTH = SOURCE.shape[:2]


def moved(picture: Pixels, matrix: Matrix) -> Pixels:
    how = {"flags": cv2.INTER_LANCZOS4, "borderMode": cv2.BORDER_REFLECT}
    return np.asarray(cv2.warpAffine(picture, matrix, (WIDTH, HEIGHT), **how), np.uint8)  # type: ignore[call-overload]


def off_by(matrix: Matrix, found: Alignment) -> float:
    """The largest distance, in pixels, between the corners as they are and as they were found."""
    corners = np.array([[0, WIDTH, 0, WIDTH], [0, 0, HEIGHT, HEIGHT], [1, 1, 1, 1]], dtype=np.float64)
    return float(np.abs(matrix @ corners - found.matrix @ corners).max())


def a_third_replaced(picture: Pixels, left: float, top: float) -> Pixels:
    wide, high = int(WIDTH * 0.577), int(HEIGHT * 0.577)
    x, y = int(left * (WIDTH - wide)), int(top * (HEIGHT - high))
    result = picture.copy()
    result[y : y + high, x : x + wide] = OTHER[y : y + high, x : x + wide]
    return result


unit = st.floats(0, 1)
pixels = st.integers(-8, 8)


@settings(deadline=None, max_examples=12)
@given(pixels, pixels, unit, unit)
def test_whole_shifts_are_found_exactly_even_with_a_third_replaced(x: int, y: int, left: float, top: float) -> None:
    matrix = np.array([[1.0, 0, x], [0, 1.0, y]])
    found = align(SOURCE, a_third_replaced(moved(SOURCE, matrix), left, top))
    assert off_by(matrix, found) == 0
    assert found.found
    assert found.moved == bool(x or y)


@settings(deadline=None, max_examples=12)
@given(st.floats(0.97, 1.05), unit, unit)
def test_scales_and_crops_are_found_within_half_a_pixel(scale: float, left: float, top: float) -> None:
    matrix = np.array([[scale, 0, (1 - scale) * WIDTH * left], [0, scale, (1 - scale) * HEIGHT * top]])
    assert off_by(matrix, align(SOURCE, moved(SOURCE, matrix))) < 0.75


@settings(deadline=None, max_examples=8)
@given(st.floats(1.06, 1.12), unit, unit)
def test_a_crop_is_found_though_a_third_was_replaced(scale: float, left: float, top: float) -> None:
    matrix = np.array([[scale, 0, (1 - scale) * WIDTH * left], [0, scale, (1 - scale) * HEIGHT * top]])
    assert off_by(matrix, align(SOURCE, a_third_replaced(moved(SOURCE, matrix), 1 - left, 1 - top))) < 1


def test_what_the_edited_picture_no_longer_shows_is_not_valid() -> None:
    found = align(SOURCE, moved(SOURCE, np.array([[1.0, 0, 8], [0, 1.0, 0]])))
    assert not found.valid[:, -8:].any()
    assert found.valid[:, :-8].all()
    assert np.array_equal(found.aligned[:, :-8], SOURCE[:, :-8])


def test_unrelated_pictures_have_no_alignment() -> None:
    found = align(SOURCE, OTHER)
    assert not found.found
    assert not found.moved
    assert np.array_equal(found.aligned, OTHER)


def test_an_object_that_grew_does_not_carry_the_frame_with_it() -> None:
    edited = SOURCE.copy()
    face = cv2.resize(SOURCE[20:200, 150:300], None, fx=1.15, fy=1.15)
    edited[10 : 10 + face.shape[0], 140 : 140 + face.shape[1]] = face
    assert not align(SOURCE, edited).moved


def test_a_flat_picture_stays_where_it_is() -> None:
    flat = np.full((64, 96, 3), 90, np.uint8)
    assert not align(flat, np.roll(flat, 3, axis=1)).moved


def test_pictures_of_two_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="resize one of them first"):
        align(SOURCE, SOURCE[:, :-1])
