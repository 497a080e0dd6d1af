"""One answered page as a record: what is exported, imported, and exchanged with other tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from editgauge._util.fields import format_value
from editgauge.errors import BadAnswersError, BadInputError
from editgauge.studies._pages import encode_answer, page_questions, to_page_sides, write
from editgauge.studies.assignment import count_served, take_slot
from editgauge.studies.design import Answer, Answers, Design, validate_answers
from editgauge.studies.raters import exclude, log, wrong_answers
from editgauge.studies.store import AnswerRow, Assignment, Event, Rater, StudyItem

ANSWERED = ("done", "surplus", "void")
BATCH_ROWS = 5000


@dataclass(frozen=True, slots=True)
class Version:
    """One version of one answer; no value means that it was taken back."""

    question: str
    version: int
    value: Answer | None
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRecord:
    """One answered page. `rater`, `item` and `answers` are enough to import one."""

    rater: str
    item: str
    """The item's key, as `Study` gives it."""
    answers: Answers
    """As seen from the item: sides are `first` and `second`."""
    kind: str = "rated"
    edit: str = ""
    edit_type: str = ""
    compared: tuple[dict[str, Any], ...] = ()
    """What was shown: method and seed of each outcome, or the attributes."""
    state: str = "done"
    flipped: bool = False
    """Whether the second stood on the left."""
    number: int = 0
    check: str | None = None
    claimed: float | None = None
    done: float | None = None
    flags: tuple[str, ...] = ()
    passed: bool | None = None
    excluded: str = ""
    """Why the rater is excluded."""
    history: tuple[Version, ...] = ()
    probability: float | None = None
    """The chance with which a stratified sample took the item; None for other samples."""

    @property
    def counts(self) -> bool:
        """Whether it is a rating that counts: neither surplus nor void, and not of a gold item."""
        return self.state == "done" and self.kind == "rated"


def records(session: Session, rater: str | None = None) -> Iterator[AnswerRecord]:
    """Yield all answered pages, or those of one rater, in order of assignment."""
    why = _exclusions(session)
    rows = select(Assignment, StudyItem, Rater).join(StudyItem, Assignment.item_id == StudyItem.id)
    rows = rows.join(Rater, Assignment.rater_id == Rater.id).where(Assignment.state.in_(ANSWERED))
    if rater is not None:
        rows = rows.where(Rater.name == rater)
    answered = session.execute(rows.order_by(Assignment.id)).all()
    for start in range(0, len(answered), BATCH_ROWS):
        part = answered[start : start + BATCH_ROWS]
        history = _history(session, part[0][0].id, part[-1][0].id)
        for assignment, item, person in part:
            yield _record(assignment, item, person, history[assignment.id], why.get(person.id, ""))


def _record(assignment: Assignment, item: StudyItem, rater: Rater, history: list[Version], why: str) -> AnswerRecord:
    return AnswerRecord(
        rater=rater.name,
        item=item.key,
        answers=final_answers(history),
        kind=item.kind,
        edit=item.edit,
        edit_type=item.content["edit"]["type"],
        compared=tuple({k: v for k, v in element.items() if k != "image"} for element in item.content["compared"]),
        state=assignment.state,
        flipped=assignment.flipped,
        number=assignment.number,
        check=assignment.check,
        claimed=assignment.claimed,
        done=assignment.done,
        flags=tuple(assignment.flags),
        passed=assignment.passed,
        excluded=why if rater.state == "excluded" else "",
        history=tuple(history),
        probability=item.content.get("probability"),
    )


def final_answers(history: Iterable[Version]) -> Answers:
    """Apply versions in order and return the resulting answers."""
    latest = {version.question: version.value for version in history}
    return {name: value for name, value in latest.items() if value is not None}


def _history(session: Session, first: int, last: int) -> dict[int, list[Version]]:
    rows = select(AnswerRow).where(AnswerRow.assignment_id.between(first, last))
    history: dict[int, list[Version]] = defaultdict(list)
    for row in session.scalars(rows.order_by(AnswerRow.assignment_id, AnswerRow.version, AnswerRow.question)):
        history[row.assignment_id].append(Version(row.question, row.version, row.value.get("is"), row.at))
    return history


def _exclusions(session: Session) -> dict[int, str]:
    """Return the latest exclusion reason by rater."""
    reasons = select(Event.rater_id, Event.reason).where(Event.kind == "excluded").order_by(Event.id)
    return {row[0]: row[1] for row in session.execute(reasons)}


def rating_of(design: Design, question: str, answer: Answer) -> float | None:
    """Return the numeric value of an answer: a level, yes 1, no 0, an option's `score`; None for text."""
    fields = design.question(question)
    if fields is None or isinstance(answer, list):
        return None
    if fields.kind == "scale":
        return float(answer)
    if fields.kind == "yes_no":
        return float(answer == "yes")
    return next((option.score for option in fields.options if option.value == answer), None)


def format_time(seconds: float | None) -> str:
    """Format a timestamp in UTC; empty for None."""
    return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()


def parse_time(text: str) -> float | None:
    """Parse a timestamp written by `format_time`."""
    return datetime.fromisoformat(text).timestamp() if text else None


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """Numbers of imported pages by their state."""

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
    for page in sorted(pages, key=lambda page: page.state != "done"):
        rater = raters.setdefault(page.rater, _rater(session, page.rater, now))
        state = _import_page(session, design, page, rater, items[page.item], now=now)
        result = replace(result, **{state: getattr(result, state) + 1})
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
        # what was written elsewhere cannot be completed any more
        fitting = validate_answers(*page_questions(design, page.check, item), page_answers, require_text=False)
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
    session: Session, design: Design, page: AnswerRecord, rater: Rater, item: StudyItem, *, now: float
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
    for entry in page.history:
        fields = {"question": entry.question, "version": entry.version, "at": entry.at}
        session.merge(AnswerRow(assignment_id=assignment.id, value=encode_answer(entry.value), **fields))
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
