"""Histogram correlation against NumPy and by hand."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pytest

from editgauge._util.images import Unit
from editgauge.metrics.histogram_correlation import histogram_correlation
from tests.metrics.pairs import cat_and_noise, every_pair, rectangle, unit


def reference_correlation(before: Iterable[Unit], after: Iterable[Unit]) -> float:
    """The mean correlation of histograms by NumPy, channel by channel."""
    pairs = list(zip(before, after, strict=True))
    histograms = [[np.histogram(channel, bins=32, range=(0, 1))[0] for channel in pair] for pair in pairs]
    return float(np.mean([np.corrcoef(first, second)[0, 1] for first, second in histograms]))


@every_pair
def test_histogram_correlation_is_that_of_numpy(before: Unit, after: Unit) -> None:
    expected = reference_correlation(np.moveaxis(before, 2, 0), np.moveaxis(after, 2, 0))
    assert histogram_correlation(before, after) == pytest.approx(expected, abs=1e-12)


def test_masked_histogram_correlation_counts_the_pixels_within() -> None:
    before, after = cat_and_noise
    where = rectangle(0, 170, 60, 300)
    expected = reference_correlation(before[where].T, after[where].T)
    assert histogram_correlation(before, after, where) == pytest.approx(expected, abs=1e-12)


def test_histogram_correlation_by_hand() -> None:
    """Counts 4, 0, …, 0 and 2, 0, …, 0, 2: (32 * 8 - 16) / sqrt((32 * 16 - 16)(32 * 8 - 16))."""
    before, after = unit([[0.0, 0.01, 0.02, 0.03]]), unit([[0.0, 0.01, 0.99, 1.0]])
    assert histogram_correlation(before, after) == pytest.approx(240 / math.sqrt(496 * 240))


def test_histogram_correlation_of_two_flat_images_is_a_number() -> None:
    gray, also_gray, white = (unit(np.full((5, 5, 3), level)) for level in (0.5, 0.51, 1.0))
    assert histogram_correlation(gray, also_gray) == 1
    assert histogram_correlation(gray, white) == pytest.approx(-1 / 31)


def test_histogram_correlation_of_an_even_histogram_is_a_number() -> None:
    ramp = unit(np.arange(32)[None] / 32)
    assert histogram_correlation(ramp, unit(ramp[:, ::-1])) == 1
    assert histogram_correlation(ramp, unit(np.zeros((1, 32)))) == 0
