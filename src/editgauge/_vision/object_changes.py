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

MIN_IN_PLACE_IOU = 0.5
"""Overlap from which two boxes of one word are one thing in its place."""
MIN_REPLACED_IOU = 0.35
"""Overlap from which one thing stands where another stood."""
MIN_NESTED_FRACTION = 0.7
"""How much of the smaller box is in the larger when a thing grew or shrank."""
MIN_RESIZE_RATIO = 1.35
"""Ratio of areas from which a thing has another size."""
MAX_SAME_OBJECT_AREA_RATIO = 8.0
"""Ratio of areas from which two boxes are never one thing."""
MIN_CHANGED_FRACTION = 0.35
"""The share of a thing that must have changed to ask what happened to it."""
MIN_WHOLE_OBJECT_FRACTION = 0.6
"""Minimum share at which the thing itself changed, not a part of it."""
MIN_CHANGE_FRACTION = 0.02
"""Of the changed region: less cannot be what the change is about."""
LOW_CONFIDENCE_FACTOR = 0.5
"""Of the operating point: so sure is enough for a thing to be still there."""
MIN_SAME_SHAPE_CORRELATION = 0.5
"""Correlation of fine brightness from which only the color of a thing is another."""
MIN_UNDETECTED_CORRELATION = 0.7
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
    *,
    changed: BoolMask,
    point: float,
) -> list[Change]:
    """Determine what happened to the detected objects.

    Args:
        source: the image before the edit.
        edited: the image after it, in the same frame.
        detected_before: objects in the source from half the operating point on.
        detected_after: objects in the edited image, by the same detector.
        changed: where the images differ.
        point: minimum confidence of a detection.

    """
    before, after = _without_duplicates(detected_before), _without_duplicates(detected_after)
    pairs_in_place = _pairs(before, after, lambda one, other: one.label == other.label, _in_place_overlap)
    sure = [pair for pair in pairs_in_place if min(detection.confidence for detection in pair) >= point]
    changes = _without_covered_parts(
        [change for pair in sure if (change := _change_in_place(source, edited, *pair, changed)) is not None], changed
    )
    before, after = (
        [
            detection
            for detection in detections
            if _is_changed(detection, changed, point) and not _is_paired(detection, pairs_in_place)
        ]
        for detections in (before, after)
    )
    for kind, fits, likeness in _STAGES:
        pairs = _pairs(before, after, fits, likeness)
        changes += [Change(kind, one, other) for one, other in pairs]
        before, after = (
            [detection for detection in detections if not _is_paired(detection, pairs)]
            for detections in (before, after)
        )
    changes += [
        _recolored(source, edited, detection, changed) or Change("vanished", detection, None) for detection in before
    ]
    changes += [Change("appeared", None, detection) for detection in after]
    return changes


def shape_correlation(source: Pixels, edited: Pixels, where: BoolMask) -> float:
    """Return the correlation of fine brightness in a region, from -1 to 1: high when only its color changed."""
    one, other = (_fine(picture)[where] for picture in (source, edited))
    spread = float(np.linalg.norm(one - one.mean()) * np.linalg.norm(other - other.mean()))
    return float(((one - one.mean()) * (other - other.mean())).sum() / spread) if spread > 0 else 0.0


def changed_fraction(detection: DetectedObject, changed: BoolMask) -> float:
    """Return the fraction of an object where the images differ."""
    return float(changed[detection.mask].mean()) if detection.mask.any() else 0.0


def _recolored(source: Pixels, edited: Pixels, detection: DetectedObject, changed: BoolMask) -> Change | None:
    """Restore objects whose texture is unchanged: they did not vanish, although the detector missed them."""
    where = _without_rim(detection.mask & changed)
    colors = color_word(source, where), color_word(edited, where)
    if colors[0] == colors[1] or shape_correlation(source, edited, where) < MIN_UNDETECTED_CORRELATION:
        return None
    return Change("recolored", detection, detection, colors)


def _without_covered_parts(changes: list[Change], changed: BoolMask) -> list[Change]:
    """Drop parts of objects that changed only because another object lies over them."""
    unique: list[Change] = []
    claimed = np.zeros_like(changed)
    for change in sorted(changes, key=lambda candidate: -int((_joint_mask(candidate) & changed).sum())):
        where = _joint_mask(change) & changed
        if not change.part or claimed[where].mean() < 0.5:
            unique.append(change)
            claimed |= where
    return unique


def _joint_mask(change: Change) -> BoolMask:
    masks = [detection.mask for detection in (change.before, change.after) if detection is not None]
    return np.asarray(np.logical_or.reduce(masks))


def _without_rim(where: BoolMask) -> BoolMask:
    """Drop the rim, where colors of both sides meet; keep all if nothing else would be left."""
    inner = ~dilate_mask(~where, 2)
    return inner if inner.any() else where


def _in_place_overlap(one: DetectedObject, other: DetectedObject) -> float:
    overlap = box_overlap(one.box, other.box)
    return overlap if overlap >= MIN_IN_PLACE_IOU else 0.0


def _nested_fraction(one: DetectedObject, other: DetectedObject) -> float:
    areas = sorted((box_area(one.box), box_area(other.box)))
    if areas[0] <= 0 or areas[1] > MAX_SAME_OBJECT_AREA_RATIO * areas[0]:
        return 0.0
    inside = box_overlap(one.box, other.box) * (areas[0] + areas[1]) / (1 + box_overlap(one.box, other.box)) / areas[0]
    return inside if inside >= MIN_NESTED_FRACTION else 0.0


def _size_similarity(one: DetectedObject, other: DetectedObject) -> float:
    """Score two objects as one that moved, by similarity of size."""
    areas = sorted((box_area(one.box), box_area(other.box)))
    return areas[0] / areas[1] if areas[1] <= 3 * areas[0] else 0.0


def _replacement_overlap(one: DetectedObject, other: DetectedObject) -> float:
    overlap = box_overlap(one.box, other.box)
    return overlap if overlap >= MIN_REPLACED_IOU or _nested_fraction(one, other) else 0.0


Fits = Callable[[DetectedObject, DetectedObject], bool]
Likeness = Callable[[DetectedObject, DetectedObject], float]
_STAGES: tuple[tuple[Kind, Fits, Likeness], ...] = (
    ("resized", lambda one, other: one.label == other.label, _nested_fraction),
    ("replaced", lambda one, other: one.label != other.label, _replacement_overlap),
    ("moved", lambda one, other: one.label == other.label, _size_similarity),
)
"""In this order: what stands in the same place is more likely the same thing than what stands elsewhere."""


def _pairs(
    before: list[DetectedObject], after: list[DetectedObject], fits: Fits, likeness: Likeness
) -> list[tuple[DetectedObject, DetectedObject]]:
    """Pair each object with at most one other, the most similar first."""
    offered = [
        (likeness(one, other), index, other_index)
        for index, one in enumerate(before)
        for other_index, other in enumerate(after)
        if fits(one, other)
    ]
    pairs: list[tuple[DetectedObject, DetectedObject]] = []
    for similarity, index, other_index in sorted(offered, key=lambda offer: (-offer[0], offer[1], offer[2])):
        one, other = before[index], after[other_index]
        if similarity > 0 and not _is_paired(one, pairs) and not _is_paired(other, pairs):
            pairs.append((one, other))
    return pairs


def _is_paired(detection: DetectedObject, pairs: Sequence[tuple[DetectedObject, DetectedObject]]) -> bool:
    return any(detection is one or detection is other for one, other in pairs)


def _without_duplicates(detections: Sequence[DetectedObject]) -> list[DetectedObject]:
    """Drop the second, less confident box that a detector often draws around the same object."""
    singles: list[DetectedObject] = []
    for detection in sorted(detections, key=lambda candidate: -candidate.confidence):
        if not any(
            detection.label == other.label
            and max(_in_place_overlap(detection, other), _nested_fraction(detection, other))
            for other in singles
        ):
            singles.append(detection)
    return singles


def _is_changed(detection: DetectedObject, changed: BoolMask, point: float) -> bool:
    """Return whether an object is detected, changed, and a notable part of what changed."""
    if detection.confidence < point or changed_fraction(detection, changed) < MIN_CHANGED_FRACTION:
        return False
    return bool((detection.mask & changed).sum() >= MIN_CHANGE_FRACTION * changed.sum())


def _change_in_place(
    source: Pixels, edited: Pixels, one: DetectedObject, other: DetectedObject, changed: BoolMask
) -> Change | None:
    """Return the change of an object that stayed in position, or None if it did not change."""
    where = (one.mask | other.mask) & changed
    share = float(where.sum() / max(1, (one.mask | other.mask).sum()))
    if share < MIN_CHANGED_FRACTION / 3 or where.sum() < MIN_CHANGED_FRACTION * changed.sum() / 3:
        return None
    ratio = box_area(other.box) / max(1e-9, box_area(one.box))
    if share >= MIN_CHANGED_FRACTION and not 1 / MIN_RESIZE_RATIO < ratio < MIN_RESIZE_RATIO:
        return Change("resized", one, other)
    inner = _without_rim(where)
    colors = color_word(source, inner), color_word(edited, inner)
    if colors[0] != colors[1] and shape_correlation(source, edited, inner) >= MIN_SAME_SHAPE_CORRELATION:
        return Change("recolored", one, other, colors, part=share < MIN_WHOLE_OBJECT_FRACTION)
    return (
        Change("altered", one, other, part=share < MIN_WHOLE_OBJECT_FRACTION) if share >= MIN_CHANGED_FRACTION else None
    )


def _fine(picture: Pixels) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    return np.asarray(gray - cv2.GaussianBlur(gray, (0, 0), 4.0), np.float32)


MIN_RIM_RATIO = 1.5
"""How many times stronger an outline must be in one of the pictures."""
MIN_MOVED_CORRELATION = 0.6
"""Correlation from which a thing that is gone here is the one that is there."""
MAX_MOVED_AREA_RATIO = 3.0
"""A region may be at most this many times larger than what moved there: a small plain piece fits anywhere."""
MIN_UNCLEAR_MOVED_CORRELATION = 0.85
"""The same, where it is not clear that something is gone here or new there."""


def region_changes(source: Pixels, edited: Pixels, regions: Sequence[ChangedRegion]) -> list[Change]:
    """Return one change per region of two aligned images; a moved region is reported once."""
    single = [_region_change(source, edited, region) for region in regions]
    vanished = [change for change in single if change.kind in {"vanished", "altered"}]
    appeared = [change for change in single if change.kind in {"appeared", "altered"}]
    offered = sorted(
        (
            (_moved_correlation(source, edited, one.before, other.after), index, other_index)
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
        needed = (
            MIN_MOVED_CORRELATION
            if (one.kind, other.kind) == ("vanished", "appeared")
            else MIN_UNCLEAR_MOVED_CORRELATION
        )
        if similarity >= needed and one not in gone and other not in gone:
            changes.append(Change("moved", one.before, other.after))
            gone += [one, other]
    return changes + [change for change in single if change not in gone]


def _region_change(source: Pixels, edited: Pixels, region: ChangedRegion) -> Change:
    left, top, right, bottom = region.box
    detection = DetectedObject(None, (float(left), float(top), float(right), float(bottom)), region.mask)
    inner = _inner(region.mask)
    colors = color_word(source, inner), color_word(edited, inner)
    if colors[0] != colors[1] and shape_correlation(source, edited, inner) >= MIN_SAME_SHAPE_CORRELATION:
        return Change("recolored", detection, detection, colors)
    before, after = (_rim(picture, region.mask) for picture in (source, edited))
    if before > MIN_RIM_RATIO * after:
        return Change("vanished", detection, None)
    if after > MIN_RIM_RATIO * before:
        return Change("appeared", None, detection)
    return Change("altered", detection, detection)


def _rim(picture: Pixels, mask: BoolMask) -> float:
    """Return the strength of the strongest edges within a region."""
    gray = cv2.GaussianBlur(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32), (0, 0), 1.0)
    strength = gradient_magnitude(np.asarray(gray, np.float32))
    return float(np.sort(strength[mask])[-max(1, int(mask.sum()) // 5) :].mean()) + 1e-6


def _moved_correlation(
    source: Pixels, edited: Pixels, before: DetectedObject | None, after: DetectedObject | None
) -> float:
    """Return the best correlation of the former content of one region with the present content of another."""
    if before is None or after is None:
        return 0.0
    if after.mask.sum() > MAX_MOVED_AREA_RATIO * before.mask.sum():
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
