"""On Ray the run is the same run: undisturbed, with actors killed, with a node gone, with the driver killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from editgauge._util.profiling import read_profile
from editgauge.engine import _ray
from editgauge.engine._ray import check_visible_images
from editgauge.engine.run import check_engine, run
from editgauge.engine.verify import verify
from editgauge.errors import BadInputError, EditGaugeError, UnknownNameError
from editgauge.reports.export import export
from editgauge.results import ImageStamp, JournalEntry, Run

pytestmark = pytest.mark.slow

Make = Callable[..., Path]
Process = subprocess.Popen[str]
METHODS = [f"m{number}" for number in range(6)]
EDITS = 15
RECORDS = len(METHODS) * EDITS
PATIENCE = 600
"""Seconds after which a test gives up waiting; none depends on how fast anything is."""
STORE = 80_000_000
PROTOCOL = ("--protocol", "preservation")
ACTOR = "ray::RayScorer"
DONE = {("pictures", "decode"), ("preservation", "score")}
SCRIPT = str(Path(sys.executable).with_name("editgauge"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, make_benchmark: Make, make_outcomes: Make) -> Path:
    base = tmp_path_factory.mktemp("ray")
    benchmark = make_benchmark(base / "photos", edits=EDITS, size=200)
    for number, method in enumerate(METHODS):
        make_outcomes(benchmark, base / method, number)
    return base


@pytest.fixture(scope="module")
def undisturbed(home: Path) -> dict[str, bytes]:
    """What a local run exports."""
    subprocess.run(words(home, home / "whole", "--engine", "local"), check=True, timeout=PATIENCE)
    return exports(home / "whole")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of two nodes on this machine; a test that takes a node away brings another."""
    from ray.cluster_utils import Cluster

    node: dict[str, Any] = {"num_cpus": 1, "object_store_memory": STORE}
    there: Any = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    there.add_node(**node)
    yield there
    there.shutdown()


def words(home: Path, out: Path, *engine: str) -> list[str]:
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
        *PROTOCOL,
        *engine,
    ]


def exports(out: Path) -> dict[str, bytes]:
    return {kind: export(out, format=kind) for kind in ("jsonl", "csv")}


@contextmanager
def running(home: Path, out: Path, address: str) -> Iterator[Process]:
    command = words(home, out, "--engine", "ray", "--address", address)
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, text=True)
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(PATIENCE)


def records(out: Path) -> int:
    """How many records can be seen in the journal."""
    with suppress(OSError):
        return sum(journal.read_bytes().count(b"\n") for journal in (out / "scores").glob("[0-9]*.jsonl"))
    return 0


def wait_for(process: Process, happened: Callable[[], bool]) -> None:
    """Waits until it happened; it must, before the process ends."""
    deadline = time.monotonic() + PATIENCE
    while not happened():
        assert process.poll() is None, "it ended before it was disturbed"
        assert time.monotonic() < deadline, "nothing happens"
        time.sleep(0.005)


def actors_of(node: Any) -> list[psutil.Process]:
    """The processes in which actors of ours run on a node."""
    raylet = node.all_processes["raylet"][0].process.pid
    return [child for child in psutil.Process(raylet).children() if child.cmdline()[:1] and ACTOR in child.cmdline()[0]]


def running_actors(cluster: Any) -> list[psutil.Process]:
    """Those of all nodes: on a busy machine one node may do all the work before the other has started its actor."""
    actors = [actor for node in cluster.list_all_nodes() for actor in actors_of(node)]
    assert actors
    return actors


def test_a_killed_actor_costs_nothing(home: Path, undisturbed: dict[str, bytes], cluster: Any) -> None:
    out = home / "actor-killed"
    with running(home, out, cluster.address) as process:
        wait_for(process, lambda: records(out) > 5)
        running_actors(cluster)[0].kill()
        assert process.wait(PATIENCE) == 0
    assert exports(out) == undisturbed
    assert verify(out, quiet=True).sound


def test_a_lost_node_costs_nothing(home: Path, undisturbed: dict[str, bytes], cluster: Any) -> None:
    """There is no room for a replacement: the other node does all the rest."""
    out, lost = home / "node-lost", cluster.add_node(num_cpus=1, object_store_memory=STORE)
    for other in list(cluster.worker_nodes - {lost}):
        cluster.remove_node(other)
    try:
        with running(home, out, cluster.address) as process:
            wait_for(process, lambda: records(out) > 5 and bool(actors_of(lost)))
            cluster.remove_node(lost, allow_graceful=False)
            assert process.wait(PATIENCE) == 0
    finally:
        cluster.add_node(num_cpus=1, object_store_memory=STORE)
    assert exports(out) == undisturbed


def test_a_killed_driver_is_continued_and_leaves_no_actor_behind(
    home: Path, undisturbed: dict[str, bytes], cluster: Any
) -> None:
    out = home / "driver-killed"
    with running(home, out, cluster.address) as process:
        wait_for(process, lambda: records(out) > 10)
        actors = running_actors(cluster)
        process.kill()
        assert process.wait(PATIENCE) == -signal.SIGKILL
    assert psutil.wait_procs(actors, timeout=PATIENCE)[1] == []
    before = records(out)
    assert 0 < before < RECORDS
    with running(home, out, cluster.address) as process:
        assert process.wait(PATIENCE) == 0
    assert exports(out) == undisturbed


def test_a_protocol_that_ends_its_process_costs_only_its_own_item(
    tmp_path: Path, make_benchmark: Make, make_outcomes: Make, plugin: Path
) -> None:
    """On a cluster that is started here, and that ends with the command."""
    subjects = ["exits" if number == 4 else None for number in range(6)]
    make_benchmark(tmp_path / "photos", edits=6, size=32, subject=subjects)
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    command = [SCRIPT, "run", "photos", "--outcomes", "mine=mine", "--protocol", "faulty", "--engine", "ray"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(plugin), os.environ.get("PYTHONPATH", "")])}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert ended.returncode == 0, ended.stderr
    scores = Run.open(tmp_path / "run").scores
    columns = (scores[column].to_pylist() for column in ("edit", "value", "reason", "detail"))
    found = {edit: told for edit, *told in zip(*columns, strict=True)}
    value, reason, detail = found.pop("edit-004")
    assert (value, reason) == (None, "crashed")
    assert "the Ray actor that scored it died" in detail
    assert list(found.values()) == [[1.0, None, ""]] * 5


def test_a_small_run_on_ray_is_the_local_run(tmp_path: Path, make_benchmark: Make, make_outcomes: Make) -> None:
    """Given with paths of the folder it is given in, on a cluster that is started here."""
    make_benchmark(tmp_path / "photos", edits=3, size=32)
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    for engine in ("local", "ray"):
        command = [SCRIPT, "run", "photos", "--outcomes", "mine=mine", "--out", engine, "--engine", engine, "--quiet"]
        subprocess.run([*command, *PROTOCOL, "--timings"], cwd=tmp_path, check=True, timeout=PATIENCE)
    assert exports(tmp_path / "ray") == exports(tmp_path / "local")
    told = [read_profile(tmp_path / engine) for engine in ("local", "ray")]
    assert [{(each.of, each.stage) for each in one.spent} for one in told if one] == [DONE, DONE]


def test_a_node_that_misses_a_picture_is_no_missing_outcome(
    tmp_path: Path, make_record: Callable[..., JournalEntry]
) -> None:
    gone, here = tmp_path / "gone.png", tmp_path / "here.png"
    here.write_bytes(b"a picture")
    scores = {"gain": "missing_outcome", "loss": "missing_outcome"}
    missing, unseen = (make_record("e", scores, edited_image=ImageStamp(str(path))) for path in (gone, here))
    check_visible_images([missing.encode()])
    with pytest.raises(EditGaugeError, match="does not see"):
        check_visible_images([missing.encode(), unseen.encode()])


def test_engines_and_addresses_that_cannot_be_used_are_told(
    tmp_path: Path, make_benchmark: Make, make_outcomes: Make
) -> None:
    with pytest.raises(UnknownNameError, match="no engine called 'rai'"):
        check_engine("rai", None)
    with pytest.raises(BadInputError, match="needs `engine='ray'`"):
        check_engine("local", "auto")
    make_benchmark(tmp_path / "photos", edits=1, size=16)
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    for address, said in (("ray://127.0.0.1:10001", "`?address`?.*auto"), ("127.0.0.1:1", "No Ray cluster")):
        with pytest.raises(EditGaugeError, match=said):
            run(
                tmp_path / "photos",
                protocol=["preservation"],
                outcomes={"mine": tmp_path / "mine"},
                out=tmp_path / "r",
                engine="ray",
                address=address,
                quiet=True,
            )


@pytest.mark.parametrize("failures", [2, 3])
def test_a_cluster_that_does_not_start_at_once_is_tried_again(failures: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine: Ray gives a node 30 seconds and then raises a bare exception."""
    import ray

    calls: list[str] = []

    def init(address: str, **_: Any) -> None:
        calls.append(address)
        if len(calls) <= failures:
            raise Exception("The current node timed out during startup.")

    monkeypatch.setattr(ray, "init", init)
    expected = nullcontext() if failures < 3 else pytest.raises(EditGaugeError, match="3 times: The current node")
    with expected, _ray.cluster():
        pass
    assert calls == ["local"] * 3
