"""Known shifts, scales and crops of photographs are found again, whatever was edited in the picture."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import skimage.data
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from editgauge._util.images import Pixels, resize_image
from editgauge._vision import registration
from editgauge._vision.registration import Alignment, Likeness, Matrix, align


def photograph(name: str) -> Pixels:
    return np.asarray(getattr(skimage.data, name)(), np.uint8)


SOURCE = photograph("astronaut")[:384]
OTHER = resize_image(photograph("coffee"), 512, 384)
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


@settings(max_examples=12)
@given(pixels, pixels, unit, unit)
def test_whole_shifts_are_found_exactly_even_with_a_third_replaced(x: int, y: int, left: float, top: float) -> None:
    matrix = np.array([[1.0, 0, x], [0, 1.0, y]])
    results = align(SOURCE, a_third_replaced(moved(SOURCE, matrix), left, top))
    assert off_by(matrix, results) == 0
    assert results.found
    assert results.moved == bool(x or y)


@settings(max_examples=12)
@given(st.floats(0.97, 1.05), unit, unit)
def test_scales_and_crops_are_found_within_half_a_pixel(scale: float, left: float, top: float) -> None:
    matrix = np.array([[scale, 0, (1 - scale) * WIDTH * left], [0, scale, (1 - scale) * HEIGHT * top]])
    assert off_by(matrix, align(SOURCE, moved(SOURCE, matrix))) < 0.75


@settings(max_examples=8)
@given(st.floats(1.06, 1.12), unit, unit)
def test_a_crop_is_found_though_a_third_was_replaced(scale: float, left: float, top: float) -> None:
    matrix = np.array([[scale, 0, (1 - scale) * WIDTH * left], [0, scale, (1 - scale) * HEIGHT * top]])
    assert off_by(matrix, align(SOURCE, a_third_replaced(moved(SOURCE, matrix), 1 - left, 1 - top))) < 1


def test_what_the_edited_picture_no_longer_shows_is_not_valid() -> None:
    results = align(SOURCE, moved(SOURCE, np.array([[1.0, 0, 8], [0, 1.0, 0]])))
    assert not results.valid[:, -8:].any()
    assert results.valid[:, :-8].all()
    assert np.array_equal(results.aligned[:, :-8], SOURCE[:, :-8])


def test_unrelated_pictures_have_no_alignment() -> None:
    results = align(SOURCE, OTHER)
    assert not results.found
    assert not results.moved
    assert np.array_equal(results.aligned, OTHER)


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


likeness = arrays.arrays(np.float64, 90, elements=st.one_of(st.floats(0.95, 1), st.floats(-1, 1), st.just(np.nan)))


@given(likeness, likeness, st.integers(0, 90))
def test_what_cannot_be_beaten_is_beaten_by_nothing(known: Likeness, proposed: Likeness, explained: int) -> None:
    known[:explained] = np.maximum(known[:explained], 0.99)
    if registration._is_better(proposed, known):
        assert registration._can_improve(known)


@settings(max_examples=10)
@given(st.integers(0, 300), st.integers(0, 400), st.integers(0, 80), st.sampled_from([0, 0, 1, 5]))
def test_to_stop_early_gives_what_the_long_way_gives(top: int, left: int, side: int, shift: int) -> None:
    edited = np.roll(SOURCE, shift, axis=1)
    edited[top : top + side, left : left + side] = OTHER[top : top + side, left : left + side]
    early = align(SOURCE, edited)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registration, "_can_improve", lambda known: True)
        long = align(SOURCE, edited)
    assert np.array_equal(early.matrix, long.matrix)
    assert early.confidence == long.confidence


def test_a_frame_that_stayed_is_told_without_a_proposal(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(*_: object) -> list[Matrix]:
        raise AssertionError

    monkeypatch.setattr(registration, "whole_shifts", asked)
    edited = SOURCE.copy()
    edited[100:160, 200:260] = 255 - edited[100:160, 200:260]
    assert not align(SOURCE, edited).moved


@pytest.mark.parametrize("scale", [1.0, 1.03])
def test_corners_and_key_points_tell_the_same_movement(scale: float) -> None:
    matrix = np.array([[scale, 0, -4.0], [0, scale, -6.0]])
    edited = a_third_replaced(moved(SOURCE, matrix), 0.2, 0.8)
    followed = align(SOURCE, edited)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registration, "MIN_AGREEING_FRACTION", 2.0)
        matched = align(SOURCE, edited)
    assert off_by(matrix, followed) < 0.5
    assert off_by(matrix, matched) < 0.5


def test_the_pictures_are_left_as_they_were() -> None:
    # OpenCV's phase correlation writes into its pictures where their sides are products of small primes, as here.
    one = registration._gray(SOURCE, 1.0)
    before = one.copy()
    registration.whole_shifts(one, one.copy())
    assert np.array_equal(one, before)


@pytest.mark.parametrize("times", [0.5, 2.0])
def test_a_picture_in_its_own_size_is_brought_into_the_same_frame(times: float) -> None:
    edited = moved(SOURCE, np.array([[1.0, 0, 6], [0, 1.0, -4]]))
    alignment = align(SOURCE, edited)
    original = resize_image(edited, int(WIDTH * times), int(HEIGHT * times))

    own = alignment.in_own_size(original)

    assert alignment.moved
    assert own.shape == original.shape
    back = resize_image(own, WIDTH, HEIGHT)[16:-16, 16:-16].astype(float)
    framed = SOURCE[16:-16, 16:-16].astype(float)
    assert np.abs(back - framed).mean() < 0.6 * np.abs(edited[16:-16, 16:-16].astype(float) - framed).mean()


def test_where_no_frame_moved_a_picture_in_its_own_size_stays_as_it_is() -> None:
    large = resize_image(SOURCE, 700, 500)
    assert align(SOURCE, SOURCE).in_own_size(large) is large
