"""Write labeled questions about edits, by rules or with a judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, Literal, Protocol

from pydantic import BaseModel, Field

from editgauge.analysis.ratings import Rating
from editgauge.benchmarks.editinspector import majority
from editgauge.builders._common import Ask, OpenPrompt
from editgauge.builders._training_changes import (
    ChangeScene,
    DescribedChange,
    caption_of,
    change_of,
    check,
    decoy,
    instruction_of,
    match_number,
    replace_name,
    reverse_change,
    unchanged_objects,
    with_goal,
)
from editgauge.errors import UnscorableError
from editgauge.judges import NoAnswerError, Question
from editgauge.judges._questions import Structured
from editgauge.models.vocabulary._words import plain_words, singulars
from editgauge.protocols.difference._triplets import ACTIONS, Action
from editgauge.protocols.editinspector import PROMPTS
from editgauge.types import Edit

Kind = Literal["edit", "negative", "reversed", "reversed_negative"]
KINDS: tuple[Kind, ...] = ("edit", "negative", "reversed", "reversed_negative")
LessonAnswer = bool | str
"""Yes, no, or the main difference in words."""

ALL = "all instances"
MAIN_DIFFERENCE = "main_difference"
UNKNOWN_ANSWER = "unknown"
"""Detail of an omitted lesson whose answer only people could have given."""
REFERENCE = "reference"
"""Method name of the benchmark's own edited images."""
MAX_ALTERNATIVES = 5
"""Number of wrong goals requested from a judge; the first that passes the check is used."""
NO_CAPTION = "nothing"
GOAL_ADVICE = {
    "Add": "Choose things that look similar and are surely not in the picture.",
    "Replace": "Choose things that look similar and are surely not in the picture.",
    "Remove": "Choose among these things, which are seen in the picture and stayed there: {}.",
    "Change Attribute": "Choose attributes of the same kind that nobody could take for it.",
}
"""Advice in the prompt on which wrong goals to choose, by action."""
_LABEL_RULES: Mapping[str, Callable[[float], bool]] = {
    "accuracy": lambda level: level >= 2,
    "consistent": lambda level: level >= 1,
    "precise": lambda level: level >= 1,
    "artifacts": lambda level: level == 0,
    "caption_right": lambda level: level >= 1,
}
"""Conversion of human ratings to yes or no (section 3.2); only significant artifacts count."""
_LABEL_FIELDS = {"accuracy": "accurate"}
"""Fields of `Labels` that are not named like their question."""


@dataclass(frozen=True, slots=True)
class WordedEdit:
    """A change with the instruction that requests it and the caption that describes it."""

    change: DescribedChange
    instruction: str
    caption: str


@dataclass(frozen=True, slots=True)
class EditAndReverse:
    """An edit and its reverse, or the reason why there is no reverse."""

    forward: WordedEdit
    reverse: WordedEdit | UnscorableError


class Author(Protocol):
    """Writer of instructions and captions for edits and their variants."""

    async def parse(self, edit: Edit) -> EditAndReverse:
        """Parse an edit and its reverse; raise `UnscorableError` if it is ambiguous."""
        ...

    async def negative(self, worded: WordedEdit, scene: ChangeScene, rng: Random) -> WordedEdit:
        """Write a request that was certainly not executed; raise `UnscorableError` if there is none."""
        ...


class RuleAuthor:
    """Author that uses templates, WordNet and tables of attributes."""

    async def parse(self, edit: Edit) -> EditAndReverse:
        """Parse the change from the edit's parts, or from its instruction by rules."""
        change = change_of(edit)
        forward = WordedEdit(change, edit.instruction or instruction_of(change), caption_of(change))
        try:
            reverse = reverse_change(change)
        except UnscorableError as error:
            return EditAndReverse(forward, error)
        return EditAndReverse(forward, WordedEdit(reverse, instruction_of(reverse), caption_of(reverse)))

    async def negative(self, worded: WordedEdit, scene: ChangeScene, rng: Random) -> WordedEdit:
        """Replace the goal but keep the wording, so that the wording does not reveal the negative instance."""
        goal = await decoy(worded.change, scene, rng)
        if worded.change.action != "Change Attribute":
            goal = match_number(goal, like=worded.change.goal)
        change = with_goal(worded.change, goal)
        instruction = replace_name(worded.instruction, worded.change.goal, goal)
        return WordedEdit(change, instruction or instruction_of(change), caption_of(change))


class ReverseResponse(BaseModel, extra="forbid"):
    """Response of a judge: what an edit changes, and its reverse."""

    action: Action
    subject: str | None = Field(alias="thing")
    before: str | None
    after: str | None
    caption: str
    reversed_instruction: str | None
    reversed_caption: str | None


class NegativeResponse(BaseModel, extra="forbid"):
    """A request that was not carried out."""

    goal: str
    instruction: str
    caption: str


class NegativesResponse(BaseModel, extra="forbid"):
    """Several of them, the most tempting first."""

    edits: list[NegativeResponse]


class JudgeAuthor:
    """Author that asks a judge for the wording and accepts only what it can check."""

    def __init__(self, ask: Ask, prompt: OpenPrompt) -> None:
        self._ask = ask
        self._prompt = prompt

    async def parse(self, edit: Edit) -> EditAndReverse:
        """Parse the instruction with a judge; the parts of the edit, if given, determine what changes."""
        words = self._prompt("reverse_edit").render(
            instruction=edit.instruction, known=edit.source_caption or NO_CAPTION
        )
        response: ReverseResponse = (await self._ask(Question(words=words, form=Structured(ReverseResponse)))).value
        change = _parse_change(response, edit)
        forward = WordedEdit(change, edit.instruction, _require_goal(response.caption, change.goal))
        evidence = f"{edit.instruction} {edit.source_caption or ''}"
        try:
            return EditAndReverse(forward, _word_reverse(change, response, evidence))
        except UnscorableError as error:
            return EditAndReverse(forward, error)

    async def negative(self, worded: WordedEdit, scene: ChangeScene, rng: Random) -> WordedEdit:  # noqa: ARG002
        """Return the first alternative of the judge that is certainly wrong."""
        change = worded.change
        advice = GOAL_ADVICE[change.action]
        if change.action == "Remove":
            advice = advice.format(", ".join((await unchanged_objects(change, scene))[:MAX_ALTERNATIVES]))
        words = self._prompt("negative_edit").render(
            instruction=worded.instruction, goal=change.goal, choice=advice, amount=MAX_ALTERNATIVES
        )
        response: NegativesResponse = (await self._ask(Question(words=words, form=Structured(NegativesResponse)))).value
        last_error = UnscorableError("unparsable", "the judge offers no other goal")
        for negative in response.edits:
            try:
                await check(negative.goal, change, scene)
                instruction = _require_goal(negative.instruction, negative.goal)
                caption = _require_goal(negative.caption, negative.goal)
            except UnscorableError as error:
                last_error = error
            else:
                return WordedEdit(with_goal(change, negative.goal), instruction, caption)
        raise last_error


def _parse_change(response: ReverseResponse, edit: Edit) -> DescribedChange:
    """Return the change of the edit by rules, or else as the judge parsed it if the instruction supports that."""
    try:
        return change_of(edit)
    except UnscorableError:
        change = DescribedChange(
            response.action, response.before or None, response.after or None, response.subject or None
        )
    action = edit.extras.get("action")
    if action is not None and action != change.action:
        raise UnscorableError("unparsable", f"the judge reads '{edit.instruction}' as {change.action}, it is {action}")
    if change.action == "Change Attribute" and not change.subject:
        raise UnscorableError("unparsable", f"the judge does not say what changes its look in '{edit.instruction}'")
    if change.action == "Replace":
        _require_goal(edit.instruction, change.before or "")
    _require_goal(edit.instruction, change.goal)
    return change


def _word_reverse(change: DescribedChange, response: ReverseResponse, evidence: str) -> WordedEdit:
    """Return the judge's wording of the reverse edit; the evidence must state the earlier attribute."""
    if change.action == "Change Attribute" and not change.before and response.before:
        change = replace(change, before=_require_evidence(evidence, response.before))
    reverse = reverse_change(change)
    if not response.reversed_instruction or not response.reversed_caption:
        raise UnscorableError("unparsable", "the judge gives no words for the way back")
    return WordedEdit(
        reverse,
        _require_goal(response.reversed_instruction, reverse.goal),
        _require_goal(response.reversed_caption, reverse.goal),
    )


def _require_goal(text: str, goal: str) -> str:
    """Return the text if it names the goal, else raise `UnscorableError`."""
    if not goal or not _singular_words(goal) <= _singular_words(text):
        raise UnscorableError("unparsable", f"the judge's '{text}' does not name '{goal}'")
    return text


def _require_evidence(evidence: str, guess: str) -> str:
    """Return the guess if the evidence states it, else raise `UnscorableError`."""
    if not _singular_words(guess) <= _singular_words(evidence):
        raise UnscorableError("unparsable", f"the judge says that it was '{guess}' before, without any evidence")
    return guess


def _singular_words(text: str) -> set[str]:
    """Return the words of a text in the singular."""
    return {(singulars(word) or [word])[0] for word in plain_words(text)}


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of one outcome; None where unknown."""

    accurate: bool | None = None
    consistent: bool | None = None
    precise: bool | None = None
    artifacts: bool | None = None
    caption_right: bool | None = None
    """Whether the difference caption that comes with the edit is right."""
    artifacts_by: str = ""
    """Protocol and model that labeled the artifacts; empty if people did."""


def labels_of(levels: Mapping[str, float | None]) -> Labels:
    """Convert the majorities of human ratings to labels.

    >>> labels_of({"accuracy": 3, "artifacts": 1, "precise": None})
    Labels(accurate=True, consistent=None, precise=None, artifacts=False, caption_right=None, artifacts_by='')
    """
    labels: dict[str, Any] = {
        _LABEL_FIELDS.get(name, name): _LABEL_RULES[name](level)
        for name, level in levels.items()
        if name in _LABEL_RULES and level is not None
    }
    return Labels(**labels)


ACCEPTED = Labels(accurate=True)
"""Labels of the benchmark's own edited images."""


def rated(ratings: Sequence[Rating]) -> dict[tuple[str, str, int | None], Labels]:
    """Return the labels on which a majority of raters agrees, by edit, method and seed."""
    by_outcome: dict[tuple[str, str, int | None], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for rating in ratings:
        by_outcome[rating.edit, rating.method, rating.seed][rating.question].append(rating.value)
    return {
        outcome: labels_of({name: majority(values) for name, values in questions.items()})  # type: ignore[arg-type]
        for outcome, questions in by_outcome.items()
    }


@dataclass(frozen=True, slots=True)
class Lesson:
    """One question about two images, with its answer."""

    edit: str
    method: str
    seed: int
    kind: Kind
    action: Action
    question: str
    prompt: str
    """The prompt as sent to a judge."""
    answer: LessonAnswer
    before: Path
    after: Path
    """The second image; a reversed edit has source and outcome swapped."""
    labeled_by: str = ""
    """Protocol and model that gave the answer; empty if people gave it or it follows from the construction."""

    @property
    def id(self) -> str:
        """Identifier that is unique in a set of lessons."""
        return f"{self.edit}/{self.method}/{self.seed}/{self.kind}/{self.question}"


@dataclass(frozen=True, slots=True)
class OmittedLesson:
    """A lesson that was left out, with the reason."""

    edit: str
    what: str
    """An instance, such as `negative`, or a question of one, such as `edit: precise`."""
    reason: str
    """Fault of a judge or reason for a missing score, from a closed list."""
    detail: str


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """An outcome with its labels and detected objects."""

    edit: Edit
    method: str
    seed: int
    before: Path
    after: Path
    labels: Labels
    scene: ChangeScene


@dataclass(frozen=True, slots=True)
class _Instance:
    """A real or made-up edit in the wording of its questions."""

    kind: Kind
    action: Action
    instruction: str
    caption: str | None = None

    @classmethod
    def of(cls, kind: Kind, worded: WordedEdit) -> _Instance:
        return cls(kind, worded.change.action, worded.instruction, worded.caption)


async def lessons_of(
    subject: Subject, author: Author, prompt: OpenPrompt, seed: int
) -> tuple[list[Lesson], list[OmittedLesson]]:
    """Return all lessons of one outcome, and those left out."""
    lessons: list[Lesson] = []
    omitted: list[OmittedLesson] = []
    async for instance in _instances(subject, author, seed):
        if isinstance(instance, OmittedLesson):
            omitted.append(instance)
            continue
        for question, caption, answer in _label_questions(instance.kind, subject, instance.caption):
            if answer is None:
                what = f"{instance.kind}: {question}"
                omitted.append(OmittedLesson(subject.edit.id, what, "not_applicable", UNKNOWN_ANSWER))
            else:
                lessons.append(_make_lesson(subject, instance, question, caption, prompt, answer=answer))
    return lessons, omitted


async def _instances(subject: Subject, author: Author, seed: int) -> AsyncIterator[_Instance | OmittedLesson]:
    """Yield up to four instances of an outcome, and those left out."""
    edit = subject.edit
    try:
        parsed = await author.parse(edit)
    except UnscorableError as error:  # ratings of the outcome are usable without the parsed edit
        action = next((action for action in ACTIONS if action == edit.extras.get("action")), None)
        if action is None:
            yield left_out(edit.id, ALL, error)
            return
        for kind in KINDS[1:]:
            yield left_out(edit.id, kind, error)
        yield _Instance("edit", action, edit.instruction)
        return
    directions: tuple[tuple[Kind, Kind, WordedEdit | UnscorableError, ChangeScene], ...] = (
        ("edit", "negative", parsed.forward, subject.scene),
        ("reversed", "reversed_negative", parsed.reverse, subject.scene.swapped()),
    )
    for kind, negative, worded, scene in directions:
        if isinstance(worded, UnscorableError):
            yield left_out(edit.id, kind, worded)
            yield left_out(edit.id, negative, worded)
            continue
        yield _Instance.of(kind, worded)
        rng = Random(f"{seed}/{edit.id}/{subject.method}/{subject.seed}/{negative}")  # noqa: S311
        try:
            yield _Instance.of(negative, await author.negative(worded, scene, rng))
        except UnscorableError as error:
            yield left_out(edit.id, negative, error)


def left_out(edit: str, what: str, error: UnscorableError) -> OmittedLesson:
    """Return the record of a lesson that an error prevents."""
    reason = error.fault if isinstance(error, NoAnswerError) else error.reason
    return OmittedLesson(edit, what, reason, error.detail)


def _make_lesson(
    subject: Subject,
    instance: _Instance,
    question: str,
    caption: str | None,
    prompt: OpenPrompt,
    *,
    answer: LessonAnswer,
) -> Lesson:
    is_reversed = instance.kind.startswith("reversed")
    before, after = (subject.after, subject.before) if is_reversed else (subject.before, subject.after)
    slots: dict[str, object] = {}
    if question in PROMPTS:
        slots["instruction"] = instance.instruction
    if question == "caption_right":
        slots["caption"] = caption
    return Lesson(
        edit=subject.edit.id,
        method=subject.method,
        seed=subject.seed,
        kind=instance.kind,
        action=instance.action,
        question=question,
        prompt=prompt(PROMPTS.get(question, question)).render(**slots).text,
        answer=answer,
        before=before,
        after=after,
        labeled_by=subject.labels.artifacts_by if question == "artifacts" else "",
    )


def _label_questions(
    kind: Kind, subject: Subject, caption: str | None
) -> Iterator[tuple[str, str | None, LessonAnswer | None]]:
    """Yield questions with their caption and answer; None for an unknown answer.

    A negative edit never happened. The edit itself is labeled by the accuracy of the outcome, which says something
    about the reverse only if the outcome is accurate. Quality labels come from people and apply to the edit only.
    """
    labels = subject.labels
    if kind.endswith("negative"):
        yield "edit", caption, False
        yield "caption_right", caption, False
        return
    happened = True if labels.accurate else None
    yield "edit", caption, labels.accurate if kind == "edit" else happened
    if caption:
        yield MAIN_DIFFERENCE, caption, caption if happened else None
    if kind == "reversed":
        yield "caption_right", caption, happened
        return
    yield "consistent", caption, labels.consistent
    yield "precise", caption, labels.precise
    yield "artifacts", caption, labels.artifacts
    rated_caption = subject.edit.extras.get("difference_caption")
    if rated_caption and labels.caption_right is not None:
        yield "caption_right", str(rated_caption), labels.caption_right
    elif caption:
        yield "caption_right", caption, happened
