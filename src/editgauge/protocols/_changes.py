"""Describe what changed between two images: changed pixels, objects and words."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Literal

import numpy as np

from editgauge._util.images import ImageArray, Pixels, pixel_hash
from editgauge._util.masks import BoolMask, Rectangle
from editgauge._util.text import join_words, with_article
from editgauge._vision.change_sentences import NO_CHANGE, sentences
from editgauge._vision.changed_regions import ChangedRegion, Changes, find_changes
from editgauge._vision.disturbances import MIN_TEXTURED_CELLS, measure_disturbance
from editgauge._vision.geometry import box_overlap
from editgauge._vision.object_changes import (
    LOW_CONFIDENCE_FACTOR,
    MIN_WHOLE_OBJECT_FRACTION,
    Change,
    DetectedObject,
    changed_fraction,
    object_changes,
    region_changes,
)
from editgauge._vision.redrawn_changes import (
    MAX_LOCATED_FRACTION,
    MIN_FAINT_MEANING_CHANGE,
    MIN_MEDIAN_OF_REDRAWN,
    MIN_WHOLE_IMAGE_FRACTION,
    SUPPORT_LABELS,
    Meaning,
    Repainted,
    appeared_or_vanished,
    before_a_new_background,
    is_redrawn,
    looks,
    meaning_of,
    recognized_changes,
    regions_of_change,
    repainted_regions,
    tint,
    unchanged_objects,
    without_repeats,
)
from editgauge.errors import UnscorableError
from editgauge.models.perception import Perception
from editgauge.models.vocabulary._words import is_animal, same_coco_kind
from editgauge.protocols._objects import detect_objects, operating_point, outline_objects
from editgauge.protocols._second_look import (
    ANIMAL,
    add_details,
    check_change,
    confirm_change,
    face_changes,
    text_changes,
)

OTHER_IMAGE_MEANING = 0.55
"""Median change of patch meaning from which the result looks like another image."""
PERSON = "person"
MIN_INSIDE_FRACTION = 0.75
"""Minimum fraction of a region inside an object's box for the region to be part of the object."""
MIN_COVERED_FRACTION = 0.5
"""Minimum fraction of a region that changed objects must cover to explain it."""
MIN_NESTED_FRACTION = 0.25
"""The same where an object lies within the region, because patches are coarse."""


async def meaning_between(source: Pixels, changes: Changes, perception: Perception) -> Meaning | None:
    """Return how much each patch changed its meaning; None without a model with patch tokens."""
    try:
        before, after = await gather(*(perception.patches(picture) for picture in (source, changes.alignment.aligned)))
    except UnscorableError:
        return None
    return meaning_of(before.tokens, after.tokens, changes.alignment.valid)


async def redrawn_changes(
    source: Pixels,
    pixels: Changes,
    detected: tuple[Sequence[DetectedObject], Sequence[DetectedObject]],
    meaning: Meaning,
    perception: Perception,
) -> tuple[list[Change], list[str], tuple[str, ...]]:
    """Return changes by weight, remarks about the whole image, and objects before a new background.

    Args:
        source: the image before the edit
        pixels: where the two images differ, with the edited image in the source's frame
        detected: objects of both images, weak detections included
        meaning: how much each patch changed its meaning
        perception: models for a second opinion about labels

    """
    edited = pixels.alignment.aligned
    before, after = detected
    candidate_changes = recognized_changes(before, after, meaning, same_coco_kind)
    agreed = await gather(*(confirm_change(change, source, edited, perception) for change in candidate_changes))
    certain = [change for change in agreed if change is not None and not _is_another_animal(change, before, after)]
    changes = without_repeats(certain)
    stable = unchanged_objects(before, after)
    painted = repainted_regions(source, edited, meaning)
    changes += [_color_change(region, stable) for region in painted if region.colors]
    if meaning.middle < OTHER_IMAGE_MEANING:
        unexplained = [
            region
            for region in regions_of_change(meaning, source.shape[:2])
            if not _covered_by_changes(region.mask, changes)
        ]
        changes += [
            _region_change(region, stable, meaning) for region in unexplained if region.share < MIN_WHOLE_IMAGE_FRACTION
        ]
    if not changes and meaning.middle < MIN_MEDIAN_OF_REDRAWN:
        faint = regions_of_change(meaning, source.shape[:2], MIN_FAINT_MEANING_CHANGE)
        candidates = [*(region.region for region in painted), *faint, *pixels.regions]
        changes = [
            _region_change(region, stable, meaning)
            for region in candidates[:1]
            if region.share < MIN_WHOLE_IMAGE_FRACTION
        ]
    changes.sort(key=lambda change: -_weight(change, meaning))
    foreground = before_a_new_background(stable, meaning)
    remarks = [
        *looks(source, edited),
        *(tint(source, edited) if meaning.middle < MIN_MEDIAN_OF_REDRAWN else []),
        *([] if foreground else _redrawn_extent(meaning, stable, changes)),
    ]
    if not changes and not remarks and not foreground:
        remarks = [describe_global_change(pixels)]
    return changes, remarks, foreground


def _is_another_animal(change: Change, before: Sequence[DetectedObject], after: Sequence[DetectedObject]) -> bool:
    """Return whether an animal that appeared or vanished is another animal in the other image."""
    detected, candidates = (change.before, after) if change.kind == "vanished" else (change.after, before)
    if change.kind not in {"appeared", "vanished"} or detected is None or detected.label != ANIMAL:
        return False
    return any(
        is_animal(str(candidate.label)) and box_overlap(detected.box, candidate.box) > 0 for candidate in candidates
    )


def describe_global_change(pixels: Changes) -> str:
    """Say that the whole image changed, when nothing more specific is certain."""
    return f"The whole picture looks different: {pixels.share:.0%} of it changed."


def _weight(change: Change, meaning: Meaning) -> float:
    objects = [detected for detected in (change.before, change.after) if detected is not None]
    return max(meaning.within(detected.mask) * float(detected.mask.mean()) for detected in objects)


def _still_there(stable: Sequence[DetectedObject], changes: Sequence[Change]) -> list[str]:
    """Return the labels of objects that stayed and that no change mentions."""
    mentioned = {
        detected.label for change in changes for detected in (change.before, change.after) if detected is not None
    }
    return list(dict.fromkeys(str(detected.label) for detected in stable if detected.label not in mentioned))


def _redrawn_extent(meaning: Meaning, stable: Sequence[DetectedObject], changes: Sequence[Change]) -> list[str]:
    """Say how much of the image was redrawn, and what can still be recognized."""
    if meaning.middle < MIN_MEDIAN_OF_REDRAWN:
        return []
    words = _still_there(stable, changes) if meaning.middle >= OTHER_IMAGE_MEANING or not changes else []
    still = [f"Still there: {join_words([with_article(word) for word in words])}."] if words else []
    if meaning.middle < OTHER_IMAGE_MEANING:
        return ["The whole picture was redrawn; its layout can still be recognized.", *still]
    return ["Nearly everything changed: it looks like another picture.", *still]


def _color_change(repainted: Repainted, stable: Sequence[DetectedObject]) -> Change:
    detected = _enclosing_object(repainted.region, stable)
    if detected is None or float(repainted.region.mask[detected.mask].mean()) < MIN_WHOLE_OBJECT_FRACTION:
        detected = _region_object(repainted.region, None)
    return Change("recolored", detected, detected, repainted.colors)


def _region_change(region: ChangedRegion, stable: Sequence[DetectedObject], meaning: Meaning) -> Change:
    region_object, kind = _region_object(region, None), appeared_or_vanished(region, meaning)
    if kind == "appeared":
        return Change(kind, None, region_object)
    if kind == "vanished":
        return Change(kind, region_object, None)
    detected = _enclosing_object(region, stable)
    if detected is None:
        return Change(kind, region_object, region_object)
    return Change(
        kind,
        detected,
        _region_object(region, detected.label),
        part=float(region.mask[detected.mask].mean()) < MIN_WHOLE_OBJECT_FRACTION,
    )


def _region_object(region: ChangedRegion, word: str | None) -> DetectedObject:
    left, top, right, bottom = (float(side) for side in region.box)
    return DetectedObject(word, (left, top, right, bottom), region.mask)


def _enclosing_object(region: ChangedRegion, stable: Sequence[DetectedObject]) -> DetectedObject | None:
    """Return the smallest stable object that contains the region."""
    candidates = [
        detected
        for detected in stable
        if detected.label not in SUPPORT_LABELS
        and (detected.mask.mean() < MAX_LOCATED_FRACTION or detected.label == PERSON)
        and float(detected.mask[region.mask].mean()) >= MIN_INSIDE_FRACTION
    ]
    return min(candidates, key=lambda detected: float(detected.mask.mean()), default=None)


def _covered_by_changes(region: BoolMask, changes: Sequence[Change]) -> bool:
    """Return whether the changed objects cover the region or lie within it."""
    masks = [detected.mask for change in changes for detected in (change.before, change.after) if detected is not None]
    covered = float(np.logical_or.reduce([np.zeros_like(region), *masks])[region].mean())
    return covered >= MIN_COVERED_FRACTION or (
        covered >= MIN_NESTED_FRACTION and any(float(region[mask].mean()) >= MIN_INSIDE_FRACTION for mask in masks)
    )


Extent = Literal["nothing", "places", "background", "whole"]

MIN_GLOBAL_FRACTION = 0.2
"""Minimum changed fraction of the image for a global change."""
MIN_EDGE_FRACTION = 0.25
"""Minimum fraction of an image edge that a change must cover to reach it."""
MIN_EDGES_REACHED = 3
"""Minimum number of image edges that a background or global change reaches."""
MIN_EXPLAINED_FRACTION = 0.5
"""Minimum fraction of a region that its objects must cover to explain it."""
MIN_FOREGROUND_FRACTION = 0.03
"""Minimum fraction of the image for an object to count as foreground."""
MAX_STYLE_DIFFERENCE = 1.1
"""Mean difference below which a large change is a change of style; new objects differ more."""
MAX_OBJECT_FRACTION = 0.85
"""Changed fraction of the image from which no single object explains the change."""
MAX_UNTOUCHED_FRACTION = 0.25
"""Maximum changed fraction of an object that stayed as it was."""
MIN_TOUCHED_FRACTION = 0.03
"""Minimum changed fraction of a box for its outline to be segmented; outlines cost most of the time."""
BOX_TOLERANCE = 0.015
"""Tolerance around an object, as a fraction of the longer image side, because differences are smoothed."""
MIN_LARGE_OBJECT, MAX_LARGE_OBJECT = 0.25, 0.95
"""Share of the image that a large object covers; its surroundings can still be compared."""
MAX_CACHED_PAIRS = 8
"""Cached image pairs, about three megabytes each at 512 pixels."""
CERTAIN_FACTOR = 2.0
"""Multiple of the operating point at which an object is certain although everything changed."""

_recent: dict[tuple[str, str], Changes] = {}
_lock = Lock()


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """All differences between two images."""

    pixels: Changes
    extent: Extent
    foreground: tuple[str, ...]
    """Labels of objects in front of a changed background."""
    changes: tuple[Change, ...]
    sentences: tuple[str, ...]
    """At least one."""


def changes_of(source: Pixels, edited: Pixels) -> Changes:
    """Detect changed pixels; the last few pairs are cached, because several protocols need them."""
    pair = pixel_hash(source), pixel_hash(edited)
    with _lock:
        cached = _recent.pop(pair, None)
    changes = cached or find_changes(source, edited)
    with _lock:
        _recent[pair] = changes
        while len(_recent) > MAX_CACHED_PAIRS:
            del _recent[next(iter(_recent))]
    return changes


async def differences(
    source: Pixels, edited: Pixels, perception: Perception, original: Pixels | None = None
) -> Differences:
    """Describe what changed in pixels, objects and words; both images have one size.

    Changes of the image as a whole come from the analysis that the score `kept` uses, so the two agree.

    Args:
        source: the image before the edit
        edited: the image after the edit
        perception: models, with a detector at least; outlines need a segmenter
        original: the edited image in its native size, if that differs; models use this one

    """
    result = await _local_differences(source, edited, perception, original)
    disturbance = measure_disturbance(
        source,
        edited,
        result.pixels.alignment,
        _large_objects(result.changes),
        min_textured_cells=MIN_TEXTURED_CELLS,  # sentences are about the whole image
    )
    if not disturbance.sentences:
        return result
    local = tuple(text for text in result.sentences if result.extent != "nothing")
    return replace(result, extent="whole", sentences=(*disturbance.sentences, *local))


def _large_objects(changes: Sequence[Change]) -> BoolMask | None:
    """Return where large recognized objects changed: such a change is not one of the image as a whole."""
    objects = [
        detected
        for change in changes
        for detected in (change.before, change.after)
        if detected is not None and detected.label
    ]
    masks = [detected.mask for detected in objects if MIN_LARGE_OBJECT <= detected.mask.mean() <= MAX_LARGE_OBJECT]
    return np.logical_or.reduce(masks) if masks else None


async def _local_differences(
    source: Pixels, edited: Pixels, perception: Perception, original: Pixels | None
) -> Differences:
    """Describe changed objects and regions in the source's frame."""
    pixels = changes_of(source, edited)
    if not pixels.mask.any():
        return Differences(pixels, "nothing", (), (), (NO_CHANGE,))
    if original is not None:  # models look at the edited image in native resolution, in the source's frame
        image = ImageArray(pixels.alignment.aligned, pixels.alignment.in_own_size(original))
        pixels = replace(pixels, alignment=replace(pixels.alignment, aligned=image))
    aligned = pixels.alignment.aligned
    point = operating_point(perception)
    before, after = await gather(
        *(detect_objects(perception, image, (), LOW_CONFIDENCE_FACTOR * point) for image in (source, aligned))
    )
    height, width = source.shape[:2]
    meaning = await meaning_between(source, pixels, perception) if is_redrawn(source, pixels) else None
    if meaning is not None:
        changes, remarks, foreground = await redrawn_changes(source, pixels, (before, after), meaning, perception)
        extent: Extent = (
            "background"
            if foreground
            else "whole"
            if meaning.middle >= MIN_MEDIAN_OF_REDRAWN or not changes
            else "places"
        )
        changes, text_remarks = await _add_details(source, pixels, changes, perception)
        background = [_background_changed(foreground)] if foreground else []
        remarks_in_order = (*background, *sentences(changes, width, height), *text_remarks, *remarks)
        return Differences(pixels, extent, foreground, tuple(changes), remarks_in_order)
    before, after = await gather(
        *(
            outline_objects(perception, image, objects, lambda detected: _outline_matters(detected, pixels.mask, point))
            for image, objects in ((source, before), (aligned, after))
        )
    )
    changes = object_changes(source, aligned, before, after, changed=pixels.mask, point=point)
    extent, foreground = _extent(pixels, changes, before, after, point)
    if extent == "places":
        unexplained = [region for region in pixels.regions if not _explained(region.mask, changes)]
        changes += region_changes(source, aligned, unexplained)
    else:
        changes = [change for change in changes if _is_certain(change, pixels, point)]
    changes = await gather(*(check_change(change, source, aligned, perception) for change in changes))
    changes, text_remarks = await _add_details(source, pixels, changes, perception)
    remarks_in_order = (*sentences(changes, width, height), *text_remarks, *_global_remarks(extent, foreground, pixels))
    return Differences(pixels, extent, foreground, tuple(changes), remarks_in_order)


async def _add_details(
    source: Pixels, pixels: Changes, changes: Sequence[Change], perception: Perception
) -> tuple[list[Change], list[str]]:
    """Add details to the changes, and return sentences about faces and text."""
    edited, changed = pixels.alignment.aligned, pixels.mask
    detailed, texts, faces = await gather(
        gather(*(add_details(change, source, edited, changed, perception) for change in changes)),
        text_changes(source, edited, changed, perception),
        face_changes(source, edited, changed, perception),
    )
    return list(detailed), [*faces, *texts]


def _outline_matters(detected: DetectedObject, changed: BoolMask, point: float) -> bool:
    """Return whether an object is certain, and either changed or is large."""
    is_touched = changed_fraction(detected, changed) >= MIN_TOUCHED_FRACTION
    return detected.confidence >= point and (is_touched or bool(detected.mask.mean() >= MIN_FOREGROUND_FRACTION))


def _extent(
    pixels: Changes,
    changes: Sequence[Change],
    before: Sequence[DetectedObject],
    after: Sequence[DetectedObject],
    point: float,
) -> tuple[Extent, tuple[str, ...]]:
    """Classify the change as local, background or global, and name the foreground objects."""
    if pixels.share < MIN_GLOBAL_FRACTION:
        return "places", ()
    is_faint = float(pixels.difference[pixels.mask].mean()) < MAX_STYLE_DIFFERENCE
    is_local = _edges_reached(pixels.mask) < MIN_EDGES_REACHED or _explained(pixels.mask, changes)
    if is_local and not is_faint and pixels.share < MAX_OBJECT_FRACTION:
        return "places", ()
    unchanged = [
        detected
        for detected in (*before, *after)
        if detected.label
        and detected.confidence >= point
        and changed_fraction(detected, pixels.mask) < MAX_UNTOUCHED_FRACTION
        and detected.mask.mean() >= MIN_FOREGROUND_FRACTION
    ]
    labels = tuple(dict.fromkeys(detected.label for detected in unchanged if detected.label))
    return ("background", labels) if labels else ("whole", ())


def _edges_reached(mask: BoolMask) -> int:
    return sum(bool(edge.mean() >= MIN_EDGE_FRACTION) for edge in (mask[0], mask[-1], mask[:, 0], mask[:, -1]))


def _explained(region: BoolMask, changes: Sequence[Change]) -> bool:
    """Return whether changed objects cover most of the region."""
    height, width = region.shape
    tolerance = BOX_TOLERANCE * max(width, height)
    covered = np.zeros_like(region)
    for change in changes:
        for detected in (change.before, change.after):
            if detected is not None:
                left, top, right, bottom = detected.box
                covered |= Rectangle(left - tolerance, top - tolerance, right + tolerance, bottom + tolerance).render(
                    width, height
                )
    return bool(covered[region].mean() >= MIN_EXPLAINED_FRACTION)


def _is_certain(change: Change, pixels: Changes, point: float) -> bool:
    """Return whether a change is certain although the whole image differs."""
    if change.kind not in {"appeared", "vanished", "replaced"}:
        return False
    objects = [detected for detected in (change.before, change.after) if detected is not None]
    return all(
        detected.confidence >= CERTAIN_FACTOR * point
        and float(pixels.difference[detected.mask].mean()) >= MAX_STYLE_DIFFERENCE
        for detected in objects
    )


def _background_changed(labels: Sequence[str]) -> str:
    return f"The background changed: everything but the {' and the '.join(labels)}."


def _global_remarks(extent: Extent, labels: Sequence[str], pixels: Changes) -> list[str]:
    if extent == "background":
        return [_background_changed(labels)]
    if extent == "whole":
        return [describe_global_change(pixels)]
    return []
