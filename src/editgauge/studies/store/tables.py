"""The tables of a study.

Everything that decides who gets what is a counter stored with the rows it counts, changed in one transaction: a page is
found by index, whatever the number of items.
"""

from __future__ import annotations

from typing import Any, Literal

from sqlalchemy import JSON, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

SCHEMA = 1
"""Raised when tables change their meaning; an older editgauge then refuses the study instead of harming it."""

ItemKind = Literal["rated", "gold"]
RaterState = Literal["invited", "active", "unqualified", "excluded", "forgotten"]
AssignmentState = Literal["claimed", "done", "expired", "surplus", "void"]
"""claimed: with the rater until a time; done: answered and counted; expired: came back unanswered; surplus: answered
when others had taken the place; void: answered by a rater who is excluded."""
EventKind = Literal[
    "screened", "fast", "attention_failed", "gold_failed", "late", "excluded", "included", "forgotten", "imported"
]


class TableBase(DeclarativeBase):
    """The base of all tables; a dictionary or list is stored as JSON."""

    type_annotation_map = {dict[str, Any]: JSON, list[str]: JSON, str: String()}  # noqa: RUF012 - read by the base class


class Meta(TableBase):
    """What the database says about itself."""

    __tablename__ = "meta"
    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]


class Rater(TableBase):
    """A person who rates: a name that says nothing, and the label that the owner gave, if any."""

    __tablename__ = "raters"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    label: Mapped[str | None]
    token_hash: Mapped[str | None] = mapped_column(unique=True)
    state: Mapped[RaterState] = mapped_column(String())
    created: Mapped[float]
    served: Mapped[int] = mapped_column(default=0)
    """Pages handed out so far; with the seed it decides the order of the next ones."""


class StudyCell(TableBase):
    """Items of one kind: of the same methods and edit type. Pages come from the least served cell first."""

    __tablename__ = "cells"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    items: Mapped[int]
    wanted: Mapped[int]
    """Answers asked for: items times raters."""
    taken: Mapped[int] = mapped_column(default=0)
    """Answers given or being given."""


class StudyItem(TableBase):
    """What one page is about."""

    __tablename__ = "items"
    __table_args__ = (Index("open_items", "cell_id", "is_open", "shuffle"), Index("items_by_kind", "kind", "shuffle"))
    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(unique=True)
    """What it is about, in words that mean the same in every study of the run."""
    kind: Mapped[ItemKind] = mapped_column(String())
    cell_id: Mapped[int | None] = mapped_column(ForeignKey("cells.id"))
    """None for gold items, which every rater may get."""
    shuffle: Mapped[int]
    free: Mapped[int]
    """Raters still wanted."""
    is_open: Mapped[bool]
    edit: Mapped[str]
    content: Mapped[dict[str, Any]]
    """The edit's fields, what is compared, and the names of the pictures."""
    right: Mapped[dict[str, Any] | None]
    """The right answers of a gold item, each a list of values."""


class Assignment(TableBase):
    """One rater's page about one item."""

    __tablename__ = "assignments"
    __table_args__ = (
        UniqueConstraint("item_id", "rater_id"),
        Index("assignments_by_rater", "rater_id", "state"),
        Index("assignments_by_time", "state", "until"),
    )
    id: Mapped[int] = mapped_column(primary_key=True)
    item_id: Mapped[int] = mapped_column(ForeignKey("items.id"))
    rater_id: Mapped[int] = mapped_column(ForeignKey("raters.id"))
    state: Mapped[AssignmentState] = mapped_column(String())
    number: Mapped[int]
    """Which page of the rater it is, from 1."""
    flipped: Mapped[bool]
    """Whether the second of a pair stands on the left."""
    check: Mapped[str | None]
    """The attention check on the page."""
    claimed: Mapped[float]
    until: Mapped[float]
    done: Mapped[float | None]
    flags: Mapped[list[str]]
    passed: Mapped[bool | None]
    """For gold items: whether the first answers given were right."""


class Served(TableBase):
    """How many items of a cell a rater has had: who had all is not searched for more."""

    __tablename__ = "served"
    rater_id: Mapped[int] = mapped_column(ForeignKey("raters.id"), primary_key=True)
    cell_id: Mapped[int] = mapped_column(ForeignKey("cells.id"), primary_key=True)
    items: Mapped[int]


class AnswerRow(TableBase):
    """The answer to one question of a page; a changed answer is a new version next to the old one."""

    __tablename__ = "answers"
    assignment_id: Mapped[int] = mapped_column(ForeignKey("assignments.id"), primary_key=True)
    question: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True)
    value: Mapped[dict[str, Any]]
    """`{"is": value}`, or `{}` for an answer that was taken back: a bare value would not be JSON in every database."""
    at: Mapped[float]


class Screening(TableBase):
    """What a rater answered before the first page: eligibility and qualification."""

    __tablename__ = "screenings"
    id: Mapped[int] = mapped_column(primary_key=True)
    rater_id: Mapped[int] = mapped_column(ForeignKey("raters.id"), index=True)
    kind: Mapped[str]
    passed: Mapped[bool]
    answers: Mapped[dict[str, Any]]
    at: Mapped[float]


class Event(TableBase):
    """What happened to a rater and why; nothing here is ever changed."""

    __tablename__ = "events"
    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[float]
    kind: Mapped[EventKind] = mapped_column(String())
    rater_id: Mapped[int] = mapped_column(ForeignKey("raters.id"), index=True)
    assignment_id: Mapped[int | None]
    reason: Mapped[str]
