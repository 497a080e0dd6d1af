"""Which things came, went or became another in a picture that was redrawn: by what is recognized, not by pixels.

A detector wavers when every pixel is new. So a thing is gone only where not even a weak sighting of it is left and the
place changed its meaning, and it is new only under the same conditions the other way round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from editgauge._vision.meaning_changes import RELAID, Meaning
from editgauge._vision.object_changes import Change, PicturedThing
from editgauge._vision.regions import box_area, box_overlap

Kin = Callable[[str, str], bool]
"""Are two words of one kind, so that a detector takes one for the other?"""

SURE = 0.45
"""Minimum confidence at which a thing may be said to have come or gone."""
CERTAIN = 0.75
"""Minimum confidence at which a slight change of meaning is enough: a horse and a zebra mean nearly the same."""
SAME_PLACE = 0.2
"""Overlap from which a second sighting of a word speaks for the same thing."""
INSIDE = 0.7
"""The share of the smaller box within the larger one that says the same."""
DOUBLED = 0.6
"""The same, for two boxes of one word in one picture."""
TAKEN_FOR = 0.4
"""Overlap from which a word of the same kind may be the same thing under another name."""
INSTEAD = 0.6
"""Overlap from which one thing stands in place of another of a different kind."""
CHANGED = 0.35
"""The change of meaning of a place in which a thing came or went."""
RENAMED = 0.45
"""The same, where a thing became another of its kind."""
SLIGHTLY = 0.2
"""The same, where the detector is certain."""
SUPPORTS = frozenset({"dining table", "bed", "couch", "bench"})
"""Words of what other things lie on: a change there is hardly one of the table."""
GROUND = SUPPORTS | {"person"}
"""Words of what other things lie on or belong to, and which become nothing else."""
CROWD = 5
"""With more objects of one word it cannot be determined which of them was added or removed."""
STANDS = 0.15
"""This much more than the picture's middle must such a place have changed, unless nearly all is new."""

ALL = 0.8
"""The share of the picture from which a box says nothing about where a change is."""
BESIDE = 0.03
"""The share of the picture from which a thing that stayed has a background."""
LESS = 0.2
"""By how much less than the rest a thing changed its meaning before a background that changed."""


def recognized_changes(
    before: Sequence[PicturedThing], after: Sequence[PicturedThing], meaning: Meaning, kin: Kin
) -> list[Change]:
    """What came, went, or became another thing; each thing with every weak sighting of it given, too."""
    gone = [thing for thing in _single(before) if _only_here(thing, before, after, meaning, kin)]
    new = [thing for thing in _single(after) if _only_here(thing, after, before, meaning, kin)]
    changes: list[Change] = []
    for one in list(gone):
        partners = [other for other in new if _became(one, other, kin)]
        if partners:
            other = max(partners, key=lambda each: box_overlap(one.box, each.box))
            changes.append(Change("replaced", one, other))
            gone.remove(one)
            new.remove(other)
    # What is gone here and new there may have moved, or may be another: nothing is said.
    moved = {thing.word for thing in gone} & {thing.word for thing in new}
    changes += [Change("vanished", thing, None) for thing in gone if thing.word not in moved]
    changes += [Change("appeared", None, thing) for thing in new if thing.word not in moved]
    return changes


def without_repeats(changes: Sequence[Change]) -> list[Change]:
    """Where oranges became apples, a further apple, or one orange less, is no news."""
    pairs = [(change.before.word, change.after.word) for change in changes if change.before and change.after]
    gone, new = ({words[place] for words in pairs} for place in (0, 1))
    return [
        change
        for change in changes
        if not (change.kind == "vanished" and change.before and change.before.word in gone)
        and not (change.kind == "appeared" and change.after and change.after.word in new)
    ]


def kept_things(before: Sequence[PicturedThing], after: Sequence[PicturedThing]) -> list[PicturedThing]:
    """The things of the source that are surely seen again at their place."""
    sure = [thing for thing in after if thing.confidence >= SURE]
    return [
        thing
        for thing in _single(before)
        if any(other.word == thing.word and _same_place(thing, other) for other in sure)
    ]


def before_a_new_background(kept: Sequence[PicturedThing], meaning: Meaning) -> tuple[str, ...]:
    """The words of things that stayed what they were while everything around them changed."""
    if meaning.middle < RELAID:
        return ()
    stayed = [
        thing
        for thing in kept
        if thing.word not in SUPPORTS
        and BESIDE <= thing.mask.mean() < ALL
        and meaning.within(thing.mask) <= meaning.within(~thing.mask) - LESS
    ]
    return tuple(dict.fromkeys(str(thing.word) for thing in stayed))


def _only_here(
    thing: PicturedThing,
    here: Sequence[PicturedThing],
    there: Sequence[PicturedThing],
    meaning: Meaning,
    kin: Kin,
) -> bool:
    change = meaning.within(thing.mask)
    needed = SLIGHTLY if thing.confidence >= CERTAIN else max(CHANGED, min(meaning.middle + STANDS, RENAMED))
    if change < needed:
        return False
    crowds = [Counter(each.word for each in things)[thing.word] for things in (here, there)]
    if min(crowds) > 0 and max(crowds) > CROWD:
        return False
    sure, sure_there = (sum(each.word == thing.word for each in _single(things)) for things in (here, there))
    if sure <= sure_there:
        return False
    for other in there:
        if other.word == thing.word and _same_place(thing, other):
            return False
        taken_for = box_overlap(thing.box, other.box) >= TAKEN_FOR and kin(str(thing.word), str(other.word))
        doubtful = other.confidence < SURE or (change < RENAMED and min(thing.confidence, other.confidence) < CERTAIN)
        if taken_for and doubtful and other.confidence > thing.confidence / 2:
            return False
    return True


def _became(one: PicturedThing, other: PicturedThing, kin: Kin) -> bool:
    overlap = box_overlap(one.box, other.box)
    if {one.word, other.word} & GROUND:
        return False
    return overlap >= (TAKEN_FOR if kin(str(one.word), str(other.word)) else INSTEAD)


def _same_place(one: PicturedThing, other: PicturedThing) -> bool:
    return box_overlap(one.box, other.box) >= SAME_PLACE or _shared(one, other) >= INSIDE


def _shared(one: PicturedThing, other: PicturedThing) -> float:
    """The share of the smaller box that is in the larger one."""
    overlap = box_overlap(one.box, other.box)
    areas = box_area(one.box), box_area(other.box)
    return overlap * sum(areas) / (1 + overlap) / max(min(areas), 1e-9)


def _single(things: Sequence[PicturedThing]) -> list[PicturedThing]:
    """The sure ones, without a second box around the same thing."""
    kept: list[PicturedThing] = []
    for thing in sorted(things, key=lambda each: -each.confidence):
        doubled = any(thing.word == other.word and _shared(thing, other) >= DOUBLED for other in kept)
        if thing.confidence >= SURE and not doubled:
            kept.append(thing)
    return kept
