"""A study opened: what the web app, the command line and scripts do with it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from editgauge._util.datasets import read_text
from editgauge.studies import quality, screening
from editgauge.studies.analysis.status import Progress, StudyStatus, progress_of, status_of
from editgauge.studies.answers import submission
from editgauge.studies.assignment import AssignmentRules, claim, expire, release
from editgauge.studies.design import Design, read_design
from editgauge.studies.errors import NotAllowedError
from editgauge.studies.manifest import DESIGN, IMAGES, StudyManifest
from editgauge.studies.page import Page, make_page
from editgauge.studies.raters import Invitation, add_raters, find_rater, forget, token_hash
from editgauge.studies.store import Assignment, Database, Rater

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class RaterInfo:
    """A rater as the rest of the program knows one."""

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

    def stage(self, rater: RaterInfo) -> screening.Stage:
        """Return the rater's next stage: `eligibility`, `qualification`, `rating` or `closed`."""
        with self.database.read() as session:
            return screening.stage(session, session.get_one(Rater, rater.id), self.design)

    def answer_eligibility(self, rater: RaterInfo, answers: Mapping[str, Any]) -> bool:
        """Whether the rater may take part."""
        with self._writing_for(rater) as (session, row):
            return screening.answer_eligibility(session, row, self.design, answers, self.clock())

    def answer_qualification(self, rater: RaterInfo, answers: Mapping[str, Any]) -> screening.QuizResult:
        """How the rater did in the qualification test."""
        with self._writing_for(rater) as (session, row):
            return screening.answer_qualification(session, row, self.design, answers, self.clock())

    # --- pages --------------------------------------------------------------------------------------------------------

    def next(self, rater: RaterInfo) -> int | None:
        """Return the rater's current or a new page, or None; raise `NotAllowedError` before qualification."""
        with self._writing_for(rater) as (session, row):
            if screening.stage(session, row, self.design) != "rating":
                raise NotAllowedError(submission.CLOSED.get(row.state, "Answer the questions at the beginning first."))
            row.state = "active"
            assignment = claim(session, row, self._rules, self.clock())
            return assignment.id if assignment is not None else None

    def page(self, rater: RaterInfo, assignment: int) -> Page:
        """Everything a page needs; with no method's name in it."""
        with self.database.read() as session:
            row, item = submission.require_assignment(session, session.get_one(Rater, rater.id), assignment)
            return make_page(self.design, row, item, submission.latest(session, row.id))

    def save(self, rater: RaterInfo, assignment: int, answers: Mapping[str, Any]) -> None:
        """Save an unfinished page with all its fields."""
        with self._writing_for(rater) as (session, row):
            submission.save(session, row, assignment, answers, self.design, self.clock())

    def answer(self, rater: RaterInfo, assignment: int, answers: Mapping[str, Any]) -> submission.Receipt:
        """Submit a page durably; raise `BadAnswersError` with the problem of each question."""
        with self._writing_for(rater) as (session, row):
            return submission.submit(session, row, assignment, answers, self.design, self.clock())

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
        """How far this rater is, and how much is left of the study."""
        with self.database.read() as session:
            return progress_of(session, rater.id, self.design)

    def status(self) -> StudyStatus:
        """How far the study is: items, raters, exclusions, and when it will be done."""
        with self.database.read() as session:
            return status_of(session, self.manifest.raters, self.clock())

    def exclude(self, rater: str, reason: str) -> int:
        """Voids all answers of a rater and opens their items again; says how many answers."""
        with self.database.write() as session:
            return quality.exclude(session, find_rater(session, rater), reason, self.clock())

    def include(self, rater: str, reason: str) -> tuple[int, int]:
        """Revoke an exclusion; return how many answers count again and how many are surplus."""
        screened = bool(self.design.eligibility or self.design.qualification)
        with self.database.write() as session:
            return quality.include(session, find_rater(session, rater), reason, self.clock(), screened=screened)

    def forget(self, rater: str, *, answers: bool = False) -> None:
        """Delete a person's data; with `answers` also all ratings."""
        with self.database.write() as session:
            forget(session, find_rater(session, rater), self.clock(), answers=answers)

    @contextmanager
    def _writing_for(self, rater: RaterInfo) -> Iterator[tuple[Session, Rater]]:
        with self.database.write() as session:
            yield session, session.get_one(Rater, rater.id)
