"""What the rules of several protocols share: one thing looked for in one of the two pictures, and said in words."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from editgauge._util.phrases import read_position
from editgauge._util.text import with_article
from editgauge.errors import UnscorableError
from editgauge.evidence import Box, Evidence, Note
from editgauge.types import Edit, Item, Position, Relation, Score, Unscored

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


async def attempt(rule: Awaitable[Score | Unscored]) -> Score | Unscored:
    """The rule's answer; what cannot be determined is unscored, without taking the protocol's other scores with it."""
    try:
        return await rule
    except UnscorableError as unable:
        return Unscored(unable.reason, unable.detail)


async def attempt_all(
    scores: Awaitable[dict[str, Score | Unscored]], names: Iterable[str]
) -> dict[str, Score | Unscored]:
    """The scores of these names; when they cannot be determined, all of them are unscored for the same reason."""
    try:
        return await scores
    except UnscorableError as unable:
        return dict.fromkeys(names, Unscored(unable.reason, unable.detail))


def needed(value: str | None, what: str) -> str:
    """A part of the edit that a rule cannot do without."""
    if not value:
        raise UnscorableError("not_applicable", f"the edit does not say {what}")
    return value


def subject_of(edit: Edit) -> str:
    """The object that the edit is about."""
    return needed(edit.subject, "which object it is about")


def are_enough(seen: int, count: int | None) -> tuple[bool, str]:
    """Are as many seen as the instruction asks for, at least one; and that in words, where it names a number.

    >>> are_enough(1, 2), are_enough(1, None)
    ((False, ' (1 of 2)'), (True, ''))
    """
    wanted = max(1, count or 1)
    return seen >= wanted, f" ({seen} of {wanted})" if wanted > 1 and seen else ""


def must_be_new(seen_before: bool, thing: str) -> None:
    """Where nothing says what is replaced, only a thing that was not there tells that something was."""
    if seen_before:
        raise UnscorableError(
            "not_applicable",
            f"the edit does not say what becomes {with_article(thing)}, and one is seen in the source image already",
        )


def asked_place(edit: Edit) -> Position:
    """Where the edit wants something: as it is given, or as the words of `to` say."""
    return edit.position or read_position(needed(edit.to, "where it should be"))


def spoken_relation(relation: Relation) -> str:
    """A place relative to something, as a sentence has it.

    >>> spoken_relation("left"), spoken_relation("above")
    ('left of', 'above')
    """
    return {"on": "on top of", "left": "left of", "right": "right of"}.get(relation, relation)


class HasEvidence(Protocol):
    """Something that was looked for in a picture, and can be shown."""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Where it is."""
        ...


def verdict(value: float, *seen: HasEvidence, said: str, more: tuple[Evidence, ...] = ()) -> Score:
    """The score with what was seen, and one sentence about it."""
    evidence = tuple(piece for each in seen for piece in each.evidence)
    return Score(float(value), (*evidence, *more, sentence(said)))


def sentence(text: str) -> Note:
    """A remark as evidence, with a capital letter and a full stop.

    >>> sentence("no horse seen").text
    'No horse seen.'
    """
    return Note(f"{text[:1].upper()}{text[1:]}.")


def _sure(confidence: float) -> str:
    return f"{confidence:.2f}".removeprefix("0")


def _relabeled(label: str, sighting: Sighting) -> str:
    """A synonym that was used stays in the label; the template goes."""
    _, seen_as, own = label.partition(" (seen as ")
    return f"{sighting.thing} (seen as {own}" if seen_as else sighting.thing
