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

Stage = Literal["eligibility", "qualification", "rating", "closed"]
"""What a rater may do next."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """A rater's name and secret token; only the hash of the token is stored."""

    name: str
    token: str

    def link(self, base: str) -> str:
        """Return the personal link under the base URL of the study."""
        return f"{base.rstrip('/')}/enter/{self.token}"


def token_hash(token: str) -> str:
    """Hash a token for storage; with 256 random bits a plain hash suffices."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def add_raters(session: Session, tokens: Sequence[str], label: str | None, now: float) -> list[Invitation]:
    """Add one rater per token."""
    invitations = []
    number = session.scalar(select(func.max(Rater.id))) or 0
    for token in tokens:
        number = _free_number(session, number + 1)
        name = _rater_name(number)
        session.add(Rater(name=name, label=label, token_hash=token_hash(token), state="invited", created=now))
        invitations.append(Invitation(name, token))
    session.flush()
    return invitations


def _rater_name(number: int) -> str:
    return f"r{number:04d}"


def _free_number(session: Session, number: int) -> int:
    """Return the first free number from `number` on; imported raters may have taken some names."""
    while session.scalar(select(Rater.id).where(Rater.name == _rater_name(number))) is not None:
        number += 1
    return number


def find_rater(session: Session, name: str) -> Rater:
    """Return the rater with this name, or else with this label."""
    raters = session.scalars(select(Rater).where(or_(Rater.name == name, Rater.label == name))).all()
    matches = [rater for rater in raters if rater.name == name] or list(raters)
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = ", ".join(rater.name for rater in matches)
        raise BadStudyError(f"The label '{name}' is given to {len(matches)} raters: {names}.")
    raise UnknownNameError("rater in this study", name, session.scalars(select(Rater.name)))


def forget(session: Session, rater: Rater, now: float, *, answers: bool) -> None:
    """Delete the label, link and screening answers of a rater; with `answers`, also the ratings.

    Ratings that are kept stay under the anonymous name and still count.
    """
    _release_claims(session, rater)
    session.execute(delete(Screening).where(Screening.rater_id == rater.id))
    if answers:
        _delete_answers(session, rater)
    rater.label, rater.token_hash, rater.state = None, None, "forgotten"
    log(session, now, "forgotten", rater, "with all answers" if answers else "answers kept without a person")


def _release_claims(session: Session, rater: Rater) -> None:
    """Release the assignments that the rater has claimed and not answered."""
    claims = select(Assignment).where(Assignment.rater_id == rater.id, Assignment.state == "claimed")
    release(session, session.scalars(claims).all())


def _delete_answers(session: Session, rater: Rater) -> None:
    """Delete all assignments and events of a rater, and open the slots that they filled."""
    for assignment in session.scalars(select(Assignment).where(Assignment.rater_id == rater.id)).all():
        counted = assignment.state == "done"
        item = session.get_one(StudyItem, assignment.item_id)
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
    """Log an event of a rater, with the page on which it happened if any."""
    assignment_id = page.id if page is not None else None
    session.add(Event(at=now, kind=kind, rater_id=rater.id, assignment_id=assignment_id, reason=reason))
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
    """Check a newly answered page; exclude the rater after too many failures."""
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
    """Return the flags of a page: `fast` and `attention_failed`."""
    flags = []
    if seconds is not None and seconds < design.fast_seconds:
        flags.append("fast")
    if any(item.id == check and not is_right(item, answers.get(item.id), item.right) for item in design.checks):
        flags.append("attention_failed")
    return tuple(flags)


def wrong_answers(design: Design, answers: Mapping[str, Answer], right: Mapping[str, Any]) -> list[str]:
    """Return the questions of a gold item that were answered wrongly."""
    questions = {question.id: question for question in design.questions}
    return [
        name
        for name, values in right.items()
        if not is_right(questions[name], answers.get(name), values, design.gold.tolerance.get(name, 0))
    ]


def _exclude_if_failed(session: Session, rater: Rater, kind: EventKind, limit: int, now: float) -> None:
    """Exclude a rater with `limit` failures since the last inclusion by the owner."""
    last_inclusion = select(func.max(Event.id)).where(Event.rater_id == rater.id, Event.kind == "included")
    last_event_id = session.scalar(last_inclusion) or 0
    failures = select(func.count()).where(Event.rater_id == rater.id, Event.kind == kind, Event.id > last_event_id)
    count = session.scalar(failures) or 0
    if count >= limit and rater.state != "excluded":
        checks = {"gold_failed": "gold items", "attention_failed": "attention checks"}[kind]
        exclude(session, rater, f"failed {count} {checks}", now)


def exclude(session: Session, rater: Rater, reason: str, now: float) -> int:
    """Void all answers of a rater and open the slots that they filled; return the number of answers."""
    rater.state = "excluded"
    log(session, now, "excluded", rater, reason)
    _release_claims(session, rater)
    answered = select(Assignment).where(Assignment.rater_id == rater.id, Assignment.state.in_(("done", "surplus")))
    assignments = session.scalars(answered).all()
    for assignment in assignments:
        counted = assignment.state == "done"
        assignment.state = "void"
        session.flush()
        if counted:
            return_slot(session, session.get_one(StudyItem, assignment.item_id))
    session.flush()
    return len(assignments)


def include(session: Session, rater: Rater, reason: str, now: float, *, screened: bool) -> tuple[int, int]:
    """Revoke an exclusion, or admit a rater who failed the qualification.

    Voided answers count again where slots are free; the others become surplus.

    Args:
        session: The database session.
        rater: The rater to include.
        reason: Reason for the log.
        now: Current time in seconds.
        screened: Whether the study has a screening.

    Returns:
        The numbers of answers that count again and of surplus answers.

    """
    passed = select(Screening.id).where(Screening.rater_id == rater.id, Screening.passed.is_(True)).limit(1)
    needs_screening = rater.state == "excluded" and screened and session.scalar(passed) is None
    rater.state = "invited" if needs_screening else "active"
    log(session, now, "included", rater, reason)
    voided = select(Assignment).where(Assignment.rater_id == rater.id, Assignment.state == "void")
    assignments = session.scalars(voided.order_by(Assignment.id)).all()
    counted = 0
    for assignment in assignments:
        has_slot = take_slot(session, session.get_one(StudyItem, assignment.item_id))
        assignment.state = "done" if has_slot else "surplus"
        counted += has_slot
    session.flush()
    return counted, len(assignments) - counted


@dataclass(frozen=True, slots=True)
class QuizResult:
    """Result of one attempt at the qualification test."""

    passed: bool
    right: int
    of: int
    """Number of questions."""
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
    if design.qualification and "qualification" not in passed:
        return "qualification"
    return "rating"


def answer_eligibility(session: Session, rater: Rater, design: Design, entries: Mapping[str, Any], now: float) -> bool:
    """Store eligibility answers and return whether the rater is eligible; log a rejection."""
    _require_stage(session, rater, design, "eligibility")
    answers = validate_answers([], [item.question for item in design.eligibility], entries)
    rejecting = [question.id for question in design.eligibility if answers[question.id] != question.accept]
    _store_screening(session, rater, design, "eligibility", answers, now=now, passed=not rejecting)
    if rejecting:
        _reject(session, rater, f"not eligible by {', '.join(rejecting)}", now)
    return not rejecting


def answer_qualification(
    session: Session, rater: Rater, design: Design, entries: Mapping[str, Any], now: float
) -> QuizResult:
    """Grade an attempt at the qualification; a failed last attempt ends the rater's participation."""
    _require_stage(session, rater, design, "qualification")
    test = design.qualification
    assert test is not None  # noqa: S101 - for the type checker; the stage implies it
    answers = validate_answers([], [item.question for item in test.items], entries)
    wrong = [
        item.question.id for item in test.items if not is_right(item.question, answers[item.question.id], item.right)
    ]
    right = len(test.items) - len(wrong)
    passed = right >= test.pass_mark * len(test.items) - 1e-9  # tolerance for rounding errors
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
    """Store a screening, and activate a rater who has passed all of them."""
    session.add(Screening(rater_id=rater.id, kind=kind, passed=passed, answers=dict(answers), at=now))
    session.flush()
    if stage(session, rater, design) == "rating":
        rater.state = "active"


def _reject(session: Session, rater: Rater, reason: str, now: float) -> None:
    rater.state = "unqualified"
    log(session, now, "screened", rater, reason)
