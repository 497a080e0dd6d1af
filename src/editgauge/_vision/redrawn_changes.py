"""What changed in a picture that was redrawn as a whole: where its meaning changed, where its colors, and how it looks.

Pixels say little there, for all of them differ. How much each patch changed its meaning comes from the tokens of a
vision transformer; it is compared with the picture's own middle, because redrawing alone costs every patch something.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels, as_lab
from editgauge._util.masks import BoolMask, bounding_box, dilate_mask
from editgauge._vision.changed_regions import ChangedRegion, Changes
from editgauge._vision.colors import color_word, hue_word
from editgauge._vision.geometry import box_area, box_overlap
from editgauge._vision.object_changes import Change, DetectedObject

Grid = NDArray[np.float32]
"""rows x columns of patches."""
Tokens = NDArray[np.floating[Any]]
"""rows x columns x length."""

MIN_REDRAWN_LEVELS = 1.5
"""Levels of gray, out of 255, by which a quarter of the pixels differ outside the changed regions."""
TOKEN_BLUR_PATCHES = 0.7
"""In patches: single patches of a plain wall change their token by chance."""
MIN_MEANING_CHANGE = 0.25
"""A change of meaning under which no patch counts, however little the others changed."""
MIN_FAINT_MEANING_CHANGE = 0.1
"""The same, where nothing else can be determined."""
MIN_PEAK_PATCHES = 6
"""This many patches must have changed as much as the peak: fewer are a speck."""
MIN_RISE_FRACTION = 0.45
"""How far from the picture's middle to its peak a patch must have changed."""
MIN_REGION_FRACTION = 0.01
"""The share of the picture under which a place is a speck."""
MIN_RELATIVE_WEIGHT = 0.35
"""Of the largest place: what weighs less is not worth a sentence."""
MAX_REGIONS = 3
MIN_MEDIAN_OF_REDRAWN = 0.2
"""The picture's middle change of meaning from which all of it was redrawn."""
SURROUNDING_PATCHES, MIN_SURROUNDING_PATCHES = 2, 4
"""How many patches next to a place lie around it, and how many of them must be left to compare it with."""
MAX_SURROUNDING_RISE = 0.1
"""How much more than the middle such a patch may have changed."""
MAX_LOCAL_FRACTION = 0.2
"""The share of the picture up to which a place has surroundings."""
MIN_PLAIN_SIMILARITY, MIN_SIMILARITY_DROP = 0.72, 0.18
"""The similarity of a plain place with its surroundings, and by how much a thing on it lowers that."""
MAX_SAME_CONTENT_CHANGE = 0.4
"""A change of meaning up to which a patch still shows what it showed."""
COLOR_GRID_SIDE = 32
FINE_COLOR_GRID_SIDE = 64
"""Cells along a side: of the picture for its repainted places, and for the color of one region."""
MIN_HUE_SHIFT_LAB = 10.0
"""Distance in the plane of a and b of CIE Lab from which a color may have become another."""
MIN_HUE_SHIFT_RATIO = 3.0
"""Times the picture's middle distance: so much farther must a place have moved."""
MIN_TINT_LAB, MIN_TINTED_FRACTION = 8.0, 0.75
"""The distance by which all colors together must have moved before it is told, and the share that must take part."""
MIN_NEW_COLOR_FRACTION = 0.5
"""The share of a place that must have one color word after it was repainted."""
MAX_OLD_COLOR_FRACTION = 0.15
"""The share of a place that may have had that color before."""
MIN_REPAINTED_FRACTION = 0.03
"""The share of the picture from which a change of color is reported."""
MIN_COLOR_CHROMA, MAX_GRAY_CHROMA = 8.0, 3.0
"""The mean chroma of a picture in color, and of one in black and white."""
MIN_CHROMA_CHANGE, MAX_CHROMA_RATIO = 6.0, 0.72
"""By how much, and to which part, the mean chroma must fall before people call the colors paler."""
MIN_LIGHTNESS_CHANGE = 8.0
"""By how much the mean lightness must change before people call a picture brighter or darker."""
MAX_CONTRAST_RATIO = 0.75
"""To which part the spread of lightness must fall before people see less contrast."""
MIN_WHOLE_IMAGE_FRACTION = 0.5
"""The share of the picture from which a change is one of the whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Meaning:
    """How much each patch of a picture changed its meaning."""

    grid: Grid
    """Smoothed, 0 where the pictures do not overlap."""
    middle: float
    """Of the picture: what redrawing alone cost."""
    tokens: tuple[Tokens, Tokens]
    """The meaning of every patch before and after, as unit vectors."""

    def within(self, mask: BoolMask) -> float:
        """Return the mean change of a region."""
        weights = cv2.resize(mask.astype(np.float32), self.grid.shape[::-1], interpolation=cv2.INTER_AREA)
        return float((self.grid * weights).sum() / max(float(weights.sum()), 1e-6))

    def weight(self, mask: BoolMask) -> float:
        """Return the part of the change above the median inside a region."""
        return float(mask.mean()) * max(self.within(mask) - self.middle, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Repainted:
    """A region that shows what it showed, in another color."""

    region: ChangedRegion
    colors: tuple[str, str] | None
    """None when the colors before or after have no common name."""


def is_redrawn(source: Pixels, changes: Changes) -> bool:
    """Return whether also unchanged pixels were regenerated, as generative editors do."""
    unchanged = changes.alignment.valid & ~changes.mask
    if not unchanged.any():
        return True
    before, after = (cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY) for picture in (source, changes.alignment.aligned))
    return float(np.percentile(cv2.absdiff(before, after)[unchanged], 75)) > MIN_REDRAWN_LEVELS


def meaning_of(before: Tokens, after: Tokens, valid: BoolMask) -> Meaning:
    """Measure how much the patches of two images differ: one minus the cosine of their tokens.

    Args:
        before: tokens of the source.
        after: tokens of the edited image, in the frame of the source.
        valid: pixels that both images show.

    """
    tokens = _unit_tokens(before, np.float32), _unit_tokens(after, np.float32)
    change = 1 - (tokens[0] * tokens[1]).sum(axis=2)
    rows, columns = change.shape
    visible = cv2.resize(valid.astype(np.float32), (columns, rows), interpolation=cv2.INTER_AREA) > 0.9
    raw = np.where(visible, change, 0).astype(np.float32)
    grid = np.asarray(cv2.GaussianBlur(raw, (0, 0), TOKEN_BLUR_PATCHES, borderType=cv2.BORDER_REPLICATE), np.float32)
    return Meaning(np.where(visible, grid, 0), float(np.median(raw[visible])) if visible.any() else 0.0, tokens)


def regions_of_change(
    meaning: Meaning, shape: tuple[int, int], least_meaning: float = MIN_MEANING_CHANGE
) -> list[ChangedRegion]:
    """Return the regions whose meaning changed most, by weight, in pixels."""
    peak = float(np.sort(meaning.grid, axis=None)[-MIN_PEAK_PATCHES:][0])
    least = max(least_meaning, meaning.middle + MIN_RISE_FRACTION * (peak - meaning.middle))
    regions = [
        region for region in _regions(meaning.grid >= least, meaning.grid, shape) if region.share >= MIN_REGION_FRACTION
    ]
    weights = {id(region): meaning.weight(region.mask) for region in regions}
    regions.sort(key=lambda region: -weights[id(region)])
    return [region for region in regions if weights[id(region)] >= MIN_RELATIVE_WEIGHT * weights[id(regions[0])]][
        :MAX_REGIONS
    ]


def tint(source: Pixels, edited: Pixels) -> list[str]:
    """Describe the color toward which nearly the whole image shifted; empty if it did not."""
    shift = np.subtract(*(as_lab(_small(picture))[..., 1:] for picture in (edited, source)))
    red, yellow = middle = np.median(shift, axis=(0, 1))
    length = float(np.linalg.norm(middle))
    if length < MIN_TINT_LAB or float((shift @ middle / length >= MIN_TINT_LAB / 2).mean()) < MIN_TINTED_FRACTION:
        return []
    return [f"All colors shifted toward {hue_word(float(red), float(yellow))}."]


def appeared_or_vanished(region: ChangedRegion, meaning: Meaning) -> Literal["appeared", "vanished", "altered"]:
    """Tell whether something appeared or vanished: a plain region is similar to its surroundings, an object is not."""
    rows, columns = meaning.grid.shape
    cells = cv2.resize(region.mask.astype(np.uint8), (columns, rows), interpolation=cv2.INTER_NEAREST) > 0
    around = (
        dilate_mask(cells, SURROUNDING_PATCHES)
        & ~cells
        & (meaning.grid < max(MIN_MEANING_CHANGE, meaning.middle + MAX_SURROUNDING_RISE))
    )
    if (
        around.sum() < MIN_SURROUNDING_PATCHES
        or cells.mean() > MAX_LOCAL_FRACTION
        or meaning.middle >= MIN_MEDIAN_OF_REDRAWN
    ):
        return "altered"
    before, after = (_likeness(tokens[cells], tokens[around]) for tokens in meaning.tokens)
    if before >= MIN_PLAIN_SIMILARITY and before - after >= MIN_SIMILARITY_DROP:
        return "appeared"
    return "vanished" if after >= MIN_PLAIN_SIMILARITY and after - before >= MIN_SIMILARITY_DROP else "altered"


def _likeness(inside: Tokens, around: Tokens) -> float:
    """Return the mean cosine of each patch with its three most similar neighbors."""
    return float(np.sort(inside @ around.T, axis=1)[:, -3:].mean())


def repainted_regions(source: Pixels, edited: Pixels, meaning: Meaning) -> list[Repainted]:
    """Return the regions that show the same content in another color, largest first."""
    shift = np.subtract(*(as_lab(_small(picture))[..., 1:] for picture in (edited, source)))
    cast = np.median(shift, axis=(0, 1))
    if np.linalg.norm(cast) >= 2 * MIN_TINT_LAB:
        return []
    distance = np.asarray(np.linalg.norm(shift - cast, axis=2), np.float32)
    clear = max(MIN_HUE_SHIFT_LAB, MIN_HUE_SHIFT_RATIO * float(np.median(distance)))
    change = cv2.resize(meaning.grid, (COLOR_GRID_SIDE, COLOR_GRID_SIDE), interpolation=cv2.INTER_LINEAR)
    regions = _regions(
        (distance >= clear) & (change < MAX_SAME_CONTENT_CHANGE), distance, (COLOR_GRID_SIDE, COLOR_GRID_SIDE)
    )
    repainted = [
        Repainted(
            _region(region.mask, distance, source.shape[:2]), _new_color(_small(source), _small(edited), region.mask)
        )
        for region in regions
        if region.share >= MIN_REPAINTED_FRACTION
    ]
    return sorted(repainted, key=lambda entry: -entry.region.share)


def looks(source: Pixels, edited: Pixels) -> list[str]:
    """Describe changes of light and colors of the whole image, one sentence each; empty if it looks alike."""
    before, after = as_lab(source), as_lab(edited)
    remarks = []
    chroma, chroma_now = (float(np.hypot(lab[..., 1], lab[..., 2]).mean()) for lab in (before, after))
    if chroma >= MIN_COLOR_CHROMA and chroma_now <= MAX_GRAY_CHROMA:
        remarks.append("The picture became black and white.")
    elif chroma - chroma_now >= MIN_CHROMA_CHANGE and chroma_now <= MAX_CHROMA_RATIO * chroma:
        remarks.append("The colors became paler.")
    elif chroma_now - chroma >= MIN_CHROMA_CHANGE and chroma <= MAX_CHROMA_RATIO * chroma_now:
        remarks.append("The colors became stronger.")
    lighter = float(after[..., 0].mean() - before[..., 0].mean())
    if abs(lighter) >= MIN_LIGHTNESS_CHANGE:
        remarks.append(f"The picture became {'brighter' if lighter > 0 else 'darker'}.")
    if float(after[..., 0].std()) <= MAX_CONTRAST_RATIO * float(before[..., 0].std()):
        remarks.append("The picture lost contrast.")
    return remarks


def _small(picture: Pixels) -> Pixels:
    return np.asarray(cv2.resize(picture, (COLOR_GRID_SIDE, COLOR_GRID_SIDE), interpolation=cv2.INTER_AREA), np.uint8)


def color_change(source: Pixels, edited: Pixels, where: BoolMask) -> tuple[str, str] | None:
    """Return the color names of most of a region before and after, or None unless one color is new to most of it."""
    side = (FINE_COLOR_GRID_SIDE, FINE_COLOR_GRID_SIDE)
    cells = cv2.resize(where.astype(np.float32), side, interpolation=cv2.INTER_AREA) >= 0.5
    if not cells.any():
        return None
    before, after = (cv2.resize(picture, side, interpolation=cv2.INTER_AREA) for picture in (source, edited))
    return _new_color(np.asarray(before, np.uint8), np.asarray(after, np.uint8), cells)


def _new_color(before: Pixels, after: Pixels, where: BoolMask) -> tuple[str, str] | None:
    """Return the color names of most cells before and after, or None unless one color is new to most of them."""
    words, words_now = (
        Counter(color_word(color[np.newaxis, np.newaxis], np.ones((1, 1), np.bool_)) for color in picture[where])
        for picture in (before, after)
    )
    (old, _), (new, count) = words.most_common(1)[0], words_now.most_common(1)[0]
    cells = words.total()
    return (
        (old, new)
        if old != new and count >= MIN_NEW_COLOR_FRACTION * cells and words[new] <= MAX_OLD_COLOR_FRACTION * cells
        else None
    )


def _regions(mask: NDArray[Any], strength: Grid, shape: tuple[int, int]) -> list[ChangedRegion]:
    count, labels = cv2.connectedComponents(mask.astype(np.uint8), connectivity=8)
    return [_region(labels == label, strength, shape) for label in range(1, count)]


def _region(cells: BoolMask, strength: Grid, shape: tuple[int, int]) -> ChangedRegion:
    height, width = shape
    mask = cv2.resize(cells.astype(np.uint8), (width, height), interpolation=cv2.INTER_NEAREST) > 0
    return ChangedRegion(mask, bounding_box(mask), float(mask.mean()), float(strength[cells].mean()))


Kin = Callable[[str, str], bool]
"""Are two words of one kind, so that a detector takes one for the other?"""

MIN_OBJECT_CONFIDENCE = 0.45
"""Minimum confidence at which a thing may be said to have come or gone."""
MIN_CERTAIN_CONFIDENCE = 0.75
"""Minimum confidence at which a slight change of meaning is enough: a horse and a zebra mean nearly the same."""
MIN_SAME_POSITION_IOU = 0.2
"""Overlap from which a second sighting of a word speaks for the same thing."""
MIN_NESTED_FRACTION = 0.7
"""The share of the smaller box within the larger one that says the same."""
MIN_DUPLICATE_FRACTION = 0.6
"""The same, for two boxes of one word in one picture."""
MIN_CONFUSED_IOU = 0.4
"""Overlap from which a word of the same kind may be the same thing under another name."""
MIN_REPLACED_IOU = 0.6
"""Overlap from which one thing stands in place of another of a different kind."""
MIN_OBJECT_MEANING_CHANGE = 0.35
"""The change of meaning of a place in which a thing came or went."""
MIN_RENAMED_MEANING_CHANGE = 0.45
"""The same, where a thing became another of its kind."""
MIN_CERTAIN_MEANING_CHANGE = 0.2
"""The same, where the detector is certain."""
SUPPORT_LABELS = frozenset({"dining table", "bed", "couch", "bench"})
"""Words of what other things lie on: a change there is hardly one of the table."""
GROUND_LABELS = SUPPORT_LABELS | {"person"}
"""Words of what other things lie on or belong to, and which become nothing else."""
MAX_COUNTABLE_OBJECTS = 5
"""With more objects of one word it cannot be determined which of them was added or removed."""
MIN_RISE_ABOVE_MEDIAN = 0.15
"""This much more than the picture's middle must such a place have changed, unless nearly all is new."""

MAX_LOCATED_FRACTION = 0.8
"""The share of the picture from which a box says nothing about where a change is."""
MIN_FOREGROUND_FRACTION = 0.03
"""The share of the picture from which a thing that stayed has a background."""
MIN_BACKGROUND_MARGIN = 0.2
"""By how much less than the rest a thing changed its meaning before a background that changed."""


def recognized_changes(
    before: Sequence[DetectedObject], after: Sequence[DetectedObject], meaning: Meaning, kin: Kin
) -> list[Change]:
    """Return appeared, vanished and replaced objects; detections include those of low confidence."""
    gone = [
        detection for detection in _confident_objects(before) if _is_on_one_side(detection, before, after, meaning, kin)
    ]
    new = [
        detection for detection in _confident_objects(after) if _is_on_one_side(detection, after, before, meaning, kin)
    ]
    changes: list[Change] = []
    for one in list(gone):
        partners = [other for other in new if _is_replacement(one, other, kin)]
        if partners:
            other = max(partners, key=lambda candidate: box_overlap(one.box, candidate.box))
            changes.append(Change("replaced", one, other))
            gone.remove(one)
            new.remove(other)
    # What is gone here and new there may have moved, or may be another: nothing is said.
    moved = {detection.label for detection in gone} & {detection.label for detection in new}
    changes += [Change("vanished", detection, None) for detection in gone if detection.label not in moved]
    changes += [Change("appeared", None, detection) for detection in new if detection.label not in moved]
    return changes


def without_repeats(changes: Sequence[Change]) -> list[Change]:
    """Drop changes that repeat a replacement: where oranges became apples, one more apple is not reported."""
    pairs = [(change.before.label, change.after.label) for change in changes if change.before and change.after]
    gone, new = ({words[index] for words in pairs} for index in (0, 1))
    return [
        change
        for change in changes
        if not (change.kind == "vanished" and change.before and change.before.label in gone)
        and not (change.kind == "appeared" and change.after and change.after.label in new)
    ]


def unchanged_objects(before: Sequence[DetectedObject], after: Sequence[DetectedObject]) -> list[DetectedObject]:
    """Return the objects of the source that are confidently detected again in position."""
    sure = [detection for detection in after if detection.confidence >= MIN_OBJECT_CONFIDENCE]
    return [
        detection
        for detection in _confident_objects(before)
        if any(other.label == detection.label and _is_same_position(detection, other) for other in sure)
    ]


def before_a_new_background(unchanged: Sequence[DetectedObject], meaning: Meaning) -> tuple[str, ...]:
    """Return the labels of objects that stayed the same while everything around them changed."""
    if meaning.middle < MIN_MEDIAN_OF_REDRAWN:
        return ()
    stayed = [
        detection
        for detection in unchanged
        if detection.label not in SUPPORT_LABELS
        and MIN_FOREGROUND_FRACTION <= detection.mask.mean() < MAX_LOCATED_FRACTION
        and meaning.within(detection.mask) <= meaning.within(~detection.mask) - MIN_BACKGROUND_MARGIN
    ]
    return tuple(dict.fromkeys(str(detection.label) for detection in stayed))


def _is_on_one_side(
    detection: DetectedObject,
    own_side: Sequence[DetectedObject],
    other_side: Sequence[DetectedObject],
    meaning: Meaning,
    kin: Kin,
) -> bool:
    change = meaning.within(detection.mask)
    needed = (
        MIN_CERTAIN_MEANING_CHANGE
        if detection.confidence >= MIN_CERTAIN_CONFIDENCE
        else max(MIN_OBJECT_MEANING_CHANGE, min(meaning.middle + MIN_RISE_ABOVE_MEDIAN, MIN_RENAMED_MEANING_CHANGE))
    )
    if change < needed:
        return False
    crowds = [
        Counter(candidate.label for candidate in detections)[detection.label] for detections in (own_side, other_side)
    ]
    if min(crowds) > 0 and max(crowds) > MAX_COUNTABLE_OBJECTS:
        return False
    sure, sure_other = (
        sum(candidate.label == detection.label for candidate in _confident_objects(detections))
        for detections in (own_side, other_side)
    )
    if sure <= sure_other:
        return False
    for other in other_side:
        if other.label == detection.label and _is_same_position(detection, other):
            return False
        taken_for = box_overlap(detection.box, other.box) >= MIN_CONFUSED_IOU and kin(
            str(detection.label), str(other.label)
        )
        is_uncertain = other.confidence < MIN_OBJECT_CONFIDENCE or (
            change < MIN_RENAMED_MEANING_CHANGE and min(detection.confidence, other.confidence) < MIN_CERTAIN_CONFIDENCE
        )
        if taken_for and is_uncertain and other.confidence > detection.confidence / 2:
            return False
    return True


def _is_replacement(one: DetectedObject, other: DetectedObject, kin: Kin) -> bool:
    overlap = box_overlap(one.box, other.box)
    if {one.label, other.label} & GROUND_LABELS:
        return False
    return overlap >= (MIN_CONFUSED_IOU if kin(str(one.label), str(other.label)) else MIN_REPLACED_IOU)


def _is_same_position(one: DetectedObject, other: DetectedObject) -> bool:
    return (
        box_overlap(one.box, other.box) >= MIN_SAME_POSITION_IOU or _nested_fraction(one, other) >= MIN_NESTED_FRACTION
    )


def _nested_fraction(one: DetectedObject, other: DetectedObject) -> float:
    """Return the share of the smaller box inside the larger one."""
    overlap = box_overlap(one.box, other.box)
    areas = box_area(one.box), box_area(other.box)
    return overlap * sum(areas) / (1 + overlap) / max(min(areas), 1e-9)


def _confident_objects(detections: Sequence[DetectedObject]) -> list[DetectedObject]:
    """Return the confident detections, without duplicates of one object."""
    singles: list[DetectedObject] = []
    for detection in sorted(detections, key=lambda candidate: -candidate.confidence):
        doubled = any(
            detection.label == other.label and _nested_fraction(detection, other) >= MIN_DUPLICATE_FRACTION
            for other in singles
        )
        if detection.confidence >= MIN_OBJECT_CONFIDENCE and not doubled:
            singles.append(detection)
    return singles


MIN_NORM = 1e-6


def semantic_change(source: Tokens, edited: Tokens) -> NDArray[np.float64]:
    """Return one minus the cosine of the two tokens of each patch, rows x columns, from 0 (the same) to 2.

    Unlike pixels, tokens hardly change with style, light and small shifts.

    >>> semantic_change(np.array([[[1.0, 0], [1, 0]]]), np.array([[[2.0, 0], [0, 3]]])).tolist()
    [[0.0, 1.0]]
    """
    if source.shape != edited.shape or source.ndim != 3 or not source.size:
        raise ValueError(f"two grids of tokens of one shape are compared, got {source.shape} and {edited.shape}")
    return np.asarray(np.clip(1 - (_unit_tokens(source) * _unit_tokens(edited)).sum(axis=2), 0, 2))


def _unit_tokens(tokens: Tokens, dtype: type[np.floating[Any]] = np.float64) -> NDArray[np.floating[Any]]:
    vectors = np.asarray(tokens, dtype)
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=2, keepdims=True), MIN_NORM), dtype)
