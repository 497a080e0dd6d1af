"""Masks and boxes against each other: overlap, containment, which of many is meant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from editgauge._util.masks import BoolMask
from editgauge._vision.positions import Point, centroid

Masks = NDArray[np.bool_]
"""n x height x width."""


def overlap(one: BoolMask, other: BoolMask) -> float:
    """Intersection over union.

    >>> overlap(np.array([[True, True, False]]), np.array([[False, True, True]]))
    0.3333333333333333
    """
    union = np.count_nonzero(one | other)
    if not union:
        raise ValueError("two empty masks have no overlap")
    return float(np.count_nonzero(one & other) / union)


def containment(one: BoolMask, other: BoolMask) -> float:
    """How much of the smaller mask lies inside the other.

    >>> containment(np.array([[True, True, False]]), np.array([[False, True, False]]))
    1.0
    """
    smaller = min(np.count_nonzero(one), np.count_nonzero(other))
    if not smaller:
        raise ValueError("an empty mask lies nowhere")
    return float(np.count_nonzero(one & other) / smaller)


def aligned_overlap(one: BoolMask, other: BoolMask) -> float:
    """Intersection over union after both masks were moved so that the corners of their boxes coincide.

    PixLens, supplement 10: what is left is a change of size or shape, not of place.
    """
    first, second = cropped(one), cropped(other)
    height, width = (max(pair) for pair in zip(first.shape, second.shape, strict=True))
    padded = [np.pad(mask, ((0, height - mask.shape[0]), (0, width - mask.shape[1]))) for mask in (first, second)]
    return overlap(*padded)


def cropped(mask: BoolMask) -> BoolMask:
    """The mask within its own box."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        raise ValueError("an empty mask has no box")
    return mask[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def box_overlap(one: Sequence[float], other: Sequence[float]) -> float:
    """Intersection over union of two boxes given as left, top, right, bottom.

    >>> box_overlap((0, 0, 2, 2), (1, 0, 3, 2))
    0.3333333333333333
    """
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    both = max(0.0, width) * max(0.0, height)
    union = box_area(one) + box_area(other) - both
    return both / union if union > 0 else 0.0


def box_area(box: Sequence[float]) -> float:
    """The area of a box given as left, top, right, bottom."""
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def largest(masks: Masks) -> int:
    """The place of the mask with most pixels; the first of equals."""
    return int(masks.sum(axis=(1, 2)).argmax())


def closest(masks: Masks, to: Point) -> int:
    """The place of the mask whose center is nearest to a point; the first of equals."""
    away = [np.hypot(x - to[0], y - to[1]) for x, y in map(centroid, masks)]
    return int(np.argmin(away))
