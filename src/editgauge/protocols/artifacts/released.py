"""The rules as the authors' notebook has them."""

from __future__ import annotations

from collections.abc import Sequence

from editgauge._util.masks import BoolMask
from editgauge._vision.object_changes import PicturedThing
from editgauge.edit_types import EDIT_TYPES
from editgauge.evidence import Side
from editgauge.protocols.artifacts.rules import ArtifactOptions, Found
from editgauge.protocols.artifacts.suffering import Suspect, meets, reaches
from editgauge.protocols.artifacts.words import is_meant
from editgauge.types import Edit

LARGEST = 0.4
"""Of the mask: a thing that covers this much of it is what was edited."""
SMALL = 0.024
"""Of the mask, and of the thing: less cannot be seen."""
INSIDE = 0.97
"""Of the thing: such a thing is in the mask, and was edited with it."""


def as_released(
    edit: Edit,
    edited: tuple[str, ...],
    before: Sequence[PicturedThing],
    after: Sequence[PicturedThing],
    mask: BoolMask,
    point: float,
    options: ArtifactOptions,
) -> Found:
    """Things of one word whose confidence differs either way, with filters of size; and things that came or went."""
    seen, seen_after = ([thing for thing in things if thing.confidence >= point] for things in (before, after))
    pairs = [
        Suspect(one, other)
        for one in _partly_in(seen, mask)
        for other in _partly_in(seen_after, mask)
        if one.word == other.word and reaches(one, other.box)
    ]
    candidates = [pair for pair in pairs if not _hardly_met(pair, mask) and not _inside(pair, mask)]
    faded = [pair for pair in candidates if abs(pair.drop) >= options.drop]
    gone: list[tuple[PicturedThing, Side]] = []
    effect = EDIT_TYPES[edit.type].effect
    if effect == "adds":
        gone = [(thing, "source") for thing in _alone(seen, seen_after, mask, edited)]
    elif effect == "removes":
        gone = [(thing, "edited") for thing in _alone(seen_after, seen, mask, edited)]
    losses = [*(abs(pair.drop) for pair in candidates), *(thing.confidence for thing, _ in gone)]
    return Found(tuple(faded), tuple(gone), max(0.0, *losses, 0.0))


def _alone(
    things: Sequence[PicturedThing], others: Sequence[PicturedThing], mask: BoolMask, edited: tuple[str, ...]
) -> list[PicturedThing]:
    """Things that meet the mask and touch nothing at all in the other picture; not the edited object."""
    return [
        thing
        for thing in things
        if meets(thing, mask)
        and not is_meant(thing.word, edited)
        and not any(reaches(thing, other.box) for other in others)
    ]


def _partly_in(things: Sequence[PicturedThing], mask: BoolMask) -> list[PicturedThing]:
    return [thing for thing in things if 0 < _of_mask(thing, mask) < LARGEST]


def _hardly_met(pair: Suspect, mask: BoolMask) -> bool:
    both = _both(pair)
    return all(_of_mask(thing, mask) <= SMALL for thing in both) and any(
        _of_thing(thing, mask) < SMALL for thing in both
    )


def _inside(pair: Suspect, mask: BoolMask) -> bool:
    return all(_of_thing(thing, mask) >= INSIDE for thing in _both(pair))


def _both(pair: Suspect) -> list[PicturedThing]:
    return [thing for thing in (pair.before, pair.after) if thing is not None]


def _of_mask(thing: PicturedThing, mask: BoolMask) -> float:
    return float((thing.mask & mask).sum() / mask.sum())


def _of_thing(thing: PicturedThing, mask: BoolMask) -> float:
    return float((thing.mask & mask).sum() / max(1, thing.mask.sum()))
