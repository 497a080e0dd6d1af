"""The protocol `counts`: are there as many objects as requested?"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.evidence import Note
from editgauge.instructions.parsed import edit_steps
from editgauge.protocols import Protocol
from editgauge.protocols._objects import detect
from editgauge.types import Edit, Item, ParsedStep, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.models.perception import Perception

RELATIVE_WORDS = re.compile(
    r"\b(add|insert|put|place|draw|paint|include|more|another|extra|additional|new)\b", re.IGNORECASE
)
"""Words after which a number adds to the objects in the source; without them it is the total."""
MAX_COUNT = 1000.0
"""No detector counts this far."""


class RequestedCount(NamedTuple):
    """The number of objects that an edit requests."""

    label: str
    number: int
    """Relative to the source if `is_relative`; negative for removals."""
    is_relative: bool


class Counts(Protocol):
    """The number of detected objects against the requested number."""

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
        ScoreSpec("count_error", False, (0.0, MAX_COUNT), "How many too many or too few are seen?"),
    )

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Count the objects in both images."""
        names = [spec.name for spec in self.scores]
        steps = edit_steps(item.edit)
        if len(steps) > 1:
            unscored = Unscored("not_applicable", "the instruction asks for several changes, and this counts one thing")
            return dict.fromkeys(names, unscored)
        try:
            requested = requested_count(steps[0], item.edit.instruction)
            before = await detect(perception, item, "source", requested.label)
            after = await detect(perception, item, "edited", requested.label)
            number = _expected_count(requested, len(before))
        except UnscorableError as error:
            return dict.fromkeys(names, Unscored(error.reason, error.detail))
        detected_count = len(after)
        note = Note(f"{requested.label}: {len(before)} before, {detected_count} now, {number} asked for.")
        evidence = (note, *after.evidence)
        return {
            "count_right": Score(float(detected_count == number), evidence),
            "count_error": Score(float(abs(detected_count - number)), (note,)),
        }


def requested_count(step: Edit | ParsedStep, instruction: str) -> RequestedCount:
    """Return the requested number of objects; raise `UnscorableError` if the edit has none.

    >>> requested_count(ParsedStep(type="object_addition", to="cats", count=2), "add two cats")
    RequestedCount(label='cats', number=2, is_relative=True)
    >>> requested_count(ParsedStep(type="single_instance_removal", subject="dogs", count=1), "remove one of the dogs")
    RequestedCount(label='dogs', number=-1, is_relative=True)
    >>> requested_count(ParsedStep(type="object_removal", subject="apples", count=2), "remove two apples")
    RequestedCount(label='apples', number=-2, is_relative=True)
    """
    effect = EDIT_TYPES[step.type].effect
    label = step.to if effect in ("adds", "replaces") else step.subject or step.from_
    if effect == "removes" and label:
        removed = step.count or (1 if step.type == "single_instance_removal" else None)
        return RequestedCount(label, -(removed or 0), is_relative=removed is not None)
    if not label or step.count is None or effect not in ("adds", "replaces"):
        raise UnscorableError("not_applicable", "the edit asks for no number of things")
    return RequestedCount(label, step.count, effect == "replaces" or bool(RELATIVE_WORDS.search(instruction)))


def _expected_count(requested: RequestedCount, before: int) -> int:
    """Return the total number of objects that the edited image should have."""
    number = requested.number + (before if requested.is_relative else 0)
    if number < 0 or (not before and requested.number <= 0):
        raise UnscorableError(
            "not_detected", f"{before} of '{requested.label}' are seen in the source: nothing can be taken away"
        )
    return number


counts = Counts()
