"""Rating pages: what a page shows, and how its answers are saved, submitted and versioned.

A page shows nothing that reveals which method made an image or whether an item is gold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from editgauge.errors import NotAllowedError
from editgauge.studies.assignment import count_served, take_slot
from editgauge.studies.design import (
    Answer,
    AnswerOption,
    Answers,
    Check,
    Design,
    DesignQuestion,
    QuestionFields,
    TreeStep,
    applicable_questions,
    fill,
    validate_answers,
)
from editgauge.studies.design._fields import Kind, Value
from editgauge.studies.raters import log, review
from editgauge.studies.store import AnswerRow, Assignment, Rater, StudyItem

CLOSED = {
    "excluded": "Your part in this study has ended.",
    "forgotten": "This link is no longer valid.",
    "unqualified": "Thank you; this study looks for other raters.",
}
TO_ITEM = {False: {"left": "first", "right": "second"}, True: {"left": "second", "right": "first"}}
TO_PAGE = {flipped: {item: page for page, item in sides.items()} for flipped, sides in TO_ITEM.items()}


@dataclass(frozen=True, slots=True)
class Receipt:
    """Acknowledgment of a submitted page."""

    assignment: int
    state: str
    """`done`: it counts; `surplus`: kept, but other raters had taken its slot after its time was over."""
    changed: bool
    """Whether anything is new: handing in the same page twice changes nothing."""


def require_assignment(session: Session, rater: Rater, assignment_id: int) -> tuple[Assignment, StudyItem]:
    """Return the rater's assignment and item; raise `NotAllowedError` if it is not theirs or they are excluded."""
    if rater.state in CLOSED:
        raise NotAllowedError(CLOSED[rater.state])
    assignment = session.get(Assignment, assignment_id)
    if assignment is None or assignment.rater_id != rater.id:
        raise NotAllowedError("This page is not yours. Open the study with your own link again.")
    return assignment, session.get_one(StudyItem, assignment.item_id)


def page_questions(design: Design, check: str | None, item: StudyItem) -> tuple[list[DesignQuestion], list[Check]]:
    """Return the questions of a page and its attention check, if any."""
    return applicable_questions(design.questions, item.content["edit"]), [
        element for element in design.checks if element.id == check
    ]


def save(
    session: Session, rater: Rater, assignment_id: int, entries: Mapping[str, Any], design: Design, *, now: float
) -> None:
    """Save the form as a draft, so that a closed window loses nothing, and extend the rater's time."""
    assignment, item = require_assignment(session, rater, assignment_id)
    is_draft = assignment.state in ("claimed", "expired")  # a page that was handed in stays complete
    answers = validate_answers(*page_questions(design, assignment.check, item), entries, is_draft=is_draft)
    write(session, assignment, to_item_sides(answers, design, flipped=assignment.flipped), now)
    if assignment.state == "claimed":
        assignment.until = max(assignment.until, now + 60 * design.minutes)


def submit(
    session: Session, rater: Rater, assignment_id: int, entries: Mapping[str, Any], design: Design, *, now: float
) -> Receipt:
    """Submit a page; idempotent. A late page counts if its slot is still free, else it is surplus."""
    assignment, item = require_assignment(session, rater, assignment_id)
    answers = validate_answers(*page_questions(design, assignment.check, item), entries)
    answers = to_item_sides(answers, design, flipped=assignment.flipped)
    changed = write(session, assignment, answers, now)
    if assignment.state in ("claimed", "expired"):
        _count(session, rater, assignment, item, now)
        review(session, rater, assignment, item, answers, design=design, now=now)
        changed = True
    session.flush()
    return Receipt(assignment.id, assignment.state, changed)


def _count(session: Session, rater: Rater, assignment: Assignment, item: StudyItem, now: float) -> None:
    late = assignment.state == "expired"
    free = take_slot(session, item) if late else True
    assignment.state = "done" if free else "surplus"
    assignment.done = now
    if late:
        count_served(session, rater.id, item, +1)
        slot = "its slot was still free" if free else "other raters had taken its slot"
        log(session, now, "late", rater, f"{now - assignment.until:.0f} s after its time; {slot}", page=assignment)


def to_item_sides(answers: Answers, design: Design, *, flipped: bool) -> Answers:
    """Convert `left` and `right` in answers to the item's `first` and `second`."""
    return _map_sides(answers, design, TO_ITEM[flipped])


def to_page_sides(answers: Answers, design: Design, *, flipped: bool) -> Answers:
    """Convert `first` and `second` in answers to the page's `left` and `right`."""
    return _map_sides(answers, design, TO_PAGE[flipped])


def _map_sides(answers: Answers, design: Design, sides: Mapping[str, str]) -> Answers:
    sided = {question.id for question in design.sided}
    return {name: sides.get(str(value), value) if name in sided else value for name, value in answers.items()}


def write(session: Session, assignment: Assignment, answers: Answers, now: float) -> bool:
    """Add a version for every new, changed or withdrawn answer; return whether there was any."""
    previous = {row.question: row for row in versions(session, assignment.id)}  # the last version of each wins
    names = [*answers, *(name for name in previous if name not in answers)]
    changed = [
        name for name in names if encode_answer(answers.get(name)) != (previous[name].value if name in previous else {})
    ]
    for name in changed:
        version = previous[name].version + 1 if name in previous else 1
        value = encode_answer(answers.get(name))
        session.add(AnswerRow(assignment_id=assignment.id, question=name, version=version, value=value, at=now))
    session.flush()
    return bool(changed)


def encode_answer(answer: Answer | None) -> dict[str, Any]:
    """Return an answer as stored in the database; None marks a withdrawn one."""
    return {} if answer is None else {"is": answer}


def versions(session: Session, assignment_id: int) -> list[AnswerRow]:
    """Return every version of every answer of a page, oldest first."""
    rows = select(AnswerRow).where(AnswerRow.assignment_id == assignment_id)
    return list(session.scalars(rows.order_by(AnswerRow.version, AnswerRow.question)))


def latest(session: Session, assignment_id: int) -> Answers:
    """Return the current answers of a page."""
    rows = {row.question: row.value for row in versions(session, assignment_id)}
    return {name: value["is"] for name, value in rows.items() if "is" in value}


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
