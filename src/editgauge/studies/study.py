"""A study folder: its manifest, its status, and `Study`, the object behind the web app, the commands and scripts."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from editgauge._util.datasets import read_text
from editgauge._util.fields import Fields
from editgauge._util.files import write_text
from editgauge.errors import BadStudyError, NotAllowedError
from editgauge.studies import _pages, raters
from editgauge.studies._pages import Page, make_page
from editgauge.studies.assignment import AssignmentRules, claim, expire, release
from editgauge.studies.design import Design, read_design
from editgauge.studies.raters import Invitation, add_raters, find_rater, forget, token_hash
from editgauge.studies.store import Assignment, Database, Event, Rater, StudyCell, StudyItem

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class RaterInfo:
    """Identity and state of a rater."""

    id: int
    name: str
    state: str


class Study:
    """A study folder with its database. One object serves all threads of a process."""

    def __init__(self, folder: Path, manifest: StudyManifest, design: Design, clock: Clock = time.time) -> None:
        self.folder = folder
        self.manifest = manifest
        self.design = design
        self.clock = clock
        self.database = Database(manifest.url(folder))

    @classmethod
    def open(cls, folder: str | Path, clock: Clock = time.time) -> Study:
        """Open a study; raise `BadStudyError` when the folder or its database is invalid."""
        path = Path(folder)
        manifest = StudyManifest.load(path)
        study = cls(path, manifest, read_design(read_text(path / DESIGN), DESIGN), clock)
        study.database.check(manifest.study)
        return study

    def close(self) -> None:
        """Close the database connections."""
        self.database.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def images(self) -> Path:
        """The folder with all pictures of the study, under names made of their content."""
        return self.folder / IMAGES

    @cached_property
    def _rules(self) -> AssignmentRules:
        return AssignmentRules(self.design, self.manifest.seed)

    # --- raters -------------------------------------------------------------------------------------------------------

    def invite(self, count: int = 1, label: str | None = None) -> list[Invitation]:
        """Add raters and return their secret tokens; only hashes are stored."""
        with self.database.write() as session:
            return add_raters(session, [secrets.token_urlsafe(32) for _ in range(count)], label, self.clock())

    def rater(self, token: str) -> RaterInfo:
        """Return the rater with this token; raise `NotAllowedError` if there is none."""
        with self.database.read() as session:
            known_rater = session.scalars(select(Rater).where(Rater.token_hash == token_hash(token))).first()
            if known_rater is None:
                raise NotAllowedError("This link is not valid. Ask the people who run the study for another one.")
            return RaterInfo(known_rater.id, known_rater.name, known_rater.state)

    def stage(self, rater: RaterInfo) -> raters.Stage:
        """Return the rater's next stage: `eligibility`, `qualification`, `rating` or `closed`."""
        with self.database.read() as session:
            return raters.stage(session, session.get_one(Rater, rater.id), self.design)

    def answer_eligibility(self, rater: RaterInfo, answers: Mapping[str, Any]) -> bool:
        """Store eligibility answers and return whether the rater may take part."""
        with self._writing_for(rater) as (session, row):
            return raters.answer_eligibility(session, row, self.design, answers, self.clock())

    def answer_qualification(self, rater: RaterInfo, answers: Mapping[str, Any]) -> raters.QuizResult:
        """Grade an attempt at the qualification test."""
        with self._writing_for(rater) as (session, row):
            return raters.answer_qualification(session, row, self.design, answers, self.clock())

    # --- pages --------------------------------------------------------------------------------------------------------

    def next(self, rater: RaterInfo) -> int | None:
        """Return the rater's current or a new page, or None; raise `NotAllowedError` before qualification."""
        with self._writing_for(rater) as (session, row):
            if raters.stage(session, row, self.design) != "rating":
                raise NotAllowedError(_pages.CLOSED.get(row.state, "Answer the questions at the beginning first."))
            row.state = "active"
            assignment = claim(session, row, self._rules, self.clock())
            return assignment.id if assignment is not None else None

    def page(self, rater: RaterInfo, assignment: int) -> Page:
        """Return the contents of a page, which name no method."""
        with self.database.read() as session:
            row, item = _pages.require_assignment(session, session.get_one(Rater, rater.id), assignment)
            return make_page(self.design, row, item, _pages.latest(session, row.id))

    def save(self, rater: RaterInfo, assignment: int, answers: Mapping[str, Any]) -> None:
        """Save an unfinished page with all its fields."""
        with self._writing_for(rater) as (session, row):
            _pages.save(session, row, assignment, answers, self.design, now=self.clock())

    def answer(self, rater: RaterInfo, assignment: int, answers: Mapping[str, Any]) -> _pages.Receipt:
        """Submit a page durably; raise `BadAnswersError` with the problem of each question."""
        with self._writing_for(rater) as (session, row):
            return _pages.submit(session, row, assignment, answers, self.design, now=self.clock())

    def release(self, rater: RaterInfo) -> None:
        """Release the rater's current page."""
        with self._writing_for(rater) as (session, row):
            mine = select(Assignment).where(Assignment.rater_id == row.id, Assignment.state == "claimed")
            release(session, session.scalars(mine).all())

    def expire(self) -> int:
        """Release abandoned pages and return their number; claiming does so too."""
        with self.database.write() as session:
            return expire(session, self.clock())

    # --- the owner ----------------------------------------------------------------------------------------------------

    def progress(self, rater: RaterInfo) -> Progress:
        """Return the progress of one rater and what is left of the study."""
        with self.database.read() as session:
            return progress_of(session, rater.id, self.design)

    def status(self) -> StudyStatus:
        """Return the progress of the study: items, raters, exclusions, time left."""
        with self.database.read() as session:
            return status_of(session, self.manifest.raters)

    def exclude(self, rater: str, reason: str) -> int:
        """Void all answers of a rater, open their items again and return the number of answers."""
        with self.database.write() as session:
            return raters.exclude(session, find_rater(session, rater), reason, self.clock())

    def include(self, rater: str, reason: str) -> tuple[int, int]:
        """Revoke an exclusion; return how many answers count again and how many are surplus."""
        screened = bool(self.design.eligibility or self.design.qualification)
        with self.database.write() as session:
            return raters.include(session, find_rater(session, rater), reason, self.clock(), screened=screened)

    def forget(self, rater: str, *, answers: bool = False) -> None:
        """Delete a person's data; with `answers` also all ratings."""
        with self.database.write() as session:
            forget(session, find_rater(session, rater), self.clock(), answers=answers)

    @contextmanager
    def _writing_for(self, rater: RaterInfo) -> Iterator[tuple[Session, Rater]]:
        with self.database.write() as session:
            yield session, session.get_one(Rater, rater.id)


MANIFEST = "study.yaml"
DESIGN = "design.yaml"
IMAGES = "images"
LOCAL_DATABASE = "sqlite:///study.db"
"""The database is in the study's own folder."""


class StudyManifest(Fields):
    """Immutable record of how a study was created; only the database URL may change."""

    study: str
    """Random id that ties folder and database together."""
    editgauge: str
    created: str
    run: str
    design: str
    """The name or path it was given by; the text itself is in `design.yaml`."""
    raters: int
    seed: int
    sample: str
    items: int
    gold: int
    skipped: dict[str, int] = Field(default_factory=dict)
    """Why outcomes of the run are not in the study, and how many."""
    pictures: dict[str, str] = Field(default_factory=dict)
    """Pictures of the qualification: path in the design to name in `images`."""
    database: str = LOCAL_DATABASE

    def url(self, folder: Path) -> str:
        """Return the URL of the database."""
        return f"sqlite:///{folder.resolve() / 'study.db'}" if self.database == LOCAL_DATABASE else self.database

    def save(self, folder: Path) -> None:
        """Write the file, readable only by its owner because the database URL may contain a password."""
        write_text(folder / MANIFEST, yaml.safe_dump(self.model_dump(), sort_keys=False, allow_unicode=True, width=120))
        (folder / MANIFEST).chmod(0o600)

    @classmethod
    def load(cls, folder: Path) -> StudyManifest:
        """Read the manifest; raise an error when the folder is no study."""
        path = folder / MANIFEST
        try:
            return cls.model_validate(yaml.safe_load(path.read_text("utf-8")))
        except FileNotFoundError as error:
            raise BadStudyError(
                f"'{folder}' is no study: it has no {MANIFEST}. `editgauge study create` makes one from a run."
            ) from error
        except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
            raise BadStudyError(f"'{path}' cannot be read: {error}.") from error


RECENT_SECONDS = 24 * 3600
"""The pace is that of the last day on which something was answered."""
MIN_ANSWERS_FOR_PACE = 5


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of one rater."""

    done: int
    most: int | None
    """How many pages one rater may have; None when there is no limit."""
    left_in_study: int
    """Answers that the whole study still wants, from all raters together."""


@dataclass(frozen=True, slots=True)
class RaterStatus:
    """Progress and quality of one rater, for the owner."""

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
    """Progress of the items of one cell."""

    name: str
    items: int
    requested: int
    done: int


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """Progress of a study."""

    items: int
    complete: int
    """Items with all their raters."""
    requested: int
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
    left = session.scalar(select(func.sum(StudyCell.requested - StudyCell.taken)))
    return Progress(session.scalar(mine) or 0, design.items_per_rater, int(left or 0))


def status_of(session: Session, raters_per_item: int) -> StudyStatus:
    """Collect the status of all items, cells and raters."""
    rated = select(func.count()).select_from(Assignment).join(StudyItem).where(StudyItem.kind == "rated")
    count = {
        state: session.scalar(rated.where(Assignment.state == state)) or 0 for state in ("done", "claimed", "surplus")
    }
    items = session.scalar(select(func.count()).where(StudyItem.kind == "rated")) or 0
    cells = _cells(session)
    target = items * raters_per_item
    return StudyStatus(
        items=items,
        complete=_complete(session, raters_per_item),
        requested=target,
        done=count["done"],
        claimed=count["claimed"],
        surplus=count["surplus"],
        raters=_raters(session),
        cells=cells,
        seconds_left=_seconds_left(session, target - count["done"]),
    )


def _complete(session: Session, target: int) -> int:
    full = select(Assignment.item_id).join(StudyItem).where(StudyItem.kind == "rated", Assignment.state == "done")
    grouped = full.group_by(Assignment.item_id).having(func.count() >= target).subquery()
    return session.scalar(select(func.count()).select_from(grouped)) or 0


def _cells(session: Session) -> tuple[CellStatus, ...]:
    counted = select(StudyItem.cell_id, func.count()).join(Assignment).where(Assignment.state == "done")
    done = {row[0]: row[1] for row in session.execute(counted.group_by(StudyItem.cell_id))}
    cells = session.scalars(select(StudyCell).order_by(StudyCell.id))
    return tuple(CellStatus(cell.name, cell.items, cell.requested, done.get(cell.id, 0)) for cell in cells)


def _seconds_left(session: Session, left: int) -> float | None:
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
