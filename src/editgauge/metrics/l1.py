"""L1: the mean absolute difference of two images."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2

from editgauge.metrics.base import check_pair, mean_difference, metric

if TYPE_CHECKING:
    from editgauge._util.images import Unit
    from editgauge._util.masks import BoolMask


@metric(higher_is_better=False, range=(0.0, 1.0), formula="mean(|before - after|)")
def l1(before: Unit, after: Unit, where: BoolMask | None = None) -> float:
    """Mean absolute error of the pixels.

    Lower is better: 0 means identical images, 1 means black against white. Mean absolute error over pixels and
    channels, as tables of editing papers print L1.

    >>> import numpy as np
    >>> round(l1(np.full((4, 4, 3), 0.2), np.full((4, 4, 3), 0.5)), 6)
    0.3
    """
    check_pair(before, after, where)
    return mean_difference(before, after, where, cv2.NORM_L1)
