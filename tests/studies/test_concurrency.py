"""Fifty raters at once, and killed in the middle: no acknowledged answer is lost, no item gets too many or too few."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from editgauge.studies import RaterInfo, Study
from editgauge.studies._pages import latest
from editgauge.studies.store import Assignment, StudyCell, StudyItem

pytestmark = pytest.mark.slow

RATERS_AT_ONCE = 50
PATIENCE = 600
SCRIPT = Path(__file__).with_name("rater_process.py")
Work = Callable[..., int]


def answers_of_items(study: Study) -> list[int]:
    """How many answers of each item count."""
    with study.database.read() as session:
        counted = Counter(session.scalars(select(Assignment.item_id).where(Assignment.state == "done")))
        return [counted[item] for item in session.scalars(select(StudyItem.id))]


def test_fifty_raters_at_once_share_the_items_exactly(
    make_study: Callable[..., Study], work: Work, database: str | None
) -> None:
    study = make_study(edits=50, methods=("mine", "theirs"), raters=3, database=database)
    raters = [study.rater(invitation.token) for invitation in study.invite(RATERS_AT_ONCE)]
    with ThreadPoolExecutor(RATERS_AT_ONCE) as pool:
        pages = list(pool.map(lambda rater: work(study, rater), raters))
    assert sum(pages) == 300
    assert set(answers_of_items(study)) == {3}
    with study.database.read() as session:
        assert all(cell.taken == cell.requested for cell in session.scalars(select(StudyCell)))


def test_fifty_processes_killed_in_the_middle_and_continued(
    make_study: Callable[..., Study], database: str | None, work: Work
) -> None:
    study = make_study(edits=40, methods=("mine",), raters=3, database=database)
    tokens = [invitation.token for invitation in study.invite(RATERS_AT_ONCE)]
    acknowledged: list[int] = []
    for killing in (True, False):
        command = [sys.executable, str(SCRIPT), str(study.folder), str(int(killing)), *tokens]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
            if killing:
                _wait_for_answers(study, 20)
                os.killpg(process.pid, signal.SIGKILL)
            acknowledged += map(int, process.communicate(timeout=PATIENCE)[0].split())
        assert process.returncode == (-signal.SIGKILL if killing else 0)
        if killing:
            assert 20 <= study.status().done < 120, "killed in the middle"
    assert len(set(acknowledged)) == len(acknowledged)
    work(study, study.rater(study.invite(1)[0].token))
    assert set(answers_of_items(study)) == {3}
    with study.database.read() as session:
        for page in acknowledged:
            assert session.get_one(Assignment, page).state == "done"
            assert "good" in latest(session, page)


def _wait_for_answers(study: Study, answers: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while study.status().done < answers:
        assert time.monotonic() < deadline, "nobody answers"
        time.sleep(0.01)


def test_one_rater_in_many_windows_gets_one_page(make_study: Callable[..., Study], database: str | None) -> None:
    study = make_study(database=database)
    rater: RaterInfo = study.rater(study.invite(1)[0].token)
    with ThreadPoolExecutor(20) as pool:
        pages = set(pool.map(lambda _: study.next(rater), range(20)))
        assert len(pages) == 1
        (page,) = pages
        assert page is not None
        receipts = list(pool.map(lambda _: study.answer(rater, page, {"good": 1}), range(20)))
    assert sum(receipt.changed for receipt in receipts) == 1
    assert study.status().done == 1
