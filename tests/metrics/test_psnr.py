"""PSNR against scikit-image and by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import skimage.metrics

from editgauge._util.images import Unit
from editgauge.metrics.psnr import psnr
from tests.metrics.pairs import cat_and_noise, every_pair, exact, rectangle, unit


@every_pair
def test_psnr_is_that_of_scikit_image(before: Unit, after: Unit) -> None:
    signal_to_noise: Callable[..., float] = skimage.metrics.peak_signal_noise_ratio
    expected = signal_to_noise(exact(before), exact(after), data_range=1.0)
    assert psnr(before, after) == pytest.approx(expected, abs=1e-6)


def test_masked_psnr_is_that_of_the_pixels_within() -> None:
    before, after = cat_and_noise
    where = rectangle(3, 170, 60, 451)
    squared_error = ((exact(before[where]) - exact(after[where])) ** 2).mean()
    assert psnr(before, after, where) == pytest.approx(-10 * math.log10(squared_error), abs=1e-6)


def test_psnr_by_hand() -> None:
    before = unit([[[0.0, 0.5, 1.0], [0.2, 0.2, 0.2]]])
    after = unit([[[0.5, 0.5, 0.0], [0.2, 0.3, 0.0]]])
    assert psnr(before, after, np.array([[False, True]])) == pytest.approx(10 * math.log10(60))


def test_psnr_ends_at_100() -> None:
    black = np.zeros((3, 3, 3))
    assert psnr(unit(black), unit(black)) == 100
    assert psnr(unit(black), unit(black + 1e-7)) == 100
    assert psnr(unit(black), unit(black + 1e-4)) == pytest.approx(80)
    assert psnr(unit(black), unit(black + 1)) == 0
