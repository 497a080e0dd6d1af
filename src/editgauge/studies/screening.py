"""Before the first page: who may take part (eligibility), and who understood the task (qualification)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import select
from sqlalchemy.orm import Session

from editgauge.studies.design import Design, validate_answers
from editgauge.studies.design.answers import is_right
from editgauge.studies.errors import NotAllowedError
from editgauge.studies.quality import log
from editgauge.studies.store import Rater, Screening

Stage = Literal["eligibility", "qualification", "rating", "closed"]


@dataclass(frozen=True, slots=True)
class QuizResult:
    """How a rater did in the qualification test."""

    passed: bool
    right: int
    of: int
    wrong: tuple[str, ...]
    """Questions that were answered wrongly."""
    attempts_left: int


def stage(session: Session, rater: Rater, design: Design) -> Stage:
    """Return the rater's next stage."""
    if rater.state == "active":
        return "rating"
    if rater.state != "invited":
        return "closed"
    passed = {row.kind for row in _screenings(session, rater) if row.passed}
    if design.eligibility and "eligibility" not in passed:
        return "eligibility"
    return "qualification" if design.qualification and "qualification" not in passed else "rating"


def answer_eligibility(
    session: Session, rater: Rater, design: Design, entries: Mapping[str, Any], now: float
) -> bool:  # fmt: skip
    """Whether the rater may take part; the answers are kept, and a refusal is logged with the question."""
    _expect(session, rater, design, "eligibility")
    answers = validate_answers([], [item.question for item in design.eligibility], entries)
    refused = [question.id for question in design.eligibility if answers[question.id] != question.accept]
    _keep(session, rater, design, "eligibility", not refused, answers, now)
    if refused:
        _turn_away(session, rater, f"not eligible by {', '.join(refused)}", now)
    return not refused


def answer_qualification(
    session: Session, rater: Rater, design: Design, entries: Mapping[str, Any], now: float
) -> QuizResult:
    """How the rater did in the test; after the last attempt a failure ends the rater's part."""
    _expect(session, rater, design, "qualification")
    test = design.qualification
    assert test is not None, "the stage says so"  # noqa: S101 - for the type checker
    answers = validate_answers([], [item.question for item in test.items], entries)
    wrong = [
        item.question.id for item in test.items if not is_right(item.question, answers[item.question.id], item.right)
    ]
    right = len(test.items) - len(wrong)
    passed = right >= test.pass_mark * len(test.items) - 1e-9
    tried = sum(row.kind == "qualification" for row in _screenings(session, rater)) + 1
    _keep(session, rater, design, "qualification", passed, answers, now)
    if not passed and tried >= test.attempts:
        _turn_away(session, rater, f"{right} of {len(test.items)} right in the last attempt at the qualification", now)
    return QuizResult(passed, right, len(test.items), tuple(wrong), max(0, test.attempts - tried))


def _expect(session: Session, rater: Rater, design: Design, expected: Stage) -> None:
    if stage(session, rater, design) != expected:
        raise NotAllowedError(f"There is nothing to answer for the {expected} now.")


def _screenings(session: Session, rater: Rater) -> list[Screening]:
    return list(session.scalars(select(Screening).where(Screening.rater_id == rater.id)))


def _keep(
    session: Session, rater: Rater, design: Design, kind: Stage, passed: bool, answers: Mapping[str, Any], now: float
) -> None:
    session.add(Screening(rater_id=rater.id, kind=kind, passed=passed, answers=dict(answers), at=now))
    session.flush()
    if stage(session, rater, design) == "rating":
        rater.state = "active"


def _turn_away(session: Session, rater: Rater, reason: str, now: float) -> None:
    rater.state = "unqualified"
    log(session, now, "screened", rater, reason)
