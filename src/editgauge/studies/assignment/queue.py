"""Who gets which page next: balanced over cells, shuffled for every rater, at a cost that does not grow with items."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Select, exists, func, select
from sqlalchemy.orm import Session

from editgauge.studies.assignment.chance import draw, is_turn
from editgauge.studies.assignment.slots import expire, note_served, take
from editgauge.studies.design import Design
from editgauge.studies.store import Assignment, Rater, Served, StudyCell, StudyItem

SHUFFLE_BELOW = 2**31


@dataclass(frozen=True, slots=True)
class AssignmentRules:
    """What claims go by."""

    design: Design
    seed: int


def claim(session: Session, rater: Rater, rules: AssignmentRules, now: float) -> Assignment | None:
    """The page the rater is at, or a new one, or None when there is none left for this rater."""
    expire(session, now)
    until = now + 60 * rules.design.minutes
    current = session.scalars(_of(rater, "claimed").limit(1)).first()
    if current is not None:
        current.until = until
        return current
    if _has_enough(session, rater, rules.design):
        return None
    item = _pick(session, rater, rules)
    if item is None:
        return None
    take(session, item)
    note_served(session, rater.id, item, +1)
    rater.served += 1
    earlier = session.scalars(_of(rater, "expired").where(Assignment.item_id == item.id)).first()
    assignment = earlier or Assignment(item_id=item.id, rater_id=rater.id, flags=[])
    assignment.state = "claimed"
    assignment.number = rater.served
    assignment.claimed, assignment.until = now, until
    assignment.flipped = bool(draw(2, rules.seed, "side", item.key, rater.name))
    assignment.check = _attention_check(rater, rules)
    session.add(assignment)
    session.flush()
    return assignment


def _of(rater: Rater, state: str) -> Select[Assignment]:
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
        return _from(session, select(StudyItem).where(StudyItem.kind == "gold"), rater, point) or item
    return item


def _pick_rated(session: Session, rater: Rater, point: int, rules: AssignmentRules) -> StudyItem | None:
    """An item of the least served cell that has one for this rater."""
    had = {row.cell_id: row.items for row in session.scalars(select(Served).where(Served.rater_id == rater.id))}
    unfinished = select(StudyCell.id, StudyCell.taken, StudyCell.wanted, StudyCell.items).where(
        StudyCell.taken < StudyCell.wanted
    )
    cells = [row for row in session.execute(unfinished) if had.get(row.id, 0) < row.items]
    cells.sort(key=lambda row: (row.taken / row.wanted, draw(SHUFFLE_BELOW, rules.seed, "cell", point, row.id)))
    for cell in cells:
        in_cell = select(StudyItem).where(StudyItem.cell_id == cell.id, StudyItem.is_open.is_(True))
        item = _from(session, in_cell, rater, point)
        if item is not None:
            return item
    return None


def _from(session: Session, items: Select[StudyItem], rater: Rater, point: int) -> StudyItem | None:
    """The first of these items after a point of the shuffled circle that the rater has not had."""
    had = exists().where(
        Assignment.item_id == StudyItem.id, Assignment.rater_id == rater.id, Assignment.state != "expired"
    )  # fmt: skip
    fresh = items.where(~had).order_by(StudyItem.shuffle).limit(1)
    after = session.scalars(fresh.where(StudyItem.shuffle >= point)).first()
    return after if after is not None else session.scalars(fresh.where(StudyItem.shuffle < point)).first()


def _attention_check(rater: Rater, rules: AssignmentRules) -> str | None:
    attention = rules.design.attention
    if attention is None or not is_turn(attention.every, rater.served, rules.seed, "attention", rater.name):
        return None
    return attention.questions[draw(len(attention.questions), rules.seed, "check", rater.name, rater.served)].id
