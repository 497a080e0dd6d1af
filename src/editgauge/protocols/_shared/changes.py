"""What changed between two pictures, and on which things: change detection and what a detector sees, put together."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import Literal

import numpy as np

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask, Rectangle
from editgauge._vision.change_sentences import NOTHING, sentences
from editgauge._vision.changed_regions import Changes, find_changes
from editgauge._vision.object_changes import (
    HALF_SURE,
    BoxSides,
    Change,
    PicturedThing,
    object_changes,
    region_changes,
    share_changed,
)
from editgauge._vision.redrawn_changes import RELAID, is_redrawn
from editgauge.models.answers import Detections, SegmentPrompt
from editgauge.models.identity import identity
from editgauge.models.interfaces import Perception
from editgauge.models.own_pixels import in_own_pixels
from editgauge.models.vocabulary.coco import coco_words
from editgauge.protocols._shared.looking import has_model
from editgauge.protocols._shared.redrawn import meaning_between, redrawn_changes, whole_picture
from editgauge.protocols._shared.second_look import checked, described, face_changes, text_changes

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
DOUBTLESS = 2.0
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


async def differences(source: Pixels, edited: Pixels, see: Perception, original: Pixels | None = None) -> Differences:
    """What changed, in pixels, things and words; both pictures of one size.

    Args:
        source: the picture before
        edited: the picture after
        see: with a detector, and with a segmenter for the outlines of things
        original: the picture after in its own size, where that is another; models look at this one
    """
    pixels = changes_of(source, edited)
    if not pixels.mask.any():
        return Differences(pixels, "nothing", (), (), (NOTHING,))
    aligned = pixels.alignment.aligned
    see = in_own_pixels(see, aligned, None if original is None else pixels.alignment.in_own_size(original))
    point = operating_point(see)
    before, after = await gather(*(_in_boxes(see, picture, (), HALF_SURE * point) for picture in (source, aligned)))
    height, width = source.shape[:2]
    meaning = await meaning_between(source, pixels, see) if is_redrawn(source, pixels) else None
    if meaning is not None:
        changes, remarks, kept = await redrawn_changes(source, pixels, (before, after), meaning, see)
        extent: Extent = "background" if kept else "whole" if meaning.middle >= RELAID or not changes else "places"
        changes, texts = await _looked_at_again(source, pixels, changes, see)
        background = [_background_changed(kept)] if kept else []
        text = (*background, *sentences(changes, width, height), *texts, *remarks)
        return Differences(pixels, extent, kept, tuple(changes), text)
    needed = [[_outline_matters(thing, pixels.mask, point) for thing in things] for things in (before, after)]
    before, after = await gather(
        _with_outlines(see, source, before, needed[0]), _with_outlines(see, aligned, after, needed[1])
    )
    changes = object_changes(source, aligned, before, after, pixels.mask, point)
    extent, kept = _extent(pixels, changes, before, after, point)
    if extent == "places":
        rest = [region for region in pixels.regions if not _explained(region.mask, changes)]
        changes += region_changes(source, aligned, rest)
    else:
        changes = [change for change in changes if _holds_anyway(change, pixels, point)]
    changes = await gather(*(checked(change, source, aligned, see) for change in changes))
    changes, texts = await _looked_at_again(source, pixels, changes, see)
    text = (*sentences(changes, width, height), *texts, *_about_everything(extent, kept, pixels))
    return Differences(pixels, extent, kept, tuple(changes), text)


async def _looked_at_again(
    source: Pixels, pixels: Changes, changes: Sequence[Change], see: Perception
) -> tuple[list[Change], list[str]]:
    """The changes with what else can be said about them, and sentences about faces and text."""
    edited, changed = pixels.alignment.aligned, pixels.mask
    again, texts, faces = await gather(
        gather(*(described(change, source, edited, changed, see) for change in changes)),
        text_changes(source, edited, changed, see),
        face_changes(source, edited, changed, see),
    )
    return list(again), [*faces, *texts]


async def seen_at_all(see: Perception, picture: Pixels, words: Sequence[str], least: float | None) -> Detections:
    """Everything the detector sees: of all its words, or of COCO's and those given when it takes any phrase."""
    if see.vocabulary() is not None:
        return await see.detect_all(picture, least)
    return await see.detect(picture, *dict.fromkeys([*words, *coco_words().values()]), least=least)


def operating_point(see: Perception) -> float:
    """Minimum confidence at which something counts as seen."""
    return float(see.card("detector").settings["operating_point"])


async def things_seen(
    see: Perception,
    picture: Pixels,
    words: Sequence[str],
    least: float | None,
    *,
    needs_outline: Callable[[str, BoxSides, float], bool],
) -> list[PicturedThing]:
    """What is seen, each with its outline, or its box where no model draws outlines.

    Outlines cost more than all else: `needs_outline`, of word, box and confidence, says which things get one.
    """
    things = await _in_boxes(see, picture, words, least)
    needed = [needs_outline(str(thing.word), thing.box, thing.confidence) for thing in things]
    return await _with_outlines(see, picture, things, needed)


async def _in_boxes(see: Perception, picture: Pixels, words: Sequence[str], least: float | None) -> list[PicturedThing]:
    detections = await seen_at_all(see, picture, words, least)
    height, width = picture.shape[:2]
    rows = zip(detections.phrases, detections.boxes.tolist(), detections.confidences.tolist(), strict=True)
    return [
        PicturedThing(word, (left, top, right, bottom), Rectangle(left, top, right, bottom).render(width, height), sure)
        for word, (left, top, right, bottom), sure in rows
    ]


async def _with_outlines(
    see: Perception, picture: Pixels, things: Sequence[PicturedThing], needed: Sequence[bool]
) -> list[PicturedThing]:
    """The things, with outlines where they are needed and a model draws them."""
    places = [place for place, is_needed in enumerate(needed) if is_needed]
    if not places or not has_model(see, "segmenter"):
        return list(things)
    boxes = np.array([things[place].box for place in places], np.float32)
    outlined = list(things)
    for place, mask in zip(places, await see.segment(picture, SegmentPrompt(boxes=boxes)), strict=True):
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
        thing.confidence >= DOUBTLESS * point and float(pixels.difference[thing.mask].mean()) >= FAINT
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
