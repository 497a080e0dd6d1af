"""A photograph and the things in it whose outlines can be relied on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import cv2
import numpy as np

from editgauge._util.masks import Polygons, bounding_box
from editgauge._vision.geometry import box_area, box_overlap
from editgauge.models.answers import Detections, Instances, SegmentPrompt

if TYPE_CHECKING:
    from editgauge._util.images import ImageFile, Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.models.interfaces import Perception

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

FAINTLY = 0.2
"""Minimum confidence at which something may be there: who asks for 'the horse' must mean one thing alone."""
CLEARLY = 0.3
"""Minimum confidence at which something counts as standing in the way."""
SURELY = 0.45
"""Minimum confidence at which something is edited."""
SHARES = 0.004, 0.25
"""Of the picture, that a thing worth an edit covers."""
SOLID = 0.3, 0.97
"""Of its box, that an outline covers: less is a net of scraps, more is the box itself."""
IN_ONE_PIECE = 0.85
"""Of the outlined pixels that hang together."""
AS_BOXED = 0.75
"""How well the outline's box and the detector's agree."""
CLEARANCE = 4
"""Pixels between a whole thing and the picture's edge."""
APART = 0.1
"""Of the smaller of two boxes, that may be in the other while both stand alone."""
DETAIL = 1.0
"""Pixels by which a polygon may depart from the mask."""


class FaintDetection(NamedTuple):
    """Something that the detector saw, however faintly."""

    name: str
    box: Box
    confidence: float


@dataclass(frozen=True, slots=True)
class CutThing:
    """Something seen, with an outline that can be cut along."""

    name: str
    outline: Polygons
    confidence: float
    whole: bool
    """Does the picture's edge leave all of it in view?"""
    alone: bool
    """Does nothing else that is seen lie over it or against it?"""

    share: float
    """Of the picture, that it covers."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels."""
        left, top, right, bottom = self.outline.box()
        return right - left, bottom - top


@dataclass(frozen=True, eq=False)
class Photograph:
    """A picture with what is seen in it."""

    picture: ImageFile
    pixels: Pixels
    things: tuple[CutThing, ...]
    """Those with a reliable outline, most confident first."""
    sights: tuple[FaintDetection, ...]
    """All that may be there."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        height, width = self.pixels.shape[:2]
        return width, height

    @cached_property
    def names(self) -> Counter[str]:
        """How many of each there may be."""
        return Counter(sight.name for sight in self.sights)

    def unique(self) -> list[CutThing]:
        """Things that can be named without saying which one."""
        return [cutout for cutout in self.things if self.names[cutout.name] == 1]


async def look_at(picture: ImageFile, pixels: Pixels, see: Perception) -> Photograph:
    """Detect and segment the objects of a photograph."""
    detections = await see.detect_all(pixels, least=FAINTLY)
    sure = detections.over(SURELY)
    return understood(
        picture, pixels, Instances(sure, await see.segment(pixels, SegmentPrompt(boxes=sure.boxes))), detections
    )


def understood(picture: ImageFile, pixels: Pixels, instances: Instances, faint: Detections | None = None) -> Photograph:
    """Return the photograph with given masks; `faint` are all detections, also weak ones."""
    detections = instances.detections if faint is None else faint
    sights = _sights(detections)
    clear = [sight.box for sight in sights if sight.confidence >= CLEARLY]
    outlined = zip(_sights(instances.detections), instances.masks, strict=True)
    cutouts = (_thing(sight, mask, [box for box in clear if box != sight.box]) for sight, mask in outlined)
    return Photograph(picture, pixels, tuple(cutout for cutout in cutouts if cutout), sights)


def _sights(detections: Detections) -> tuple[FaintDetection, ...]:
    rows = zip(detections.words, detections.boxes.tolist(), detections.confidences.tolist(), strict=True)
    return tuple(
        FaintDetection(word, (left, top, right, bottom), sure) for word, (left, top, right, bottom), sure in rows
    )


def _thing(sight: FaintDetection, mask: BoolMask, other_boxes: Sequence[Box]) -> CutThing | None:
    piece = _largest_piece(mask)
    if piece is None or not SHARES[0] <= piece.mean() <= SHARES[1]:
        return None
    left, top, right, bottom = box_found = bounding_box(piece)
    solidity = piece.sum() / ((right - left) * (bottom - top))
    if not SOLID[0] <= solidity <= SOLID[1] or box_overlap(box_found, sight.box) < AS_BOXED:
        return None
    height, width = mask.shape
    is_complete = all(
        min(box[0], box[1], width - box[2], height - box[3]) >= CLEARANCE for box in (box_found, sight.box)
    )
    alone = all(_shared(box_found, other) <= APART for other in other_boxes)
    return CutThing(sight.name, _outline(piece), sight.confidence, is_complete, alone, float(piece.mean()))


def _largest_piece(mask: BoolMask) -> BoolMask | None:
    """Return the largest component of a mask with holes closed, or None if it is not dominant."""
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    if not contours:
        return None
    canvas = np.zeros(mask.shape, np.uint8)
    cv2.drawContours(canvas, [max(contours, key=cv2.contourArea)], -1, 1, cv2.FILLED)
    piece = canvas.astype(np.bool_)
    return piece if (piece & mask).sum() >= IN_ONE_PIECE * mask.sum() else None


def _outline(piece: BoolMask) -> Polygons:
    contours, _ = cv2.findContours(piece.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    ring = cv2.approxPolyDP(max(contours, key=cv2.contourArea), DETAIL, closed=True)
    return Polygons((tuple(float(value) for value in ring.ravel()),))


def _shared(one: Box, other: Box) -> float:
    """How much of the smaller box is in the other."""
    both = box_area((max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])))
    return both / max(min(box_area(one), box_area(other)), 1.0)
