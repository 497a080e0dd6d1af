"""Everything a page needs, and nothing that tells which method made a picture or whether an item is gold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from editgauge.studies.answers.submission import page_questions, to_page_sides
from editgauge.studies.design import (
    Answer,
    AnswerOption,
    Answers,
    Design,
    DesignQuestion,
    QuestionFields,
    TreeStep,
    fill,
)
from editgauge.studies.design.fields import Kind, Value
from editgauge.studies.store import Assignment, StudyItem

Role = Literal["source", "edited", "left", "right"]


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A picture of a page: what it is, and its file name in the study's `images` folder."""

    role: Role
    name: str


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """A question as it is shown."""

    id: str
    kind: Kind
    label: str
    help: str
    options: tuple[AnswerOption, ...]
    required: bool
    when: dict[str, list[Value]]
    """Shown only when each of these questions has one of these answers; `is_asked` decides it on the server too."""
    tree: TreeStep | None
    quote: str
    """What the question is about; stays as it is whatever the rater writes."""
    prefill: str
    answer: Answer | None
    """What was saved before."""


@dataclass(frozen=True, slots=True)
class Page:
    """One item as a rater sees it."""

    assignment: int
    number: int
    """Which page of this rater it is, from 1."""
    title: str
    text: str
    """What was asked for."""
    left: str | None
    """What stands on the left, when words are compared; and on the right."""
    right: str | None
    pictures: tuple[PagePicture, ...]
    questions: tuple[PageQuestion, ...]
    until: float
    """Seconds since 1970 until which the page is kept for this rater."""
    is_done: bool


def make_page(design: Design, assignment: Assignment, item: StudyItem, answers: Answers) -> Page:
    """Build the page of an assignment with the answers so far."""
    edit, compared = item.content["edit"], item.content["compared"]
    ordered = list(reversed(compared)) if assignment.flipped and len(compared) == 2 else list(compared)
    words = [entry.get("attribute") for entry in ordered] if design.unit == "attributes" else [None, None]
    questions, checks = page_questions(design, assignment.check, item)
    page_answers = to_page_sides(answers, design, flipped=assignment.flipped)
    return Page(
        assignment=assignment.id,
        number=assignment.number,
        title=design.title,
        text=fill(design.text, edit),
        left=words[0],
        right=words[1],
        pictures=_pictures(design, item.content["source"], [element.get("image") for element in ordered]),
        questions=tuple(_question(question, edit, page_answers) for question in (*questions, *checks)),
        until=assignment.until,
        is_done=assignment.state not in ("claimed", "expired"),
    )


def preview(
    design: Design, item: StudyItem, *, number: int = 1, flipped: bool = False, check: str | None = None
) -> Page:
    """Build the page of an item without a rater and answers, for use outside the web app."""
    sheet = Assignment(id=0, number=number, flipped=flipped, check=check, until=0.0, state="claimed")
    return make_page(design, sheet, item, {})


def _pictures(design: Design, source: str, images: list[str]) -> tuple[PagePicture, ...]:
    first = PagePicture("source", source)
    if design.unit == "outcome":
        return first, PagePicture("edited", images[0])
    if design.unit == "pair":
        return first, PagePicture("left", images[0]), PagePicture("right", images[1])
    return (first,)


def _question(question: QuestionFields, edit: dict[str, object], answers: Answers) -> PageQuestion:
    full = question if isinstance(question, DesignQuestion) else None
    return PageQuestion(
        id=question.id,
        kind=question.kind,
        label=question.label,
        help=question.help,
        options=question.choices,
        required=full.required if full else True,
        when=full.when if full else {},
        tree=full.tree if full else None,
        quote=fill(full.quote, edit) if full and full.quote else "",
        prefill=fill(full.prefill, edit) if full and full.prefill else "",
        answer=answers.get(question.id),
    )
