"""From an outcome to questions with known answers: up to four instances, each asked what can be answered of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from editgauge.analysis.ratings import Rating
from editgauge.benchmarks.editinspector._labels import majority
from editgauge.builders.judge_calls import OpenPrompt
from editgauge.builders.training.authors import Author, Worded
from editgauge.builders.training.decoys import ChangeScene
from editgauge.errors import UnscorableError
from editgauge.judges import NoAnswerError
from editgauge.protocols.difference._triplets import ACTIONS, Action
from editgauge.protocols.editinspector import PROMPTS
from editgauge.types import Edit

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


@dataclass(frozen=True, slots=True)
class _Instance:
    """An edit or a made-up one, in the words that go into its questions."""

    kind: Kind
    action: Action
    instruction: str
    caption: str | None = None

    @classmethod
    def of(cls, kind: Kind, worded: Worded) -> _Instance:
        return cls(kind, worded.change.action, worded.instruction, worded.caption)


async def lessons_of(
    subject: Subject, author: Author, prompt: OpenPrompt, seed: int
) -> tuple[list[Lesson], list[OmittedLesson]]:
    """All lessons that one outcome gives, and what it does not give."""
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
                lessons.append(_lesson(subject, instance, question, caption, answer, prompt))
    return lessons, lacking


async def _instances(subject: Subject, author: Author, seed: int) -> AsyncIterator[_Instance | OmittedLesson]:
    """Up to four instances, or what is missing of them."""
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
    ways: tuple[tuple[Kind, Kind, Worded | UnscorableError, ChangeScene], ...] = (
        ("edit", "negative", reading.own, subject.scene),
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
    subject: Subject, instance: _Instance, question: str, caption: str | None, answer: bool | str, prompt: OpenPrompt
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
        asked=prompt(PROMPTS.get(question, question)).render(**slots).text,
        answer=answer,
        before=before,
        after=after,
        labeled_by=subject.labels.artifacts_by if question == "artifacts" else "",
    )


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
