"""Runs with models: nothing is asked twice, whoever is killed; missing weights end a run instead of filling it."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from editgauge._util.files import DRAFT_PREFIX
from editgauge._util.images import ImageFile
from editgauge.engine import _schedule
from editgauge.engine._perception import MemoryGate
from editgauge.engine._schedule import (
    IN_FLIGHT_WITH_MODELS,
    IN_FLIGHT_WITHOUT_MODELS,
    Attempt,
    TaskQueue,
    max_in_flight,
)
from editgauge.engine._scoring import ScoringTask
from editgauge.engine.run import run
from editgauge.engine.verify import verify
from editgauge.errors import EditGaugeError
from editgauge.models._cache import unpack
from editgauge.reports.export import export
from editgauge.results import Run
from editgauge.types import Edit, Outcome

pytestmark = pytest.mark.slow

Make = Callable[..., Path]
SCRIPT = str(Path(sys.executable).with_name("editgauge"))
SEED = 20261115
EDITS = 40
PICTURES = EDITS
"""Two edits share a source, and here also what was made of it: half as many sources, half as many outcomes."""
PATIENCE = 600
"""Seconds after which a test gives up waiting; none depends on how fast anything is."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, make_benchmark: Make, make_outcomes: Make) -> Path:
    base = tmp_path_factory.mktemp("models")
    make_benchmark(base / "photos", edits=EDITS, size=48)
    make_outcomes(base / "photos", base / "mine")
    return base


class Scene:
    """The command with a slow model, its own cache, and a count of the pictures the model has looked at."""

    def __init__(self, home: Path, place: Path, plugin: Path) -> None:
        self.out, self.cache, self._told = place / "run", place / "cache", place / "looked"
        place.mkdir(exist_ok=True)
        self._words = [SCRIPT, "run", str(home / "photos"), "--outcomes", f"mine={home / 'mine'}", "--quiet"]
        self._words += ["--protocol", "plugin-protocol", "--model", "image_embedder=slow-embedder"]
        self._environment = {**os.environ, "PYTHONPATH": str(plugin), "SLOW_EMBEDDER": str(self._told)}
        self._environment |= {"EDITGAUGE_CACHE": str(self.cache), "EDITGAUGE_CACHE_BYTES": "1e9"}

    def start(self, out: Path | None = None, processes: int = 2) -> subprocess.Popen[str]:
        words = [*self._words, "--out", str(out or self.out), "--processes", str(processes)]
        return subprocess.Popen(
            words, env=self._environment, start_new_session=True, stderr=subprocess.PIPE, text=True
        )  # fmt: skip

    def finish(self, out: Path | None = None, processes: int = 2) -> str:
        process = self.start(out, processes)
        said = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 0, said
        return said

    def looked_at(self) -> int:
        return sum(file.stat().st_size for file in self._told.parent.glob(f"{self._told.name}-*"))

    def answers(self) -> list[Path]:
        return [path for path in self.cache.rglob("*") if path.is_file() and not path.name.startswith(DRAFT_PREFIX)]


@pytest.fixture
def scene(home: Path, tmp_path: Path, plugin: Path) -> Scene:
    return Scene(home, tmp_path / "scene", plugin)


def test_each_picture_is_looked_at_once_and_in_a_second_run_never(scene: Scene, tmp_path: Path) -> None:
    scene.finish()
    first = scene.looked_at()
    assert PICTURES <= first <= PICTURES + 2, "but where a worker takes another's last edits"
    scene.finish(tmp_path / "again")
    assert scene.looked_at() == first
    assert export(scene.out, format="csv") == export(tmp_path / "again", format="csv")


def test_a_source_is_looked_at_once_even_where_nothing_is_remembered(scene: Scene) -> None:
    scene._environment["EDITGAUGE_CACHE_BYTES"] = "0"
    scene.finish()
    assert PICTURES <= scene.looked_at() <= PICTURES + 2, "but where a worker takes another's last edits"


def test_killed_while_models_answer_and_answers_are_kept_it_is_the_undisturbed_run(
    home: Path, scene: Scene, tmp_path: Path, plugin: Path
) -> None:
    undisturbed = Scene(home, tmp_path / "whole", plugin)
    undisturbed.finish()
    chance, looked = random.Random(SEED), 0
    for moment in (1, 9, 5):
        process, deadline = scene.start(), time.monotonic() + PATIENCE
        while process.poll() is None and scene.looked_at() < looked + moment:
            assert time.monotonic() < deadline, "nothing happens"
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.03))
        parent = psutil.Process(process.pid)
        for each in (*parent.children(), parent):
            each.kill()
        process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL, f"it ended before it was killed; seed {SEED}"
        looked = scene.looked_at()
    kept = scene.answers()
    assert kept
    for path in kept:
        unpack(path.name.partition(".")[0], path.read_bytes())
    scene.finish()
    assert scene.looked_at() - looked <= PICTURES - len(kept), "what was kept is not asked again"
    assert [export(scene.out, format=kind) for kind in ("csv", "jsonl")] == [
        export(undisturbed.out, format=kind) for kind in ("csv", "jsonl")
    ]
    assert Run.open(scene.out).scores.num_rows == 2 * EDITS, "no item is there twice"
    assert verify(scene.out, recompute=0, quiet=True).sound


def test_a_disk_that_is_full_of_answers_costs_no_score(scene: Scene, small_disk: Callable[[str], Path]) -> None:
    scene._environment["EDITGAUGE_CACHE"] = str(small_disk("60k"))
    said = scene.finish(processes=1)
    assert said.count("are no longer cached") == 1
    assert "No space left on device" in said
    assert Run.open(scene.out).scores["reason"].null_count == 2 * EDITS


def test_missing_weights_found_late_end_the_run_with_what_to_do(home: Path, tmp_path: Path, plugged_in: Path) -> None:
    with pytest.raises(EditGaugeError, match="run `editgauge models pull damaged`"):
        run(
            home / "photos",
            outcomes={"mine": home / "mine"},
            protocol=["plugin-protocol"],
            out=tmp_path / "run",
            model=["image_embedder=damaged"],
            quiet=True,
        )
    assert Run.open(tmp_path / "run").scores.num_rows == 0, "no row says crashed where weights are missing"


def task(source: str, number: int) -> ScoringTask:
    edit = Edit(id=f"{source}{number}", source=ImageFile(source, Path(source)), type="color", instruction="")
    return ScoringTask(number, edit, Outcome(edit_id=edit.id, method="m", absence="not made"), ("p",))


def given(queue: TaskQueue, worker: str, count: int = 99) -> list[str]:
    found = (queue.next(worker) for _ in range(count))
    return [each.edit.id for each in found if each]


def test_outcomes_of_one_source_go_to_one_worker() -> None:
    queue = TaskQueue([task(source, number) for source in "ABC" for number in range(3)])
    assert given(queue, "one", 2) == ["A0", "A1"]
    assert given(queue, "two", 2) == ["B0", "B1"]
    assert given(queue, "one", 2) == ["A2", "C0"]
    assert given(queue, "two") == ["B2", "C2", "C1"], "when no source is left, what another has not begun"
    assert given(queue, "one") == []


def test_what_a_dead_worker_had_not_been_given_goes_to_the_others() -> None:
    queue = TaskQueue([task(source, number) for source in "AB" for number in range(3)])
    given(queue, "one", 1)
    queue.release("one")
    assert given(queue, "two") == ["A1", "A2", "B0", "B1", "B2"]


def test_a_suspect_is_alone_with_its_worker_even_if_it_is_the_last_one() -> None:
    queue = TaskQueue([task("A", number) for number in range(4)])
    first = queue.next_attempt("one", [], 2)
    assert first is not None
    assert queue.on_worker_exit("one", [first], blame=True, max_attempts=2) == []
    suspect = queue.next_attempt("two", [], 2)
    assert suspect == Attempt(first.task, deaths=1)
    assert queue.next_attempt("two", [suspect], 2) is None, "it would be blamed for what another task did"
    assert queue.on_worker_exit("two", [suspect], blame=True, max_attempts=2) == [first.task]
    assert queue.next_attempt("three", [], 2) == Attempt(task("A", 1))


def test_a_process_holds_enough_to_fill_batches_and_never_all_of_the_work() -> None:
    assert max_in_flight(10_000, 2, models=False) == IN_FLIGHT_WITHOUT_MODELS
    assert max_in_flight(60, 1, models=True) == IN_FLIGHT_WITH_MODELS
    assert max_in_flight(10_000, 2, models=True) == IN_FLIGHT_WITH_MODELS
    assert [max_in_flight(tasks, 2, models=True) for tasks in (5, 60, 400)] == [3, 8, 50]


def test_items_are_let_in_as_long_as_their_pictures_fit() -> None:
    async def scene() -> tuple[list[int], int]:
        gate, held, most, order = MemoryGate(100), 0, 0, list[int]()

        async def item(number: int) -> None:
            nonlocal held, most
            async with gate.admit() as reserve:
                order.append(number)
                reserve(40)
                held += 40
                most = max(most, held)
                await asyncio.sleep(0)
                held -= 40

        await asyncio.gather(*(item(number) for number in range(50)))
        return order, most

    order, most = asyncio.run(scene())
    assert order == list(range(50))
    assert most == 120, "the one that makes it full is let in"


def test_one_that_fails_leaves_its_room_to_others() -> None:
    async def scene() -> None:
        gate = MemoryGate(10)
        with suppress(ZeroDivisionError):
            async with gate.admit() as reserve:
                reserve(50)
                _ = 1 / 0
        async with asyncio.timeout(PATIENCE), gate.admit():
            pass

    asyncio.run(scene())


def test_several_processes_share_the_cores(home: Path, tmp_path: Path, plugin: Path) -> None:
    """A library that starts threads is told how many; what the user set stands."""
    from editgauge.engine._machine import count_cores
    from editgauge.engine._schedule import THREAD_VARIABLES, thread_settings

    one, two = (thread_settings(processes) for processes in (1, 2))
    assert one == {}
    assert set(two) == set(THREAD_VARIABLES)
    assert {int(count) for count in two.values()} == {max(1, count_cores() // 2)}


def test_a_frozen_worker_is_replaced(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_schedule, "HEARTBEAT_SECONDS", 1.0)
    monkeypatch.setattr(_schedule, "MAX_SILENCE_SECONDS", 20.0)
    start_process = _schedule.start_process
    frozen: list[subprocess.Popen[bytes]] = []

    def start_and_freeze_the_first(module: str, processes: int, gpu: str | None = None) -> subprocess.Popen[bytes]:
        process = start_process(module, processes, gpu)
        if not frozen:
            frozen.append(process)
            process.send_signal(signal.SIGSTOP)
        return process

    monkeypatch.setattr(_schedule, "start_process", start_and_freeze_the_first)
    scored = run(
        home / "photos",
        outcomes={"mine": home / "mine"},
        protocol=["preservation"],
        out=tmp_path / "run",
        processes=2,
        quiet=True,
    )
    assert frozen[0].returncode == -signal.SIGKILL
    frame = scored.to_frame()
    assert frame["edit"].nunique() == EDITS
    assert not frame["reason"].eq("crashed").any()
