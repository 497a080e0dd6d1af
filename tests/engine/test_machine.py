"""How many processes are chosen, and what each of them sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from editgauge.engine._machine import (
    MIN_TASKS_PER_PROCESS,
    PROCESS_BYTES,
    Machine,
    WorkerCount,
    _cgroup_headrooms,
    choose_worker_count,
    this_machine,
    visible_gpus,
)
from editgauge.engine._schedule import Setup, _WorkerPool
from editgauge.errors import EditGaugeError

MANY = 1_000_000
GIGABYTE = 10**9


def test_as_many_as_there_are_cores() -> None:
    assert choose_worker_count(0, MANY, Machine(cores=8)) == WorkerCount(8)


def test_few_tasks_are_not_worth_many_processes() -> None:
    assert choose_worker_count(0, 3, Machine(cores=8)) == WorkerCount(1)
    assert choose_worker_count(0, 2 * MIN_TASKS_PER_PROCESS, Machine(cores=8)) == WorkerCount(2)


def test_only_as_many_as_fit_into_memory() -> None:
    assert choose_worker_count(0, MANY, Machine(cores=8, memory=3 * PROCESS_BYTES)) == WorkerCount(3)
    assert choose_worker_count(0, MANY, Machine(cores=8, memory=0)) == WorkerCount(1)


def test_models_take_room_in_every_process() -> None:
    machine = Machine(cores=8, memory=8 * GIGABYTE)
    assert choose_worker_count(0, MANY, machine).processes == 8
    assert choose_worker_count(0, MANY, machine, weights=GIGABYTE).processes == 3


def test_one_process_for_each_card() -> None:
    machine = Machine(cores=2, memory=GIGABYTE, gpus=("0", "1", "5"))
    assert choose_worker_count(0, MANY, machine, use_gpus=True) == WorkerCount(3, ("0", "1", "5"))
    assert choose_worker_count(0, MANY, machine, use_gpus=False) == WorkerCount(1)
    assert choose_worker_count(6, MANY, machine, use_gpus=True) == WorkerCount(6, ("0", "1", "5"))
    assert choose_worker_count(0, MANY, Machine(cores=8, gpus=("0",)), use_gpus=True) == WorkerCount(1)


def test_judges_are_asked_by_one_process() -> None:
    assert choose_worker_count(4, MANY, Machine(cores=8, gpus=("0", "1")), judges=True, use_gpus=True) == WorkerCount(1)


@given(
    some.integers(0, 64),
    some.integers(0, MANY),
    some.integers(1, 256),
    some.none() | some.integers(0, 10**12),
    some.integers(0, 10**11),
)
def test_there_is_always_someone(wanted: int, tasks: int, cores: int, memory: int | None, weights: int) -> None:
    chosen = choose_worker_count(wanted, tasks, Machine(cores, memory), weights=weights).processes
    assert chosen == wanted if wanted else 1 <= chosen <= cores


def test_which_cards_may_be_used() -> None:
    assert visible_gpus(None, ["a", "b"]) == ("0", "1")
    assert visible_gpus("GPU-1, GPU-2", []) == ("GPU-1", "GPU-2")
    assert visible_gpus("-1", ["a"]) == visible_gpus("", ["a"]) == ()


def test_this_machine_has_something_to_work_with() -> None:
    result = this_machine()
    assert result.cores >= 1
    assert result.memory is None or result.memory > 0


def test_a_job_has_the_memory_that_its_group_leaves(tmp_path: Path) -> None:
    for group, limit in (("", "max"), ("job", "5000"), ("job/step", "max")):
        (tmp_path / group).mkdir(exist_ok=True)
        (tmp_path / group / "memory.max").write_text(f"{limit}\n")
        (tmp_path / group / "memory.current").write_text("1000\n")
    (tmp_path / "ours").write_text("0::/job/step\n")
    assert _cgroup_headrooms(tmp_path, tmp_path / "ours") == [4000]
    assert _cgroup_headrooms(tmp_path, tmp_path / "nowhere") == []


def test_each_process_sees_its_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is replaced leaves its card to the one that follows it."""
    seen: list[str | None] = []

    def refuse(_: object, **options: dict[str, str]) -> None:
        seen.append(options["env"].get("CUDA_VISIBLE_DEVICES"))
        raise EditGaugeError("not started")

    monkeypatch.setattr("subprocess.Popen", refuse)
    pool = _WorkerPool([], Setup((), {}), 2, ("3", "7"))
    for card in ("3", "7"):
        with pytest.raises(EditGaugeError):
            pool._start(card)
    assert seen == ["3", "7"]
