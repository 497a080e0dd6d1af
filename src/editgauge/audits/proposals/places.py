"""Where in a photograph something can be put."""

from __future__ import annotations

from typing import Literal

import numpy as np

from editgauge._vision import geometry
from editgauge._vision.geometry import box_overlap
from editgauge.audits.proposals.scene import CLEARANCE, Box, CutThing, Photograph
from editgauge.recipes import MARGIN, Cutout, Move, Paste

IN_THE_AIR = {"airplane", "kite", "bird", "frisbee", "sports ball"}
TALL = 0.28
"""Of the picture's height: how high an added thing is where nothing says otherwise."""
WIDEST = 0.4
"""Of the picture's width."""
AS_TALL = 0.9
"""An added thing next to another, in heights of that one."""
LARGEST_SCALE = 1.6
"""How many times a cut-out thing may be enlarged before its pixels show."""
TRIES = 40
FARTHER = 0.5
"""Widths of a thing by which it must move to lie elsewhere."""
MIDDLES: dict[geometry.Third, float] = {"left": 1 / 6, "center": 1 / 2, "right": 5 / 6}
GAP = 0.15
"""Between a thing and what is put next to it, in widths of the new one."""


def is_free(box: Box, photo: Photograph, besides: CutThing | None = None) -> bool:
    """Does a thing with that box lie inside the picture and apart from all others?"""
    width, height = photo.size
    left, top, right, bottom = box
    if left < CLEARANCE or top < CLEARANCE or right > width - CLEARANCE or bottom > height - CLEARANCE:
        return False
    around = left - MARGIN, top - MARGIN, right + MARGIN, bottom + MARGIN
    own = besides.outline.box() if besides else None
    others = (sight.box for sight in photo.sights if own is None or not _same(sight.box, own))
    return all(box_overlap(around, other) == 0 for other in others)


def third(thing: CutThing, photo: Photograph) -> geometry.Third:
    """Which third of the picture a thing is in."""
    return geometry.third(geometry.middle(thing.outline.box())[0], photo.size[0])


def elsewhere(thing: CutThing, photo: Photograph) -> list[tuple[geometry.Third, geometry.Point]]:
    """The other thirds of the picture that have room for it, and where its middle would be."""
    width = photo.size[0]
    x, y = geometry.middle(thing.outline.box())
    half = thing.size[0] / 2 + CLEARANCE + 1
    targets = [(side, min(max(place * width, half), width - half)) for side, place in MIDDLES.items()]
    return [
        (side, (to, y))
        for side, to in targets
        if geometry.third(to, width) == side
        and abs(to - x) >= FARTHER * thing.size[0]
        and is_free(Move(thing.outline, (to, y)).placed().box(), photo, besides=thing)
    ]


def outermost(thing: CutThing, photo: Photograph) -> Literal["leftmost", "rightmost"] | None:
    """Is it the first or the last of its kind from left to right, by more than a little?"""
    own = thing.outline.box()
    others = [sight.box for sight in photo.sights if sight.name == thing.name and not _same(sight.box, own)]
    if all(own[2] <= (box[0] + box[2]) / 2 for box in others):
        return "leftmost"
    return "rightmost" if all(own[0] >= (box[0] + box[2]) / 2 for box in others) else None


def anywhere(new: CutThing, cutout: Cutout, photo: Photograph, chance: np.random.Generator) -> Paste | None:
    """The new thing at a free place: in the upper part what flies, on the ground what stands."""
    width, height = photo.size
    tall = _height(new, TALL * height, WIDEST * width)
    low, high = (0.15, 0.4) if new.name in IN_THE_AIR else (0.75, 0.96)
    for across, down in chance.random((TRIES, 2)):
        paste = Paste(cutout, (round(across * width), round((low + (high - low) * down) * height)), tall)
        if is_free(paste.placed().box(), photo):
            return paste
    return None


def beside(
    new: CutThing, cutout: Cutout, anchor: CutThing, side: Literal["left", "right"], photo: Photograph
) -> Paste | None:
    """The new thing on the same ground as the anchor, to one side of it; None when there is no room."""
    left, _, right, bottom = anchor.outline.box()
    tall = _height(new, AS_TALL * anchor.size[1], WIDEST * photo.size[0])
    half = new.size[0] / new.size[1] * tall / 2
    gap = max(2 * MARGIN + 2, 2 * GAP * half)
    foot = (left - gap - half if side == "left" else right + gap + half, bottom)
    paste = Paste(cutout, foot, tall)
    return paste if is_free(paste.placed().box(), photo) else None


def _height(new: CutThing, wanted: float, widest: float) -> float:
    """As high as wanted, unless it would be too wide or enlarged beyond its pixels."""
    width, height = new.size
    return round(min(wanted, widest * height / width, LARGEST_SCALE * height), 1)


def _same(one: Box, other: Box) -> bool:
    """Are these boxes of the same thing, one by the detector and one by the outline?"""
    return box_overlap(one, other) >= 0.5
