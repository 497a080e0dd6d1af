"""Objects as lines to be drawn over a picture."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from editgauge.benchmarks.unibench.masks import mask_of
from editgauge.building.review.file import ReviewPicture
from editgauge.core.masks import BoolMask

DETAIL = 0.8
"""Pixels by which a line may depart from the mask."""


@dataclass(frozen=True, slots=True)
class Outline:
    """One object of a picture."""

    id: str
    label: str
    path: str
    """Of an SVG path, in pixels of the picture."""
    left: float
    top: float


def outlines(picture: ReviewPicture) -> list[Outline]:
    """The objects of a picture, largest first, so that small ones lie on top."""
    found = [
        (each, mask_of(each.mask).render(picture.width, picture.height))
        for each in picture.instances
    ]  # fmt: skip
    found.sort(key=lambda pair: -int(pair[1].sum()))
    return [
        Outline(each.id, f"{each.colour} {each.class_}" if each.colour else each.class_, path_of(mask), *each.box[:2])
        for each, mask in found
    ]


def path_of(mask: BoolMask) -> str:
    """The border of a mask as an SVG path.

    >>> path_of(np.pad(np.ones((2, 3), dtype=bool), 1))
    'M1 1L1 3L4 3L4 1Z'
    """
    doubled = np.kron(mask, np.ones((2, 2), dtype=np.uint8)).astype(np.uint8)
    contours, _ = cv2.findContours(doubled, cv2.RETR_LIST, cv2.CHAIN_APPROX_NONE)
    rings = (cv2.approxPolyDP(ring, 2 * DETAIL, closed=True).reshape(-1, 2) for ring in contours)
    return "".join(f"M{'L'.join(f'{_edge(x)} {_edge(y)}' for x, y in ring.tolist())}Z" for ring in rings)


def _edge(doubled: float) -> int:
    """The border between pixels that is nearest to a place in the doubled mask."""
    return int(doubled + 1) // 2
