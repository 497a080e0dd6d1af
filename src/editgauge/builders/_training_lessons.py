"""Write questions with labels about edits, by rules or with a judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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

MAX_OFFERS = 5
"""This many other goals are asked for; the first that can be checked is taken."""
NO_LABELS = "nothing"
CHOICES = {
    "Add": "Choose things that look similar and are surely not in the picture.",
    "Replace": "Choose things that look similar and are surely not in the picture.",
    "Remove": "Choose among these things, which are seen in the picture and stayed there: {}.",
    "Change Attribute": "Choose attributes of the same kind that nobody could take for it.",
}


@dataclass(frozen=True, slots=True)
class WordedEdit:
    """A change, how it is asked for, and what is said about it afterwards."""

    change: DescribedChange
    instruction: str
    caption: str


@dataclass(frozen=True, slots=True)
class EditAndReverse:
    """An edit and its way back, or why there is none."""

    forward: WordedEdit
    way_back: WordedEdit | UnscorableError


class Author(Protocol):
    """Writes instructions and captions for edits and their variants."""

    async def read(self, edit: Edit) -> EditAndReverse:
        """Parse an edit and its reverse; raise `UnscorableError` if it is ambiguous."""
        ...

    async def negative(self, worded: WordedEdit, scene: ChangeScene, chance: Random) -> WordedEdit:
        """Word a request that was certainly not carried out; raise `UnscorableError` if there is none."""
        ...


class RuleAuthor:
    """Templates, WordNet and tables of attributes."""

    async def read(self, edit: Edit) -> EditAndReverse:
        """Read the change from the edit's parts, or from its instruction by rules."""
        change = change_of(edit)
        forward = WordedEdit(change, edit.instruction or instruction_of(change), caption_of(change))
        try:
            back = reverse_change(change)
        except UnscorableError as unable:
            return EditAndReverse(forward, unable)
        return EditAndReverse(forward, WordedEdit(back, instruction_of(back), caption_of(back)))

    async def negative(self, worded: WordedEdit, scene: ChangeScene, chance: Random) -> WordedEdit:
        """Replace the goal but not the wording, so that the wording does not reveal the made-up instance."""
        goal = await decoy(worded.change, scene, chance)
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
    """Asks a judge for the words, and takes them only where they can be checked."""

    def __init__(self, ask: Ask, prompt: OpenPrompt) -> None:
        self._ask = ask
        self._prompt = prompt

    async def read(self, edit: Edit) -> EditAndReverse:
        """Parse the instruction with a judge; the parts of the edit decide what changes, if given."""
        source_caption = edit.source_caption or NO_LABELS
        words = self._prompt("reverse_edit").render(instruction=edit.instruction, known=source_caption)
        answer: ReverseResponse = (await self._ask(Question(words=words, form=Structured(ReverseResponse)))).value
        change = _checked(answer, edit)
        forward = WordedEdit(change, edit.instruction, _naming(answer.caption, change.goal))
        try:
            return EditAndReverse(forward, _way_back(change, answer, f"{edit.instruction} {edit.source_caption or ''}"))
        except UnscorableError as unable:
            return EditAndReverse(forward, unable)

    async def negative(self, worded: WordedEdit, scene: ChangeScene, chance: Random) -> WordedEdit:  # noqa: ARG002
        """Return the first alternative of the judge that is certainly wrong."""
        change, choice = worded.change, CHOICES[worded.change.action]
        if change.action == "Remove":
            choice = choice.format(", ".join((await unchanged_objects(change, scene))[:MAX_OFFERS]))
        words = self._prompt("negative_edit").render(
            instruction=worded.instruction, goal=change.goal, choice=choice, amount=MAX_OFFERS
        )
        answer: NegativesResponse = (await self._ask(Question(words=words, form=Structured(NegativesResponse)))).value
        why = UnscorableError("unparsable", "the judge offers no other goal")
        for offer in answer.edits:
            try:
                await check(offer.goal, change, scene)
                named = [_naming(text, offer.goal) for text in (offer.instruction, offer.caption)]
                return WordedEdit(with_goal(change, offer.goal), *named)
            except UnscorableError as unable:
                why = unable
        raise why


def _checked(answer: ReverseResponse, edit: Edit) -> DescribedChange:
    """Return the change that a judge parsed, if the instruction supports it."""
    try:
        return change_of(edit)
    except UnscorableError:
        change = DescribedChange(answer.action, answer.before or None, answer.after or None, answer.subject or None)
    action = edit.extras.get("action")
    if action is not None and action != change.action:
        raise UnscorableError("unparsable", f"the judge reads '{edit.instruction}' as {change.action}, it is {action}")
    if change.action == "Change Attribute" and not change.subject:
        raise UnscorableError("unparsable", f"the judge does not say what changes its look in '{edit.instruction}'")
    if change.action == "Replace":
        _naming(edit.instruction, change.before or "")
    _naming(edit.instruction, change.goal)
    return change


def _way_back(change: DescribedChange, answer: ReverseResponse, source_caption: str) -> WordedEdit:
    """Return the judge's wording of the reverse edit; the earlier state must be stated, not guessed."""
    if change.action == "Change Attribute" and not change.before and answer.before:
        change = DescribedChange(
            change.action, _stated(source_caption, answer.before), change.after, change.subject, change.where
        )
    back = reverse_change(change)
    if not answer.reversed_instruction or not answer.reversed_caption:
        raise UnscorableError("unparsable", "the judge gives no words for the way back")
    return WordedEdit(
        back, *(_naming(text, back.goal) for text in (answer.reversed_instruction, answer.reversed_caption))
    )


def _naming(text: str, goal: str) -> str:
    """Return the text if it names the goal, else raise `UnscorableError`."""
    if not goal or not _words(goal) <= _words(text):
        raise UnscorableError("unparsable", f"the judge's '{text}' does not name '{goal}'")
    return text


def _stated(source_caption: str, guess: str) -> str:
    if not _words(guess) <= _words(source_caption):
        raise UnscorableError("unparsable", f"the judge says that it was '{guess}' before, without any evidence")
    return guess


def _words(text: str) -> set[str]:
    """Return the words in the singular, for comparison."""
    return {(singulars(word) or [word])[0] for word in plain_words(text)}


Kind = Literal["edit", "negative", "reversed", "reversed_negative"]
KINDS: tuple[Kind, ...] = ("edit", "negative", "reversed", "reversed_negative")
ALL = "all instances"
MAIN_DIFFERENCE = "main_difference"
UNKNOWN_ANSWER = "unknown"
"""The detail of an answer that only people could give, and have not."""
REFERENCE = "reference"
"""The benchmark's own edited images, as outcomes."""
_YES: Mapping[str, Callable[[float], bool]] = {
    "accuracy": lambda level: level >= 2,
    "consistent": lambda level: level >= 1,
    "precise": lambda level: level >= 1,
    "artifacts": lambda level: level == 0,
    "caption_right": lambda level: level >= 1,
}
"""People's answers as yes or no, as section 3.2 does: for artifacts, only significant ones count."""
_FIELDS = {"accuracy": "accurate"}


@dataclass(frozen=True, slots=True)
class Labels:
    """Yes, no, or unknown."""

    accurate: bool | None = None
    consistent: bool | None = None
    precise: bool | None = None
    artifacts: bool | None = None
    caption_right: bool | None = None
    """Of the difference caption that comes with the edit."""
    artifacts_by: str = ""
    """The protocol and model that labeled the artifacts, where no person did."""


def labels_of(levels: Mapping[str, float | None]) -> Labels:
    """People's majorities as labels.

    >>> labels_of({"accuracy": 3, "artifacts": 1, "precise": None})
    Labels(accurate=True, consistent=None, precise=None, artifacts=False, caption_right=None, artifacts_by='')
    """
    labels: dict[str, Any] = {
        _FIELDS.get(name, name): _YES[name](level)
        for name, level in levels.items()
        if name in _YES and level is not None
    }
    return Labels(**labels)


ACCEPTED = Labels(accurate=True)
"""What the benchmark holds for the right outcome."""


def rated(ratings: Sequence[Rating]) -> dict[tuple[str, str, int | None], Labels]:
    """Return labels by edit, method and seed where a majority agrees."""
    by_outcome: dict[tuple[str, str, int | None], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for rating in ratings:
        by_outcome[rating.edit, rating.method, rating.seed][rating.question].append(rating.value)
    return {
        outcome: labels_of({name: majority(values) for name, values in questions.items()})  # type: ignore[arg-type]
        for outcome, questions in by_outcome.items()
    }


LessonAnswer = bool | str
"""Yes, no, or the main difference in words."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One question about two pictures, with its answer."""

    edit: str
    method: str
    seed: int
    kind: Kind
    action: Action
    question: str
    prompt: str
    """The prompt, as a judge is given it."""
    answer: LessonAnswer
    before: Path
    after: Path
    """The pictures in the order in which they are shown: those of a reversed edit have changed places."""
    labeled_by: str = ""
    """The protocol and model that gave the answer; empty where people gave it or it follows from the making."""

    @property
    def id(self) -> str:
        """Its name, once in a set."""
        return f"{self.edit}/{self.method}/{self.seed}/{self.kind}/{self.question}"


@dataclass(frozen=True, slots=True)
class OmittedLesson:
    """A lesson that was left out, with the reason."""

    edit: str
    what: str
    """An instance, such as `negative`, or a question of one, such as `edit: precise`."""
    reason: str
    """A word of a closed list: a judge's fault, or a reason for having no score."""
    detail: str


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """An outcome, and what is known about it."""

    edit: Edit
    method: str
    seed: int
    before: Path
    after: Path
    labels: Labels
    scene: ChangeScene


@dataclass(frozen=True, slots=True)
class _Instance:
    """An edit or a made-up one, in the words that go into its questions."""

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
    lacking: list[OmittedLesson] = []
    async for instance in _instances(subject, author, seed):
        if isinstance(instance, OmittedLesson):
            lacking.append(instance)
            continue
        for question, caption, answer in _answers(instance.kind, subject, instance.caption):
            if answer is None:
                what = f"{instance.kind}: {question}"
                lacking.append(OmittedLesson(subject.edit.id, what, "not_applicable", UNKNOWN_ANSWER))
            else:
                lessons.append(_lesson(subject, instance, question, caption, prompt, answer=answer))
    return lessons, lacking


async def _instances(subject: Subject, author: Author, seed: int) -> AsyncIterator[_Instance | OmittedLesson]:
    """Return up to four instances of an outcome, and those left out."""
    edit = subject.edit
    try:
        reading = await author.read(edit)
    except UnscorableError as unable:  # what people said about the outcome is known all the same
        action = next((item for item in ACTIONS if item == edit.extras.get("action")), None)
        if action is None:
            yield left_out(edit.id, ALL, unable)
            return
        for kind in KINDS[1:]:
            yield left_out(edit.id, kind, unable)
        yield _Instance("edit", action, edit.instruction)
        return
    ways: tuple[tuple[Kind, Kind, WordedEdit | UnscorableError, ChangeScene], ...] = (
        ("edit", "negative", reading.forward, subject.scene),
        ("reversed", "reversed_negative", reading.way_back, subject.scene.swapped()),
    )
    for kind, negative, worded, scene in ways:
        if isinstance(worded, UnscorableError):
            yield left_out(edit.id, kind, worded)
            yield left_out(edit.id, negative, worded)
            continue
        yield _Instance.of(kind, worded)
        chance = Random(f"{seed}/{edit.id}/{subject.method}/{subject.seed}/{negative}")  # noqa: S311
        try:
            yield _Instance.of(negative, await author.negative(worded, scene, chance))
        except UnscorableError as unable:
            yield left_out(edit.id, negative, unable)


def left_out(edit: str, what: str, unable: UnscorableError) -> OmittedLesson:
    """Return the omitted lesson with its reason."""
    reason = unable.fault if isinstance(unable, NoAnswerError) else unable.reason
    return OmittedLesson(edit, what, reason, unable.detail)


def _lesson(
    subject: Subject,
    instance: _Instance,
    question: str,
    caption: str | None,
    prompt: OpenPrompt,
    *,
    answer: LessonAnswer,
) -> Lesson:
    swapped = instance.kind.startswith("reversed")
    before, after = (subject.after, subject.before) if swapped else (subject.before, subject.after)
    slots: dict[str, object] = {"instruction": instance.instruction} if question in PROMPTS else {}
    slots |= {"caption": caption} if question == "caption_right" else {}
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


def _answers(
    kind: Kind, subject: Subject, caption: str | None
) -> Iterator[tuple[str, str | None, LessonAnswer | None]]:
    """Yield questions with their caption and answer; None for an unknown answer.

    A negative edit did not happen, whatever did. Its own request and the way back are as true as the outcome is
    accurate; an outcome that is not tells nothing about the way back. How well something is made is known about the
    outcome itself alone, from people.
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
    judged = subject.edit.extras.get("difference_caption")
    if judged and labels.caption_right is not None:
        yield "caption_right", str(judged), labels.caption_right
    elif caption:
        yield "caption_right", caption, happened
