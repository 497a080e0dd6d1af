"""Where things are: centers of mass, directions, thirds of a picture. Coordinates are x to the right, y down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, get_args

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.masks import BoolMask
from editgauge.types import Relation

Point = tuple[float, float]
"""x, y in pixels."""
Third = Literal["left", "center", "right"]
THIRDS: tuple[Third, ...] = get_args(Third)

DIRECTIONS: dict[Relation, Point] = {
    "left": (-1.0, 0.0),
    "right": (1.0, 0.0),
    "above": (0.0, -1.0),
    "on": (0.0, -1.0),
    "below": (0.0, 1.0),
}
MIN_MOVEMENT_FRACTION = 0.05
"""As a share of the picture's diagonal (PixLens, released code: `min_required_movement`)."""


def centroid(mask: BoolMask) -> Point:
    """Return the center of mass of a mask; pixel centers are at half pixels, so that mirroring is exact.

    >>> centroid(np.array([[False, False, False], [False, False, True]]))
    (2.5, 1.5)
    """
    if not mask.any():
        raise ValueError("an empty mask has no center")
    return _mean_place(mask, along=0), _mean_place(mask, along=1)


def _mean_place(mask: BoolMask, along: int) -> float:
    """From how many pixels each column (0) or row (1) has: thirty times as fast as to list them all."""
    ones = np.ascontiguousarray(mask).view(np.uint8)
    counts = np.asarray(cv2.reduce(ones, along, cv2.REDUCE_SUM, dtype=cv2.CV_32S), np.int64).reshape(-1)
    return int(counts @ np.arange(len(counts))) / int(counts.sum()) + 0.5


def middle(box: tuple[float, float, float, float]) -> Point:
    """Return the center of a box (left, top, right, bottom)."""
    left, top, right, bottom = box
    return (left + right) / 2, (top + bottom) / 2


def direction_score(start: Point, end: Point, towards: Relation, diagonal: float) -> float:
    """How well a movement goes in the asked direction: 1 straight, falling with the angle to 0 at 90 degrees and more.

    PixLens, section 7.3. A movement under 5% of the picture's diagonal is none. (Algorithm 3 takes the absolute value
    of the dot product, which would call the opposite side right; its text does not, and neither do we.)

    >>> direction_score((0, 0), (10, 0), "right", 10), direction_score((0, 0), (10, 0), "left", 10)
    (1.0, 0.0)
    >>> round(direction_score((0, 0), (10, -10), "above", 10), 6)
    0.5
    """
    x, y = end[0] - start[0], end[1] - start[1]
    length = math.hypot(x, y)
    if length < MIN_MOVEMENT_FRACTION * diagonal or length == 0:
        return 0.0
    asked_x, asked_y = DIRECTIONS[towards]
    angle = math.degrees(math.acos(max(-1.0, min(1.0, (x * asked_x + y * asked_y) / length))))
    return max(0.0, (90.0 - angle) / 90.0)


def third(x: float, width: float) -> Third:
    """Return the third of the image width in which a point lies.

    >>> [third(x, 90) for x in (29, 30, 60, 61)]
    ['left', 'center', 'center', 'right']
    """
    if x < width / 3:
        return "left"
    return "right" if x > 2 * width / 3 else "center"


def third_score(before: Third, after: Third, target: Third) -> float:
    """Is the object in the asked third? 1 if so, 0.5 when it went that way but stopped short or went too far, else 0.

    PixLens, section 7.4 and its released code. An object that did not leave its third gets 0.

    >>> [third_score("left", now, "right") for now in ("left", "center", "right")]
    [0.0, 0.5, 1.0]
    """
    if after == before:
        return 0.0
    if after == target:
        return 1.0
    return 0.5 if "center" in {after, target} and before not in {after, target, "center"} else 0.0


def way(before: Third, target: Third) -> Relation | None:
    """Return the direction from one third to another, or None when they are the same.

    >>> way("left", "center"), way("right", "left"), way("center", "center")
    ('right', 'left', None)
    """
    steps = THIRDS.index(target) - THIRDS.index(before)
    return None if steps == 0 else "right" if steps > 0 else "left"


Masks = NDArray[np.bool_]
"""n x height x width."""


def overlap(one: BoolMask, other: BoolMask) -> float:
    """Return the intersection over union of two masks.

    >>> overlap(np.array([[True, True, False]]), np.array([[False, True, True]]))
    0.3333333333333333
    """
    union = np.count_nonzero(one | other)
    if not union:
        raise ValueError("two empty masks have no overlap")
    return float(np.count_nonzero(one & other) / union)


def containment(one: BoolMask, other: BoolMask) -> float:
    """Return the share of the smaller mask that lies inside the other.

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
    """Crop a mask to its bounding box."""
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
    """Return the area of a box (left, top, right, bottom)."""
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def largest(masks: Masks) -> int:
    """Return the index of the mask with most pixels, the first of equals."""
    return int(masks.sum(axis=(1, 2)).argmax())


def closest(masks: Masks, to: Point) -> int:
    """Return the index of the mask whose center is nearest to a point, the first of equals."""
    away = [np.hypot(x - to[0], y - to[1]) for x, y in map(centroid, masks)]
    return int(np.argmin(away))
