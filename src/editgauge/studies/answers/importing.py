"""Answers from elsewhere into a study: of raters on paper, on another platform, or in a copy of the study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from editgauge._util.fields import format_value
from editgauge.errors import BadInputError
from editgauge.studies.answers.records import ANSWERED, AnswerRecord, final_answers
from editgauge.studies.answers.submission import encode_answer, page_questions, to_page_sides, write
from editgauge.studies.assignment import count_served, take_slot
from editgauge.studies.design import Design, validate_answers
from editgauge.studies.errors import BadAnswersError
from editgauge.studies.quality import exclude, log, wrong_answers
from editgauge.studies.store import AnswerRow, Assignment, Rater, StudyItem


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What became of imported pages."""

    done: int = 0
    """They count."""
    surplus: int = 0
    """Kept, but their items had all their raters already."""
    void: int = 0
    """Of raters who are excluded."""
    changed: int = 0
    """Known already, with other answers: kept as new versions."""
    unchanged: int = 0


def import_records(session: Session, design: Design, pages: Sequence[AnswerRecord], now: float) -> ImportSummary:
    """Import all pages or none; `BadInputError` lists every problem. Importing again changes nothing."""
    items = {item.key: item for item in session.scalars(select(StudyItem))}
    problems = [
        f"page {index}: {problem}"
        for index, page in enumerate(pages, start=1)
        for problem in _problems(page, items.get(page.item), design)
    ]
    if problems:
        raise BadInputError("These answers do not fit the study.", problems)
    result = ImportSummary()
    raters: dict[str, Rater] = {}
    # Pages that counted come first: one that had come too late must not replace one that had not.
    for page in sorted(pages, key=lambda one: one.state != "done"):
        rater = raters.setdefault(page.rater, _rater(session, page.rater, now))
        became = _import_page(session, design, page, rater, items[page.item], now)
        result = replace(result, **{became: getattr(result, became) + 1})
    reasons = {page.rater: page.excluded for page in pages if page.excluded}
    for name, reason in reasons.items():
        if raters[name].state != "excluded":
            exclude(session, raters[name], reason, now)
    return result


def _problems(page: AnswerRecord, item: StudyItem | None, design: Design) -> list[str]:
    if item is None:
        return [f"the study has no item {format_value(page.item)}"]
    if page.state not in ANSWERED:
        return [f"'state' must be one of {', '.join(ANSWERED)}, got {format_value(page.state)}"]
    page_answers = to_page_sides(page.answers, design, flipped=page.flipped)
    try:
        fitting = validate_answers(*page_questions(design, page.check, item), page_answers)
    except BadAnswersError as error:
        return [f"'{question}': {problem}" for question, problem in error.problems.items()]
    if page.history and final_answers(page.history) != page.answers:
        return ["'history' does not end with 'answers'"]
    return [] if fitting == page_answers else ["there are answers to questions that are not asked"]


def _rater(session: Session, name: str, now: float) -> Rater:
    existing = session.scalars(select(Rater).where(Rater.name == name)).first()
    if existing is not None:
        return existing
    rater = Rater(name=name, state="active", created=now)
    session.add(rater)
    session.flush()
    log(session, now, "imported", rater, "came with imported answers")
    return rater


def _import_page(
    session: Session, design: Design, page: AnswerRecord, rater: Rater, item: StudyItem, now: float
) -> str:  # fmt: skip
    mine = select(Assignment).where(Assignment.rater_id == rater.id, Assignment.item_id == item.id)
    assignment = session.scalars(mine).first()
    if assignment is not None and assignment.state in ANSWERED:
        return "changed" if write(session, assignment, page.answers, now) else "unchanged"
    was_claimed = assignment is not None and assignment.state == "claimed"
    if assignment is None:
        assignment = Assignment(item_id=item.id, rater_id=rater.id)
    if not was_claimed:
        count_served(session, rater.id, item, +1)
    is_void = page.state == "void" or rater.state == "excluded"
    free = not is_void and (was_claimed or take_slot(session, item))
    assignment.state = "void" if is_void else "done" if free else "surplus"
    _describe(assignment, page, rater, now)
    if item.right is not None:
        passed = page.passed
        assignment.passed = not wrong_answers(design, page.answers, item.right) if passed is None else passed
    session.add(assignment)
    session.flush()
    if not page.history:
        write(session, assignment, page.answers, now)
    for one in page.history:
        value = encode_answer(one.value)
        row = AnswerRow(assignment_id=assignment.id, question=one.question, version=one.version, value=value, at=one.at)
        session.merge(row)
    session.flush()
    return assignment.state


def _describe(assignment: Assignment, page: AnswerRecord, rater: Rater, now: float) -> None:
    """Copy presentation details of an imported page; missing times become the current time."""
    rater.served += 1
    assignment.number = page.number or rater.served
    assignment.flipped, assignment.check = page.flipped, page.check
    assignment.claimed = now if page.claimed is None else page.claimed
    assignment.until = assignment.claimed
    assignment.done = now if page.done is None else page.done
    assignment.flags = list(page.flags)
