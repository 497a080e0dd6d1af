"""Tables of a study and its database: SQLite, or PostgreSQL by URL.

Everything that decides who gets what is a counter stored with the rows it counts, changed in one transaction: a page is
found by index, whatever the number of items.

Writers take turns on both databases. A claim reads counters and changes them; two that run at once could hand out one
place twice. People answer a few pages a minute, and a turn takes milliseconds, so one writer at a time is plenty, and
it leaves nothing to reason about: `BEGIN IMMEDIATE` in SQLite, an advisory lock held to the end of the transaction in
PostgreSQL. A process that is killed in its turn loses it at once, with all it had not committed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import (
    JSON,
    Connection,
    Engine,
    ForeignKey,
    Index,
    String,
    UniqueConstraint,
    create_engine,
    event,
    inspect,
    make_url,
    text,
)
from sqlalchemy.exc import ArgumentError, InterfaceError, InternalError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from editgauge.errors import BadStudyError

LOCK_TIMEOUT_SECONDS = 60
"""How long a writer waits for its turn."""
TURN = 0x656469746761
"""The advisory lock's number, the same in every process."""
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
    """Schema version and study id of the database."""

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
    requested: Mapped[int] = mapped_column("wanted")
    """Answers asked for: items times raters."""
    taken: Mapped[int] = mapped_column(default=0)
    """Answers given or being given."""


class StudyItem(TableBase):
    """An item to rate: one outcome, a pair, or two attributes."""

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
    """Ratings that are still missing."""
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
    """Number of items of a cell that a rater has had, to skip exhausted cells."""

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
    """Answers of a rater before the first page: eligibility and qualification."""

    __tablename__ = "screenings"
    id: Mapped[int] = mapped_column(primary_key=True)
    rater_id: Mapped[int] = mapped_column(ForeignKey("raters.id"), index=True)
    kind: Mapped[str]
    passed: Mapped[bool]
    answers: Mapped[dict[str, Any]]
    at: Mapped[float]


class Event(TableBase):
    """Append-only log of what happened to raters, and why."""

    __tablename__ = "events"
    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[float]
    kind: Mapped[EventKind] = mapped_column(String())
    rater_id: Mapped[int] = mapped_column(ForeignKey("raters.id"), index=True)
    assignment_id: Mapped[int | None]
    reason: Mapped[str]


class Database:
    """Opens transactions that read, and transactions that write one after the other."""

    def __init__(self, url: str) -> None:
        self._engine = _engine(url)
        self._is_sqlite = self._engine.dialect.name == "sqlite"
        # Threads of one process wait for each other here: in the database each would hold a connection meanwhile.
        self._turn = threading.Lock()
        self._writing = self._engine.execution_options(writes=True)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a read-only session with a consistent view of the study."""
        with _database_errors(), Session(self._engine) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Open an exclusive write transaction; it is durable on disk when the context ends."""
        with (
            _database_errors(),
            self._turn,
            Session(self._writing, expire_on_commit=False) as session,
            session.begin(),
        ):
            if not self._is_sqlite:
                session.execute(text("SELECT pg_advisory_xact_lock(:turn)"), {"turn": TURN})
            yield session

    def make(self, study: str) -> None:
        """Create the tables; refuse a database that already holds a study."""
        with _database_errors():
            if inspect(self._engine).has_table(Meta.__tablename__):
                raise BadStudyError("The database holds a study already. Give each study a database of its own.")
            if self._is_sqlite and self._engine.url.database:
                Path(self._engine.url.database).chmod(0o600)  # names and answers of people; its log files follow
            TableBase.metadata.create_all(self._engine)
            with self.write() as session:
                session.add_all([Meta(key="schema", value=str(SCHEMA)), Meta(key="study", value=study)])

    def check(self, study: str) -> None:
        """Raise `BadStudyError` unless the tables belong to this study and version."""
        with _database_errors():
            if not inspect(self._engine).has_table(Meta.__tablename__):
                raise BadStudyError(
                    "The study's database has no tables. Was the database moved, or is the URL another one?"
                )
            with self.read() as session:
                entries = {row.key: row.value for row in session.query(Meta)}
        if entries.get("schema") != str(SCHEMA):
            raise BadStudyError(
                f"The study's tables are of version {entries.get('schema')}; this editgauge reads {SCHEMA}."
            )
        if entries.get("study") != study:
            raise BadStudyError("The database belongs to another study. Is the URL in study.yaml right?")

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


@contextmanager
def _database_errors() -> Iterator[None]:
    """Turn database failures (server away, disk full, wrong password) into errors without a traceback."""
    try:
        yield
    except (OperationalError, InternalError, InterfaceError, PoolTimeout) as error:
        why = getattr(error, "orig", None) or error
        raise BadStudyError(
            f"The study's database cannot be used: {why}. Does it run, and is its URL right?"
        ) from error


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise BadStudyError("The database URL cannot be read. Give one such as postgresql://user@host/name.") from error
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        engine = create_engine(
            parsed, pool_timeout=LOCK_TIMEOUT_SECONDS, connect_args={"timeout": LOCK_TIMEOUT_SECONDS}
        )
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if kind == "postgresql":
        # Each statement must see what was committed while it waited for its turn.
        options: dict[str, Any] = {
            "isolation_level": "READ COMMITTED",
            "pool_pre_ping": True,
            "pool_timeout": LOCK_TIMEOUT_SECONDS,
        }
        limits = (
            f"-c lock_timeout={LOCK_TIMEOUT_SECONDS}s -c idle_in_transaction_session_timeout={LOCK_TIMEOUT_SECONDS}s"
        )
        options["connect_args"] = {"options": limits}  # who stands still in a turn loses it
        return create_engine(parsed.set(drivername="postgresql+psycopg"), **options)
    raise BadStudyError(
        f"Studies live in SQLite or PostgreSQL, not in '{kind}'. Give a URL such as postgresql://host/name."
    )


def _prepare_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin where we say
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
