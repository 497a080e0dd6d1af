"""From an outcome to questions with known answers: up to four instances, each asked what can be answered of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from editgauge.building.training.authors import Author, Worded
from editgauge.building.training.decoys import ChangeScene
from editgauge.building.training.labels import Labels
from editgauge.core.errors import CannotTell
from editgauge.core.types import Edit
from editgauge.judges import NoAnswer
from editgauge.judges.prompts import Prompt
from editgauge.protocols.difference.triplets import ACTIONS, Action
from editgauge.protocols.editinspector.inspection import PROMPTS

Kind = Literal["edit", "negative", "reversed", "reversed_negative"]
KINDS: tuple[Kind, ...] = ("edit", "negative", "reversed", "reversed_negative")
ALL = "all instances"
MAIN_DIFFERENCE = "main_difference"
QUESTIONS = (*PROMPTS, MAIN_DIFFERENCE)
"""The five of EditInspector, and what the main difference is."""
UNKNOWN_ANSWER = "unknown"
"""The detail of an answer that only people could give, and have not."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One question about two pictures, with its answer."""

    edit: str
    method: str
    seed: int
    kind: Kind
    action: Action
    question: str
    asked: str
    """The prompt, as a judge is given it."""
    answer: bool | str
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
class _Worded:
    """What of an instance goes into its questions."""

    action: Action
    instruction: str
    caption: str | None = None

    @classmethod
    def of(cls, worded: Worded) -> _Worded:
        return cls(worded.change.action, worded.instruction, worded.caption)


@dataclass(frozen=True, slots=True)
class OmittedLesson:
    """What did not become a lesson, and why."""

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


async def lessons_of(
    subject: Subject, author: Author, prompt: Callable[[str], Prompt], seed: int
) -> tuple[list[Lesson], list[OmittedLesson]]:
    """All lessons that one outcome gives, and what it does not give."""
    lessons: list[Lesson] = []
    lacking: list[OmittedLesson] = []
    try:
        reading = await author.read(subject.edit)
    except CannotTell as unable:
        return _unread(subject, prompt, unable)
    scenes = {"edit": subject.scene, "reversed": subject.scene.swapped()}
    ways: tuple[tuple[Kind, Kind, Worded | CannotTell], ...] = (
        ("edit", "negative", reading.own),
        ("reversed", "reversed_negative", reading.way_back),
    )
    for kind, negative, worded in ways:
        if isinstance(worded, CannotTell):
            lacking += [left_out(subject.edit.id, each, worded) for each in (kind, negative)]
            continue
        _take(subject, kind, _Worded.of(worded), prompt, lessons, lacking)
        chance = Random(f"{seed}/{subject.edit.id}/{subject.method}/{subject.seed}/{negative}")  # noqa: S311
        try:
            wrong = await author.negative(worded, scenes[kind], chance)
        except CannotTell as unable:
            lacking.append(left_out(subject.edit.id, negative, unable))
            continue
        _take(subject, negative, _Worded.of(wrong), prompt, lessons, lacking)
    return lessons, lacking


def _unread(
    subject: Subject, prompt: Callable[[str], Prompt], unable: CannotTell
) -> tuple[list[Lesson], list[OmittedLesson]]:
    """What people said about the outcome is known even where the instruction could not be read."""
    lessons: list[Lesson] = []
    action = next((each for each in ACTIONS if each == subject.edit.extras.get("action")), None)
    if action is None:
        return [], [left_out(subject.edit.id, ALL, unable)]
    lacking = [left_out(subject.edit.id, kind, unable) for kind in KINDS if kind != "edit"]
    _take(subject, "edit", _Worded(action, subject.edit.instruction), prompt, lessons, lacking)
    return lessons, lacking


def left_out(edit: str, what: str, unable: CannotTell) -> OmittedLesson:
    """What is missing, by the reason that was raised."""
    reason = unable.fault if isinstance(unable, NoAnswer) else unable.reason
    return OmittedLesson(edit, what, reason, unable.detail)


def _take(
    subject: Subject,
    kind: Kind,
    wording: _Worded,
    prompt: Callable[[str], Prompt],
    lessons: list[Lesson],
    lacking: list[OmittedLesson],
) -> None:
    swapped = kind.startswith("reversed")
    before, after = (subject.after, subject.before) if swapped else (subject.before, subject.after)
    for question, caption, answer in _answers(kind, subject, wording.caption):
        if answer is None:
            lacking.append(OmittedLesson(subject.edit.id, f"{kind}: {question}", "not_applicable", UNKNOWN_ANSWER))
            continue
        slots: dict[str, object] = {"instruction": wording.instruction} if question in PROMPTS else {}
        slots |= {"caption": caption} if question == "caption_right" else {}
        request = prompt(PROMPTS.get(question, question)).render(**slots).text
        outcome = (subject.edit.id, subject.method, subject.seed)
        machine = subject.labels.artifacts_by if question == "artifacts" else ""
        lessons.append(Lesson(*outcome, kind, wording.action, question, request, answer, before, after, machine))


def _answers(kind: Kind, subject: Subject, caption: str | None) -> Iterator[tuple[str, str | None, bool | str | None]]:
    """Questions with the caption that they are about, and the answer; None if it is unknown.

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
