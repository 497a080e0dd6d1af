"""One outcome before a judge: what it is asked, what it answers, and what can be shown for it."""

from __future__ import annotations

from asyncio import gather
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from editgauge.benchmarks.editinspector.issue_kinds import kinds_of
from editgauge.benchmarks.editinspector.outcome_captions import caption_of
from editgauge.errors import UnscorableError
from editgauge.evidence import Note
from editgauge.judges import Answer, Question, Shown, self_consistency
from editgauge.judges.forms import FreeText, YesNo
from editgauge.protocols._rules import attempt, require
from editgauge.types import Item, Score, Unscored

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception

PROMPTS = {
    "edit": "inspect_accuracy",
    "consistent": "inspect_consistent",
    "precise": "inspect_precise",
    "artifacts": "inspect_artifacts",
    "caption_right": "inspect_caption",
}
EXPLAINED = ("consistent", "precise")
"""What people give reasons for (section 2.1)."""
LINK = 12
"""This many signs of a call's identity find it in the transcripts."""
SHARED = "feedback_shared_"
"""How the scores of shared feedback begin."""


@dataclass(frozen=True, slots=True)
class InspectionOptions:
    """How often a judge is asked the same, whether in the other order of the pictures too, and who grades it."""

    repeat: int = 1
    swap: bool = False
    grader: str | None = None
    """The judge who decides whether feedback has a point in common with that of people; the rules when None."""


@dataclass(frozen=True, slots=True)
class Answered:
    """All answers to one question."""

    usual: tuple[Answer[bool], ...]
    """In the usual order of the pictures."""
    swapped: Answer[bool] | None

    @property
    def verdict(self) -> bool:
        """What most of the answers in the usual order say."""
        return sum(answer.value for answer in self.usual) * 2 > len(self.usual)


class Inspection:
    """Asks a judge about one outcome."""

    def __init__(self, item: Item, perception: JudgingPerception, judge: str, options: InspectionOptions) -> None:
        self._item = item
        self._perception = perception
        self._judge = judge
        self._options = options
        self._images = (
            Shown("The picture before the change:", item.source),
            Shown("The picture after the change:", item.as_made),
        )
        self._answers: dict[str, Answered] = {}

    async def verdict(self, name: str) -> dict[str, Score | Unscored]:
        """The answer to one of the questions as 0 or 1; for some also whether the feedback is that of people."""
        verdict = await attempt(self._verdict(name))
        if name not in EXPLAINED:
            return {name: verdict}
        people = tuple(self._item.edit.extras.get("feedback", {}).get(name, ()))
        shared = Unscored("not_applicable", "no feedback of people comes with the edit")
        if not people and (isinstance(verdict, Unscored) or verdict.value):
            return {name: verdict, SHARED + name: shared}
        try:
            feedback = await self._feedback(name)
        except UnscorableError as unable:
            note = Note(f"{name}: {self._judge} does not say what is wrong: {unable.detail}")
            without = Unscored(unable.reason, unable.detail) if people else shared
            return {name: _with(verdict, note), SHARED + name: without}
        note = Note(f"{name}: {self._judge} says: {feedback.value} ({_link(feedback)})")
        compared = await attempt(self._shared(name, feedback.value, people)) if people else shared
        return {name: _with(verdict, note), SHARED + name: compared}

    def self_agreement(self) -> Score | Unscored:
        """How often two answers to the same question are the same, over the questions that were answered."""
        try:
            consistency = self_consistency([[each.value for each in one.usual] for one in self._answers.values()])
        except UnscorableError as unable:
            return Unscored(unable.reason, unable.detail)
        return Score(
            consistency.agreement, (Note(f"{consistency.questions} questions, each {self._options.repeat} times."),)
        )

    def order_agreement(self) -> Score | Unscored:
        """The share of questions with the same answer when the pictures change places."""
        both = [(one.usual[0].value, one.swapped.value) for one in self._answers.values() if one.swapped]
        if not both:
            return Unscored("not_applicable", "no question was answered in both orders")
        return Score(sum(usual == swapped for usual, swapped in both) / len(both))

    async def _verdict(self, name: str) -> Score:
        slots = {"instruction": require(self._item.edit.instruction, "what is asked for")}
        if name == "caption_right":
            slots["caption"] = require(self._caption(), "what changed, in a caption")
        words = self._perception.prompt(PROMPTS[name]).render(**slots)
        question = Question(words=words, form=YesNo(), images=self._images)
        usual = [question.again(number) for number in range(self._options.repeat)]
        turned = [question.swapped()] if self._options.swap else []
        answers = await gather(*(self._perception.ask(each, role=self._judge) for each in (*usual, *turned)))
        answered = self._answers[name] = Answered(tuple(answers[: len(usual)]), answers[-1] if turned else None)
        return Score(float(answered.verdict), tuple(Note(text) for text in _sentences(name, self._judge, answered)))

    def _caption(self) -> str | None:
        """The caption of this outcome (`run --captions`), or else that of the edit."""
        own = caption_of(self._item.edit, self._item.outcome)
        return own.caption if own is not None else self._item.edit.extras.get("difference_caption")

    async def _feedback(self, name: str) -> Answer[str]:
        instruction = require(self._item.edit.instruction, "what is asked for")
        words = self._perception.prompt(f"inspect_feedback_{name}").render(instruction=instruction)
        return await self._perception.ask(Question(words=words, form=FreeText(), images=self._images), role=self._judge)

    async def _shared(self, name: str, feedback: str, people: tuple[str, ...]) -> Score:
        """Whether the judge's feedback has a point in common with that of people (appendix A.6)."""
        grader = self._options.grader
        if grader is None:
            shared, finding = _shared_kinds(feedback, people)
        else:
            words = self._perception.prompt("inspect_feedback_shared").render(first=feedback, second="\n".join(people))
            answer = await self._perception.ask(Question(words=words, form=YesNo()), role=grader)
            shared = answer.value
            finding = f"{grader} finds {'a' if shared else 'no'} point in common with people ({_link(answer)})"
        notes = Note(f"{name}: {finding}."), Note(f"{name}: people say: {' / '.join(people)}")
        return Score(float(shared), notes)


def _shared_kinds(feedback: str, people: tuple[str, ...]) -> tuple[bool, str]:
    """Whether two remarks speak of one kind of issue, and that in words; raises `UnscorableError` where one names none."""
    own, theirs = kinds_of(feedback), {kind for remark in people for kind in kinds_of(remark)}
    if not own or not theirs:
        whose = "the judge's feedback" if not own else "people's feedback"
        raise UnscorableError(
            "unparsable", f"{whose} names none of the ten kinds of issue; a judge may grade it: grader=NAME"
        )
    common = [kind for kind in own if kind in theirs]
    return bool(common), f"both speak of {', '.join(common)}" if common else "no kind of issue is named by both"


def _with(verdict: Score | Unscored, note: Note) -> Score | Unscored:
    return replace(verdict, evidence=(*verdict.evidence, note))


def _sentences(name: str, judge: str, answered: Answered) -> list[str]:
    """Who answered what to which question, and the calls that show it."""
    sentences = [f"{name}: {judge} answers {_word(answer)} ({_link(answer)})." for answer in answered.usual]
    if answered.swapped:
        other = f"{_word(answered.swapped)} with the pictures in the other order"
        sentences.append(f"{name}: {judge} answers {other} ({_link(answered.swapped)}).")
    return sentences


def _word(answer: Answer[bool]) -> str:
    return "yes" if answer.value else "no"


def _link(answer: Answer[Any]) -> str:
    question = answer.call.asked
    return f"{question['prompt']}, call {answer.call.identity[:LINK]}"
