"""Objects and backgrounds cut out of pictures, to be compared by networks."""

from __future__ import annotations

import cv2
import numpy as np

from editgauge.core.errors import CannotTell
from editgauge.core.images import Pixels
from editgauge.core.masks import BoolMask, box_of

LEAST_SIDE = 64
"""Pixels: smaller crops are enlarged before a perceptual distance is taken, whose network halves them several times."""


def mean_color(picture: Pixels) -> Pixels:
    """The mean color of a picture, with which cut-outs and holes are filled."""
    return np.asarray(np.rint(picture.reshape(-1, 3).mean(axis=0)), np.uint8)


def alone(picture: Pixels, mask: BoolMask) -> Pixels:
    """The object within its box, and around it nothing but the picture's mean color."""
    left, top, right, bottom = box_of(mask)
    inside = mask[top:bottom, left:right, None]
    return np.where(inside, picture[top:bottom, left:right], mean_color(picture))


def together(picture: Pixels, *masks: BoolMask) -> Pixels:
    """The part of the picture that just holds all objects."""
    left, top, right, bottom = box_of(np.logical_or.reduce(masks))
    return np.ascontiguousarray(picture[top:bottom, left:right])


def gray_pair(before: Pixels, after: Pixels) -> tuple[Pixels, Pixels]:
    """Two cut-outs without their colors, in the size of the first, or larger where that is too small to compare."""
    height, width = before.shape[:2]
    scale = max(1.0, LEAST_SIDE / min(height, width))
    size = round(width * scale), round(height * scale)
    return _gray(before, size), _gray(after, size)


def _gray(picture: Pixels, size: tuple[int, int]) -> Pixels:
    shrinks = picture.shape[0] > size[1]
    gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    scaled = cv2.resize(gray, size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
    return np.repeat(np.asarray(scaled, np.uint8)[..., None], 3, axis=2)


def backgrounds(before: Pixels, after: Pixels, objects: BoolMask) -> tuple[Pixels, Pixels]:
    """Both pictures with the objects of either covered by the mean color of the source image's background."""
    if objects.all():
        raise CannotTell("not_applicable", "the objects cover the whole picture, so there is no background")
    color = mean_color(before[~objects][None])
    covered = objects[..., None]
    return np.where(covered, color, before), np.where(covered, color, after)
