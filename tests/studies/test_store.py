"""The database of a study when its server goes away: nothing acknowledged is lost, and work goes on afterwards."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from sqlalchemy import select, text

from editgauge.studies import BadStudyError, RaterInfo, Study
from editgauge.studies._pages import latest
from editgauge.studies.store import Assignment, StudyCell, StudyItem

pytestmark = pytest.mark.slow

Make = Callable[..., Study]
RATERS = 8
TIMEOUT_SECONDS = 300


def rate_until_done(study: Study, rater: RaterInfo, acknowledged: list[int]) -> None:
    """Answer page after page; whatever fails for lack of a database is tried again, as a rater would."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        try:
            page = study.next(rater)
            if page is None:
                return
            study.answer(rater, page, {"good": 1})
        except BadStudyError:
            time.sleep(0.05)
            continue
        acknowledged.append(page)
    raise AssertionError("the database stays away")


def check_counters(study: Study, acknowledged: list[int], raters: int) -> None:
    with study.database.read() as session:
        counted = Counter(session.scalars(select(Assignment.item_id).where(Assignment.state == "done")))
        assert {counted[item] for item in session.scalars(select(StudyItem.id))} == {raters}
        assert all(cell.taken == cell.requested for cell in session.scalars(select(StudyCell)))
        for page in acknowledged:
            assert session.get_one(Assignment, page).state == "done"
            assert latest(session, page) == {"good": 1}


def kill_backends(url: str) -> None:
    """End every other connection to the database, as an administrator or a failover would."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.parametrize("disaster", ["kill -9", "terminated connections"])
def test_raters_go_on_after_postgresql_was_killed(make_study: Make, mortal_postgres: Any, disaster: str) -> None:
    url = mortal_postgres.new_database()
    study = make_study(edits=30, methods=("mine",), raters=3, database=url)
    raters = [study.rater(invitation.token) for invitation in study.invite(RATERS)]
    acknowledged: list[list[int]] = [[] for _ in raters]
    with ThreadPoolExecutor(RATERS) as pool:
        work = [pool.submit(rate_until_done, study, *pair) for pair in zip(raters, acknowledged, strict=True)]
        for kills in (1, 2, 3):
            while sum(map(len, acknowledged)) < 15 * kills:
                assert not any(task.done() for task in work), "killed in the middle"
                time.sleep(0.01)
            if disaster == "kill -9":
                mortal_postgres.kill()
                mortal_postgres.start()
            else:
                kill_backends(url)
        for task in work:
            task.result(TIMEOUT_SECONDS)
    pages = [page for rater_pages in acknowledged for page in rater_pages]
    assert len(set(pages)) == len(pages)
    check_counters(study, pages, raters=3)


def test_a_connection_killed_inside_its_transaction_changes_nothing(make_study: Make, mortal_postgres: Any) -> None:
    url = mortal_postgres.new_database()
    study = make_study(edits=2, methods=("mine",), raters=1, database=url)
    rater = study.rater(study.invite()[0].token)
    page = study.next(rater)
    assert page is not None

    def write_and_die() -> None:
        with study.database.write() as session:
            session.get_one(Assignment, page).state = "done"
            session.flush()
            kill_backends(url)
            session.execute(text("SELECT 1"))

    with pytest.raises(BadStudyError, match="database"):
        write_and_die()
    assert study.status().done == 0
    assert study.answer(rater, page, {"good": 1}).state == "done"
    assert study.status().done == 1


def test_a_writer_that_stands_still_loses_its_turn(
    make_study: Make, mortal_postgres: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frozen process must not stop the study: its open transaction ends, and others write."""
    monkeypatch.setattr("editgauge.studies.store.LOCK_TIMEOUT_SECONDS", 2)
    url = mortal_postgres.new_database()
    study = make_study(edits=2, methods=("mine",), raters=1, database=url)
    frozen = Study.open(study.folder)
    entered, thawed = threading.Event(), threading.Event()

    def hold() -> None:
        with frozen.database.write() as session:
            entered.set()
            thawed.wait(TIMEOUT_SECONDS)
            session.execute(text("SELECT 1"))

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold)
        assert entered.wait(TIMEOUT_SECONDS)
        deadline = time.monotonic() + 60
        while True:
            try:
                study.invite()
                break
            except BadStudyError:
                assert time.monotonic() < deadline, "the frozen writer keeps its turn"
        thawed.set()
        with pytest.raises(BadStudyError):
            holding.result(TIMEOUT_SECONDS)
    frozen.close()
