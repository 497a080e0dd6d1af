"""One answered page as a record: what is exported, imported, and exchanged with other tools."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from editgauge.studies.design import Answer, Answers, Design
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
    """Every answered page, or those of one rater, in the order they were handed out."""
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
