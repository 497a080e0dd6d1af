"""PSNR: the peak signal-to-noise ratio of two images."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from editgauge.metrics.base import metric
from editgauge.metrics.l2 import l2

if TYPE_CHECKING:
    from editgauge._util.images import Unit
    from editgauge._util.masks import BoolMask

HIGHEST_PSNR = 100.0
"""What identical images get: an infinite value would spoil every mean."""


@metric(higher_is_better=True, range=(0.0, HIGHEST_PSNR), formula="10 log10(1 / mean((before - after)^2)), at most 100")
def psnr(before: Unit, after: Unit, where: BoolMask | None = None) -> float:
    """Peak signal-to-noise ratio in decibels, capped at 100.

    Higher is better: 0 means black against white, and 100, where it is capped, means identical images. Peak
    signal-to-noise ratio with a peak of 1 and the squared error taken over all channels together, as scikit-image does.

    >>> import numpy as np
    >>> round(psnr(np.zeros((2, 2, 3)), np.full((2, 2, 3), 0.1)), 6)
    20.0
    """
    smallest = 10 ** (-HIGHEST_PSNR / 10)
    return 10 * math.log10(1 / max(l2(before, after, where), smallest))
