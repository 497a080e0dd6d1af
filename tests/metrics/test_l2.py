"""L2 against scikit-image and by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import skimage.metrics

from editgauge._util.images import Unit
from editgauge.metrics.l2 import l2
from tests.metrics.pairs import cat_and_noise, every_pair, exact, rectangle, unit


@every_pair
def test_l2_is_that_of_scikit_image(before: Unit, after: Unit) -> None:
    squared_error: Callable[..., float] = skimage.metrics.mean_squared_error
    expected = squared_error(exact(before), exact(after))
    assert l2(before, after) == pytest.approx(expected, rel=1e-6)
    assert l2(unit(before), unit(after)) == pytest.approx(expected, rel=1e-12)


def test_masked_l2_is_that_of_the_pixels_within() -> None:
    before, after = cat_and_noise
    where = rectangle(3, 170, 60, 451)
    difference = exact(before[where]) - exact(after[where])
    assert l2(before, after, where) == pytest.approx((difference**2).mean(), rel=1e-6)


def test_millions_of_pixels_are_summed_without_loss() -> None:
    """A float32 sum would stop growing, or be off in its fifth digit."""
    before, after = np.zeros((4000, 4000), dtype=np.float32), np.full((4000, 4000), 0.1, dtype=np.float32)
    for where in (None, np.ones((4000, 4000), dtype=np.bool_)):
        assert l2(before, after, where) == pytest.approx(float(np.float32(0.1)) ** 2, rel=1e-12)


def test_l2_by_hand() -> None:
    before = unit([[[0.0, 0.5, 1.0], [0.2, 0.2, 0.2]]])
    after = unit([[[0.5, 0.5, 0.0], [0.2, 0.3, 0.0]]])
    assert l2(before, after) == pytest.approx((0.25 + 0 + 1 + 0 + 0.01 + 0.04) / 6)
    assert l2(before, after, np.array([[False, True]])) == pytest.approx(0.05 / 3)
