"""What changed between two pictures of which one was redrawn as a whole: places, things and colors, no pixels."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Literal

import numpy as np

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask, Rectangle
from editgauge._util.text import join_words, with_article
from editgauge._vision.change_sentences import NOTHING, sentences
from editgauge._vision.changed_regions import ChangedRegion, Changes, find_changes
from editgauge._vision.geometry import box_overlap
from editgauge._vision.object_changes import (
    HALF_SURE,
    WHOLE,
    BoxSides,
    Change,
    PicturedThing,
    object_changes,
    region_changes,
    share_changed,
)
from editgauge._vision.redrawn_changes import (
    ALL,
    FAINT_MEANING,
    MOST,
    RELAID,
    SUPPORTS,
    Meaning,
    Repainted,
    before_a_new_background,
    came_or_went,
    is_redrawn,
    kept_things,
    looks,
    meaning_of,
    places_of_change,
    recognized_changes,
    repainted_places,
    tint,
    without_repeats,
)
from editgauge.errors import UnscorableError
from editgauge.models.answers import Detections, SegmentPrompt
from editgauge.models.identity import identity
from editgauge.models.interfaces import Perception
from editgauge.models.own_pixels import in_own_pixels
from editgauge.models.vocabulary.coco import coco_words, is_animal, same_coco_kind
from editgauge.protocols._objects import has_model
from editgauge.protocols._second_look import ANIMAL, checked, confirmed, described, face_changes, text_changes

OTHER_IMAGE_MEANING = 0.55
"""The picture's middle change of meaning from which it looks like another picture."""
PERSON = "person"
MIN_INSIDE_FRACTION = 0.75
"""The share of a place that must be in a thing's box to be a part of it."""
MIN_COVERED_FRACTION = 0.5
"""The share of a place that its things fill."""
MIN_NESTED_FRACTION = 0.25
"""The same, where the things lie within the place: patches are coarse."""


async def meaning_between(source: Pixels, changes: Changes, perception: Perception) -> Meaning | None:
    """How much each patch changed its meaning; None without a model whose tokens tell."""
    try:
        before, after = await gather(*(perception.patches(picture) for picture in (source, changes.alignment.aligned)))
    except UnscorableError:
        return None
    return meaning_of(before.tokens, after.tokens, changes.alignment.valid)


async def redrawn_changes(
    source: Pixels,
    pixels: Changes,
    seen: tuple[Sequence[PicturedThing], Sequence[PicturedThing]],
    meaning: Meaning,
    perception: Perception,
) -> tuple[list[Change], list[str], tuple[str, ...]]:
    """The changes, weightiest first, remarks about the picture as a whole, and the things before a new background.

    Args:
        source: the picture before
        pixels: where the two differ, with the picture after in the source's frame
        seen: what was seen in either, weak sightings included
        meaning: how much each patch changed its meaning
        perception: for a second opinion about words
    """
    edited = pixels.alignment.aligned
    before, after = seen
    offered = recognized_changes(before, after, meaning, same_coco_kind)
    agreed = await gather(*(confirmed(change, source, edited, perception) for change in offered))
    certain = [change for change in agreed if change is not None and not _is_another_animal(change, before, after)]
    changes = without_repeats(certain)
    kept = kept_things(before, after)
    painted = repainted_places(source, edited, meaning)
    changes += [_repainted(place, kept) for place in painted if place.colors]
    if meaning.middle < OTHER_IMAGE_MEANING:
        rest = [
            place
            for place in places_of_change(meaning, source.shape[:2])
            if not _covered_by_changes(place.mask, changes)
        ]
        changes += [_in_place(place, kept, meaning) for place in rest if place.share < MOST]
    if not changes and meaning.middle < RELAID:
        faint = places_of_change(meaning, source.shape[:2], FAINT_MEANING)
        spots = [*(place.region for place in painted), *faint, *pixels.regions]
        changes = [_in_place(region, kept, meaning) for region in spots[:1] if region.share < MOST]
    changes.sort(key=lambda change: -_weight(change, meaning))
    stayed = before_a_new_background(kept, meaning)
    remarks = [
        *looks(source, edited),
        *(tint(source, edited) if meaning.middle < RELAID else []),
        *([] if stayed else _redrawn_extent(meaning, kept, changes)),
    ]
    if not changes and not remarks and not stayed:
        remarks = [whole_picture(pixels)]
    return changes, remarks, stayed


def _is_another_animal(change: Change, before: Sequence[PicturedThing], after: Sequence[PicturedThing]) -> bool:
    """Is some animal seen in both pictures, where just an animal is said to have come or gone?"""
    thing, others = (change.before, after) if change.kind == "vanished" else (change.after, before)
    if change.kind not in {"appeared", "vanished"} or thing is None or thing.word != ANIMAL:
        return False
    return any(is_animal(str(other.word)) and box_overlap(thing.box, other.box) > 0 for other in others)


def whole_picture(pixels: Changes) -> str:
    """What is said when nothing else is certain."""
    return f"The whole picture looks different: {pixels.share:.0%} of it changed."


def _weight(change: Change, meaning: Meaning) -> float:
    things = [thing for thing in (change.before, change.after) if thing is not None]
    return max(meaning.within(thing.mask) * float(thing.mask.mean()) for thing in things)


def _still_there(kept: Sequence[PicturedThing], changes: Sequence[Change]) -> list[str]:
    """The words of things that can be seen at their place, and of which nothing else is reported."""
    mentioned = {thing.word for change in changes for thing in (change.before, change.after) if thing is not None}
    return list(dict.fromkeys(str(thing.word) for thing in kept if thing.word not in mentioned))


def _redrawn_extent(meaning: Meaning, kept: Sequence[PicturedThing], changes: Sequence[Change]) -> list[str]:
    """How much of the picture was made again, and what can still be seen."""
    if meaning.middle < RELAID:
        return []
    words = _still_there(kept, changes) if meaning.middle >= OTHER_IMAGE_MEANING or not changes else []
    still = [f"Still there: {join_words([with_article(word) for word in words])}."] if words else []
    if meaning.middle < OTHER_IMAGE_MEANING:
        return ["The whole picture was redrawn; its layout can still be recognized.", *still]
    return ["Nearly everything changed: it looks like another picture.", *still]


def _repainted(place: Repainted, kept: Sequence[PicturedThing]) -> Change:
    thing = _thing_around(place.region, kept)
    if thing is None or float(place.region.mask[thing.mask].mean()) < WHOLE:
        thing = _spot(place.region, None)
    return Change("recolored", thing, thing, place.colors)


def _in_place(region: ChangedRegion, kept: Sequence[PicturedThing], meaning: Meaning) -> Change:
    spot, kind = _spot(region, None), came_or_went(region, meaning)
    if kind == "appeared":
        return Change(kind, None, spot)
    if kind == "vanished":
        return Change(kind, spot, None)
    thing = _thing_around(region, kept)
    if thing is None:
        return Change(kind, spot, spot)
    return Change(kind, thing, _spot(region, thing.word), part=float(region.mask[thing.mask].mean()) < WHOLE)


def _spot(region: ChangedRegion, word: str | None) -> PicturedThing:
    left, top, right, bottom = (float(side) for side in region.box)
    return PicturedThing(word, (left, top, right, bottom), region.mask)


def _thing_around(region: ChangedRegion, kept: Sequence[PicturedThing]) -> PicturedThing | None:
    """The smallest thing that is still there and to which the region belongs."""
    around = [
        thing
        for thing in kept
        if thing.word not in SUPPORTS
        and (thing.mask.mean() < ALL or thing.word == PERSON)
        and float(thing.mask[region.mask].mean()) >= MIN_INSIDE_FRACTION
    ]
    return min(around, key=lambda thing: float(thing.mask.mean()), default=None)


def _covered_by_changes(place: BoolMask, changes: Sequence[Change]) -> bool:
    """Do the things that changed fill the place, or are in it?"""
    masks = [thing.mask for change in changes for thing in (change.before, change.after) if thing is not None]
    covered = float(np.logical_or.reduce([np.zeros_like(place), *masks])[place].mean())
    return covered >= MIN_COVERED_FRACTION or (
        covered >= MIN_NESTED_FRACTION and any(float(place[mask].mean()) >= MIN_INSIDE_FRACTION for mask in masks)
    )


Extent = Literal["nothing", "places", "background", "whole"]

AROUND = 0.2
"""The share of the picture from which a change may be one of the whole picture."""
ALONG = 0.25
"""The share of an edge of the picture that a change must reach to go beyond it."""
EDGES = 3
"""This many edges of the picture are reached by a change of the background or of everything."""
MOSTLY = 0.5
"""The share of a change that lies on its things; at least this much explains it."""
STANDS_OUT = 0.03
"""The share of the picture from which a thing that stayed has a background."""
FAINT = 1.1
"""The mean difference of a large change under which it is a matter of style: new things differ more."""
EVERYTHING = 0.85
"""The share of the picture from which no single thing explains a change."""
UNTOUCHED = 0.25
"""The share of a thing that may have changed although it stayed as it was."""
GRAZED = 0.03
"""The share of a box that must have changed to draw the thing's outline: outlines cost most of the time."""
BESIDE = 0.015
"""Of the longer side: so far beyond its things a region may reach, because differences are smoothed."""
KEPT_PAIRS = 8
"""Some three megabytes each at 512 pixels."""
CERTAIN_FACTOR = 2.0
"""Times the operating point: so sure must be what came or went where everything looks different."""

_recent: dict[tuple[str, str], Changes] = {}
_lock = Lock()


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """What changed between two pictures."""

    pixels: Changes
    extent: Extent
    kept: tuple[str, ...]
    """The things before a background that changed."""
    changes: tuple[Change, ...]
    sentences: tuple[str, ...]
    """At least one."""


def changes_of(source: Pixels, edited: Pixels) -> Changes:
    """What changed in pixels, kept for the last few pairs: several protocols ask it of the same outcome."""
    pair = identity(source), identity(edited)
    with _lock:
        known = _recent.pop(pair, None)
    changes = known or find_changes(source, edited)
    with _lock:
        _recent[pair] = changes
        while len(_recent) > KEPT_PAIRS:
            del _recent[next(iter(_recent))]
    return changes


async def differences(
    source: Pixels, edited: Pixels, perception: Perception, original: Pixels | None = None
) -> Differences:
    """What changed, in pixels, things and words; both pictures of one size.

    Args:
        source: the picture before
        edited: the picture after
        perception: with a detector, and with a segmenter for the outlines of things
        original: the picture after in its own size, where that is another; models look at this one
    """
    pixels = changes_of(source, edited)
    if not pixels.mask.any():
        return Differences(pixels, "nothing", (), (), (NOTHING,))
    aligned = pixels.alignment.aligned
    perception = in_own_pixels(
        perception, aligned, None if original is None else pixels.alignment.in_own_size(original)
    )
    point = operating_point(perception)
    before, after = await gather(
        *(_in_boxes(perception, picture, (), HALF_SURE * point) for picture in (source, aligned))
    )
    height, width = source.shape[:2]
    meaning = await meaning_between(source, pixels, perception) if is_redrawn(source, pixels) else None
    if meaning is not None:
        changes, remarks, kept = await redrawn_changes(source, pixels, (before, after), meaning, perception)
        extent: Extent = "background" if kept else "whole" if meaning.middle >= RELAID or not changes else "places"
        changes, texts = await _looked_at_again(source, pixels, changes, perception)
        background = [_background_changed(kept)] if kept else []
        text = (*background, *sentences(changes, width, height), *texts, *remarks)
        return Differences(pixels, extent, kept, tuple(changes), text)
    needed = [[_outline_matters(thing, pixels.mask, point) for thing in things] for things in (before, after)]
    before, after = await gather(
        _with_outlines(perception, source, before, needed[0]), _with_outlines(perception, aligned, after, needed[1])
    )
    changes = object_changes(source, aligned, before, after, pixels.mask, point)
    extent, kept = _extent(pixels, changes, before, after, point)
    if extent == "places":
        rest = [region for region in pixels.regions if not _explained(region.mask, changes)]
        changes += region_changes(source, aligned, rest)
    else:
        changes = [change for change in changes if _holds_anyway(change, pixels, point)]
    changes = await gather(*(checked(change, source, aligned, perception) for change in changes))
    changes, texts = await _looked_at_again(source, pixels, changes, perception)
    text = (*sentences(changes, width, height), *texts, *_about_everything(extent, kept, pixels))
    return Differences(pixels, extent, kept, tuple(changes), text)


async def _looked_at_again(
    source: Pixels, pixels: Changes, changes: Sequence[Change], perception: Perception
) -> tuple[list[Change], list[str]]:
    """The changes with what else can be said about them, and sentences about faces and text."""
    edited, changed = pixels.alignment.aligned, pixels.mask
    again, texts, faces = await gather(
        gather(*(described(change, source, edited, changed, perception) for change in changes)),
        text_changes(source, edited, changed, perception),
        face_changes(source, edited, changed, perception),
    )
    return list(again), [*faces, *texts]


async def seen_at_all(perception: Perception, picture: Pixels, words: Sequence[str], least: float | None) -> Detections:
    """Everything the detector sees: of all its words, or of COCO's and those given when it takes any phrase."""
    if perception.vocabulary() is not None:
        return await perception.detect_all(picture, least)
    return await perception.detect(picture, *dict.fromkeys([*words, *coco_words().values()]), least=least)


def operating_point(perception: Perception) -> float:
    """Minimum confidence at which something counts as seen."""
    return float(perception.card("detector").settings["operating_point"])


async def things_seen(
    perception: Perception,
    picture: Pixels,
    words: Sequence[str],
    least: float | None,
    *,
    needs_outline: Callable[[str, BoxSides, float], bool],
) -> list[PicturedThing]:
    """What is seen, each with its outline, or its box where no model draws outlines.

    Outlines cost more than all else: `needs_outline`, of word, box and confidence, says which things get one.
    """
    things = await _in_boxes(perception, picture, words, least)
    needed = [needs_outline(str(thing.word), thing.box, thing.confidence) for thing in things]
    return await _with_outlines(perception, picture, things, needed)


async def _in_boxes(
    perception: Perception, picture: Pixels, words: Sequence[str], least: float | None
) -> list[PicturedThing]:
    detections = await seen_at_all(perception, picture, words, least)
    height, width = picture.shape[:2]
    rows = zip(detections.phrases, detections.boxes.tolist(), detections.confidences.tolist(), strict=True)
    return [
        PicturedThing(word, (left, top, right, bottom), Rectangle(left, top, right, bottom).render(width, height), sure)
        for word, (left, top, right, bottom), sure in rows
    ]


async def _with_outlines(
    perception: Perception, picture: Pixels, things: Sequence[PicturedThing], needed: Sequence[bool]
) -> list[PicturedThing]:
    """The things, with outlines where they are needed and a model draws them."""
    places = [place for place, is_needed in enumerate(needed) if is_needed]
    if not places or not has_model(perception, "segmenter"):
        return list(things)
    boxes = np.array([things[place].box for place in places], np.float32)
    outlined = list(things)
    for place, mask in zip(places, await perception.segment(picture, SegmentPrompt(boxes=boxes)), strict=True):
        if mask.sum() >= things[place].mask.sum() / 10:  # an outline of a tenth of its box missed the thing
            outlined[place] = replace(things[place], mask=mask)
    return outlined


def _outline_matters(thing: PicturedThing, changed: BoolMask, point: float) -> bool:
    """Is it seen, and did it change, or is it large and did not?"""
    touched = share_changed(thing, changed) >= GRAZED
    return thing.confidence >= point and (touched or bool(thing.mask.mean() >= STANDS_OUT))


def _extent(
    pixels: Changes,
    changes: Sequence[Change],
    before: Sequence[PicturedThing],
    after: Sequence[PicturedThing],
    point: float,
) -> tuple[Extent, tuple[str, ...]]:
    """Is it a change of some places, of the background, or of everything? And what stands before the background?"""
    if pixels.share < AROUND:
        return "places", ()
    faint = float(pixels.difference[pixels.mask].mean()) < FAINT
    of_things = _edges_reached(pixels.mask) < EDGES or _explained(pixels.mask, changes)
    if of_things and not faint and pixels.share < EVERYTHING:
        return "places", ()
    stood = [
        thing
        for thing in (*before, *after)
        if thing.word and thing.confidence >= point
        and share_changed(thing, pixels.mask) < UNTOUCHED and thing.mask.mean() >= STANDS_OUT
    ]  # fmt: skip
    kept = tuple(dict.fromkeys(thing.word for thing in stood if thing.word))
    return ("background", kept) if kept else ("whole", ())


def _edges_reached(mask: BoolMask) -> int:
    return sum(bool(edge.mean() >= ALONG) for edge in (mask[0], mask[-1], mask[:, 0], mask[:, -1]))


def _explained(region: BoolMask, changes: Sequence[Change]) -> bool:
    """Do the things to which something happened fill the region?"""
    height, width = region.shape
    beside = BESIDE * max(width, height)
    covered = np.zeros_like(region)
    for change in changes:
        for thing in (change.before, change.after):
            if thing is not None:
                left, top, right, bottom = thing.box
                covered |= Rectangle(left - beside, top - beside, right + beside, bottom + beside).render(width, height)
    return bool(covered[region].mean() >= MOSTLY)


def _holds_anyway(change: Change, pixels: Changes, point: float) -> bool:
    """Is it certain although everything looks different? Then outlines, colors and weak sightings say nothing."""
    if change.kind not in {"appeared", "vanished", "replaced"}:
        return False
    things = [thing for thing in (change.before, change.after) if thing is not None]
    return all(
        thing.confidence >= CERTAIN_FACTOR * point and float(pixels.difference[thing.mask].mean()) >= FAINT
        for thing in things
    )


def _background_changed(kept: Sequence[str]) -> str:
    return f"The background changed: everything but the {' and the '.join(kept)}."


def _about_everything(extent: Extent, kept: Sequence[str], pixels: Changes) -> list[str]:
    if extent == "background":
        return [_background_changed(kept)]
    if extent == "whole":
        return [whole_picture(pixels)]
    return []
