"""Helpers of rule-based protocols: rules by edit type, steps of an instruction, scores with evidence."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from editgauge._util.phrases import read_position
from editgauge._util.text import format_count, with_article
from editgauge.edit_types import UNSPECIFIED, read_edit_type
from editgauge.errors import UnscorableError
from editgauge.evidence import Evidence, Note
from editgauge.instructions.parsed import edit_steps
from editgauge.types import Edit, Item, Position, Relation, Score, Scores, ScoreSpec, Unscored

RuleT = TypeVar("RuleT", bound=Callable[..., object])

MIN_DONE_SCORE = 0.5
"""Minimum score of a completed step."""
STEPS_DONE = ScoreSpec("steps_done", True, (0.0, 1.0), "The share of the instruction's steps that were done.")
"""Spec that every protocol declares if it scores an edit step by step."""
NO_RULE = Unscored("no_rule", "this protocol has no rule for this edit type; a --judge or a study can answer")


def no_rule(edit: Edit) -> Unscored:
    """Return why an edit is unscored: no rule for its type, or an instruction that could not be parsed."""
    if edit.type != UNSPECIFIED or edit.reading is None:
        return NO_RULE
    unparsed = f": '{edit.reading.left}'" if edit.reading.left else ""
    return Unscored(
        "not_understood",
        f"the instruction was not understood{unparsed}; give --edit-type and its fields, --fields or --judge",
    )


class RuleSet(dict[str, RuleT]):
    """Rules of a protocol by edit type; a type without a rule is unscored."""

    def rule(self, edit_type: str) -> Callable[[RuleT], RuleT]:
        """Return a decorator that registers a function as the rule of an edit type."""
        name = read_edit_type(edit_type)

        def register(function: RuleT) -> RuleT:
            self[name] = function
            return function

        return register


def step_items(item: Item) -> tuple[Item, ...]:
    """Return one copy of the item for each step of its instruction."""
    return tuple(replace(item, edit=edit) for edit in edit_steps(item.edit))


async def score_steps(item: Item, score: Callable[[Item], Awaitable[Scores]]) -> Scores:
    """Score each step and combine the results.

    `edit` and `steps_done` cover all steps; other scores are defined for a single step only.
    """
    steps = step_items(item)
    step_scores = await gather(*(score(step) for step in steps))
    edit_scores = [scores["edit"] for scores in step_scores]
    if len(steps) == 1:
        return {**step_scores[0], "steps_done": steps_done_score(edit_scores)}
    unscored = Unscored(
        "not_applicable", f"the instruction asks for {len(steps)} changes, and this score is defined for one"
    )
    return {
        **dict.fromkeys(step_scores[0], unscored),
        "edit": combine_steps(edit_scores),
        "steps_done": steps_done_score(edit_scores),
    }


def combine_steps(results: Sequence[Score | Unscored]) -> Score | Unscored:
    """Return the lowest step score; unscored if any step is unscored and none failed."""
    scored = [result for result in results if isinstance(result, Score)]
    evidence = tuple(piece for result in results for piece in result.evidence)
    lowest = min((result.value for result in scored), default=1.0)
    done = sum(result.value >= MIN_DONE_SCORE for result in scored)
    note = Note(f"{done} of {format_count(len(results), 'step')} done")
    if len(scored) == len(results) or lowest < MIN_DONE_SCORE:
        return Score(lowest, (note, *evidence))
    number, unscored = next(
        (number, result) for number, result in enumerate(results, start=1) if isinstance(result, Unscored)
    )
    return Unscored(unscored.reason, f"step {number} of {len(results)}: {unscored.detail}", (note, *evidence))


def steps_done_score(results: Sequence[Score | Unscored]) -> Score | Unscored:
    """Return the fraction of completed steps; unscored if any step is unscored."""
    done = 0
    for result in results:
        if isinstance(result, Unscored):
            return Unscored(result.reason, result.detail)
        done += result.value >= MIN_DONE_SCORE
    return Score(done / len(results), (Note(f"{done} of {format_count(len(results), 'step')} done"),))


async def attempt(rule: Awaitable[Score | Unscored]) -> Score | Unscored:
    """Await a score; convert an `UnscorableError` to `Unscored`, so that other scores are unaffected."""
    try:
        return await rule
    except UnscorableError as error:
        return Unscored(error.reason, error.detail)


async def attempt_all(
    scores: Awaitable[dict[str, Score | Unscored]], names: Iterable[str]
) -> dict[str, Score | Unscored]:
    """Await several scores; on an `UnscorableError`, return all of them as unscored."""
    try:
        return await scores
    except UnscorableError as error:
        return dict.fromkeys(names, Unscored(error.reason, error.detail))


def require(value: str | None, meaning: str) -> str:
    """Return a field of the edit; raise `UnscorableError` if it is missing."""
    if not value:
        raise UnscorableError("not_applicable", f"the edit does not say {meaning}")
    return value


def subject_of(edit: Edit) -> str:
    """Return the object that the edit is about."""
    return require(edit.subject, "which object it is about")


def check_count(detected: int, requested: int | None) -> tuple[bool, str]:
    """Return whether enough objects were detected, and a note with the counts if more than one was requested.

    >>> check_count(1, 2), check_count(1, None)
    ((False, ' (1 of 2)'), (True, ''))
    """
    minimum = max(1, requested or 1)
    return detected >= minimum, f" ({detected} of {minimum})" if minimum > 1 and detected else ""


def require_absent(label: str, *, detected_in_source: bool) -> None:
    """Raise `UnscorableError` if the object to be added is already in the source."""
    if detected_in_source:
        raise UnscorableError(
            "not_applicable",
            f"the edit does not say what becomes {with_article(label)}, and one is seen in the source image already",
        )


def requested_position(edit: Edit) -> Position:
    """Return the requested position, from the edit's field or parsed from `to`."""
    return edit.position or read_position(require(edit.to, "where it should be"))


def relation_phrase(relation: Relation) -> str:
    """Return a relation as a phrase for sentences.

    >>> relation_phrase("left"), relation_phrase("above")
    ('left of', 'above')
    """
    return {"on": "on top of", "left": "left of", "right": "right of"}.get(relation, relation)


class HasEvidence(Protocol):
    """Detected objects that can be shown as evidence."""

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Boxes and outlines of the objects."""
        ...


def score_with_evidence(value: float, *objects: HasEvidence, note: str, extra: tuple[Evidence, ...] = ()) -> Score:
    """Return a score with its evidence: the detected objects, then `extra`, then the note as a sentence."""
    evidence = tuple(piece for detected in objects for piece in detected.evidence)
    return Score(float(value), (*evidence, *extra, sentence(note)))


def sentence(text: str) -> Note:
    """Return a text as a note, capitalized and ending in a period.

    >>> sentence("no horse seen").text
    'No horse seen.'
    """
    return Note(f"{text[:1].upper()}{text[1:]}.")
