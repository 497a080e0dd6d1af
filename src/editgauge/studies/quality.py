"""Quality control: flags, gold items, and exclusions, each logged with its reason and reversible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from editgauge.studies.assignment import release, return_slot, take_slot
from editgauge.studies.design import Answer, Answers, Design
from editgauge.studies.design.answers import is_right
from editgauge.studies.store import Assignment, Event, EventKind, Rater, Screening, StudyItem


def log(
    session: Session, now: float, kind: EventKind, rater: Rater, reason: str, assignment: Assignment | None = None
) -> None:
    """Log an event of a rater with its reason."""
    where = assignment.id if assignment is not None else None
    session.add(Event(at=now, kind=kind, rater_id=rater.id, assignment_id=where, reason=reason))
    session.flush()


def review(
    session: Session,
    rater: Rater,
    assignment: Assignment,
    item: StudyItem,
    answers: Answers,
    design: Design,
    now: float,
) -> None:
    """Check a page when first answered; exclude the rater after too many failures."""
    seconds = now - assignment.claimed
    flags = flags_of(design, answers, assignment.check, seconds)
    assignment.flags = list(flags)
    if "fast" in flags:
        log(session, now, "fast", rater, f"answered in {seconds:.1f} s", assignment)
    if "attention_failed" in flags:
        log(session, now, "attention_failed", rater, f"wrong answer to '{assignment.check}'", assignment)
    if item.right is not None:
        wrong = wrong_answers(design, answers, item.right)
        assignment.passed = not wrong
        if wrong:
            log(session, now, "gold_failed", rater, f"wrong answer to {', '.join(wrong)}", assignment)
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
    """Failures before the owner last included the rater no longer count."""
    pardon = select(func.max(Event.id)).where(Event.rater_id == rater.id, Event.kind == "included")
    since = session.scalar(pardon) or 0
    failures = select(func.count()).where(Event.rater_id == rater.id, Event.kind == kind, Event.id > since)
    count = session.scalar(failures) or 0
    if count >= limit and rater.state != "excluded":
        what = {"gold_failed": "gold items", "attention_failed": "attention checks"}[kind]
        exclude(session, rater, f"failed {count} {what}", now)


def exclude(session: Session, rater: Rater, reason: str, now: float) -> int:
    """Voids all answers of a rater and opens their items again; says how many answers."""
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

    Says how many count again, and how many are surplus. A rater who failed the qualification is admitted.
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
