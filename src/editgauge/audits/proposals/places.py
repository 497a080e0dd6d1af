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


def is_free(box: Box, photo: Photograph, excluded: CutThing | None = None) -> bool:
    """Return whether a box lies inside the image and overlaps no other object."""
    width, height = photo.size
    left, top, right, bottom = box
    if left < CLEARANCE or top < CLEARANCE or right > width - CLEARANCE or bottom > height - CLEARANCE:
        return False
    around = left - MARGIN, top - MARGIN, right + MARGIN, bottom + MARGIN
    excluded_box = excluded.outline.box() if excluded else None
    boxes = (sight.box for sight in photo.sights if excluded_box is None or not _same(sight.box, excluded_box))
    return all(box_overlap(around, other) == 0 for other in boxes)


def third(cutout: CutThing, photo: Photograph) -> geometry.Third:
    """Which third of the picture a thing is in."""
    return geometry.third(geometry.middle(cutout.outline.box())[0], photo.size[0])


def elsewhere(cutout: CutThing, photo: Photograph) -> list[tuple[geometry.Third, geometry.Point]]:
    """Return the other thirds of the image with enough room, and the new centers."""
    width = photo.size[0]
    x, y = geometry.middle(cutout.outline.box())
    half = cutout.size[0] / 2 + CLEARANCE + 1
    targets = [(side, min(max(share * width, half), width - half)) for side, share in MIDDLES.items()]
    return [
        (side, (to, y))
        for side, to in targets
        if geometry.third(to, width) == side
        and abs(to - x) >= FARTHER * cutout.size[0]
        and is_free(Move(cutout.outline, (to, y)).placed().box(), photo, excluded=cutout)
    ]


def outermost(cutout: CutThing, photo: Photograph) -> Literal["leftmost", "rightmost"] | None:
    """Return whether an object is clearly the first or last of its class from left to right."""
    left, _, right, _ = box = cutout.outline.box()
    boxes = [sight.box for sight in photo.sights if sight.name == cutout.name and not _same(sight.box, box)]
    centers = [geometry.middle(other)[0] for other in boxes]
    if all(right <= center for center in centers):
        return "leftmost"
    return "rightmost" if all(left >= center for center in centers) else None


def anywhere(new: CutThing, cutout: Cutout, photo: Photograph, chance: np.random.Generator) -> Paste | None:
    """Paste the new object at a free position: flying objects above, others on the ground."""
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
    """Paste the new object next to the anchor on the same ground, or return None without room."""
    left, _, right, bottom = anchor.outline.box()
    tall = _height(new, AS_TALL * anchor.size[1], WIDEST * photo.size[0])
    half = new.size[0] / new.size[1] * tall / 2
    gap = max(2 * MARGIN + 2, 2 * GAP * half)
    foot = (left - gap - half if side == "left" else right + gap + half, bottom)
    paste = Paste(cutout, foot, tall)
    return paste if is_free(paste.placed().box(), photo) else None


def _height(new: CutThing, target_height: float, widest: float) -> float:
    """Return the target height, reduced where the object would be too wide or too enlarged."""
    width, height = new.size
    return round(min(target_height, widest * height / width, LARGEST_SCALE * height), 1)


def _same(one: Box, other: Box) -> bool:
    """Are these boxes of the same thing, one by the detector and one by the outline?"""
    return box_overlap(one, other) >= 0.5
