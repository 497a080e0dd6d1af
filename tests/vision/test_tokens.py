"""Laws of what is measured on tokens."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data
from hypothesis import given
from hypothesis import strategies as st

from editgauge._vision.tokens import focus_of_change, same_subject, semantic_change, structure_distance
from editgauge.models.lite.dinov2 import DinoV2Small
from editgauge.models.weights import available

photographs: Any = skimage.data
grids = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(2, 6), st.integers(0, 2**32 - 1))


@given(grids)
def test_laws(grid: tuple[int, int, int, int]) -> None:
    *shape, seed = grid
    random = np.random.default_rng(seed)
    before, after = random.normal(size=(2, *shape))
    change = semantic_change(before, after)
    assert change.shape == tuple(shape[:2])
    assert 0 <= change.min() <= change.max() <= 2
    np.testing.assert_allclose(semantic_change(before, 3 * before), 0, atol=1e-9)  # only directions count
    np.testing.assert_allclose(change, semantic_change(after, before))
    assert 0 <= focus_of_change(before, after) <= 2
    assert 0 <= structure_distance(before, after) <= 4
    assert structure_distance(before, after) == pytest.approx(structure_distance(after, before))
    assert structure_distance(before, -before) == pytest.approx(0, abs=1e-12)  # it is about relations alone
    assert -1 <= same_subject(before, after) <= 1
    assert same_subject(before, before[::-1]) == pytest.approx(1)
    assert same_subject(before, after) == pytest.approx(same_subject(after, before))


def test_a_mask_leaves_the_rest_out() -> None:
    before = np.random.default_rng(0).normal(size=(4, 4, 8))
    after = before.copy()
    after[:2] = -after[:2][::-1]
    below = np.zeros((4, 4), bool)
    below[2:] = True
    assert structure_distance(before, after, below) == pytest.approx(0, abs=1e-12)
    assert same_subject(before, after, below, below) == pytest.approx(1)
    assert structure_distance(before, after) > 0.01


@pytest.mark.parametrize(
    ("before", "after", "where", "message"),
    [
        (np.ones((2, 2, 3)), np.ones((2, 3, 3)), None, "of one shape"),
        (np.ones((0, 2, 3)), np.ones((0, 2, 3)), None, "of one shape"),
        (np.ones((2, 2, 3)), np.ones((2, 2, 3)), np.zeros((2, 2), bool), "the mask is empty"),
        (np.ones((2, 2, 3)), np.ones((2, 2, 3)), np.ones((3, 2), bool), "the grid of patches"),
    ],
)
def test_what_would_give_a_wrong_number_is_refused(before: Any, after: Any, where: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        structure_distance(before, after, where)


@pytest.mark.skipif(not available("dinov2-s14"), reason="NOT TESTED: run `editgauge models pull lite`")
def test_on_photographs_a_redrawn_thing_stays_the_same_and_another_does_not() -> None:
    cat, coffee = photographs.chelsea(), photographs.coffee()
    redrawn = np.asarray(cv2.stylization(cat, sigma_s=30, sigma_r=0.3), np.uint8)
    mirrored = np.ascontiguousarray(cat[:, ::-1])
    first, drawn, turned, other = (each.tokens for each in DinoV2Small().patches([cat, redrawn, mirrored, coffee]))
    assert min(same_subject(first, drawn), same_subject(first, turned)) > 0.6 > 0.4 > same_subject(first, other)
    assert structure_distance(first, drawn) < structure_distance(first, other)
    assert semantic_change(first, drawn).mean() < semantic_change(first, other).mean()
