"""What changed between two pictures of which one was redrawn as a whole: places, things and colors, no pixels."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Sequence

import numpy as np

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask
from editgauge._util.text import join_words, with_article
from editgauge._vision.changed_regions import ChangedRegion, Changes
from editgauge._vision.geometry import box_overlap
from editgauge._vision.object_changes import WHOLE, Change, PicturedThing
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
from editgauge.models.interfaces import Perception
from editgauge.models.vocabulary.coco import is_animal, same_coco_kind
from editgauge.protocols._shared.second_look import ANIMAL, confirmed

ANOTHER = 0.55
"""The picture's middle change of meaning from which it looks like another picture."""
PERSON = "person"
WITHIN = 0.75
"""The share of a place that must be in a thing's box to be a part of it."""
EXPLAINED = 0.5
"""The share of a place that its things fill."""
MAINLY = 0.25
"""The same, where the things lie within the place: patches are coarse."""


async def meaning_between(source: Pixels, changes: Changes, see: Perception) -> Meaning | None:
    """How much each patch changed its meaning; None without a model whose tokens tell."""
    try:
        before, after = await gather(*(see.patches(picture) for picture in (source, changes.alignment.aligned)))
    except UnscorableError:
        return None
    return meaning_of(before.tokens, after.tokens, changes.alignment.valid)


async def redrawn_changes(
    source: Pixels,
    pixels: Changes,
    seen: tuple[Sequence[PicturedThing], Sequence[PicturedThing]],
    meaning: Meaning,
    see: Perception,
) -> tuple[list[Change], list[str], tuple[str, ...]]:
    """The changes, weightiest first, remarks about the picture as a whole, and the things before a new background.

    Args:
        source: the picture before
        pixels: where the two differ, with the picture after in the source's frame
        seen: what was seen in either, weak sightings included
        meaning: how much each patch changed its meaning
        see: for a second opinion about words
    """
    edited = pixels.alignment.aligned
    before, after = seen
    offered = recognized_changes(before, after, meaning, same_coco_kind)
    agreed = await gather(*(confirmed(change, source, edited, see) for change in offered))
    certain = [change for change in agreed if change is not None and not _is_another_animal(change, before, after)]
    changes = without_repeats(certain)
    kept = kept_things(before, after)
    painted = repainted_places(source, edited, meaning)
    changes += [_repainted(place, kept) for place in painted if place.colors]
    if meaning.middle < ANOTHER:
        rest = [place for place in places_of_change(meaning, source.shape[:2]) if not _explained(place.mask, changes)]
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
        *([] if stayed else _extent(meaning, kept, changes)),
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


def _extent(meaning: Meaning, kept: Sequence[PicturedThing], changes: Sequence[Change]) -> list[str]:
    """How much of the picture was made again, and what can still be seen."""
    if meaning.middle < RELAID:
        return []
    words = _still_there(kept, changes) if meaning.middle >= ANOTHER or not changes else []
    still = [f"Still there: {join_words([with_article(word) for word in words])}."] if words else []
    if meaning.middle < ANOTHER:
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
        and float(thing.mask[region.mask].mean()) >= WITHIN
    ]
    return min(around, key=lambda thing: float(thing.mask.mean()), default=None)


def _explained(place: BoolMask, changes: Sequence[Change]) -> bool:
    """Do the things that changed fill the place, or are in it?"""
    masks = [thing.mask for change in changes for thing in (change.before, change.after) if thing is not None]
    covered = float(np.logical_or.reduce([np.zeros_like(place), *masks])[place].mean())
    return covered >= EXPLAINED or (covered >= MAINLY and any(float(place[mask].mean()) >= WITHIN for mask in masks))
