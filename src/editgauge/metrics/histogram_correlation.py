"""Histogram correlation: the similarity of colors, whatever their places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge.metrics.base import check_pair, metric

if TYPE_CHECKING:
    from editgauge._util.images import Unit
    from editgauge._util.masks import BoolMask

BINS = 32
"""Of equal width over [0, 1] in each channel, as PixLens has them; the last one includes 1."""
EXACT = 2**24
"""Whole numbers up to this are exact in float32."""


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    formula="mean over channels of the Pearson correlation of the channel's two 32-bin histograms",
)
def histogram_correlation(before: Unit, after: Unit, where: BoolMask | None = None) -> float:
    """Correlation of the color histograms of the images.

    Higher is better: 1 means the same colors equally often (in the same places or not), around 0 no color in
    common, and towards -1 frequent in one image what is rare in the other.
    PixLens (supplement 10, Color Similarity): the mean of channel-wise histogram correlations.

    A channel that has all 32 shades equally often has no correlation with anything, for its histogram does not vary:
    it counts 1 against another such channel, and 0 against any other. A flat image is no such case: its histogram is
    a single peak.

    >>> red, blue = np.zeros((8, 8, 3)), np.zeros((8, 8, 3))
    >>> red[..., 0], blue[..., 2] = 0.8, 0.8
    >>> histogram_correlation(red, red)
    1.0
    >>> round(histogram_correlation(red, blue), 4)  # only green, absent in both, agrees
    0.3118
    """
    check_pair(before, after, where)
    correlations = [
        _correlation(one, other)
        for one, other in zip(_histograms(before, where), _histograms(after, where), strict=True)
    ]
    return sum(correlations) / len(correlations)


def _histograms(image: Unit, where: BoolMask | None) -> NDArray[np.int64]:
    """How often each shade occurs, a row for every channel."""
    shades = (image * BINS).astype(np.uint8)
    np.minimum(shades, BINS - 1, out=shades)  # 1.0 itself
    mask = None if where is None else np.ascontiguousarray(where).view(np.uint8)
    channels = range(1 if image.ndim == 2 else image.shape[2])
    rows = max(1, EXACT // image.shape[1])  # OpenCV gives its counts as float32
    counts = np.zeros((len(channels), BINS), np.int64)
    for top in range(0, len(image), rows):
        part = slice(top, top + rows)
        for channel in channels:
            seen = None if mask is None else mask[part]
            counted = cv2.calcHist([shades[part]], [channel], seen, [BINS], [0, BINS])
            counts[channel] += counted.reshape(-1).astype(np.int64)
    return counts


def _correlation(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    # Counts are whole numbers, and so are these sums: equal histograms give exactly 1.
    covariance = _covariance(first, second)
    spread = math.sqrt(_covariance(first, first) * _covariance(second, second))
    if spread == 0:
        return float(np.array_equal(first, second))
    return max(-1.0, min(1.0, covariance / spread))  # rounding: a root of numbers beyond 2^53


def _covariance(first: NDArray[np.int64], second: NDArray[np.int64]) -> int:
    """In units of 1 / BINS^2."""
    return BINS * int(first @ second) - int(first.sum()) * int(second.sum())
