"""The fields of a design file, as types; and the fields of an edit that its texts may name: `Requested: {instruction}`.

`checks.py` holds the rules that concern several fields.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from editgauge._util.fields import Fields, Text, Word, format_value
from editgauge.errors import BadAnswersError

Unit = Literal["outcome", "pair", "attributes"]
"""What one page asks about: one outcome, two outcomes of an edit, or two attributes of an edit."""
Kind = Literal["choice", "multi_choice", "scale", "yes_no", "pick_side", "text"]
Value = Word | int
"""What an option stands for in the answers: a word, or a level."""
Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Key = Annotated[str, Field(min_length=1, max_length=1)]
Count = Annotated[int, Field(ge=1)]
SLOT = re.compile(r"\{([^{}]*)\}")
EDIT_FIELDS = ("instruction", "type", "subject", "from", "to", "source_caption", "target_caption")
EXTRA = "extras."


class AnswerOption(Fields):
    """One answer to choose."""

    value: Value
    label: Text
    help: Word = ""
    key: Key | None = None
    """The key that chooses it."""
    score: float | None = None
    """The number it counts as in exported ratings; a level of a scale counts as itself."""


class Branch(Fields):
    """One way on from a node of a decision tree: to the next node, or to the option to choose."""

    say: Text
    then: TreeStep | None = None
    choose: Value | None = None


class TreeStep(Fields):
    """A step of a decision tree."""

    ask: Text
    answers: Annotated[list[Branch], Field(min_length=2)]

    def leaves(self) -> Iterator[Value]:
        """Yield every option at which the tree can end."""
        for branch in self.answers:
            if branch.then is not None:
                yield from branch.then.leaves()
            elif branch.choose is not None:
                yield branch.choose


YES_NO = (AnswerOption(value="yes", label="Yes", key="y"), AnswerOption(value="no", label="No", key="n"))
SIDES = (AnswerOption(value="left", label="Left", key="1"), AnswerOption(value="right", label="Right", key="2"))
TIE = AnswerOption(value="tie", label="Neither more than the other", key="0")


class QuestionFields(Fields):
    """Fields that all kinds of questions share."""

    id: Id
    kind: Kind
    label: Text
    help: Word = ""
    options: list[AnswerOption] = Field(default_factory=list)

    @property
    def choices(self) -> tuple[AnswerOption, ...]:
        """The options to choose from; none where words are written."""
        return {"yes_no": YES_NO, "pick_side": SIDES, "text": ()}.get(self.kind, tuple(self.options))

    @property
    def values(self) -> tuple[Value, ...]:
        """What the options stand for."""
        return tuple(option.value for option in self.choices)


class DesignQuestion(QuestionFields):
    """One question of a page."""

    required: bool = True
    tie: bool = False
    """Whether neither side may be picked."""
    when: dict[str, list[Value]] = Field(default_factory=dict)
    """Asked only when each of these questions has one of these answers."""
    needs: Word | None = None
    """Asked only of edits that have this field, such as `extras.caption`."""
    quote: Word | None = None
    """Words that the question is about, such as `{extras.caption}`: shown with it, and never edited."""
    prefill: Word | None = None
    """Text to begin with, such as `{extras.caption}`."""
    tree: TreeStep | None = None
    """Helps to decide; shown on request."""

    @property
    def choices(self) -> tuple[AnswerOption, ...]:
        """The options to choose from, with the tie where it is allowed."""
        return (*super().choices, TIE) if self.kind == "pick_side" and self.tie else super().choices


class Eligibility(Fields):
    """A yes-or-no question that decides who may take part."""

    id: Id
    label: Text
    accept: Literal["yes", "no"] = "yes"

    @property
    def question(self) -> QuestionFields:
        """The question as a form asks it."""
        return QuestionFields(id=self.id, kind="yes_no", label=self.label)


class QuizItem(Fields):
    """One item of the qualification test: perhaps pictures, a question, the right answers and why they are right."""

    text: Word = ""
    source: Word | None = None
    """A picture, relative to the design file."""
    edited: Word | None = None
    question: QuestionFields
    right: Annotated[list[Value], Field(min_length=1)]
    why: Word = ""


class Qualification(Fields):
    """A test to pass before rating."""

    pass_mark: Annotated[float, Field(gt=0, le=1)] = 1.0
    attempts: Count = 2
    items: Annotated[list[QuizItem], Field(min_length=1)]


class Gold(Fields):
    """Items with known answers, mixed in."""

    every: Annotated[int, Field(ge=2)] = 10
    """One of that many items is gold, at a random position."""
    exclude_after: Count = 3
    """Failed gold items after which a rater is excluded, with all answers."""
    tolerance: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """Levels by which the answer to a scale may be off; 0 where nothing is said."""


class Check(QuestionFields):
    """A question that only tests whether the rater reads."""

    right: Annotated[list[Value], Field(min_length=1)]


class Attention(Fields):
    """Questions that test attention, added to a page now and then; a failure is flagged."""

    every: Annotated[int, Field(ge=2)] = 20
    exclude_after: Count | None = None
    questions: Annotated[list[Check], Field(min_length=1)]


class MTurk(Fields):
    """Settings for Mechanical Turk."""

    reward: Annotated[float, Field(gt=0)]
    """In US dollars, for one item."""
    minutes: Count = 30
    active_days: Count = 14
    """How long a task can be taken."""
    approval_above: Annotated[int, Field(ge=0, le=100)] | None = None
    """Percentage of a worker's earlier tasks that were approved."""
    hits_above: Annotated[int, Field(ge=0)] | None = None
    """How many tasks a worker must have had approved."""
    approve_after_days: Annotated[int, Field(ge=1, le=30)] = 7
    """When unchecked work is approved and paid automatically; 30 days at most."""


class Design(Fields):
    """Questions to raters, what they are about, and quality control."""

    title: Text
    about: Text
    paper: Word = ""
    unit: Unit
    instructions: Text
    text: Text
    """What stands over the pictures of a page, such as `{instruction}`."""
    questions: Annotated[list[DesignQuestion], Field(min_length=1)]
    eligibility: list[Eligibility] = Field(default_factory=list)
    qualification: Qualification | None = None
    gold: Gold = Gold()
    attention: Attention | None = None
    fast_seconds: Annotated[float, Field(ge=0)] = 3.0
    """A page answered in less time is flagged."""
    minutes: Count = 30
    """How long a page stays with a rater who has gone away."""
    items_per_rater: Count | None = None
    mturk: MTurk | None = None

    @property
    def checks(self) -> list[Check]:
        """The attention checks."""
        return self.attention.questions if self.attention else []

    @property
    def all_questions(self) -> dict[str, QuestionFields]:
        """Every question that a page may ask, attention checks included, by id."""
        return {question.id: question for question in (*self.questions, *self.checks)}

    @property
    def sided(self) -> list[DesignQuestion]:
        """The questions that pick a side."""
        return [question for question in self.questions if question.kind == "pick_side"]

    def question(self, name: str) -> DesignQuestion | None:
        """Return the question of that id."""
        return next((question for question in self.questions if question.id == name), None)


def fields_of(template: str) -> list[str]:
    """Return the fields that a template names.

    >>> fields_of("{subject}: {extras.caption}")
    ['subject', 'extras.caption']
    """
    return SLOT.findall(template)


def is_field(name: str) -> bool:
    """Return whether edits can have such a field."""
    return name in EDIT_FIELDS or (name.startswith(EXTRA) and len(name) > len(EXTRA))


def lookup(edit: Mapping[str, Any], name: str) -> str | None:
    """Return the field as text; None when the edit lacks it.

    >>> lookup({"type": "color", "extras": {"n": 3}}, "extras.n")
    '3'
    """
    owner, key = (edit.get("extras", {}), name[len(EXTRA) :]) if name.startswith(EXTRA) else (edit, name)
    value = owner.get(key)
    return None if value in (None, "") else str(value)


def fill(template: str, edit: Mapping[str, Any]) -> str:
    """Fill in a template for one edit; missing fields become empty.

    >>> fill("Make the {subject} {to}.", {"subject": "cat", "to": "black"})
    'Make the cat black.'
    """
    return SLOT.sub(lambda match: lookup(edit, match[1]) or "", template)


Answer = str | int | list[str]
"""A word, a level, or the words that were ticked."""
Answers = dict[str, Answer]
MAX_TEXT_CHARACTERS = 5000
LEVEL = re.compile(r"-?[0-9]{1,9}")


def applicable_questions(questions: Iterable[DesignQuestion], edit: Mapping[str, Any]) -> list[DesignQuestion]:
    """Return the questions that apply to an edit; `when` may hide some of them."""
    return [question for question in questions if question.needs is None or lookup(edit, question.needs) is not None]


def is_asked(question: DesignQuestion, answers: Mapping[str, Answer]) -> bool:
    """Return whether the answers so far make the question appear."""
    return all(_as_set(answers.get(name)) & set(values) for name, values in question.when.items())


def _as_set(answer: Answer | None) -> set[Value]:
    if answer is None:
        return set()
    return set(answer) if isinstance(answer, list) else {answer}


def validate_answers(
    questions: Sequence[DesignQuestion],
    checks: Sequence[QuestionFields],
    entries: Mapping[str, Any],
    *,
    is_draft: bool = False,
    require_text: bool = True,
) -> Answers:
    """Validate answers and return them as stored; raise `BadAnswersError` with the problem of each question.

    Answers to questions that `when` hides are left out: a form may still send what was chosen before it was hidden. All
    checks must be answered; in the draft of a page anything may be missing, and text without `require_text`.
    """
    answers, problems = _read(questions, checks, entries)
    if not is_draft:
        visible = [question for question in questions if is_asked(question, answers)]
        needed = [item.id for item in visible if item.required and (require_text or item.kind != "text")]
        needed += [check.id for check in checks]
        problems |= {name: "please answer this question" for name in needed if name not in answers | problems}
    if problems:
        raise BadAnswersError(problems)
    return answers


def _read(
    questions: Sequence[DesignQuestion], checks: Sequence[QuestionFields], entries: Mapping[str, Any]
) -> tuple[Answers, dict[str, str]]:
    valid_ids = {question.id for question in questions} | {check.id for check in checks}
    problems = {str(name): "there is no such question here" for name in entries if name not in valid_ids}
    answers: Answers = {}
    for question in (*questions, *checks):
        value = entries.get(question.id)
        if value in (None, "", []) or (isinstance(question, DesignQuestion) and not is_asked(question, answers)):
            continue
        problem = _problem(question, value)
        if problem:
            problems[question.id] = problem
        elif question.kind != "text" or value.strip():
            answers[question.id] = sorted(value, key=question.values.index) if isinstance(value, list) else value
    return answers, problems


def _problem(question: QuestionFields, value: object) -> str | None:
    if question.kind == "text":
        return _text_problem(value)
    values = value if isinstance(value, list) and question.kind == "multi_choice" else [value]
    unknown = [item for item in values if isinstance(item, bool) or item not in question.values]
    if unknown:
        return f"{format_value(unknown[0])} is not among {', '.join(map(str, question.values))}"
    if question.kind == "multi_choice" and (not isinstance(value, list) or len(set(values)) < len(values)):
        return "give a list, each option once"
    return None


def _text_problem(value: object) -> str | None:
    if not isinstance(value, str):
        return f"write words, got {format_value(value)}"
    if len(value) > MAX_TEXT_CHARACTERS:
        return f"write at most {MAX_TEXT_CHARACTERS} signs, got {len(value)}"
    if any(unicodedata.category(sign) in ("Cc", "Cs") and sign not in "\n\r\t" for sign in value):
        return "there is a sign in it that cannot be stored; please type it again"
    return None


def parse_form_value(question: QuestionFields, words: Sequence[str]) -> Answer | None:
    """Parse form fields or a table cell: levels become numbers, checkboxes become a list.

    >>> parse_form_value(QuestionFields(id="a", kind="scale", label="?"), ["2"])
    2
    """
    entries = [word for word in words if word != ""]
    if not entries:
        return None
    if question.kind == "multi_choice":
        return entries
    word = entries[-1]
    return int(word) if question.kind == "scale" and LEVEL.fullmatch(word) else word


def is_right(question: QuestionFields, answer: Answer | None, right: Sequence[Value], tolerance: int = 0) -> bool:
    """Return whether an answer is right; a level may be off by the tolerance."""
    if question.kind == "multi_choice":
        return isinstance(answer, list) and set(answer) == set(right)
    return any(
        answer == value or (isinstance(answer, int) and isinstance(value, int) and abs(answer - value) <= tolerance)
        for value in right
    )
