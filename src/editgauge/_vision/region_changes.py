"""What happened in a changed region in which nothing was recognized: classical vision, no network.

A thing has an outline. Where the source has an edge along the region's rim and the edited picture has none, something
was taken away; the other way round, something was put there. Where the fine brightness is the same, only the color is
another. And what is gone here and found there has moved.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask, grown
from editgauge._vision.changed_regions import ChangedRegion
from editgauge._vision.color_words import color_word
from editgauge._vision.object_changes import SAME_SHAPES, Change, PicturedThing, likeness_of_shapes

CLEARER_RIM = 1.5
"""How many times stronger an outline must be in one of the pictures."""
FOUND_AGAIN = 0.6
"""Correlation from which a thing that is gone here is the one that is there."""
FILLS = 3.0
"""A region may be at most this many times larger than what moved there: a small plain piece fits anywhere."""
SURELY_FOUND = 0.85
"""The same, where it is not clear that something is gone here or new there."""


def region_changes(source: Pixels, edited: Pixels, regions: Sequence[ChangedRegion]) -> list[Change]:
    """One change per region; both pictures in one frame. A region that went to another is reported once."""
    single = [_described(source, edited, region) for region in regions]
    vanished = [change for change in single if change.kind in {"vanished", "altered"}]
    appeared = [change for change in single if change.kind in {"appeared", "altered"}]
    offered = sorted(
        (
            (_found_again(source, edited, one.before, other.after), place, other_place)
            for place, one in enumerate(vanished)
            for other_place, other in enumerate(appeared)
            if one is not other and one.before is not None and other.after is not None
        ),
        reverse=True,
    )
    changes: list[Change] = []
    gone: list[Change] = []
    for alike, place, other_place in offered:
        one, other = vanished[place], appeared[other_place]
        needed = FOUND_AGAIN if (one.kind, other.kind) == ("vanished", "appeared") else SURELY_FOUND
        if alike >= needed and one not in gone and other not in gone:
            changes.append(Change("moved", one.before, other.after))
            gone += [one, other]
    return changes + [change for change in single if change not in gone]


def _described(source: Pixels, edited: Pixels, region: ChangedRegion) -> Change:
    left, top, right, bottom = region.box
    thing = PicturedThing(None, (float(left), float(top), float(right), float(bottom)), region.mask)
    inner = _inner(region.mask)
    colors = color_word(source, inner), color_word(edited, inner)
    if colors[0] != colors[1] and likeness_of_shapes(source, edited, inner) >= SAME_SHAPES:
        return Change("recolored", thing, thing, colors)
    before, after = (_rim(picture, region.mask) for picture in (source, edited))
    if before > CLEARER_RIM * after:
        return Change("vanished", thing, None)
    if after > CLEARER_RIM * before:
        return Change("appeared", None, thing)
    return Change("altered", thing, thing)


def _rim(picture: Pixels, mask: BoolMask) -> float:
    """How strong the edges within the region are: the outline of a thing, and what is in it."""
    gray = cv2.GaussianBlur(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32), (0, 0), 1.0)
    strength = cv2.magnitude(cv2.Sobel(gray, cv2.CV_32F, 1, 0), cv2.Sobel(gray, cv2.CV_32F, 0, 1))
    return float(np.sort(strength[mask])[-max(1, int(mask.sum()) // 5) :].mean()) + 1e-6


def _found_again(source: Pixels, edited: Pixels, before: PicturedThing | None, after: PicturedThing | None) -> float:
    """How well what was in one region before fits somewhere into what is in another now."""
    if before is None or after is None:
        return 0.0
    if after.mask.sum() > FILLS * before.mask.sum():
        return 0.0
    piece, place = _cut(source, before), _cut(edited, after)
    room = [max(0, piece.shape[axis] - place.shape[axis]) for axis in (0, 1)]
    if any(room[axis] > 0.3 * piece.shape[axis] for axis in (0, 1)) or min(piece.shape[:2]) < 8:
        return 0.0
    padded = cv2.copyMakeBorder(place, room[0], room[0] + 4, room[1], room[1] + 4, cv2.BORDER_REFLECT)
    weight = np.repeat(_cut_mask(before)[..., np.newaxis], 3, axis=2).astype(np.float32)
    fits = cv2.matchTemplate(padded.astype(np.float32), piece.astype(np.float32), cv2.TM_CCOEFF_NORMED, mask=weight)
    fits = fits[np.isfinite(fits)]
    return float(fits.max()) if fits.size else 0.0


def _cut(picture: Pixels, thing: PicturedThing) -> Pixels:
    left, top, right, bottom = (int(side) for side in thing.box)
    return picture[top:bottom, left:right]


def _cut_mask(thing: PicturedThing) -> BoolMask:
    left, top, right, bottom = (int(side) for side in thing.box)
    return thing.mask[top:bottom, left:right]


def _inner(mask: BoolMask) -> BoolMask:
    """The region without its rim, where colors of both sides meet; all of it when nothing else would be left."""
    inside = ~grown(~mask, 3)
    return inside if inside.any() else mask
