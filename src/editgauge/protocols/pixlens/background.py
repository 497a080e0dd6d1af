"""Did the background stay? PixLens's score of everything outside the objects an edit is about."""

from __future__ import annotations

import cv2
import numpy as np

from editgauge.core.images import Unit
from editgauge.core.masks import BoolMask
from editgauge.metrics.base import check_pair


def background_score(before: Unit, after: Unit, outside: BoolMask) -> float:
    """1 when nothing outside changed, 0 from a mean squared error of a tenth on.

    PixLens, section 3.1.3: the mean of the errors in color and in gray, stretched so that the last tenth counts.

    >>> background_score(np.zeros((4, 4, 3), np.float32), np.zeros((4, 4, 3), np.float32), np.ones((4, 4), bool))
    1.0
    """
    check_pair(before, after, outside)
    color = float(np.mean((before[outside] - after[outside]) ** 2))
    grays = [cv2.cvtColor(each.astype(np.float32), cv2.COLOR_RGB2GRAY) for each in (before, after)]
    gray = float(np.mean((grays[0][outside] - grays[1][outside]) ** 2))
    return max(0.0, 1 - 5 * (color + gray))  # 10 ((1 - (color + gray) / 2) - 0.9), without its rounding
