"""How far a study is, for its owner and for one rater."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from editgauge.studies.design import Design
from editgauge.studies.store import Assignment, Event, Rater, StudyCell, StudyItem

RECENT_SECONDS = 24 * 3600
"""The pace is that of the last day on which something was answered."""
MIN_ANSWERS_FOR_PACE = 5


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one rater is."""

    done: int
    most: int | None
    """How many pages one rater may have; None when there is no limit."""
    left_in_study: int
    """Answers that the whole study still wants, from all raters together."""


@dataclass(frozen=True, slots=True)
class RaterStatus:
    """One rater, as the owner sees one."""

    name: str
    label: str | None
    state: str
    done: int
    surplus: int
    void: int
    gold_failed: int
    gold_seen: int
    flagged: int
    reason: str
    """Why the rater is excluded or unqualified."""


@dataclass(frozen=True, slots=True)
class CellStatus:
    """How far the items of one cell are."""

    name: str
    items: int
    wanted: int
    done: int


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """How far a study is."""

    items: int
    complete: int
    """Items with all their raters."""
    wanted: int
    done: int
    claimed: int
    surplus: int
    raters: tuple[RaterStatus, ...]
    cells: tuple[CellStatus, ...]
    seconds_left: float | None
    """At the pace of the last day; None while too few have answered to tell."""


def progress_of(session: Session, rater_id: int, design: Design) -> Progress:
    """Return the rater's progress and the study's counters."""
    mine = select(func.count()).where(Assignment.rater_id == rater_id, Assignment.state.in_(("done", "surplus")))
    left = session.scalar(select(func.sum(StudyCell.wanted - StudyCell.taken)))
    return Progress(session.scalar(mine) or 0, design.items_per_rater, int(left or 0))


def status_of(session: Session, wanted_raters: int, now: float) -> StudyStatus:
    """Collect the status of all items, cells and raters."""
    rated = select(func.count()).select_from(Assignment).join(StudyItem).where(StudyItem.kind == "rated")
    count = {
        state: session.scalar(rated.where(Assignment.state == state)) or 0 for state in ("done", "claimed", "surplus")
    }
    items = session.scalar(select(func.count()).where(StudyItem.kind == "rated")) or 0
    cells = _cells(session)
    target = items * wanted_raters
    return StudyStatus(
        items=items,
        complete=_complete(session, wanted_raters),
        wanted=target,
        done=count["done"],
        claimed=count["claimed"],
        surplus=count["surplus"],
        raters=_raters(session),
        cells=cells,
        seconds_left=_seconds_left(session, target - count["done"], now),
    )


def _complete(session: Session, target: int) -> int:
    full = select(Assignment.item_id).join(StudyItem).where(StudyItem.kind == "rated", Assignment.state == "done")
    grouped = full.group_by(Assignment.item_id).having(func.count() >= target).subquery()
    return session.scalar(select(func.count()).select_from(grouped)) or 0


def _cells(session: Session) -> tuple[CellStatus, ...]:
    counted = select(StudyItem.cell_id, func.count()).join(Assignment).where(Assignment.state == "done")
    done = {row[0]: row[1] for row in session.execute(counted.group_by(StudyItem.cell_id))}
    cells = session.scalars(select(StudyCell).order_by(StudyCell.id))
    return tuple(CellStatus(cell.name, cell.items, cell.wanted, done.get(cell.id, 0)) for cell in cells)


def _seconds_left(session: Session, left: int, now: float) -> float | None:
    if left <= 0:
        return 0.0
    last = session.scalar(select(func.max(Assignment.done)))
    if last is None:
        return None
    recent = select(func.count(), func.min(Assignment.done)).where(Assignment.done > last - RECENT_SECONDS)
    count, first = session.execute(recent).one()
    return left * (last - first) / count if count >= MIN_ANSWERS_FOR_PACE and last > first else None


def _raters(session: Session) -> tuple[RaterStatus, ...]:
    states = select(Assignment.rater_id, Assignment.state, func.count()).group_by(Assignment.rater_id, Assignment.state)
    counts = {(rater, state): count for rater, state, count in session.execute(states)}
    kinds = select(Event.rater_id, Event.kind, func.count(func.distinct(Event.assignment_id)))
    events = {(rater, kind): n for rater, kind, n in session.execute(kinds.group_by(Event.rater_id, Event.kind))}
    gold = select(Assignment.rater_id, func.count()).where(Assignment.passed.is_not(None)).group_by(Assignment.rater_id)
    gold_counts = {row[0]: row[1] for row in session.execute(gold)}
    reasons = select(Event.rater_id, Event.reason).where(Event.kind.in_(("excluded", "screened"))).order_by(Event.id)
    why = {row[0]: row[1] for row in session.execute(reasons)}
    return tuple(
        RaterStatus(
            name=rater.name,
            label=rater.label,
            state=rater.state,
            done=counts.get((rater.id, "done"), 0),
            surplus=counts.get((rater.id, "surplus"), 0),
            void=counts.get((rater.id, "void"), 0),
            gold_failed=events.get((rater.id, "gold_failed"), 0),
            gold_seen=gold_counts.get(rater.id, 0),
            flagged=events.get((rater.id, "fast"), 0) + events.get((rater.id, "attention_failed"), 0),
            reason=why.get(rater.id, "") if rater.state in ("excluded", "unqualified") else "",
        )
        for rater in session.scalars(select(Rater).order_by(Rater.id))
    )
