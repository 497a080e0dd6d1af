"""EditInspector: ask a judge that sees both images five questions about an edit, and what is wrong with it."""

from __future__ import annotations

import re
from asyncio import gather
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from editgauge.benchmarks.editinspector import kinds_of
from editgauge.benchmarks.outcome_captions import caption_of
from editgauge.errors import BadInputError, UnscorableError
from editgauge.evidence import Note
from editgauge.judges import Answer, LabeledImage, Question, self_consistency
from editgauge.judges._parsing import UnparsableReplyError
from editgauge.judges._questions import FreeText, YesNo
from editgauge.protocols import Protocol, format_variant
from editgauge.protocols._rules import attempt, require
from editgauge.protocols._watermark import NOTE as WATERMARK_NOTE
from editgauge.protocols._watermark import without_watermark
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
"""Questions whose answers raters explain (section 2.1)."""
CALL_ID_LENGTH = 12
"""Number of hex digits that identify a call in the transcripts."""
SHARED_PREFIX = "feedback_shared_"
"""Prefix of the scores of shared feedback."""
NO_HUMAN_FEEDBACK = Unscored("not_applicable", "no feedback of people comes with the edit")
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
RELEASED_DEVIATIONS = (
    *DEVIATIONS[:2],
    *DEVIATIONS[3:4],
    "As in the authors' notebook, a reply that is neither yes nor no counts as no, and so does a refusal; only a judge "
    "that cannot be reached leaves an edit unscored.",
    f"As there, both pictures are shown in the source's size. {WATERMARK_NOTE}",
)
UNIT_RANGE = (0.0, 1.0)
QUESTION_SPECS = (
    ScoreSpec("edit", True, UNIT_RANGE, "Was the instruction carried out? The judge's yes is 1.", "done"),
    ScoreSpec("consistent", True, UNIT_RANGE, "Does the change fit instruction, scene and common sense?"),
    ScoreSpec("precise", True, UNIT_RANGE, "Is the change precise: resolution, sharpness, surfaces?", "quality"),
    ScoreSpec(
        "artifacts", False, UNIT_RANGE, "Did the edit leave clear artifacts outside the requested change?", "artifacts"
    ),
    ScoreSpec("caption_right", True, UNIT_RANGE, "Does the edit's difference caption say what changed?"),
)
FEEDBACK_SPECS = tuple(
    ScoreSpec(f"{SHARED_PREFIX}{name}", True, UNIT_RANGE, f"Does the judge find the same not {name} that people do?")
    for name in EXPLAINED
)
SELF_AGREEMENT = ScoreSpec("self_agreement", True, UNIT_RANGE, "How often two answers to one question agree.")
ORDER_AGREEMENT = ScoreSpec(
    "order_agreement", True, UNIT_RANGE, "The share of questions answered alike in either order of the pictures."
)
_RELEASED_YES = re.compile(r"\s*(?:yes|no contradiction)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ReleasedYesNo(YesNo):
    """A yes-or-no form that reads all other replies, refusals included, as no, like the authors' notebook."""

    kind = "yes_no_released"

    def read(self, text: str) -> bool:
        """Return True for a reply that begins with yes, or that answers yes in the requested format.

        >>> [ReleasedYesNo().read(text) for text in ("Yes, it was.", '{"answer": "yes"}', "I cannot tell.")]
        [True, True, False]
        """
        if _RELEASED_YES.match(text):
            return True
        try:
            return YesNo.read(self, text)
        except UnparsableReplyError:
            return False


@dataclass(frozen=True, slots=True)
class InspectionOptions:
    """Repetitions, image order, grader and reply parsing of an inspection."""

    repeat: int = 1
    """Number of times that each question is asked."""
    swap: bool = False
    """Whether each question is also asked with the images in the other order."""
    grader: str | None = None
    """Judge that compares the feedback with that of raters; None for rules."""
    released: bool = False
    """Whether replies are parsed as in the authors' notebook: every reply other than yes is a no."""

    @property
    def form(self) -> YesNo:
        """Form of the answers."""
        return ReleasedYesNo() if self.released else YesNo()


@dataclass(frozen=True, slots=True)
class QuestionAnswers:
    """All answers to one question."""

    regular: tuple[Answer[bool], ...]
    """Answers with the source image first."""
    swapped: Answer[bool] | None
    """Answer with the edited image first."""

    @property
    def verdict(self) -> bool:
        """Majority of the regular answers."""
        return sum(answer.value for answer in self.regular) * 2 > len(self.regular)


class Inspection:
    """Questions to a judge about one outcome."""

    def __init__(self, item: Item, perception: JudgingPerception, judge: str, options: InspectionOptions) -> None:
        self._item = item
        self._perception = perception
        self._judge = judge
        self._options = options
        self._images = (
            LabeledImage("The picture before the change:", item.source),
            LabeledImage("The picture after the change:", item.as_made),
        )
        self._answers: dict[str, QuestionAnswers] = {}

    async def verdict(self, name: str) -> dict[str, Score | Unscored]:
        """Score the answer to one question as 0 or 1; for some also whether the feedback agrees with that of raters."""
        verdict = await attempt(self._score_question(name))
        if name not in EXPLAINED:
            return {name: verdict}
        human_feedback = tuple(self._item.edit.extras.get("feedback", {}).get(name, ()))
        if not human_feedback and (isinstance(verdict, Unscored) or verdict.value):
            return {name: verdict, SHARED_PREFIX + name: NO_HUMAN_FEEDBACK}
        shared: Score | Unscored = NO_HUMAN_FEEDBACK
        try:
            feedback = await self._ask_feedback(name)
        except UnscorableError as error:
            note = Note(f"{name}: {self._judge} does not say what is wrong: {error.detail}")
            if human_feedback:
                shared = Unscored(error.reason, error.detail)
        else:
            note = Note(f"{name}: {self._judge} says: {feedback.value} ({_call_reference(feedback)})")
            if human_feedback:
                shared = await attempt(self._score_shared_feedback(name, feedback.value, human_feedback))
        return {name: _with_note(verdict, note), SHARED_PREFIX + name: shared}

    def self_agreement(self) -> Score | Unscored:
        """Return how often two answers to the same question agree."""
        try:
            consistency = self_consistency(
                [[answer.value for answer in answers.regular] for answers in self._answers.values()]
            )
        except UnscorableError as error:
            return Unscored(error.reason, error.detail)
        return Score(
            consistency.agreement, (Note(f"{consistency.questions} questions, each {self._options.repeat} times."),)
        )

    def order_agreement(self) -> Score | Unscored:
        """Return the fraction of questions with the same answer in both image orders."""
        pairs = [
            (answers.regular[0].value, answers.swapped.value) for answers in self._answers.values() if answers.swapped
        ]
        if not pairs:
            return Unscored("not_applicable", "no question was answered in both orders")
        return Score(sum(regular == swapped for regular, swapped in pairs) / len(pairs))

    async def _score_question(self, name: str) -> Score:
        slots = {"instruction": require(self._item.edit.instruction, "what is asked for")}
        if name == "caption_right":
            slots["caption"] = require(self._caption(), "what changed, in a caption")
        prompt = self._perception.prompt(PROMPTS[name]).render(**slots)
        question = Question(words=prompt, form=self._options.form, images=self._images)
        variants = [question.again(index) for index in range(self._options.repeat)]
        if self._options.swap:
            variants.append(question.swapped())
        replies = await gather(*(self._perception.ask(variant, role=self._judge) for variant in variants))
        answers = QuestionAnswers(tuple(replies[: self._options.repeat]), replies[-1] if self._options.swap else None)
        self._answers[name] = answers
        return Score(float(answers.verdict), tuple(_answer_notes(name, self._judge, answers)))

    def _caption(self) -> str | None:
        """Return the caption of this outcome (`run --captions`), or that of the edit."""
        outcome_caption = caption_of(self._item.edit, self._item.outcome)
        if outcome_caption is not None:
            return outcome_caption.caption
        caption: str | None = self._item.edit.extras.get("difference_caption")
        return caption

    async def _ask_feedback(self, name: str) -> Answer[str]:
        instruction = require(self._item.edit.instruction, "what is asked for")
        prompt = self._perception.prompt(f"inspect_feedback_{name}").render(instruction=instruction)
        question = Question(words=prompt, form=FreeText(), images=self._images)
        return await self._perception.ask(question, role=self._judge)

    async def _score_shared_feedback(self, name: str, feedback: str, human_feedback: tuple[str, ...]) -> Score:
        """Score whether the judge's feedback has a point in common with that of raters (appendix A.6)."""
        if self._options.grader is None:
            is_shared, finding = _compare_issue_kinds(feedback, human_feedback)
        else:
            is_shared, finding = await self._ask_grader(self._options.grader, feedback, human_feedback)
        notes = Note(f"{name}: {finding}."), Note(f"{name}: people say: {' / '.join(human_feedback)}")
        return Score(float(is_shared), notes)

    async def _ask_grader(self, grader: str, feedback: str, human_feedback: tuple[str, ...]) -> tuple[bool, str]:
        """Return whether the grader finds a point in common, and a sentence that says so."""
        prompt = self._perception.prompt("inspect_feedback_shared").render(
            first=feedback, second="\n".join(human_feedback)
        )
        answer = await self._perception.ask(Question(words=prompt, form=self._options.form), role=grader)
        article = "a" if answer.value else "no"
        return answer.value, f"{grader} finds {article} point in common with people ({_call_reference(answer)})"


def _compare_issue_kinds(feedback: str, human_feedback: tuple[str, ...]) -> tuple[bool, str]:
    """Return whether both name the same kind of issue, and a sentence that says so.

    Raises:
        UnscorableError: the judge or the raters name no kind of issue.
    """
    judge_kinds = kinds_of(feedback)
    human_kinds = {kind for remark in human_feedback for kind in kinds_of(remark)}
    if not judge_kinds or not human_kinds:
        subject = "people's feedback" if judge_kinds else "the judge's feedback"
        raise UnscorableError(
            "unparsable", f"{subject} names none of the ten kinds of issue; a judge may grade it: grader=NAME"
        )
    common = [kind for kind in judge_kinds if kind in human_kinds]
    return bool(common), f"both speak of {', '.join(common)}" if common else "no kind of issue is named by both"


def _with_note(verdict: Score | Unscored, note: Note) -> Score | Unscored:
    return replace(verdict, evidence=(*verdict.evidence, note))


def _answer_notes(name: str, judge: str, answers: QuestionAnswers) -> Iterator[Note]:
    """Yield a note for each answer to a question, with a reference to its call."""
    for answer in answers.regular:
        yield Note(f"{name}: {judge} answers {_yes_no(answer)} ({_call_reference(answer)}).")
    if answers.swapped:
        text = f"{_yes_no(answers.swapped)} with the pictures in the other order"
        yield Note(f"{name}: {judge} answers {text} ({_call_reference(answers.swapped)}).")


def _yes_no(answer: Answer[bool]) -> str:
    return "yes" if answer.value else "no"


def _call_reference(answer: Answer[Any]) -> str:
    question = answer.call.question
    return f"{question['prompt']}, call {answer.call.identity[:CALL_ID_LENGTH]}"


class EditInspector(Protocol):
    """Yes-or-no questions to a judge, with one variant per judge, such as `editinspector[gpt-4o]`."""

    about = "Five yes-or-no questions to a judge: followed, consistent, precise, artifacts, caption; and what is wrong."
    paper = PAPER
    version = "3"
    needs = ("judge",)

    def __init__(self, judge: str | None = None, options: InspectionOptions = InspectionOptions()) -> None:  # noqa: B008 - frozen
        self.judge = judge
        self.grader = options.grader
        self._options = options
        variant_options = {"repeat": str(options.repeat)} if options.repeat > 1 else {}
        variant_options |= {"swap": ""} if options.swap else {}
        variant_options |= {"grader": options.grader} if options.grader else {}
        variant_options |= {judge: ""} if judge else {}
        self.deviations = RELEASED_DEVIATIONS if options.released else DEVIATIONS
        self._base = "editinspector@released" if options.released else "editinspector"
        self.name = format_variant(self._base, variant_options)
        self.scores: tuple[ScoreSpec, ...] = (
            *QUESTION_SPECS,
            *FEEDBACK_SPECS,
            *([SELF_AGREEMENT] if options.repeat > 1 else []),
            *([ORDER_AGREEMENT] if options.swap else []),
        )

    def variant(self, options: Mapping[str, str]) -> EditInspector:
        """Return a variant: `repeat=3` (majority), `swap` (both image orders), `grader=NAME`, or a judge's name."""
        judges = [option for option in options if option not in ("repeat", "swap", "grader")]
        if len(judges) > 1 or any(options.get(option) for option in (*judges, "swap")):
            name = format_variant(self._base, options)
            raise BadInputError(
                f"{self._base} takes repeat=N, swap, grader=NAME and the name of one judge; got '{name}'."
            )
        repeat = _parse_repeat(options["repeat"]) if "repeat" in options else 1
        grader = options.get("grader")
        inspection_options = replace(
            self._options, repeat=repeat, swap="swap" in options, grader=None if grader == "rules" else grader
        )
        return EditInspector(judges[0] if judges else None, inspection_options)

    def with_models(self, models: Mapping[str, str]) -> EditInspector:
        """Return the protocol with the judge of the variant, or else that of the run."""
        return EditInspector(self.judge or models.get("judge"), self._options)

    def questions_at_most(self, edit: Edit, outcomes: int) -> Mapping[str, int]:  # noqa: ARG002 - the same for every edit
        """Return the maximum number of questions to each judge, including those about feedback."""
        if self.judge is None:
            return {}
        repetitions = self._options.repeat + self._options.swap
        counts = Counter({self.judge: (len(PROMPTS) * repetitions + len(EXPLAINED)) * outcomes})
        if self.grader:
            counts[self.grader] += len(EXPLAINED) * outcomes
        return counts

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """Score the five answers, the agreement of feedback with that of raters, and the judge's consistency."""
        if self.judge is None:
            raise UnscorableError("no_model", "editinspector needs a judge; name one with --judge")
        if self._options.released:
            item = without_watermark(replace(item, edited=np.asarray(item.edited)))
        inspection = Inspection(item, perception, self.judge, self._options)
        verdicts = await gather(*(inspection.verdict(name) for name in PROMPTS))
        scores = {name: score for verdict in verdicts for name, score in verdict.items()}
        consistency = {
            SELF_AGREEMENT.name: inspection.self_agreement(),
            ORDER_AGREEMENT.name: inspection.order_agreement(),
        }
        return scores | {spec.name: consistency[spec.name] for spec in self.scores if spec.name in consistency}


def _parse_repeat(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) % 2 and int(text) > 1):
        raise BadInputError(f"editinspector[repeat=N] takes an odd number of at least 3, for a majority; got '{text}'.")
    return int(text)


editinspector = EditInspector()
editinspector_as_released = EditInspector(options=InspectionOptions(released=True))
