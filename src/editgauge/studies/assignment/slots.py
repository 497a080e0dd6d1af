"""The places of an item: R of them, each taken by one rater. The counters of items and cells change here only."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from editgauge.studies.store import Assignment, Served, StudyCell, StudyItem

EXPIRED_AT_ONCE = 200
"""How many abandoned pages one claim clears away, so that none takes long; the next claim goes on."""


def take(session: Session, item: StudyItem) -> bool:
    """Takes a place; says whether there was one. Gold items have places for everybody."""
    if item.cell_id is None:
        return True
    if item.free < 1:
        return False
    _move(session, item, -1)
    return True


def give_back(session: Session, item: StudyItem) -> None:
    """Gives a place back; an answer that had come too late for one gets it before anyone is asked again."""
    if item.cell_id is None:
        return
    _move(session, item, +1)
    late = select(Assignment).where(Assignment.item_id == item.id, Assignment.state == "surplus")
    waiting = session.scalars(late.order_by(Assignment.id).limit(1)).first()
    if waiting is not None:
        waiting.state = "done"
        _move(session, item, -1)


def _move(session: Session, item: StudyItem, free: int) -> None:
    item.free += free
    item.is_open = item.free > 0
    cell = session.get_one(StudyCell, item.cell_id)
    cell.taken -= free


def note_served(session: Session, rater_id: int, item: StudyItem, change: int) -> None:
    """Counts how many items of a cell the rater has had."""
    if item.cell_id is None:
        return
    served = session.get(Served, (rater_id, item.cell_id))
    if served is None:
        session.add(Served(rater_id=rater_id, cell_id=item.cell_id, items=change))
    else:
        served.items += change


def expire(session: Session, now: float) -> int:
    """Takes pages back whose time is over; says how many."""
    over = select(Assignment).where(Assignment.state == "claimed", Assignment.until < now)
    expired = session.scalars(over.order_by(Assignment.until).limit(EXPIRED_AT_ONCE)).all()
    release(session, expired)
    return len(expired)


def release(session: Session, claimed: Iterable[Assignment]) -> None:
    """Takes pages back that a rater has not finished. What was answered so far stays, should the rater return."""
    for assignment in claimed:
        item = session.get_one(StudyItem, assignment.item_id)
        assignment.state = "expired"
        note_served(session, assignment.rater_id, item, -1)
        give_back(session, item)
    session.flush()
