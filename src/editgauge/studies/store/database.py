"""The database of a study: SQLite next to the study, or PostgreSQL by URL. Writers take turns on both.

A claim reads counters and changes them; two that run at once could hand out one place twice. People answer a few pages
a minute, and a turn takes milliseconds, so one writer at a time is plenty, and it leaves nothing to reason about:
`BEGIN IMMEDIATE` in SQLite, an advisory lock held to the end of the transaction in PostgreSQL. A process that is killed
in its turn loses it at once, with all it had not committed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from editgauge.studies.errors import BadStudy
from editgauge.studies.store.tables import SCHEMA, Meta, TableBase

PATIENCE_SECONDS = 60
"""How long a writer waits for its turn."""
TURN = 0x656469746761
"""The advisory lock's number, the same in every process."""


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
        """A view of the study as it is now; nothing can be changed through it."""
        with _database_errors(), Session(self._engine) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction that no other writer can get between. What it did is safe on disk when it ends."""
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
        """Makes the tables; refuses a database in which a study lives already."""
        with _database_errors():
            if inspect(self._engine).has_table(Meta.__tablename__):
                raise BadStudy("The database holds a study already. Give each study a database of its own.")
            if self._is_sqlite and self._engine.url.database:
                Path(self._engine.url.database).chmod(0o600)  # names and answers of people; its log files follow
            TableBase.metadata.create_all(self._engine)
            with self.write() as session:
                session.add_all([Meta(key="schema", value=str(SCHEMA)), Meta(key="study", value=study)])

    def check(self, study: str) -> None:
        """Raises `BadStudy` unless the tables are those of this study and of this version."""
        with _database_errors():
            if not inspect(self._engine).has_table(Meta.__tablename__):
                raise BadStudy("The study's database has no tables. Was the database moved, or is the URL another one?")
            with self.read() as session:
                entries = {row.key: row.value for row in session.query(Meta)}
        if entries.get("schema") != str(SCHEMA):
            raise BadStudy(f"The study's tables are of version {entries.get('schema')}; this editgauge reads {SCHEMA}.")
        if entries.get("study") != study:
            raise BadStudy("The database belongs to another study. Is the URL in study.yaml right?")

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()


@contextmanager
def _database_errors() -> Iterator[None]:
    """A server that is away, a full disk, a wrong password: nothing that a traceback would explain."""
    try:
        yield
    except (OperationalError, PoolTimeout) as error:
        why = getattr(error, "orig", None) or error
        raise BadStudy(f"The study's database cannot be used: {why}. Does it run, and is its URL right?") from error


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise BadStudy("The database URL cannot be read. Give one such as postgresql://user@host/name.") from error
    kind = parsed.get_backend_name()
    if kind == "sqlite":
        engine = create_engine(parsed, pool_timeout=PATIENCE_SECONDS, connect_args={"timeout": PATIENCE_SECONDS})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    if kind == "postgresql":
        # Each statement must see what was committed while it waited for its turn.
        options: dict[str, Any] = {
            "isolation_level": "READ COMMITTED",
            "pool_pre_ping": True,
            "pool_timeout": PATIENCE_SECONDS,
        }
        limits = f"-c lock_timeout={PATIENCE_SECONDS}s -c idle_in_transaction_session_timeout={PATIENCE_SECONDS}s"
        options["connect_args"] = {"options": limits}  # who stands still in a turn loses it
        return create_engine(parsed.set(drivername="postgresql+psycopg"), **options)
    raise BadStudy(f"Studies live in SQLite or PostgreSQL, not in '{kind}'. Give a URL such as postgresql://host/name.")


def _prepare_sqlite(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin where we say
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
