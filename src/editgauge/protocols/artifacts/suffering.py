"""Which things around an edit suffered from it, by how sure a detector is of them before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from editgauge._util.masks import BoolMask
from editgauge._vision.geometry import box_overlap
from editgauge._vision.object_changes import BoxSides, PicturedThing

SAME_PLACE = 0.3
"""Overlap from which two boxes of one word are the same thing before and after."""


@dataclass(frozen=True, slots=True, eq=False)
class Suspect:
    """A thing that meets the edit's mask, and what the edit made of it."""

    before: PicturedThing
    after: PicturedThing | None
    """None when it is gone."""

    @property
    def drop(self) -> float:
        """How much less sure the detector is of it; all of its confidence when it is gone."""
        return self.before.confidence - (self.after.confidence if self.after else 0.0)


def meets(thing: PicturedThing, mask: BoolMask) -> bool:
    """Does the thing reach into the mask?"""
    return bool((thing.mask & mask).any())


def suspects(before: Sequence[PicturedThing], after: Sequence[PicturedThing], mask: BoolMask) -> list[Suspect]:
    """The things of the source that meet the mask, each with its like in the edited picture.

    Args:
        before: what is seen in the source
        after: what is seen in the edited picture, also what is hardly seen
        mask: where the edit was made
    """
    listed: list[Suspect] = []
    free = list(after)
    for thing in sorted(before, key=lambda each: -each.confidence):
        likes = [other for other in free if other.word == thing.word and _overlap(thing, other) >= SAME_PLACE]
        like = max(likes, key=lambda other: _overlap(thing, other), default=None)
        # A thing outside the mask keeps its like, too: it must not be taken for another's.
        free = [other for other in free if other is not like]
        if meets(thing, mask):
            listed.append(Suspect(thing, like))
    return listed


def reaches(thing: PicturedThing, box: BoxSides) -> bool:
    """Do the boxes overlap at all?"""
    return _overlap(thing, PicturedThing(None, box, thing.mask)) > 0


def _overlap(one: PicturedThing, other: PicturedThing) -> float:
    return box_overlap(one.box, other.box)
