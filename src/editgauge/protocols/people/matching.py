"""Which box of the edited picture took the place of which box of the source."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

NEAR = 1.0
"""Boxes are one and the same when their centers are at most this far apart, in sides of the smaller box."""
SIZE_RATIO = 3.0
"""… and neither is more than this many times as large as the other."""


def pairs_of_boxes(before: NDArray[Any], after: NDArray[Any]) -> list[tuple[int, int]]:
    """Places of the boxes that belong together, each at most once, so that the distances add up to the least.

    >>> pairs_of_boxes(np.array([[0, 0, 10, 10], [90, 0, 99, 10]]), np.array([[91, 0, 99, 9], [2, 0, 12, 10]]))
    [(0, 1), (1, 0)]
    """
    if not len(before) or not len(after):
        return []
    centers = [(boxes[:, :2] + boxes[:, 2:]) / 2 for boxes in (before, after)]
    sides = [np.sqrt(np.maximum(np.prod(boxes[:, 2:] - boxes[:, :2], axis=1), 1.0)) for boxes in (before, after)]
    smaller = np.minimum(sides[0][:, np.newaxis], sides[1][np.newaxis])
    larger = np.maximum(sides[0][:, np.newaxis], sides[1][np.newaxis])
    distance = np.linalg.norm(centers[0][:, np.newaxis] - centers[1][np.newaxis], axis=2) / smaller
    allowed = (distance <= NEAR) & (larger / smaller <= SIZE_RATIO)
    rows, columns = linear_sum_assignment(np.where(allowed, distance, 1e3))
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True) if allowed[row, column]]
