"""Raters: invitation, screening, quality control, exclusion and deletion."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from editgauge.errors import BadStudyError, NotAllowedError, UnknownNameError
from editgauge.studies.assignment import release, return_slot, take_slot
from editgauge.studies.design import Answer, Answers, Design, validate_answers
from editgauge.studies.design._fields import is_right
from editgauge.studies.store import AnswerRow, Assignment, Event, EventKind, Rater, Screening, Served, StudyItem


@dataclass(frozen=True, slots=True)
class Invitation:
    """A rater's name and secret; the secret cannot be shown again."""

    name: str
    token: str

    def link(self, base: str) -> str:
        """Return the personal link below the URL where the study is served."""
        return f"{base.rstrip('/')}/enter/{self.token}"


def token_hash(token: str) -> str:
    """Hash a token for storage; with 256 random bits a plain hash suffices."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def add_raters(session: Session, tokens: Sequence[str], label: str | None, now: float) -> list[Invitation]:
    """Add raters for these tokens."""
    invitations = []
    number = session.scalar(select(func.max(Rater.id))) or 0
    for token in tokens:
        number = _free_number(session, number + 1)
        hashed = token_hash(token)
        session.add(Rater(name=_name(number), label=label, token_hash=hashed, state="invited", created=now))
        invitations.append(Invitation(_name(number), token))
    session.flush()
    return invitations


def _name(number: int) -> str:
    return f"r{number:04d}"


def _free_number(session: Session, number: int) -> int:
    """Return the first number from `number` on whose name is free; imported raters keep their names."""
    while session.scalar(select(Rater.id).where(Rater.name == _name(number))) is not None:
        number += 1
    return number


def find_rater(session: Session, name: str) -> Rater:
    """Find the rater by name or label."""
    raters = session.scalars(select(Rater).where(or_(Rater.name == name, Rater.label == name))).all()
    by_name = [rater for rater in raters if rater.name == name]
    if len(by_name or raters) == 1:
        return (by_name or list(raters))[0]
    if raters:
        raise BadStudyError(
            f"The label '{name}' is given to {len(raters)} raters: {', '.join(r.name for r in raters)}."
        )
    raise UnknownNameError("rater in this study", name, session.scalars(select(Rater.name)))


def forget(session: Session, rater: Rater, now: float, *, answers: bool) -> None:
    """Delete label, link and eligibility answers of a rater; with `answers` also the ratings.

    Answers that are kept stay under a name that says nothing, and go on counting.
    """
    mine = select(Assignment).where(Assignment.rater_id == rater.id)
    release(session, session.scalars(mine.where(Assignment.state == "claimed")).all())
    session.execute(delete(Screening).where(Screening.rater_id == rater.id))
    if answers:
        _delete_answers(session, rater)
    rater.label, rater.token_hash, rater.state = None, None, "forgotten"
    log(session, now, "forgotten", rater, "with all answers" if answers else "answers kept without a person")


def _delete_answers(session: Session, rater: Rater) -> None:
    for assignment in session.scalars(select(Assignment).where(Assignment.rater_id == rater.id)).all():
        counted, item = assignment.state == "done", session.get_one(StudyItem, assignment.item_id)
        session.execute(delete(AnswerRow).where(AnswerRow.assignment_id == assignment.id))
        session.delete(assignment)
        session.flush()
        if counted:
            return_slot(session, item)
    session.execute(delete(Served).where(Served.rater_id == rater.id))
    session.execute(delete(Event).where(Event.rater_id == rater.id))


def log(
    session: Session, now: float, kind: EventKind, rater: Rater, reason: str, *, page: Assignment | None = None
) -> None:
    """Log an event of a rater with its reason."""
    page_id = page.id if page is not None else None
    session.add(Event(at=now, kind=kind, rater_id=rater.id, assignment_id=page_id, reason=reason))
    session.flush()


def review(
    session: Session,
    rater: Rater,
    assignment: Assignment,
    item: StudyItem,
    answers: Answers,
    *,
    design: Design,
    now: float,
) -> None:
    """Check a page when first answered; exclude the rater after too many failures."""
    seconds = now - assignment.claimed
    flags = flags_of(design, answers, assignment.check, seconds)
    assignment.flags = list(flags)
    if "fast" in flags:
        log(session, now, "fast", rater, f"answered in {seconds:.1f} s", page=assignment)
    if "attention_failed" in flags:
        log(session, now, "attention_failed", rater, f"wrong answer to '{assignment.check}'", page=assignment)
    if item.right is not None:
        wrong = wrong_answers(design, answers, item.right)
        assignment.passed = not wrong
        if wrong:
            log(session, now, "gold_failed", rater, f"wrong answer to {', '.join(wrong)}", page=assignment)
    _exclude_if_failed(session, rater, "gold_failed", design.gold.exclude_after, now)
    if design.attention and design.attention.exclude_after:
        _exclude_if_failed(session, rater, "attention_failed", design.attention.exclude_after, now)


def flags_of(design: Design, answers: Answers, check: str | None, seconds: float | None) -> tuple[str, ...]:
    """Return what is suspicious about a page: too fast, or a failed attention check."""
    fast = seconds is not None and seconds < design.fast_seconds
    failed = any(item.id == check and not is_right(item, answers.get(item.id), item.right) for item in design.checks)
    return (*(["fast"] if fast else []), *(["attention_failed"] if failed else []))


def wrong_answers(design: Design, answers: Mapping[str, Answer], right: Mapping[str, Any]) -> list[str]:
    """Return the questions of a gold item that were answered wrongly."""
    questions = {question.id: question for question in design.questions}
    return [
        name
        for name, values in right.items()
        if not is_right(questions[name], answers.get(name), values, design.gold.tolerance.get(name, 0))
    ]


def _exclude_if_failed(session: Session, rater: Rater, kind: EventKind, limit: int, now: float) -> None:
    """Exclude a rater who failed `limit` times since the owner last included them."""
    last_inclusion = select(func.max(Event.id)).where(Event.rater_id == rater.id, Event.kind == "included")
    since = session.scalar(last_inclusion) or 0
    failures = select(func.count()).where(Event.rater_id == rater.id, Event.kind == kind, Event.id > since)
    count = session.scalar(failures) or 0
    if count >= limit and rater.state != "excluded":
        what = {"gold_failed": "gold items", "attention_failed": "attention checks"}[kind]
        exclude(session, rater, f"failed {count} {what}", now)


def exclude(session: Session, rater: Rater, reason: str, now: float) -> int:
    """Void all answers of a rater, open their items again and return the number of answers."""
    rater.state = "excluded"
    log(session, now, "excluded", rater, reason)
    mine = select(Assignment).where(Assignment.rater_id == rater.id)
    release(session, session.scalars(mine.where(Assignment.state == "claimed")).all())
    answered = session.scalars(mine.where(Assignment.state.in_(("done", "surplus")))).all()
    for assignment in answered:
        counted = assignment.state == "done"
        assignment.state = "void"
        session.flush()
        if counted:
            return_slot(session, session.get_one(StudyItem, assignment.item_id))
    session.flush()
    return len(answered)


def include(session: Session, rater: Rater, reason: str, now: float, *, screened: bool) -> tuple[int, int]:
    """Revoke an exclusion: answers count again where slots are free, else they become surplus.

    Returns both counts. A rater who failed the qualification is admitted.
    """
    passed = select(Screening.id).where(Screening.rater_id == rater.id, Screening.passed.is_(True)).limit(1)
    unscreened = rater.state == "excluded" and screened and session.scalar(passed) is None
    rater.state = "invited" if unscreened else "active"
    log(session, now, "included", rater, reason)
    counts = [0, 0]
    voided = select(Assignment).where(Assignment.rater_id == rater.id, Assignment.state == "void")
    for assignment in session.scalars(voided.order_by(Assignment.id)).all():
        free = take_slot(session, session.get_one(StudyItem, assignment.item_id))
        assignment.state = "done" if free else "surplus"
        counts[0 if free else 1] += 1
    session.flush()
    return counts[0], counts[1]


Stage = Literal["eligibility", "qualification", "rating", "closed"]


@dataclass(frozen=True, slots=True)
class QuizResult:
    """Result of an attempt at the qualification test."""

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
    """Store eligibility answers and return whether the rater may take part; a refusal is logged."""
    _require_stage(session, rater, design, "eligibility")
    answers = validate_answers([], [item.question for item in design.eligibility], entries)
    refused = [question.id for question in design.eligibility if answers[question.id] != question.accept]
    _store_screening(session, rater, design, "eligibility", answers, now=now, passed=not refused)
    if refused:
        _reject(session, rater, f"not eligible by {', '.join(refused)}", now)
    return not refused


def answer_qualification(
    session: Session, rater: Rater, design: Design, entries: Mapping[str, Any], now: float
) -> QuizResult:
    """Grade an attempt at the qualification; a failed last attempt ends the rater's participation."""
    _require_stage(session, rater, design, "qualification")
    test = design.qualification
    assert test is not None, "the stage says so"  # noqa: S101 - for the type checker
    answers = validate_answers([], [item.question for item in test.items], entries)
    wrong = [
        item.question.id for item in test.items if not is_right(item.question, answers[item.question.id], item.right)
    ]
    right = len(test.items) - len(wrong)
    passed = right >= test.pass_mark * len(test.items) - 1e-9
    attempt = sum(row.kind == "qualification" for row in _screenings(session, rater)) + 1
    _store_screening(session, rater, design, "qualification", answers, now=now, passed=passed)
    if not passed and attempt >= test.attempts:
        _reject(session, rater, f"{right} of {len(test.items)} right in the last attempt at the qualification", now)
    return QuizResult(passed, right, len(test.items), tuple(wrong), max(0, test.attempts - attempt))


def _require_stage(session: Session, rater: Rater, design: Design, expected: Stage) -> None:
    if stage(session, rater, design) != expected:
        raise NotAllowedError(f"There is nothing to answer for the {expected} now.")


def _screenings(session: Session, rater: Rater) -> list[Screening]:
    return list(session.scalars(select(Screening).where(Screening.rater_id == rater.id)))


def _store_screening(
    session: Session,
    rater: Rater,
    design: Design,
    kind: Stage,
    answers: Mapping[str, Any],
    *,
    now: float,
    passed: bool,
) -> None:
    session.add(Screening(rater_id=rater.id, kind=kind, passed=passed, answers=dict(answers), at=now))
    session.flush()
    if stage(session, rater, design) == "rating":
        rater.state = "active"


def _reject(session: Session, rater: Rater, reason: str, now: float) -> None:
    rater.state = "unqualified"
    log(session, now, "screened", rater, reason)
