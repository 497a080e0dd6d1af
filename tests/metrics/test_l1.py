"""L1 against NumPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from editgauge._util.images import Unit
from editgauge.metrics.l1 import l1
from tests.metrics.pairs import cat_and_noise, every_pair, exact, rectangle, unit


@every_pair
def test_l1_is_the_mean_absolute_error(before: Unit, after: Unit) -> None:
    expected = np.abs(exact(before) - exact(after)).mean()
    assert l1(before, after) == pytest.approx(expected, rel=1e-7)
    assert l1(unit(before), unit(after)) == pytest.approx(expected, rel=1e-12)


def test_masked_l1_is_that_of_the_pixels_within() -> None:
    before, after = cat_and_noise
    where = rectangle(3, 170, 60, 451)
    difference = exact(before[where]) - exact(after[where])
    assert l1(before, after, where) == pytest.approx(np.abs(difference).mean(), rel=1e-7)


def test_millions_of_pixels_are_summed_without_loss() -> None:
    """A float32 sum would stop growing, or be off in its fifth digit."""
    before, after = np.zeros((4000, 4000), dtype=np.float32), np.full((4000, 4000), 0.1, dtype=np.float32)
    for where in (None, np.ones((4000, 4000), dtype=np.bool_)):
        assert l1(before, after, where) == pytest.approx(float(np.float32(0.1)), rel=1e-12)


def test_l1_by_hand() -> None:
    before = unit([[[0.0, 0.5, 1.0], [0.2, 0.2, 0.2]]])
    after = unit([[[0.5, 0.5, 0.0], [0.2, 0.3, 0.0]]])
    assert l1(before, after) == pytest.approx((0.5 + 0 + 1 + 0 + 0.1 + 0.2) / 6)
    assert l1(before, after, np.array([[False, True]])) == pytest.approx(0.1)
