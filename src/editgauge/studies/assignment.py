"""Assign pages to raters: balanced over cells, shuffled per rater, at a cost independent of the number of items.

Each item has one slot per requested rater. Only this module changes the counters of items and cells. Random choices are
reproducible: the same seed and keys give the same number on every machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Select, exists, func, select
from sqlalchemy.orm import Session

from editgauge.studies.design import Design
from editgauge.studies.store import Assignment, Rater, Served, StudyCell, StudyItem

SHUFFLE_BELOW = 2**31
EXPIRY_BATCH_SIZE = 200
"""Abandoned pages that one claim releases at most, which bounds its duration."""


@dataclass(frozen=True, slots=True)
class AssignmentRules:
    """Design and random seed that decide assignments."""

    design: Design
    seed: int


def claim(session: Session, rater: Rater, rules: AssignmentRules, now: float) -> Assignment | None:
    """Return the rater's current page or claim a new one; None when none is left for this rater."""
    expire(session, now)
    until = now + 60 * rules.design.minutes
    current = session.scalars(_pages_of(rater, "claimed").limit(1)).first()
    if current is not None:
        current.until = until
        return current
    if _has_enough(session, rater, rules.design):
        return None
    item = _pick(session, rater, rules)
    if item is None:
        return None
    take_slot(session, item)
    count_served(session, rater.id, item, +1)
    rater.served += 1
    earlier = session.scalars(_pages_of(rater, "expired").where(Assignment.item_id == item.id)).first()
    assignment = earlier or Assignment(item_id=item.id, rater_id=rater.id, flags=[])
    assignment.state = "claimed"
    assignment.number = rater.served
    assignment.claimed, assignment.until = now, until
    assignment.flipped = bool(draw(2, rules.seed, "side", item.key, rater.name))
    assignment.check = _attention_check(rater, rules)
    session.add(assignment)
    session.flush()
    return assignment


def _pages_of(rater: Rater, state: str) -> Select[Assignment]:
    return select(Assignment).where(Assignment.rater_id == rater.id, Assignment.state == state)


def _has_enough(session: Session, rater: Rater, design: Design) -> bool:
    if design.items_per_rater is None:
        return False
    answered = select(func.count()).where(Assignment.rater_id == rater.id, Assignment.state.in_(("done", "surplus")))
    rated = answered.join_from(Assignment, StudyItem).where(StudyItem.kind == "rated")
    return (session.scalar(rated) or 0) >= design.items_per_rater


def _pick(session: Session, rater: Rater, rules: AssignmentRules) -> StudyItem | None:
    number = rater.served + 1
    point = draw(SHUFFLE_BELOW, rules.seed, "order", rater.name, number)
    item = _pick_rated(session, rater, point, rules)
    gold = rules.design.gold
    if item is not None and is_turn(gold.every, number, rules.seed, "gold", rater.name):
        return _first_unseen(session, select(StudyItem).where(StudyItem.kind == "gold"), rater, point) or item
    return item


def _pick_rated(session: Session, rater: Rater, point: int, rules: AssignmentRules) -> StudyItem | None:
    """Pick an item from the least-served cell that has one for this rater."""
    served = {row.cell_id: row.items for row in session.scalars(select(Served).where(Served.rater_id == rater.id))}
    unfinished = select(StudyCell.id, StudyCell.taken, StudyCell.requested, StudyCell.items).where(
        StudyCell.taken < StudyCell.requested
    )
    cells = [row for row in session.execute(unfinished) if served.get(row.id, 0) < row.items]
    cells.sort(key=lambda row: (row.taken / row.requested, draw(SHUFFLE_BELOW, rules.seed, "cell", point, row.id)))
    for cell in cells:
        in_cell = select(StudyItem).where(StudyItem.cell_id == cell.id, StudyItem.is_open.is_(True))
        item = _first_unseen(session, in_cell, rater, point)
        if item is not None:
            return item
    return None


def _first_unseen(session: Session, items: Select[StudyItem], rater: Rater, point: int) -> StudyItem | None:
    """Return the first item after a point of the shuffled circle that the rater has not had."""
    assigned = exists().where(
        Assignment.item_id == StudyItem.id, Assignment.rater_id == rater.id, Assignment.state != "expired"
    )  # fmt: skip
    fresh = items.where(~assigned).order_by(StudyItem.shuffle).limit(1)
    after = session.scalars(fresh.where(StudyItem.shuffle >= point)).first()
    return after if after is not None else session.scalars(fresh.where(StudyItem.shuffle < point)).first()


def _attention_check(rater: Rater, rules: AssignmentRules) -> str | None:
    attention = rules.design.attention
    if attention is None or not is_turn(attention.every, rater.served, rules.seed, "attention", rater.name):
        return None
    return attention.questions[draw(len(attention.questions), rules.seed, "check", rater.name, rater.served)].id


# --- slots ----


def take_slot(session: Session, item: StudyItem) -> bool:
    """Take a slot of the item; return whether one was free. Gold items have unlimited slots."""
    if item.cell_id is None:
        return True
    if item.free < 1:
        return False
    _move(session, item, -1)
    return True


def return_slot(session: Session, item: StudyItem) -> None:
    """Return a slot; a surplus answer that came late takes it first."""
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


def count_served(session: Session, rater_id: int, item: StudyItem, change: int) -> None:
    """Update how many items of a cell the rater has had."""
    if item.cell_id is None:
        return
    served = session.get(Served, (rater_id, item.cell_id))
    if served is None:
        session.add(Served(rater_id=rater_id, cell_id=item.cell_id, items=change))
    else:
        served.items += change


def expire(session: Session, now: float) -> int:
    """Release assignments whose time is over and return their number."""
    over = select(Assignment).where(Assignment.state == "claimed", Assignment.until < now)
    expired = session.scalars(over.order_by(Assignment.until).limit(EXPIRY_BATCH_SIZE)).all()
    release(session, expired)
    return len(expired)


def release(session: Session, claimed: Iterable[Assignment]) -> None:
    """Release the rater's unfinished assignments; drafts stay in case the rater returns."""
    for assignment in claimed:
        item = session.get_one(StudyItem, assignment.item_id)
        assignment.state = "expired"
        count_served(session, assignment.rater_id, item, -1)
        return_slot(session, item)
    session.flush()


# --- random numbers ----


def draw(below: int, *keys: object) -> int:
    """Return a pseudo-random number below `below`, determined by the keys.

    >>> draw(1000, 7, "side", "cat-black") == draw(1000, 7, "side", "cat-black")
    True
    """
    digest = hashlib.blake2b("\0".join(map(str, keys)).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % below


def is_turn(every: int, number: int, *keys: object) -> bool:
    """Return whether page `number` (from 1) is the randomly chosen one of its block of `every` pages.

    >>> sum(is_turn(10, number, "seed") for number in range(1, 101))
    10
    """
    block, index = divmod(number - 1, every)
    return draw(every, *keys, block) == index
