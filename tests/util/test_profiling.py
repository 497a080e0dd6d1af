"""Each second belongs to the innermost span that held it, and what waits is not at work."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from editgauge._util import profiling
from editgauge._util.batching import Ask, Request
from editgauge._util.profiling import FOLDER, SUMS, TIMELINE, Timeline, begin, gather, read_profile, write_part

NAP = 0.02


@pytest.fixture(autouse=True)
def _recorded_no_more() -> Iterator[None]:
    yield
    profiling.stop()


class Sleepy:
    """A backend that takes a while, most of it in its forward pass; for the tests of this file only."""

    name = "sleepy"
    batch = 4

    def answer(self, group: Hashable, requests: Sequence[Request]) -> list[Any]:
        with profiling.span("prepare", self.name):
            time.sleep(NAP)
            with profiling.span("forward"):
                time.sleep(3 * NAP)
        return [request.payload for request in requests]


def spent(snapshot: dict[str, Any]) -> dict[tuple[str, str], tuple[float, int]]:
    return {(row["of"], row["stage"]): (row["seconds"], row["times"]) for row in snapshot["sums"]}


def test_nothing_is_recorded_unless_it_is_wanted() -> None:
    async def work() -> int:
        return 7

    assert not profiling.is_recording()
    with profiling.span("forward", "a model"):
        profiling.count("a model", "recalled")
        profiling.waited("a model", [0.0])
    steps = work()
    assert profiling.stepped("a protocol", steps) is steps
    assert asyncio.run(steps) == 7


def test_a_second_belongs_to_the_innermost_span() -> None:
    recording = Timeline()
    began = time.perf_counter()
    with recording.span("prepare", "clip"):
        time.sleep(NAP)
        with recording.span("forward"):
            time.sleep(2 * NAP)
        time.sleep(NAP)
    lasted = time.perf_counter() - began
    results = spent(recording.snapshot())
    assert set(results) == {("clip", "prepare"), ("clip", "forward")}
    assert results["clip", "forward"][0] >= 2 * NAP
    assert 2 * NAP <= results["clip", "prepare"][0] <= lasted - 2 * NAP
    outer, inner = sorted(recording.snapshot()["traceEvents"], key=lambda event: -event["dur"])
    assert outer["ts"] <= inner["ts"]
    assert inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 1


def test_steps_of_a_protocol_and_of_the_tasks_it_starts_count_but_not_its_waiting() -> None:
    answered = asyncio.Event()

    async def part() -> int:
        time.sleep(NAP)
        await answered.wait()
        return 1

    async def protocol() -> int:
        time.sleep(NAP)
        return sum(await asyncio.gather(part(), part()))

    async def another() -> None:
        await asyncio.sleep(0)
        time.sleep(5 * NAP)  # on the same loop, but not for the protocol
        answered.set()

    async def main() -> tuple[int, float, dict[str, Any]]:
        recording, began = profiling.start(), time.perf_counter()
        beside = asyncio.create_task(another())
        result = await profiling.stepped("editval", protocol())
        await beside
        return result, time.perf_counter() - began, recording.snapshot()

    result, lasted, snapshot = asyncio.run(main())
    assert result == 2
    ((key, (seconds, times)),) = spent(snapshot).items()
    assert key == ("editval", "score")
    assert times >= 6
    assert 3 * NAP <= seconds <= lasted - 5 * NAP


def test_an_error_passes_through_a_recorded_protocol() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError("mine")

    async def main() -> None:
        profiling.start()
        with pytest.raises(KeyError, match="mine"):
            await profiling.stepped("p", fails())
        waits = asyncio.create_task(asyncio.sleep(60))
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await profiling.stepped("p", _wait_for(waits))

    asyncio.run(main())


async def _wait_for(task: asyncio.Task[None]) -> None:
    await task


def test_the_ask_layer_tells_queue_and_forward_apart() -> None:
    async def main() -> dict[str, Any]:
        recording, ask, backend = profiling.start(), Ask(pool=1), Sleepy()
        answers = await asyncio.gather(*(ask(backend, number, number) for number in range(8)))
        assert answers == list(range(8))
        assert await ask.call(sorted, [2, 1]) == [1, 2]
        ask.close()
        return recording.snapshot()

    results = spent(asyncio.run(main()))
    waited, requests = results["sleepy", "queue"]
    assert requests == 8
    assert waited > 0
    assert results["sleepy", "forward"][1] == 2
    assert results["sleepy", "forward"][0] >= 6 * NAP
    assert results["sorted", "compute"][1] == 1


def test_a_profile_of_many_processes_adds_up_and_viewers_can_read_it(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / SUMS).write_text("what an earlier one left")
    folder = begin(tmp_path)
    assert read_profile(tmp_path) is None
    for _ in range(3):
        recording = Timeline()
        with recording.span("decode", "pictures"):
            time.sleep(0.001)
        recording.count("clip", "recalled")
        write_part(folder, recording.snapshot())
    gathered = gather(folder)
    assert sorted(path.name for path in folder.iterdir()) == [SUMS, TIMELINE]
    read = read_profile(tmp_path)
    assert read is not None
    assert read.processes == gathered.processes == 3
    assert {(item.of, item.stage): item.times for item in read.spent} == {
        ("clip", "recalled"): 3,
        ("pictures", "decode"): 3,
    }
    events = json.loads((folder / TIMELINE).read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {1, 2, 3}
    assert all(isinstance(event["tid"], int) for event in events)
    assert sorted(event["ph"] for event in events) == ["M"] * 6 + ["X"] * 3
    assert all(event["dur"] >= 1000 for event in events if event["ph"] == "X")


def test_a_very_long_timeline_is_cut_but_its_sums_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "MOST_EVENTS", 2)
    monkeypatch.setattr(profiling, "SHORTEST", 0.0)
    recording = Timeline()
    for _ in range(5):
        with recording.span("decode", "pictures"):
            pass
    snapshot = recording.snapshot()
    assert len(snapshot["traceEvents"]) == 2
    assert snapshot["left_out"] == 3
    assert spent(snapshot)["pictures", "decode"][1] == 5
