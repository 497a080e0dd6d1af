"""L2: the mean squared difference of two images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2

from editgauge.metrics.base import check_pair, mean_difference, metric

if TYPE_CHECKING:
    from editgauge._util.images import Unit
    from editgauge._util.masks import BoolMask


@metric(higher_is_better=False, range=(0.0, 1.0), formula="mean((before - after)^2)")
def l2(before: Unit, after: Unit, where: BoolMask | None = None) -> float:
    """Mean squared error of the pixels.

    Lower is better: 0 means identical images, 1 means black against white. Mean squared error over pixels and
    channels; papers print it as L2 or as MSE, and no root is taken.

    >>> import numpy as np
    >>> round(l2(np.full((4, 4, 3), 0.2), np.full((4, 4, 3), 0.5)), 6)
    0.09
    """
    check_pair(before, after, where)
    return mean_difference(before, after, where, cv2.NORM_L2SQR)
