"""What the rules of several protocols share: one thing looked for in one of the two pictures, and said in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from editgauge.errors import UnscorableError
from editgauge.evidence import Box, Evidence
from editgauge.types import Item

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.evidence import Side
    from editgauge.models.answers import Detections
    from editgauge.models.interfaces import Perception


@dataclass(frozen=True, slots=True)
class Sighting:
    """A thing that was looked for in one picture."""

    thing: str
    on: Side
    seen: Detections

    @property
    def found(self) -> bool:
        """Was it seen at all?"""
        return self.seen.found

    @property
    def box(self) -> tuple[float, float, float, float]:
        """The most confident box: left, top, right, bottom."""
        left, top, right, bottom = self.seen.boxes[0].tolist()
        return left, top, right, bottom

    @property
    def words(self) -> str:
        """What a person would say.

        'zebra .96 found', 'no horse seen'.
        """
        return f"{self.thing} {_sure(self.seen.confidences[0])} found" if self.found else f"no {self.thing} seen"

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The boxes, under the name of the thing."""
        boxes = self.seen.evidence(self.on)
        return tuple(replace(box, label=_relabeled(box.label, self)) for box in boxes if isinstance(box, Box))


async def look_for(
    perception: Perception, item: Item, on: Side, thing: str, template: str = "{}", least: float | None = None
) -> Sighting:
    """Where the thing is in one of the pictures. A detector for any phrase is asked by the template."""
    query = thing if perception.vocabulary() is not None else template.format(thing)
    return Sighting(thing, on, await perception.detect(picture(item, on), query, least=least))


async def look_for_rivals(
    perception: Perception, item: Item, on: Side, things: Sequence[str], template: str = "{}"
) -> tuple[Sighting, ...]:
    """Where several things are in one of the pictures, when each box counts only for the thing that it fits best.

    Of two things of one name the first has all boxes, as with a network's own label of a box.
    """
    queries = [thing if perception.vocabulary() is not None else template.format(thing) for thing in things]
    seen = await perception.detect(picture(item, on), *queries, compete=True)
    return tuple(
        Sighting(thing, on, seen.of(query) if query not in queries[:place] else seen.only([]))
        for place, (thing, query) in enumerate(zip(things, queries, strict=True))
    )


def has_model(perception: Perception, role: str) -> bool:
    """Does the run have a model for a role?"""
    try:
        perception.card(role)
    except UnscorableError:
        return False
    return True


def picture(item: Item, on: Side) -> Pixels:
    """One of the item's two pictures."""
    return item.source if on == "source" else item.edited


def cropped(picture: Pixels, box: tuple[int, int, int, int]) -> Pixels:
    """What is in a box of left, top, right and bottom; right and bottom are no longer inside."""
    left, top, right, bottom = box
    return np.ascontiguousarray(picture[top:bottom, left:right])


def _sure(confidence: float) -> str:
    return f"{confidence:.2f}".removeprefix("0")


def _relabeled(label: str, sighting: Sighting) -> str:
    """A synonym that was used stays in the label; the template goes."""
    _, seen_as, own = label.partition(" (seen as ")
    return f"{sighting.thing} (seen as {own}" if seen_as else sighting.thing
