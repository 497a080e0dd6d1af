"""The protocol `counts`: are there as many things as the instruction asks for?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.evidence import Note
from editgauge.instructions.readings import steps_of
from editgauge.protocols import Protocol
from editgauge.protocols._objects import look_for
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Step, Unscored

if TYPE_CHECKING:
    from editgauge.models.interfaces import Perception

MORE = re.compile(r"\b(add|insert|put|place|draw|paint|include|more|another|extra|additional|new)\b", re.IGNORECASE)
"""Words after which a number is added to what was there; without them it is the total."""
MOST = 1000.0
"""No detector counts this far."""


class WantedCount(NamedTuple):
    """How many of a thing there should be."""

    thing: str
    number: int
    """With `more`, to what was there before; below 0 for things that should go."""
    more: bool


class Counts(Protocol):
    """The number of things that a detector sees, against the number asked for."""

    name = "counts"
    about = "Are there as many things as asked for? The number that a detector sees, before and after."
    paper = "EditGauge; exact match as in GenEval (Ghosh et al. 2023) and in EdiVal-Agent (Chen et al. 2025)"
    version = "2"
    deviations: tuple[str, ...] = (
        "GenEval counts what Mask2Former sees with a confidence of at least 0.9; here the run's detector counts what "
        "it sees at its own operating point.",
        "After words such as 'add' or 'more' a number is added to what was there; without them, it is the total.",
        "An edit without a number is not counted, apart from removals.",
    )
    needs = ("detector",)
    scores: tuple[ScoreSpec, ...] = (
        ScoreSpec("count_right", True, (0.0, 1.0), "Is exactly the number asked for seen?"),
        ScoreSpec("count_error", False, (0.0, MOST), "How many too many or too few are seen?"),
    )

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Counted in both pictures."""
        names = [spec.name for spec in self.scores]
        steps = steps_of(item.edit)
        if len(steps) > 1:
            several = Unscored("not_applicable", "the instruction asks for several changes, and this counts one thing")
            return dict.fromkeys(names, several)
        try:
            wanted = wanted_count(steps[0], item.edit.instruction)
            before = await look_for(perception, item, "source", wanted.thing)
            after = await look_for(perception, item, "edited", wanted.thing)
            number = _number(wanted, len(before.seen))
        except UnscorableError as unable:
            return dict.fromkeys(names, Unscored(unable.reason, unable.detail))
        seen = len(after.seen)
        note = Note(f"{wanted.thing}: {len(before.seen)} before, {seen} now, {number} asked for.")
        evidence = (note, *after.evidence)
        return {
            "count_right": Score(float(seen == number), evidence),
            "count_error": Score(float(abs(seen - number)), (note,)),
        }


def wanted_count(step: Edit | Step, instruction: str) -> WantedCount:
    """How many of what an edit asks for; raises `UnscorableError` where it gives no number.

    >>> wanted_count(Step(type="object_addition", to="cats", count=2), "add two cats")
    WantedCount(thing='cats', number=2, more=True)
    >>> wanted_count(Step(type="single_instance_removal", subject="dogs", count=1), "remove one of the dogs")
    WantedCount(thing='dogs', number=-1, more=True)
    >>> wanted_count(Step(type="object_removal", subject="apples", count=2), "remove two apples")
    WantedCount(thing='apples', number=-2, more=True)
    """
    effect = EDIT_TYPES[step.type].effect
    thing = step.to if effect in ("adds", "replaces") else step.subject or step.from_
    if effect == "removes" and thing:
        gone = step.count or (1 if step.type == "single_instance_removal" else None)
        return WantedCount(thing, -(gone or 0), more=gone is not None)
    if not thing or step.count is None or effect not in ("adds", "replaces"):
        raise UnscorableError("not_applicable", "the edit asks for no number of things")
    return WantedCount(thing, step.count, effect == "replaces" or bool(MORE.search(instruction)))


def _number(wanted: WantedCount, before: int) -> int:
    """How many there should be in all."""
    number = wanted.number + (before if wanted.more else 0)
    if number < 0 or (not before and wanted.number <= 0):
        raise UnscorableError(
            "not_detected", f"{before} of '{wanted.thing}' are seen in the source: nothing can be taken away"
        )
    return number


counts = Counts()
