"""Raters: made, found by name or label, and forgotten."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete, func, or_, select
from sqlalchemy.orm import Session

from editgauge.errors import UnknownNameError
from editgauge.studies.assignment import release, return_slot
from editgauge.studies.errors import BadStudyError
from editgauge.studies.quality import log
from editgauge.studies.store import AnswerRow, Assignment, Event, Rater, Screening, Served, StudyItem


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
    made = []
    number = session.scalar(select(func.max(Rater.id))) or 0
    for token in tokens:
        number = _free_number(session, number + 1)
        hashed = token_hash(token)
        session.add(Rater(name=_name(number), label=label, token_hash=hashed, state="invited", created=now))
        made.append(Invitation(_name(number), token))
    session.flush()
    return made


def _name(number: int) -> str:
    return f"r{number:04d}"


def _free_number(session: Session, number: int) -> int:
    """Raters who were imported keep the names they had, which may be such names."""
    while session.scalar(select(Rater.id).where(Rater.name == _name(number))) is not None:
        number += 1
    return number


def find_rater(session: Session, word: str) -> Rater:
    """Find the rater by name or label."""
    raters = session.scalars(select(Rater).where(or_(Rater.name == word, Rater.label == word))).all()
    by_name = [rater for rater in raters if rater.name == word]
    if len(by_name or raters) == 1:
        return (by_name or list(raters))[0]
    if raters:
        raise BadStudyError(
            f"The label '{word}' is given to {len(raters)} raters: {', '.join(r.name for r in raters)}."
        )
    raise UnknownNameError("rater in this study", word, session.scalars(select(Rater.name)))


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
