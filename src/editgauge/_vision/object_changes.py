"""What happened to the things in two pictures: appeared, vanished, moved, changed color or size, became another.

Works on what a detector saw in both pictures, in one frame, and on where the pictures differ: a thing on which nothing
changed is not asked about, however unsure the detector is of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import cv2
import numpy as np

from editgauge._util.images import Pixels, gradient_magnitude
from editgauge._util.masks import BoolMask, dilate_mask
from editgauge._vision.changed_regions import ChangedRegion
from editgauge._vision.colors import color_word
from editgauge._vision.geometry import box_area, box_overlap

Kind = Literal["appeared", "vanished", "moved", "recolored", "resized", "replaced", "altered"]
BoxSides = tuple[float, float, float, float]
"""Left, top, right, bottom."""

IN_PLACE = 0.5
"""Overlap from which two boxes of one word are one thing in its place."""
INSTEAD = 0.35
"""Overlap from which one thing stands where another stood."""
NESTED = 0.7
"""How much of the smaller box is in the larger when a thing grew or shrank."""
GREW = 1.35
"""Ratio of areas from which a thing has another size."""
BEYOND_SIZE = 8.0
"""Ratio of areas from which two boxes are never one thing."""
TOUCHED = 0.35
"""The share of a thing that must have changed to ask what happened to it."""
WHOLE = 0.6
"""Minimum share at which the thing itself changed, not a part of it."""
SPECK = 0.02
"""Of the changed region: less cannot be what the change is about."""
HALF_SURE = 0.5
"""Of the operating point: so sure is enough for a thing to be still there."""
SAME_SHAPES = 0.5
"""Correlation of fine brightness from which only the color of a thing is another."""
SURELY_SAME = 0.7
"""The same, where the detector says that the thing is gone: then it is the detector that no longer knows it."""


@dataclass(frozen=True, slots=True, eq=False)
class DetectedObject:
    """Something in one of the pictures."""

    label: str | None
    """None when nothing was recognized."""
    box: BoxSides
    mask: BoolMask
    confidence: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """What happened to one thing."""

    kind: Kind
    before: DetectedObject | None
    after: DetectedObject | None
    colors: tuple[str, str] | None = None
    """What the changed part was and is called, for `recolored`, and for `altered` where most of it has a new color. For
    what came or went without a word: the color of the place without it, and its own."""
    part: bool = False
    """Only a part of the thing changed."""
    looks_like: str | None = None
    """What a thing without a word looks like to a classifier: now, or before it vanished."""


def object_changes(
    source: Pixels,
    edited: Pixels,
    detected_before: Sequence[DetectedObject],
    detected_after: Sequence[DetectedObject],
    changed: BoolMask,
    point: float,
) -> list[Change]:
    """Determine what happened to the detected objects.

    Args:
        source: the picture before
        edited: the picture after, in the same frame
        seen: things in the source from half the operating point on
        seen_after: things in the edited picture, the same
        changed: where the pictures differ
        point: minimum confidence at which something counts as seen

    """
    before, after = _single(detected_before), _single(detected_after)
    pairs_in_place = _pairs(before, after, lambda one, other: one.label == other.label, _standing)
    sure = [pair for pair in pairs_in_place if min(detection.confidence for detection in pair) >= point]
    changes = _once(
        [change for pair in sure if (change := _of_kept(source, edited, *pair, changed)) is not None], changed
    )
    before, after = (
        [
            detection
            for detection in detections
            if _counts(detection, changed, point) and not _taken(detection, pairs_in_place)
        ]
        for detections in (before, after)
    )
    for kind, fits, likeness in _STAGES:
        pairs = _pairs(before, after, fits, likeness)
        changes += [Change(kind, one, other) for one, other in pairs]
        before, after = (
            [detection for detection in detections if not _taken(detection, pairs)] for detections in (before, after)
        )
    changes += [
        _recolored(source, edited, detection, changed) or Change("vanished", detection, None) for detection in before
    ]
    changes += [Change("appeared", None, detection) for detection in after]
    return changes


def likeness_of_shapes(source: Pixels, edited: Pixels, where: BoolMask) -> float:
    """How alike the fine brightness of a region is, from -1 to 1: high when only its color changed."""
    one, other = (_fine(picture)[where] for picture in (source, edited))
    spread = float(np.linalg.norm(one - one.mean()) * np.linalg.norm(other - other.mean()))
    return float(((one - one.mean()) * (other - other.mean())).sum() / spread) if spread > 0 else 0.0


def share_changed(detection: DetectedObject, changed: BoolMask) -> float:
    """How much of a thing lies where the pictures differ."""
    return float(changed[detection.mask].mean()) if detection.mask.any() else 0.0


def _recolored(source: Pixels, edited: Pixels, detection: DetectedObject, changed: BoolMask) -> Change | None:
    """Restore objects whose texture is unchanged: they did not vanish, although the detector missed them."""
    where = _inside(detection.mask & changed)
    colors = color_word(source, where), color_word(edited, where)
    if colors[0] == colors[1] or likeness_of_shapes(source, edited, where) < SURELY_SAME:
        return None
    return Change("recolored", detection, detection, colors)


def _once(changes: list[Change], changed: BoolMask) -> list[Change]:
    """Without the parts of things that changed only because another thing lies over them."""
    unique: list[Change] = []
    claimed = np.zeros_like(changed)
    for change in sorted(changes, key=lambda candidate: -int((_both(candidate) & changed).sum())):
        where = _both(change) & changed
        if not change.part or claimed[where].mean() < 0.5:
            unique.append(change)
            claimed |= where
    return unique


def _both(change: Change) -> BoolMask:
    masks = [detection.mask for detection in (change.before, change.after) if detection is not None]
    return np.asarray(np.logical_or.reduce(masks))


def _inside(where: BoolMask) -> BoolMask:
    """Without the rim, where colors of both sides meet; all of it when nothing else would be left."""
    inner = ~dilate_mask(~where, 2)
    return inner if inner.any() else where


def _standing(one: DetectedObject, other: DetectedObject) -> float:
    overlap = box_overlap(one.box, other.box)
    return overlap if overlap >= IN_PLACE else 0.0


def _nested(one: DetectedObject, other: DetectedObject) -> float:
    areas = sorted((box_area(one.box), box_area(other.box)))
    if areas[0] <= 0 or areas[1] > BEYOND_SIZE * areas[0]:
        return 0.0
    inside = box_overlap(one.box, other.box) * (areas[0] + areas[1]) / (1 + box_overlap(one.box, other.box)) / areas[0]
    return inside if inside >= NESTED else 0.0


def _of_like_size(one: DetectedObject, other: DetectedObject) -> float:
    """Score two objects as one that moved, by similarity of size."""
    areas = sorted((box_area(one.box), box_area(other.box)))
    return areas[0] / areas[1] if areas[1] <= 3 * areas[0] else 0.0


def _instead(one: DetectedObject, other: DetectedObject) -> float:
    overlap = box_overlap(one.box, other.box)
    return overlap if overlap >= INSTEAD or _nested(one, other) else 0.0


Fits = Callable[[DetectedObject, DetectedObject], bool]
Likeness = Callable[[DetectedObject, DetectedObject], float]
_STAGES: tuple[tuple[Kind, Fits, Likeness], ...] = (
    ("resized", lambda one, other: one.label == other.label, _nested),
    ("replaced", lambda one, other: one.label != other.label, _instead),
    ("moved", lambda one, other: one.label == other.label, _of_like_size),
)
"""In this order: what stands in the same place is more likely the same thing than what stands elsewhere."""


def _pairs(
    before: list[DetectedObject], after: list[DetectedObject], fits: Fits, likeness: Likeness
) -> list[tuple[DetectedObject, DetectedObject]]:
    """Each thing with at most one other, the most alike first."""
    offered = [
        (likeness(one, other), index, other_index)
        for index, one in enumerate(before)
        for other_index, other in enumerate(after)
        if fits(one, other)
    ]
    pairs: list[tuple[DetectedObject, DetectedObject]] = []
    for similarity, index, other_index in sorted(offered, key=lambda offer: (-offer[0], offer[1], offer[2])):
        one, other = before[index], after[other_index]
        if similarity > 0 and not _taken(one, pairs) and not _taken(other, pairs):
            pairs.append((one, other))
    return pairs


def _taken(detection: DetectedObject, pairs: Sequence[tuple[DetectedObject, DetectedObject]]) -> bool:
    return any(detection is one or detection is other for one, other in pairs)


def _single(detections: Sequence[DetectedObject]) -> list[DetectedObject]:
    """Without the second, less sure box that a detector often draws around the same thing."""
    singles: list[DetectedObject] = []
    for detection in sorted(detections, key=lambda candidate: -candidate.confidence):
        if not any(
            detection.label == other.label and max(_standing(detection, other), _nested(detection, other))
            for other in singles
        ):
            singles.append(detection)
    return singles


def _counts(detection: DetectedObject, changed: BoolMask, point: float) -> bool:
    """Is it seen, did it change, and is it more than a speck of what changed?"""
    if detection.confidence < point or share_changed(detection, changed) < TOUCHED:
        return False
    return bool((detection.mask & changed).sum() >= SPECK * changed.sum())


def _of_kept(
    source: Pixels, edited: Pixels, one: DetectedObject, other: DetectedObject, changed: BoolMask
) -> Change | None:
    """Return the change of an object that stayed in position, or None if it did not change."""
    where = (one.mask | other.mask) & changed
    share = float(where.sum() / max(1, (one.mask | other.mask).sum()))
    if share < TOUCHED / 3 or where.sum() < TOUCHED * changed.sum() / 3:
        return None
    ratio = box_area(other.box) / max(1e-9, box_area(one.box))
    if share >= TOUCHED and not 1 / GREW < ratio < GREW:
        return Change("resized", one, other)
    inner = _inside(where)
    colors = color_word(source, inner), color_word(edited, inner)
    if colors[0] != colors[1] and likeness_of_shapes(source, edited, inner) >= SAME_SHAPES:
        return Change("recolored", one, other, colors, part=share < WHOLE)
    return Change("altered", one, other, part=share < WHOLE) if share >= TOUCHED else None


def _fine(picture: Pixels) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    return np.asarray(gray - cv2.GaussianBlur(gray, (0, 0), 4.0), np.float32)


CLEARER_RIM = 1.5
"""How many times stronger an outline must be in one of the pictures."""
FOUND_AGAIN = 0.6
"""Correlation from which a thing that is gone here is the one that is there."""
FILLS = 3.0
"""A region may be at most this many times larger than what moved there: a small plain piece fits anywhere."""
SURELY_FOUND = 0.85
"""The same, where it is not clear that something is gone here or new there."""


def region_changes(source: Pixels, edited: Pixels, regions: Sequence[ChangedRegion]) -> list[Change]:
    """Return one change per region of two aligned images; a moved region is reported once."""
    single = [_described(source, edited, region) for region in regions]
    vanished = [change for change in single if change.kind in {"vanished", "altered"}]
    appeared = [change for change in single if change.kind in {"appeared", "altered"}]
    offered = sorted(
        (
            (_found_again(source, edited, one.before, other.after), index, other_index)
            for index, one in enumerate(vanished)
            for other_index, other in enumerate(appeared)
            if one is not other and one.before is not None and other.after is not None
        ),
        reverse=True,
    )
    changes: list[Change] = []
    gone: list[Change] = []
    for similarity, index, other_index in offered:
        one, other = vanished[index], appeared[other_index]
        needed = FOUND_AGAIN if (one.kind, other.kind) == ("vanished", "appeared") else SURELY_FOUND
        if similarity >= needed and one not in gone and other not in gone:
            changes.append(Change("moved", one.before, other.after))
            gone += [one, other]
    return changes + [change for change in single if change not in gone]


def _described(source: Pixels, edited: Pixels, region: ChangedRegion) -> Change:
    left, top, right, bottom = region.box
    detection = DetectedObject(None, (float(left), float(top), float(right), float(bottom)), region.mask)
    inner = _inner(region.mask)
    colors = color_word(source, inner), color_word(edited, inner)
    if colors[0] != colors[1] and likeness_of_shapes(source, edited, inner) >= SAME_SHAPES:
        return Change("recolored", detection, detection, colors)
    before, after = (_rim(picture, region.mask) for picture in (source, edited))
    if before > CLEARER_RIM * after:
        return Change("vanished", detection, None)
    if after > CLEARER_RIM * before:
        return Change("appeared", None, detection)
    return Change("altered", detection, detection)


def _rim(picture: Pixels, mask: BoolMask) -> float:
    """Return the strength of the strongest edges within a region."""
    gray = cv2.GaussianBlur(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32), (0, 0), 1.0)
    strength = gradient_magnitude(np.asarray(gray, np.float32))
    return float(np.sort(strength[mask])[-max(1, int(mask.sum()) // 5) :].mean()) + 1e-6


def _found_again(source: Pixels, edited: Pixels, before: DetectedObject | None, after: DetectedObject | None) -> float:
    """Return the best correlation of the former content of one region with the present content of another."""
    if before is None or after is None:
        return 0.0
    if after.mask.sum() > FILLS * before.mask.sum():
        return 0.0
    piece, target = _cut(source, before), _cut(edited, after)
    room = [max(0, piece.shape[axis] - target.shape[axis]) for axis in (0, 1)]
    if any(room[axis] > 0.3 * piece.shape[axis] for axis in (0, 1)) or min(piece.shape[:2]) < 8:
        return 0.0
    padded = cv2.copyMakeBorder(target, room[0], room[0] + 4, room[1], room[1] + 4, cv2.BORDER_REFLECT)
    weight = np.repeat(_cut_mask(before)[..., np.newaxis], 3, axis=2).astype(np.float32)
    fits = cv2.matchTemplate(padded.astype(np.float32), piece.astype(np.float32), cv2.TM_CCOEFF_NORMED, mask=weight)
    fits = fits[np.isfinite(fits)]
    return float(fits.max()) if fits.size else 0.0


def _cut(picture: Pixels, detection: DetectedObject) -> Pixels:
    left, top, right, bottom = (int(side) for side in detection.box)
    return picture[top:bottom, left:right]


def _cut_mask(detection: DetectedObject) -> BoolMask:
    left, top, right, bottom = (int(side) for side in detection.box)
    return detection.mask[top:bottom, left:right]


def _inner(mask: BoolMask) -> BoolMask:
    """Erode a region, whose rim mixes colors of both sides; return all of it if nothing would remain."""
    inside = ~dilate_mask(~mask, 3)
    return inside if inside.any() else mask
