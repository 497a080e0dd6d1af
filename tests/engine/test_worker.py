"""A run is killed, starved and stopped; continued, it is always the same as an undisturbed one."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from editgauge.engine.verify import verify
from editgauge.reports.export import export
from editgauge.results import Run

pytestmark = pytest.mark.slow

Make = Callable[..., Path]
Process = subprocess.Popen[str]
SEED = 20260314
KILLS = 10
METHODS = [f"m{number}" for number in range(8)]
EDITS = 15
RECORDS = len(METHODS) * EDITS
PATIENCE = 600
"""Seconds after which a test gives up waiting; none depends on how fast anything is."""
SCRIPT = str(Path(sys.executable).with_name("editgauge"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, make_benchmark: Make, make_outcomes: Make) -> Path:
    """8 methods x 15 edits of 200 x 200: a few seconds of work."""
    base = tmp_path_factory.mktemp("kill")
    benchmark = make_benchmark(base / "photos", edits=EDITS, size=200)
    for number, method in enumerate(METHODS):
        make_outcomes(benchmark, base / method, number)
    return base


@pytest.fixture(scope="module")
def undisturbed(home: Path) -> dict[str, bytes]:
    finish(home, home / "whole")
    return exports(home / "whole")


def words(home: Path, out: Path) -> list[str]:
    outcomes = [word for method in METHODS for word in ("--outcomes", f"{method}={home / method}")]
    return [
        SCRIPT,
        "run",
        str(home / "photos"),
        *outcomes,
        "--out",
        str(out),
        "--processes",
        "2",
        "--quiet",
        "--protocol",
        "preservation",
    ]


def finish(home: Path, out: Path) -> None:
    subprocess.run(words(home, out), check=True, timeout=PATIENCE)


def exports(out: Path) -> dict[str, bytes]:
    return {kind: export(out, format=kind) for kind in ("jsonl", "csv")}


@contextmanager
def running(home: Path, out: Path) -> Iterator[Process]:
    """The command in a process group of its own; whatever the test does, nothing of it is left behind."""
    process = subprocess.Popen(words(home, out), start_new_session=True, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=PATIENCE)


def records(out: Path) -> int:
    """How many records can be seen in the journal."""
    with suppress(OSError):
        return sum(journal.read_bytes().count(b"\n") for journal in (out / "scores").glob("[0-9]*.jsonl"))
    return 0


def wait_for(process: Process, happened: Callable[[], bool]) -> None:
    """Waits until it happened or the process ended."""
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and not happened():
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(0.005)


def test_killed_at_ten_random_moments_and_continued_it_is_the_undisturbed_run(
    home: Path, undisturbed: dict[str, bytes]
) -> None:
    out, chance = home / "disturbed", random.Random(SEED)
    moments = sorted(chance.sample(range(RECORDS - 10), KILLS))
    seen = []
    for moment in moments:
        with running(home, out) as process:
            wait_for(process, lambda moment=moment: records(out) > moment)  # type: ignore[misc]
            time.sleep(chance.uniform(0, 0.03))
            os.killpg(process.pid, signal.SIGKILL)
            assert process.wait(PATIENCE) == -signal.SIGKILL, f"it ended before it was killed; seed {SEED}"
        seen.append(records(out))
    assert seen == sorted(seen), "nothing that was recorded is lost"
    finish(home, out)
    assert exports(out) == undisturbed, f"seed {SEED}, killed after {seen} records"
    assert verify(out, quiet=True).sound


def test_killed_while_it_finishes_it_is_the_undisturbed_run(home: Path, undisturbed: dict[str, bytes]) -> None:
    """The last journal becomes columns then, in several steps."""
    chance = random.Random(SEED)
    out = home / "finishing"
    for _ in range(2):
        with running(home, out) as process:
            wait_for(process, lambda: records(out) >= RECORDS)
            time.sleep(chance.uniform(0, 0.02))
        finish(home, out)
        assert exports(out) == undisturbed, f"seed {SEED}"
        (out / "manifest.json").unlink()  # the next round starts over


def test_workers_do_not_outlive_their_parent(home: Path) -> None:
    """They are not in its process group, so that only the end of the pipe tells them."""
    with running(home, home / "orphans") as process:
        wait_for(process, lambda: records(home / "orphans") > 5)
        workers = psutil.Process(process.pid).children(recursive=True)
        assert len(workers) == 2
        process.kill()
        assert psutil.wait_procs(workers, timeout=45)[1] == []


def test_a_worker_that_sleeps_does_not_outlive_its_parent(
    tmp_path: Path, make_benchmark: Make, make_outcomes: Make, plugin: Path
) -> None:
    """It is busy for a minute and reads no pipe meanwhile; a thread of its own does."""
    make_benchmark(tmp_path / "photos", edits=1, size=32, subject=["sleeps"])
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    command = [SCRIPT, "run", "photos", "--outcomes", "mine=mine", "--protocol", "faulty", "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(plugin)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True, text=True) as process:
        parent = psutil.Process(process.pid)
        wait_for(process, lambda: any(worker.num_threads() > 1 for worker in parent.children()))
        workers = parent.children()
        time.sleep(1)  # into its sleep
        process.kill()
        assert psutil.wait_procs(workers, timeout=45)[1] == []


def test_a_worker_killed_in_the_middle_costs_nothing(home: Path, undisturbed: dict[str, bytes]) -> None:
    out = home / "worker-killed"
    with running(home, out) as process:
        for moment in (10, 80):
            wait_for(process, lambda moment=moment: records(out) > moment)  # type: ignore[misc]
            psutil.Process(process.pid).children()[0].kill()
        assert process.wait(PATIENCE) == 0
    assert exports(out) == undisturbed


def test_a_protocol_that_ends_its_process_costs_only_its_own_item(
    tmp_path: Path, make_benchmark: Make, make_outcomes: Make, plugin: Path
) -> None:
    subjects = ["exits" if number == 4 else "exits-once" if number == 9 else None for number in range(EDITS)]
    make_benchmark(tmp_path / "photos", edits=EDITS, size=32, subject=subjects)
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    command = [SCRIPT, "run", "photos", "--outcomes", "mine=mine", "--protocol", "faulty", "--processes", "2"]
    environment = {**os.environ, "PYTHONPATH": str(plugin)}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, timeout=PATIENCE)
    scores = Run.open(tmp_path / "run").scores
    columns = (scores[column].to_pylist() for column in ("edit", "value", "reason", "detail"))
    found = {edit: (value, reason, detail) for edit, value, reason, detail in zip(*columns, strict=True)}
    value, reason, detail = found.pop("edit-004")
    assert (value, reason) == (None, "crashed")
    assert "the process that scored it died (exit code 7)" in detail
    assert set(found.values()) == {(1.0, None, "")}
    assert len(found) == EDITS - 1
    assert verify(tmp_path / "run", quiet=True).sound, "an image that nobody could look at has not changed"


@pytest.mark.parametrize("moment", [-1, 20])
def test_ctrl_c_ends_with_130_and_a_message_and_the_run_continues(
    home: Path, undisturbed: dict[str, bytes], moment: int
) -> None:
    """Also while the workers start: then too nobody is shown a traceback."""
    out = home / f"stopped{moment}"
    with running(home, out) as process:
        started = psutil.Process(process.pid)
        wait_for(process, lambda: records(out) > moment and bool(started.children()))
        os.killpg(process.pid, signal.SIGINT)
        said = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == 130
    assert said == f"\nStopped. What is done is in {out}. Run the same command again to continue.\n"
    finish(home, out)
    assert exports(out) == undisturbed


def test_a_full_disk_is_told_and_with_more_room_the_run_continues(
    home: Path, undisturbed: dict[str, bytes], small_disk: Callable[[str], Path]
) -> None:
    disk = small_disk("100k")
    ended = subprocess.run(words(home, disk / "run"), capture_output=True, text=True, check=False)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.startswith("editgauge: ")
    assert "No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert 0 < records(disk / "run") < RECORDS, "it was full in the middle"
    subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
    finish(home, disk / "run")
    assert exports(disk / "run") == undisturbed


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.usefixtures("undisturbed")
def test_a_disk_that_cannot_be_written_is_told(home: Path, begun: bool, small_disk: Callable[[str], Path]) -> None:
    disk = small_disk("50m")
    if begun:
        shutil.copytree(home / "whole", disk / "run")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    ended = subprocess.run(words(home, disk / "run"), capture_output=True, text=True, check=False)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.startswith("editgauge: ")
    assert "Read-only file system" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_file_in_place_of_the_folder_is_told(home: Path) -> None:
    (home / "taken").write_text("mine")
    ended = subprocess.run(words(home, home / "taken"), capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"editgauge: '{home / 'taken'}' cannot be written")
    assert (home / "taken").read_text() == "mine"
