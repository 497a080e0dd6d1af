"""PSNR: the peak signal-to-noise ratio of two images."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import cv2

from editgauge.metrics.base import check_pair, mean_difference, metric

if TYPE_CHECKING:
    from editgauge._util.images import Unit
    from editgauge._util.masks import BoolMask

MAX_PSNR = 100.0  # decibels


@metric(higher_is_better=True, range=(0.0, MAX_PSNR), formula="10 log10(1 / mean((source - edited)^2)), at most 100")
def psnr(source: Unit, edited: Unit, mask: BoolMask | None = None) -> float:
    """Peak signal-to-noise ratio in decibels, capped at 100.

    10 log10(1 / mean((source - edited)^2)), the error taken over all channels together, as scikit-image does. Higher is
    better: 0 means black against white; identical images get 100, because an infinite value would spoil every mean.

    Args:
        source: image of height x width x 3 (or gray), or a batch.
        edited: image or images of the same size.
        mask: pixels that count, height x width.

    Returns:
        One number, or an array with one number per pair of a batch.

    Example:
        >>> import numpy as np
        >>> round(psnr(np.zeros((2, 2, 3)), np.full((2, 2, 3), 0.1)), 6)
        20.0

    """
    check_pair(source, edited, mask)
    error = mean_difference(source, edited, mask, cv2.NORM_L2SQR)
    return 10 * math.log10(1 / max(error, 10 ** (-MAX_PSNR / 10)))
