"""Scores a few outcomes now, in a process like those of the run, to estimate what all outcomes will take.

Started as `python -m editgauge.engine.forecast.trial`, with as many threads as a worker of the run would have: threads
of numerical libraries that fight for busy cores cost several times what they save.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from editgauge.engine.forecast.effort import Effort, most_memory, so_far
from editgauge.engine.forecast.judge_cost import Extrapolation
from editgauge.engine.forecast.usage import ModelEffort, TimingPerception
from editgauge.engine.options import choose
from editgauge.engine.schedule.local import Setup, environment_of
from editgauge.engine.worker.memory import MemoryGate, set_up_worker
from editgauge.engine.worker.scoring import ScoringTask, score_task
from editgauge.errors import EditGaugeError
from editgauge.results import EncodedEntry, tables
from editgauge.results._journal import decode_line

MOST_OF_A_SOURCE = 8
"""Outcomes of one source image that are scored at most."""


class SampleSize(NamedTuple):
    """How many outcomes are scored for an estimate."""

    sources: int
    of_a_source: int = MOST_OF_A_SOURCE


@dataclass(frozen=True, slots=True)
class TrialOrder:
    """What is to be scored, and how the whole follows from it."""

    setup: Setup
    tasks: Sequence[ScoringTask]
    by: Extrapolation
    at: float
    """When it was given, in wall-clock time: it is taken up when the process has started."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What a sample took."""

    entries: list[EncodedEntry]
    efforts: tuple[ModelEffort, ...]
    """What models did."""
    judges: Mapping[str, Mapping[str, Any]]
    """What judges would be asked by the whole run."""
    start: Effort
    """Until the process could take up its work."""
    work: Effort
    """When everything was loaded."""
    loading: Effort
    """Beyond that, when nothing was loaded yet."""
    memory: int
    """Bytes that the process held at most."""

    @property
    def bytes(self) -> int:
        """Size of the entries in a run folder, without what empty files take."""
        stored = [decode_line(entry.line, "journal") for entry in self.entries]
        return sum(
            tables.parquet_bytes(make(stored)) - tables.parquet_bytes(make([]))
            for make in (tables.scores_table, tables.evidence_table)
        )


def some_of(tasks: Iterable[ScoringTask], sources: Sequence[str], size: SampleSize) -> list[ScoringTask]:
    """The first outcomes that have an image, of source images drawn evenly from all of them."""
    many = min(size.sources, len(sources))
    chosen = [sources[place * len(sources) // many] for place in range(many)]
    by_source: dict[str, list[ScoringTask]] = {source: [] for source in chosen}
    for task in tasks:
        these = by_source.get(task.edit.source.name)
        if these is not None and task.outcome.image and len(these) < size.of_a_source:
            these.append(task)
    return [task for these in by_source.values() for task in these]


def score_some(setup: Setup, tasks: Sequence[ScoringTask], by: Extrapolation, processes: int) -> TrialResult:
    """Scores them in a process of its own, with its share of the cores if the run has several processes."""
    order = TrialOrder(setup, tasks, by, time.time())
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "editgauge.engine.forecast.trial"],
        input=pickle.dumps(order),
        stdout=subprocess.PIPE,
        env=environment_of(processes),
        check=False,
    )
    if ended.returncode:
        raise EditGaugeError(f"The process that scored a few outcomes ended with exit code {ended.returncode}.")
    result: TrialResult | str = pickle.loads(ended.stdout)  # noqa: S301 - written by our own process
    if isinstance(result, str):
        raise EditGaugeError(result)
    return result


async def _score_sample(order: TrialOrder, start: Effort) -> TrialResult:
    """Scores one outcome of each edit type to load the weights, then all of them to measure the time.

    Judges are given opposite answers in the two passes, so with judges the first pass has all outcomes too.
    """
    setup = order.setup
    see = TimingPerception(setup.models, setup.cache, setup.jury, setup.transcripts)
    async with see:
        see.inclined = False
        to_load = order.tasks if setup.jury.addresses else list({task.edit.type: task for task in order.tasks}.values())
        first, _ = await _scored(order.setup, to_load, see)
        see.inclined = True
        second, entries = await _scored(order.setup, order.tasks, see)
    loading = first.without(second.scaled(len(to_load) / len(order.tasks)))
    efforts = tuple(model.effort() for model in see.timed_models)
    judges = see.estimate(len(order.tasks), order.by)
    return TrialResult(entries, efforts, judges, start, second, loading, most_memory())


async def _scored(
    setup: Setup, tasks: Sequence[ScoringTask], see: TimingPerception
) -> tuple[Effort, list[EncodedEntry]]:
    see.forget()
    gate = MemoryGate()
    chosen = {protocol.name: protocol for protocol in choose(setup.protocols, setup.models)}
    before = so_far()
    outcomes = await asyncio.gather(
        *(score_task(task, [chosen[name] for name in task.protocols], see, gate) for task in tasks)
    )
    return so_far().without(before), [entry for scored in outcomes for entry in scored.entries]


def main() -> None:
    """Reads an order from standard input, and answers on standard output, where nothing else may come between."""
    set_up_worker()
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    order: TrialOrder = pickle.load(sys.stdin.buffer)  # noqa: S301 - written by our own process
    start = Effort(max(0.0, time.time() - order.at), time.process_time())
    result: TrialResult | str
    try:
        result = asyncio.run(_score_sample(order, start))
    except EditGaugeError as error:
        result = str(error)
    with answer:
        pickle.dump(result, answer)


if __name__ == "__main__":
    # By its name: what is pickled by `__main__` could not be read elsewhere.
    from editgauge.engine.forecast import trial as sampling

    sampling.main()
