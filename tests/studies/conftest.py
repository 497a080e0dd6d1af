"""Studies to try things on.

- `small_run(...)`: a run of real pictures: `edits` edits, some `methods`, a few edit types, two scores that disagree.
- `make_study(...)`: a study of such a run, opened, with a clock that stands still until it is moved.
- `work(study, rater, pages)`: a rater who answers that many pages, or all there are.
- `postgres`: makes an empty database on a real PostgreSQL server, started here; `database`: that, and SQLite, in turn.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

from editgauge._util.images import pixel_hash, write_png
from editgauge.results import ImageStamp, JournalEntry
from editgauge.studies import RaterInfo, Study, create

TYPES = ("color", "style", "size")
PLAIN = """
title: Is it good?
about: One question.
unit: outcome
instructions: Look and say.
text: "{instruction}"
questions:
  - id: good
    kind: scale
    label: How good?
    options: [{value: 0, label: bad}, {value: 1, label: middling}, {value: 2, label: good}]
fast_seconds: 0
minutes: 10
gold: {every: 2, exclude_after: 2}
"""


@dataclass
class Clock:
    """Stands still until it is moved."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def plain_design(tmp_path: Path) -> Path:
    (tmp_path / "plain.yaml").write_text(PLAIN, encoding="utf-8")
    return tmp_path / "plain.yaml"


@pytest.fixture
def small_run(
    tmp_path: Path, make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> Callable[..., Path]:
    def make(edits: int = 6, methods: tuple[str, ...] = ("mine", "theirs"), name: str = "run", **more: Any) -> Path:
        chance = np.random.default_rng(0)
        records = []
        for number in range(edits):
            source = tmp_path / "pictures" / f"{number}.png"
            before = chance.integers(0, 255, (8, 8, 3), dtype=np.uint8)
            write_png(before, source)
            for method in methods:
                edited = tmp_path / "pictures" / method / f"{number}.png"
                after = chance.integers(0, 255, (8, 8, 3), dtype=np.uint8)
                write_png(after, edited)
                records.append(
                    make_record(
                        f"edit-{number}",
                        {"gain": float(chance.random()), "loss": float(chance.random())},
                        method=method,
                        place=number,
                        edit_type=TYPES[number % 3],
                        source=f"{number}.png",
                        source_image=ImageStamp.of(source, pixel_hash(before)),
                        edited_image=ImageStamp.of(edited, pixel_hash(after)),
                    )
                )
        return make_run(*records, name=name, **more)

    return make


@pytest.fixture
def make_study(
    tmp_path: Path, small_run: Callable[..., Path], plain_design: Path, clock: Clock
) -> Iterator[Callable[..., Study]]:
    opened: list[Study] = []
    numbers = count()

    def make(edits: int = 6, methods: tuple[str, ...] = ("mine", "theirs"), **options: Any) -> Study:
        number = next(numbers)
        run = options.pop("run", None) or small_run(edits, methods, name=f"run-{number}")
        options = {"design": str(plain_design), "out": tmp_path / f"study-{number}", "quiet": True, **options}
        create(run, **options).close()
        opened.append(Study.open(options["out"], clock))
        return opened[-1]

    yield make
    for study in opened:
        study.close()


@pytest.fixture
def enter() -> Callable[..., RaterInfo]:
    """A new rater of a study."""

    def come(study: Study) -> RaterInfo:
        (invitation,) = study.invite()
        return study.rater(invitation.token)

    return come


@pytest.fixture
def work() -> Callable[..., int]:
    def answer_pages(study: Study, rater: RaterInfo, pages: int = 10_000, value: int = 1) -> int:
        for done in range(pages):
            page = study.next(rater)
            if page is None:
                return done
            study.answer(rater, page, {"good": value})
        return pages

    return answer_pages


@dataclass
class PostgresServer:
    """A server of our own, which nobody else can reach: it listens at a socket in its own folder."""

    binaries: Path
    home: Path
    numbers: Iterator[int] = field(default_factory=count)

    def _run(self, program: str, *words: str) -> None:
        user = ["setpriv", "--reuid=nobody", "--clear-groups"] if os.geteuid() == 0 else []
        command = [*user, str(self.binaries / program), *words]
        said = self.home / "said"
        with said.open("ab") as out:  # a pipe would stay open as long as the server lives
            ended = subprocess.run(command, stdout=out, stderr=out, cwd=self.home, check=False)
        assert ended.returncode == 0, said.read_text(errors="replace")

    def initialize(self) -> None:
        self._run("initdb", "-D", str(self.home / "data"), "-A", "trust", "-U", "study", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        options = f"-k {self.home} -c listen_addresses='' -c max_connections=200 -c fsync=off"
        self._run("pg_ctl", "-D", str(self.home / "data"), "-w", "-o", options, "-l", str(self.home / "log"), "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.home / "data"), "-m", "immediate", "stop")

    def kill(self) -> None:
        """Kill the server without warning, as a lack of memory would; its children end with it."""
        pid = int((self.home / "data" / "postmaster.pid").read_text().splitlines()[0])
        os.kill(pid, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while any((Path("/proc") / str(pid)).glob("stat")) or self._has_children():
            assert time.monotonic() < deadline, "the server does not die"
            time.sleep(0.05)

    def _has_children(self) -> bool:
        """Return whether a process still works in the server's folder: a new server would refuse to start."""
        data = str(self.home / "data")
        for entry in Path("/proc").glob("[0-9]*/cwd"):
            try:
                if str(entry.readlink()) == data:
                    return True
            except OSError:
                continue
        return False

    def new_database(self) -> str:
        name = f"study{next(self.numbers)}"
        with psycopg.connect(f"host={self.home} user=study dbname=postgres", autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return f"postgresql://study@/{name}?host={self.home}"


def _binaries() -> Path | None:
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: int(place.parent.name), reverse=True)
    on_path = shutil.which("initdb")
    places = [*versions, *([Path(on_path).resolve().parent] if on_path else []), Path("/usr/local/bin")]
    return next((place for place in places if (place / "initdb").exists() and (place / "pg_ctl").exists()), None)


@contextmanager
def _running_server() -> Iterator[PostgresServer]:
    binaries = _binaries()
    if binaries is None:
        assert not os.environ.get("CI"), "PostgreSQL's initdb and pg_ctl must be installed where CI runs"
        pytest.skip("NOT TESTED on PostgreSQL: no initdb and pg_ctl on this machine")
    home = Path(tempfile.mkdtemp(prefix="editgauge-postgres-"))
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        nobody = pwd.getpwnam("nobody")
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
    server = PostgresServer(binaries, home)
    try:
        server.initialize()
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with _running_server() as server:
        yield server


@pytest.fixture
def mortal_postgres() -> Iterator[PostgresServer]:
    """A server of one test alone, which may kill it."""
    with _running_server() as server:
        yield server


@pytest.fixture
def postgres(postgres_server: PostgresServer) -> Callable[[], str]:
    return postgres_server.new_database


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str | None:
    """None is SQLite in the study's folder."""
    if request.param == "sqlite":
        return None
    make: Callable[[], str] = request.getfixturevalue("postgres")
    return make()
