"""The fields of a design file, as types; and the fields of an edit that its texts may name: `Requested: {instruction}`.

`checks.py` holds the rules that concern several fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from editgauge._util.fields import Fields, Text, Word

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
        """Every option the tree can end at."""
        for branch in self.answers:
            if branch.then is not None:
                yield from branch.then.leaves()
            elif branch.choose is not None:
                yield branch.choose


YES_NO = (AnswerOption(value="yes", label="Yes", key="y"), AnswerOption(value="no", label="No", key="n"))
SIDES = (AnswerOption(value="left", label="Left", key="1"), AnswerOption(value="right", label="Right", key="2"))
TIE = AnswerOption(value="tie", label="Neither more than the other", key="0")


class QuestionFields(Fields):
    """What every kind of question has."""

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
    """What is sent to a crowd-work platform."""

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
    """What raters are asked, about what, and how it is checked."""

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
    """Whether edits can have such a field."""
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
