"""Claims, answers, expiry, exclusions and all the rest in any order keep the promises of a study."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select

from editgauge.studies import NotAllowedError, RaterInfo, Study
from editgauge.studies._pages import latest
from editgauge.studies.store import Assignment, Served, StudyCell, StudyItem

RATERS = 2
WHO = st.integers(0, 3)


class StudyMachine(RuleBasedStateMachine):
    """Four raters who come and go."""

    template: Path

    @initialize()
    def start(self) -> None:
        self.now = 1_000_000.0
        self.home = Path(tempfile.mkdtemp(prefix="study-machine-"))
        shutil.copytree(self.template, self.home / "study")
        self.study = Study.open(self.home / "study", lambda: self.now)
        self.raters = [self.study.rater(invitation.token) for invitation in self.study.invite(4)]
        self.held: dict[int, int] = {}
        self.acknowledged: dict[tuple[int, int], int] = {}

    def teardown(self) -> None:
        if hasattr(self, "study"):
            self.study.close()
            shutil.rmtree(self.home)

    def _state(self, rater: RaterInfo) -> str:
        return next(entry.state for entry in self.study.status().raters if entry.name == rater.name)

    @rule(who=WHO)
    def claim(self, who: int) -> None:
        try:
            page = self.study.next(self.raters[who])
        except NotAllowedError:
            assert self._state(self.raters[who]) in ("excluded", "forgotten")
            return
        if page is not None:
            self.held[who] = page

    @precondition(lambda self: self.held)
    @rule(who=WHO, value=st.integers(0, 2))
    def answer(self, who: int, value: int) -> None:
        if who not in self.held:
            return
        try:
            receipt = self.study.answer(self.raters[who], self.held[who], {"good": value})
        except NotAllowedError:
            return
        assert receipt.state in ("done", "surplus", "void")
        self.acknowledged[who, self.held[who]] = value

    @rule(seconds=st.sampled_from([60, 700]))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule()
    def expire(self) -> None:
        self.study.expire()

    @rule(who=WHO)
    def release(self, who: int) -> None:
        self.study.release(self.raters[who])

    @rule(who=WHO)
    def exclude(self, who: int) -> None:
        if self._state(self.raters[who]) != "forgotten":
            self.study.exclude(self.raters[who].name, "a test")

    @rule(who=WHO)
    def include(self, who: int) -> None:
        if self._state(self.raters[who]) == "excluded":
            self.study.include(self.raters[who].name, "a test")

    @rule(who=WHO, answers=st.booleans())
    def forget(self, who: int, answers: bool) -> None:
        if self._state(self.raters[who]) == "forgotten":
            return
        self.study.forget(self.raters[who].name, answers=answers)
        if answers:
            self.acknowledged = {key: value for key, value in self.acknowledged.items() if key[0] != who}

    @invariant()
    def promises_are_kept(self) -> None:
        if not hasattr(self, "study"):
            return
        with self.study.database.read() as session:
            rows = list(session.scalars(select(Assignment)))
            items = {item.id: item for item in session.scalars(select(StudyItem))}
            cells = {cell.id: cell for cell in session.scalars(select(StudyCell))}
            served = {(row.rater_id, row.cell_id): row.items for row in session.scalars(select(Served))}
        holding = Counter(row.item_id for row in rows if row.state in ("done", "claimed"))
        for item in items.values():
            if item.kind == "rated":
                assert holding[item.id] <= RATERS, "never more raters than wanted"
                assert item.free == RATERS - holding[item.id]
                assert item.is_open == (item.free > 0)
        for cell in cells.values():
            assert cell.taken == sum(holding[item.id] for item in items.values() if item.cell_id == cell.id)
        had = Counter((row.rater_id, items[row.item_id].cell_id) for row in rows if row.state != "expired")
        assert all(had[key] == count for key, count in served.items())
        assert len({(row.item_id, row.rater_id) for row in rows}) == len(rows), "no rater twice on an item"
        assert max(Counter(row.rater_id for row in rows if row.state == "claimed").values(), default=0) <= 1
        self._acknowledged_answers_are_there()

    def _acknowledged_answers_are_there(self) -> None:
        from editgauge.studies._pages import latest

        with self.study.database.read() as session:
            for (_, page), value in self.acknowledged.items():
                assert latest(session, page) == {"good": value}

    @rule()
    def finish(self) -> None:
        """New raters come until nothing is left: then every item has exactly as many as wanted."""
        self.now += 700
        for _ in range(RATERS):
            (invitation,) = self.study.invite()
            rater = self.study.rater(invitation.token)
            while (page := self.study.next(rater)) is not None:
                self.study.answer(rater, page, {"good": 1})
        status = self.study.status()
        assert (status.complete, status.done) == (status.items, status.items * RATERS)
        assert status.claimed == 0


@pytest.mark.slow
def test_any_order_of_events_keeps_the_promises(make_study: Callable[..., Study], tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"edit": "edit-0", "method": "mine", "answers": {"good": 1}}\n')
    study = make_study(edits=3, methods=("mine", "theirs"), raters=RATERS, gold=gold)
    study.close()

    class OnThisStudy(StudyMachine):
        template = study.folder

    slow: Any = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
    run_state_machine_as_test(
        OnThisStudy,
        settings=settings(max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=slow),
    )


RATERS_AT_ONCE = 50
PATIENCE = 600
SCRIPT = Path(__file__).with_name("rater_process.py")
Work = Callable[..., int]


def answers_of_items(study: Study) -> list[int]:
    """How many answers of each item count."""
    with study.database.read() as session:
        counted = Counter(session.scalars(select(Assignment.item_id).where(Assignment.state == "done")))
        return [counted[item] for item in session.scalars(select(StudyItem.id))]


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
