"""Histogram correlation: the similarity of colors, wherever they are."""

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
"""Histogram bins of equal width over [0, 1], as in PixLens; the last one includes 1."""
MAX_EXACT_COUNT = 2**24
"""Largest integer up to which all integers are exact in float32."""


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    formula="mean over channels of the Pearson correlation of the channel's two 32-bin histograms",
)
def histogram_correlation(source: Unit, edited: Unit, mask: BoolMask | None = None) -> float:
    """Correlation of the color histograms of the images.

    The mean over channels of the Pearson correlation of the channel's two 32-bin histograms (PixLens, supplement 10,
    Color Similarity). Higher is better: 1 means the same colors equally often, wherever they are; around 0 no color in
    common; towards -1, colors that are frequent in one image are rare in the other.

    A histogram with equal counts in all bins has no correlation: it counts 1 against another such histogram, and 0
    against any other.

    Args:
        source: image of height x width x 3 (or gray), or a batch.
        edited: image or images of the same size.
        mask: pixels that count, height x width.

    Returns:
        One number, or an array with one number per pair of a batch.

    Example:
        >>> red, blue = np.zeros((8, 8, 3)), np.zeros((8, 8, 3))
        >>> red[..., 0], blue[..., 2] = 0.8, 0.8
        >>> histogram_correlation(red, red)
        1.0
        >>> round(histogram_correlation(red, blue), 4)  # only green, absent in both, agrees
        0.3118

    """
    check_pair(source, edited, mask)
    histograms = zip(_histograms(source, mask), _histograms(edited, mask), strict=True)
    correlations = [_correlation(first, second) for first, second in histograms]
    return sum(correlations) / len(correlations)


def _histograms(image: Unit, mask: BoolMask | None) -> NDArray[np.int64]:
    """Count pixels per bin, one row per channel."""
    shades = (image * BINS).astype(np.uint8)
    np.minimum(shades, BINS - 1, out=shades)  # 1.0 itself
    inside = None if mask is None else np.ascontiguousarray(mask).view(np.uint8)
    channels = range(1 if image.ndim == 2 else image.shape[2])
    rows = max(1, MAX_EXACT_COUNT // image.shape[1])  # OpenCV returns counts as float32
    counts = np.zeros((len(channels), BINS), np.int64)
    for top in range(0, len(image), rows):
        part = slice(top, top + rows)
        for channel in channels:
            histogram = cv2.calcHist(
                [shades[part]], [channel], None if inside is None else inside[part], [BINS], [0, BINS]
            )
            counts[channel] += histogram.reshape(-1).astype(np.int64)
    return counts


def _correlation(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    # Sums of integers are exact, so equal histograms give exactly 1.
    covariance = _covariance(first, second)
    spread = math.sqrt(_covariance(first, first) * _covariance(second, second))
    if spread == 0:
        return float(np.array_equal(first, second))
    return max(-1.0, min(1.0, covariance / spread))  # rounding: a root of numbers beyond 2^53


def _covariance(first: NDArray[np.int64], second: NDArray[np.int64]) -> int:
    """Return the covariance times BINS^2."""
    return BINS * int(first @ second) - int(first.sum()) * int(second.sum())
