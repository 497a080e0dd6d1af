"""Rules by edit type. A rule registers itself where it is defined, with `@rule("object_addition")`."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from editgauge._util.phrases import read_position
from editgauge._util.text import counted, with_article
from editgauge.edit_types import UNSPECIFIED, read_edit_type
from editgauge.errors import UnscorableError
from editgauge.evidence import Evidence, Note
from editgauge.instructions.readings import steps_of
from editgauge.types import Edit, Item, Position, Relation, Score, Scores, ScoreSpec, Unscored

AnyRule = TypeVar("AnyRule", bound=Callable[..., object])
NO_RULE = Unscored("no_rule", "this protocol has no rule for this edit type; a --judge or a study can answer")


def no_rule(edit: Edit) -> Unscored:
    """Why an edit has no verdict: its type has no rule, or it is unknown what it asks for."""
    if edit.type != UNSPECIFIED or edit.reading is None:
        return NO_RULE
    left = f": '{edit.reading.left}'" if edit.reading.left else ""
    return Unscored(
        "not_understood",
        f"the instruction was not understood{left}; give --edit-type and its fields, --fields or --judge",
    )


class RuleSet(dict[str, AnyRule]):
    """The rules of a protocol by edit type; a type without a rule is unscored."""

    def rule(self, edit_type: str) -> Callable[[AnyRule], AnyRule]:
        """Decorator that makes a function the rule of an edit type."""
        name = read_edit_type(edit_type)

        def register(function: AnyRule) -> AnyRule:
            self[name] = function
            return function

        return register


DONE = 0.5
"""A step with at least this score counts as done."""
STEPS_DONE = ScoreSpec("steps_done", True, (0.0, 1.0), "The share of the instruction's steps that were done.")
"""What every protocol that judges an edit step by step declares too."""


def split_steps(item: Item) -> tuple[Item, ...]:
    """The item once per step of its instruction."""
    return tuple(replace(item, edit=edit) for edit in steps_of(item.edit))


async def score_steps(item: Item, score: Callable[[Item], Awaitable[Scores]]) -> Scores:
    """The scores of an item and `steps_done`; `edit` is that of all steps, and what needs one change has no score."""
    parts = split_steps(item)
    every = await gather(*(score(part) for part in parts))
    verdicts = [each["edit"] for each in every]
    if len(parts) == 1:
        return {**every[0], "steps_done": steps_done_score(verdicts)}
    several = Unscored("not_applicable", f"the instruction asks for {len(parts)} changes, and this looks beside one")
    return {
        **dict.fromkeys(every[0], several),
        "edit": combine_steps(verdicts),
        "steps_done": steps_done_score(verdicts),
    }


def combine_steps(verdicts: Sequence[Score | Unscored]) -> Score | Unscored:
    """The verdict on all steps: the least of them; unscored when a step is, unless another one failed already."""
    scored = [each for each in verdicts if isinstance(each, Score)]
    evidence = tuple(row for each in verdicts for row in each.evidence)
    lowest = min((each.value for each in scored), default=1.0)
    done = sum(each.value >= DONE for each in scored)
    note = Note(f"{done} of {counted(len(verdicts), 'step')} done")
    if len(scored) == len(verdicts) or lowest < DONE:
        return Score(lowest, (note, *evidence))
    number, missing = next((n, each) for n, each in enumerate(verdicts, start=1) if isinstance(each, Unscored))
    return Unscored(missing.reason, f"step {number} of {len(verdicts)}: {missing.detail}", (note, *evidence))


def steps_done_score(verdicts: Sequence[Score | Unscored]) -> Score | Unscored:
    """The share of the steps that were done; unscored when a step is."""
    missing = next((each for each in verdicts if isinstance(each, Unscored)), None)
    if missing is not None:
        return Unscored(missing.reason, missing.detail)
    done = sum(isinstance(each, Score) and each.value >= DONE for each in verdicts)
    return Score(done / len(verdicts), (Note(f"{done} of {counted(len(verdicts), 'step')} done"),))


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


def require(value: str | None, what: str) -> str:
    """A part of the edit that a rule cannot do without."""
    if not value:
        raise UnscorableError("not_applicable", f"the edit does not say {what}")
    return value


def subject_of(edit: Edit) -> str:
    """The object that the edit is about."""
    return require(edit.subject, "which object it is about")


def check_count(seen: int, count: int | None) -> tuple[bool, str]:
    """Are as many seen as the instruction asks for, at least one; and that in words, where it names a number.

    >>> are_enough(1, 2), are_enough(1, None)
    ((False, ' (1 of 2)'), (True, ''))
    """
    wanted = max(1, count or 1)
    return seen >= wanted, f" ({seen} of {wanted})" if wanted > 1 and seen else ""


def require_absent(seen_before: bool, thing: str) -> None:
    """Where nothing says what is replaced, only a thing that was not there tells that something was."""
    if seen_before:
        raise UnscorableError(
            "not_applicable",
            f"the edit does not say what becomes {with_article(thing)}, and one is seen in the source image already",
        )


def requested_position(edit: Edit) -> Position:
    """Where the edit wants something: as it is given, or as the words of `to` say."""
    return edit.position or read_position(require(edit.to, "where it should be"))


def relation_phrase(relation: Relation) -> str:
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


def score_with_evidence(value: float, *seen: HasEvidence, said: str, more: tuple[Evidence, ...] = ()) -> Score:
    """The score with what was seen, and one sentence about it."""
    evidence = tuple(piece for each in seen for piece in each.evidence)
    return Score(float(value), (*evidence, *more, sentence(said)))


def sentence(text: str) -> Note:
    """A remark as evidence, with a capital letter and a full stop.

    >>> sentence("no horse seen").text
    'No horse seen.'
    """
    return Note(f"{text[:1].upper()}{text[1:]}.")
