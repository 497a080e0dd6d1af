"""One outcome before a judge: what it is asked, what it answers, and what can be shown for it."""

from __future__ import annotations

from asyncio import gather
from collections import ChainMap, Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from editgauge.benchmarks.editinspector.issue_kinds import kinds_of
from editgauge.benchmarks.editinspector.outcome_captions import caption_of
from editgauge.errors import BadInputError, UnscorableError
from editgauge.evidence import Note
from editgauge.judges import Answer, LabeledImage, Question, self_consistency
from editgauge.judges._questions import FreeText, YesNo
from editgauge.protocols import Protocol, variant_name
from editgauge.protocols._rules import attempt, require
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec, Unscored

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
            LabeledImage("The picture before the change:", item.source),
            LabeledImage("The picture after the change:", item.as_made),
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


PAPER = (
    "Yosef et al. 2025, EditInspector: A Benchmark for Evaluation of Text-Guided Image Edits, arXiv 2506.09988, "
    "sections 3.2 and 3.3.1, appendices A.5 and A.6"
)
DEVIATIONS = (
    "The prompts are our own, so a judge may answer differently from table 3.",
    "In our prompt for technical precision, yes means precise; the paper's wording is ambiguous.",
    "Each image is shown in its own size, made smaller only where the server wants it.",
    "What the judge finds wrong is asked where it answers no, as people are asked, and where people found something; "
    "both share a point where they speak of one of the ten kinds of issue (A.7), or where the judge of [grader=NAME] "
    "says so; the paper asks GPT-4o.",
    "Refusals and answers in another format are unscored.",
)
ZERO_OR_ONE = (0.0, 1.0)
ASKED = (
    ScoreSpec("edit", True, ZERO_OR_ONE, "Was the instruction carried out? The judge's yes is 1.", "done"),
    ScoreSpec("consistent", True, ZERO_OR_ONE, "Does the change fit instruction, scene and common sense?"),
    ScoreSpec("precise", True, ZERO_OR_ONE, "Is the change precise: resolution, sharpness, surfaces?", "quality"),
    ScoreSpec(
        "artifacts", False, ZERO_OR_ONE, "Did the edit leave clear artifacts outside the requested change?", "artifacts"
    ),
    ScoreSpec("caption_right", True, ZERO_OR_ONE, "Does the edit's difference caption say what changed?"),
)
WITH_PEOPLE = tuple(
    ScoreSpec(f"{SHARED}{name}", True, ZERO_OR_ONE, f"Does the judge find the same not {name} that people do?")
    for name in EXPLAINED
)
SELF_AGREEMENT = ScoreSpec("self_agreement", True, ZERO_OR_ONE, "How often two answers to one question agree.")
ORDER_AGREEMENT = ScoreSpec(
    "order_agreement", True, ZERO_OR_ONE, "The share of questions answered alike in either order of the pictures."
)


class EditInspector(Protocol):
    """One variant per judge: `editinspector[gpt-4o]`."""

    about = "Five yes-or-no questions to a judge: followed, consistent, precise, artifacts, caption; and what is wrong."
    paper = PAPER
    version = "3"
    deviations = DEVIATIONS
    needs = ("judge",)

    def __init__(self, judge: str | None = None, options: InspectionOptions = InspectionOptions()) -> None:  # noqa: B008 - frozen
        self.judge = judge
        self.grader = options.grader
        self._options = options
        words = {"repeat": str(options.repeat)} if options.repeat > 1 else {}
        words |= {"swap": ""} if options.swap else {}
        words |= {"grader": options.grader} if options.grader else {}
        self.name = variant_name("editinspector", words | ({judge: ""} if judge else {}))
        self.scores: tuple[ScoreSpec, ...] = (
            *ASKED,
            *WITH_PEOPLE,
            *([SELF_AGREEMENT] if options.repeat > 1 else []),
            *([ORDER_AGREEMENT] if options.swap else []),
        )

    def variant(self, options: Mapping[str, str]) -> EditInspector:
        """`[repeat=3]` asks everything three times and takes the majority; `[swap]` asks in both orders of pictures.

        `[grader=NAME]` lets a judge of the run decide whether feedback is that of people, instead of the rules. Another
        word is the name of the judge.
        """
        judges = [word for word in options if word not in ("repeat", "swap", "grader")]
        if len(judges) > 1 or any(options[word] for word in (*judges, "swap") if word in options):
            name = variant_name("editinspector", options)
            raise BadInputError(
                f"editinspector takes repeat=N, swap, grader=NAME and the name of one judge; got '{name}'."
            )
        repeat = _odd(options["repeat"]) if "repeat" in options else 1
        grader = options.get("grader")
        chosen = InspectionOptions(repeat, "swap" in options, None if grader == "rules" else grader)
        return EditInspector(judges[0] if judges else None, chosen)

    def with_models(self, models: Mapping[str, str]) -> EditInspector:
        """Asks the judge that was named first: in the protocol's own name, or by the run."""
        return EditInspector(self.judge or models.get("judge"), self._options)

    def questions_at_most(self, edit: Edit, outcomes: int) -> Mapping[str, int]:
        """All questions in every repetition and order, what is wrong, and whether people say the same."""
        if self.judge is None:
            return {}
        times = self._options.repeat + self._options.swap
        counts = Counter({self.judge: (len(PROMPTS) * times + len(EXPLAINED)) * outcomes})
        if self.grader:
            counts[self.grader] += len(EXPLAINED) * outcomes
        return counts

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """The five answers, whether what was found wrong is what people found, and how steady the judge is."""
        if self.judge is None:
            raise UnscorableError("no_model", "editinspector needs a judge; name one with --judge")
        inspection = Inspection(item, perception, self.judge, self._options)
        scores = dict(ChainMap(*await gather(*map(inspection.verdict, PROMPTS))))
        steadiness = {
            SELF_AGREEMENT.name: inspection.self_agreement(),
            ORDER_AGREEMENT.name: inspection.order_agreement(),
        }
        return scores | {spec.name: steadiness[spec.name] for spec in self.scores if spec.name in steadiness}


def _odd(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) % 2 and int(text) > 1):
        raise BadInputError(f"editinspector[repeat=N] takes an odd number of at least 3, for a majority; got '{text}'.")
    return int(text)


editinspector = EditInspector()
