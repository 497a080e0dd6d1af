"""Is it the same thing? Points of one picture that are found again in another."""

from __future__ import annotations

import cv2
import numpy as np

from editgauge.core.images import Pixels
from editgauge.core.masks import BoolMask

CLEARER = 0.75
"""Lowe's ratio: the best match must be so much nearer than the second."""
FEWEST = 5


def sift_score(before: Pixels, after: Pixels, where_before: BoolMask, where_after: BoolMask) -> float:
    """The share of key points that are found again; 0 when there are fewer than five.

    PixLens, supplement 10: good matches by Lowe's ratio over the larger of both counts. Matches are searched
    exhaustively, so that the score does not depend on an approximate index.
    """
    sift = cv2.SIFT.create()
    first, second = (
        sift.detectAndCompute(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), where.astype(np.uint8) * 255)[1]
        for picture, where in ((before, where_before), (after, where_after))
    )
    if first is None or second is None or min(len(first), len(second)) < 3:
        return 0.0
    pairs = cv2.BFMatcher(cv2.NORM_L2).knnMatch(first, second, k=2)
    good = sum(best.distance < CLEARER * next_best.distance for best, next_best in pairs)
    return good / max(len(first), len(second)) if good >= FEWEST else 0.0
