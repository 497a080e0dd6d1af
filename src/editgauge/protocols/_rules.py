"""Building blocks of rule-based protocols: rules by edit type, steps of an instruction, scores with evidence."""

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

AnyRule = TypeVar("AnyRule", bound=Callable[..., object])
NO_RULE = Unscored("no_rule", "this protocol has no rule for this edit type; a --judge or a study can answer")


def no_rule(edit: Edit) -> Unscored:
    """Return why an edit is unscored: no rule for its type, or an instruction that could not be parsed."""
    if edit.type != UNSPECIFIED or edit.reading is None:
        return NO_RULE
    left = f": '{edit.reading.left}'" if edit.reading.left else ""
    return Unscored(
        "not_understood",
        f"the instruction was not understood{left}; give --edit-type and its fields, --fields or --judge",
    )


class RuleSet(dict[str, AnyRule]):
    """Rules of a protocol by edit type; a type without a rule is unscored."""

    def rule(self, edit_type: str) -> Callable[[AnyRule], AnyRule]:
        """Return a decorator that registers a function as the rule of an edit type."""
        name = read_edit_type(edit_type)

        def register(function: AnyRule) -> AnyRule:
            self[name] = function
            return function

        return register


MIN_DONE_SCORE = 0.5
"""Minimum score of a completed step."""
STEPS_DONE = ScoreSpec("steps_done", True, (0.0, 1.0), "The share of the instruction's steps that were done.")
"""Declared by every protocol that scores an edit step by step."""


def step_items(item: Item) -> tuple[Item, ...]:
    """Return the item once per step of its instruction."""
    return tuple(replace(item, edit=edit) for edit in edit_steps(item.edit))


async def score_steps(item: Item, score: Callable[[Item], Awaitable[Scores]]) -> Scores:
    """Score every step, and combine them: `edit` covers all steps, other scores need a single step."""
    steps = step_items(item)
    step_scores = await gather(*(score(step) for step in steps))
    step_results = [scores["edit"] for scores in step_scores]
    if len(steps) == 1:
        return {**step_scores[0], "steps_done": steps_done_score(step_results)}
    unscored = Unscored("not_applicable", f"the instruction asks for {len(steps)} changes, and this looks beside one")
    return {
        **dict.fromkeys(step_scores[0], unscored),
        "edit": combine_steps(step_results),
        "steps_done": steps_done_score(step_results),
    }


def combine_steps(results: Sequence[Score | Unscored]) -> Score | Unscored:
    """Return the lowest score of all steps; unscored if a step is, unless another step failed."""
    scored = [result for result in results if isinstance(result, Score)]
    evidence = tuple(piece for result in results for piece in result.evidence)
    lowest = min((result.value for result in scored), default=1.0)
    done = sum(result.value >= MIN_DONE_SCORE for result in scored)
    note = Note(f"{done} of {format_count(len(results), 'step')} done")
    if len(scored) == len(results) or lowest < MIN_DONE_SCORE:
        return Score(lowest, (note, *evidence))
    number, missing = next((n, result) for n, result in enumerate(results, start=1) if isinstance(result, Unscored))
    return Unscored(missing.reason, f"step {number} of {len(results)}: {missing.detail}", (note, *evidence))


def steps_done_score(results: Sequence[Score | Unscored]) -> Score | Unscored:
    """Return the fraction of completed steps; unscored if a step is."""
    missing = next((result for result in results if isinstance(result, Unscored)), None)
    if missing is not None:
        return Unscored(missing.reason, missing.detail)
    done = sum(isinstance(result, Score) and result.value >= MIN_DONE_SCORE for result in results)
    return Score(done / len(results), (Note(f"{done} of {format_count(len(results), 'step')} done"),))


async def attempt(rule: Awaitable[Score | Unscored]) -> Score | Unscored:
    """Await a score; an `UnscorableError` becomes an `Unscored` and leaves other scores alone."""
    try:
        return await rule
    except UnscorableError as error:
        return Unscored(error.reason, error.detail)


async def attempt_all(
    scores: Awaitable[dict[str, Score | Unscored]], names: Iterable[str]
) -> dict[str, Score | Unscored]:
    """Await several scores; an `UnscorableError` makes all of them unscored."""
    try:
        return await scores
    except UnscorableError as error:
        return dict.fromkeys(names, Unscored(error.reason, error.detail))


def require(value: str | None, meaning: str) -> str:
    """Return a part of the edit; raise `UnscorableError` if it is missing."""
    if not value:
        raise UnscorableError("not_applicable", f"the edit does not say {meaning}")
    return value


def subject_of(edit: Edit) -> str:
    """Return the object that the edit is about."""
    return require(edit.subject, "which object it is about")


def check_count(detected: int, requested: int | None) -> tuple[bool, str]:
    """Return whether enough objects were detected, and the count in words if the edit names a number.

    >>> check_count(1, 2), check_count(1, None)
    ((False, ' (1 of 2)'), (True, ''))
    """
    minimum = max(1, requested or 1)
    return detected >= minimum, f" ({detected} of {minimum})" if minimum > 1 and detected else ""


def require_absent(label: str, *, detected_in_source: bool) -> None:
    """Raise `UnscorableError` if the new object is in the source already and nothing says what it replaces."""
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
        """Boxes and outlines."""
        ...


def score_with_evidence(value: float, *objects: HasEvidence, note: str, extra: tuple[Evidence, ...] = ()) -> Score:
    """Return a score with the objects behind it and one sentence about it."""
    evidence = tuple(piece for detected in objects for piece in detected.evidence)
    return Score(float(value), (*evidence, *extra, sentence(note)))


def sentence(text: str) -> Note:
    """Return a remark as evidence, capitalized and with a full stop.

    >>> sentence("no horse seen").text
    'No horse seen.'
    """
    return Note(f"{text[:1].upper()}{text[1:]}.")
