"""Edge distance against its published formula with SciPy's filter, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.ndimage
from numpy.typing import NDArray

from editgauge._util.images import Unit
from editgauge.metrics.edge_distance import edge_distance
from tests.metrics.pairs import cat_and_noise, every_pair, exact, rectangle, unit


def reference_edges(image: Unit) -> NDArray[np.float64]:
    brightness = exact(image) @ [0.299, 0.587, 0.114]
    across, down = (scipy.ndimage.prewitt(brightness, axis, mode="reflect") / 3 for axis in (1, 0))
    return np.asarray(np.hypot(across, down))


def reference_edge_similarity(before: Unit, after: Unit) -> NDArray[np.float64]:
    """Xue et al. 2014, equation 4, with SciPy's filter."""
    x, y = reference_edges(before), reference_edges(after)
    constant = 170 / 255**2
    return np.asarray((2 * x * y + constant) / (x**2 + y**2 + constant))


@every_pair
def test_edge_distance_is_the_published_formula(before: Unit, after: Unit) -> None:
    expected = 1 - reference_edge_similarity(before, after).mean()
    assert edge_distance(before, after) == pytest.approx(expected, abs=1e-12)


def test_masked_edge_distance_is_the_mean_within_the_mask() -> None:
    where = rectangle(0, 170, 60, 451)
    expected = 1 - reference_edge_similarity(*cat_and_noise)[where].mean()
    assert edge_distance(*cat_and_noise, where) == pytest.approx(expected, abs=1e-12)


def test_edge_distance_by_hand() -> None:
    """A step of 1 between two columns has gradient 1 on both, against 0: (1 - 0)^2 / (1 + c)."""
    flat, step = np.zeros((6, 10, 3)), np.zeros((6, 10, 3))
    step[:, 7:] = 1
    assert edge_distance(unit(flat), unit(step)) == pytest.approx(0.2 / (1 + 170 / 255**2))
    assert edge_distance(unit(flat), unit(1 - flat)) == 0
