"""Is it the same thing? Points of one picture that are found again in another."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from editgauge.core.images import Pixels
from editgauge.core.masks import BoolMask
from editgauge.vision.positions import Point

CLEARER = 0.75
"""Lowe's ratio: the best match must be this much nearer than the second."""
FEWEST = 5


@dataclass(frozen=True, slots=True)
class KeypointMatches:
    """Which key points were found again, most confident first, and of how many."""

    score: float
    """The share of key points that are found again; 0 when there are fewer than five."""
    points: tuple[tuple[Point, Point], ...]
    """Where each lay before, and where it lies now."""


def found_again(before: Pixels, after: Pixels, where_before: BoolMask, where_after: BoolMask) -> KeypointMatches:
    """Key points of a part of one picture, looked for in a part of the other.

    PixLens, supplement 10: good matches by Lowe's ratio over the larger of both counts. Matches are searched
    exhaustively, so that the score does not depend on an approximate index.
    """
    sift = cv2.SIFT.create()
    (points, first), (new_points, second) = (
        sift.detectAndCompute(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), where.astype(np.uint8) * 255)
        for picture, where in ((before, where_before), (after, where_after))
    )
    if first is None or second is None or min(len(first), len(second)) < 3:
        return KeypointMatches(0.0, ())
    pairs = cv2.BFMatcher(cv2.NORM_L2).knnMatch(first, second, k=2)
    good = sorted(
        (best for best, next_best in pairs if best.distance < CLEARER * next_best.distance),
        key=lambda match: match.distance,
    )
    score = len(good) / max(len(first), len(second)) if len(good) >= FEWEST else 0.0
    return KeypointMatches(score, tuple((_at(points[one.queryIdx]), _at(new_points[one.trainIdx])) for one in good))


def _at(point: cv2.KeyPoint) -> Point:
    return float(point.pt[0]), float(point.pt[1])
