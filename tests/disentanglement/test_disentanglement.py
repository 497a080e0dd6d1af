"""Linearity, directions and confusion: hand-worked cases, and what must not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from editgauge.disentanglement._classifier import confusion_scores
from editgauge.disentanglement._scores import (
    direction_cosines,
    linearity_error,
    linearity_error_as_released,
)

numbers = st.floats(-10, 10).map(lambda value: round(value, 3))
matrices = arrays(np.float64, (4, 5), elements=numbers)


def test_the_error_is_a_share_of_the_end_s_length() -> None:
    """(3, 4) is missed by (0, 1) - (0, 0) = 1 of 5 in length."""
    start, first, second = np.array([[3.0, 3.0]]), np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]])
    assert linearity_error(start, first, second, np.array([[3.0, 4.0]])) == pytest.approx([0.2])


def test_unrelated_latents_miss_by_twice_their_length() -> None:
    start, first, second, end = np.random.default_rng(0).normal(size=(4, 50, 4_000))
    assert linearity_error(start, first, second, end).mean() == pytest.approx(2, abs=0.02)


def test_a_latent_of_no_length_has_no_error() -> None:
    with pytest.raises(ValueError, match="length 0"):
        linearity_error(*np.zeros((4, 1, 3)))


@given(matrices, st.floats(0.1, 10))
def test_scale_and_order_of_objects_do_not_matter(changes: np.ndarray[tuple[int, int]], scale: float) -> None:
    usual = np.sort(direction_cosines(changes))
    assert np.sort(direction_cosines(changes[::-1] * scale)) == pytest.approx(usual, abs=1e-6)
    assert ((usual >= -1) & (usual <= 1)).all()


def test_no_change_has_no_direction() -> None:
    assert direction_cosines(np.zeros((3, 2))).size == 0


def test_a_kind_that_was_not_tested_has_no_say() -> None:
    assert confusion_scores(np.array([[3, 1], [0, 0]])) == (0.75, 0.75)
    with pytest.raises(ValueError, match="empty"):
        confusion_scores(np.zeros((2, 2), dtype=int))


def test_the_released_error_adds_both_attributes_and_takes_the_start_away() -> None:
    draw = np.random.default_rng(0)
    start, first, second, end = draw.normal(size=(4, 3, 7))
    expected = [
        np.linalg.norm(end[row] - (second[row] + first[row] - start[row])) / np.linalg.norm(end[row])
        for row in range(3)
    ]

    assert linearity_error_as_released(start, first, second, end) == pytest.approx(expected)
