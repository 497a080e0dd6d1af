"""What work takes on this machine, as busy as it is now: of wall time, of the cores, and until anything begins."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import pickle
import resource
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from editgauge._util.batching import Request
from editgauge._util.caching import LRUCache
from editgauge._util.files import write_json
from editgauge._util.packages import cache_root
from editgauge.engine._judge_cost import CountingPerception, Extrapolation
from editgauge.engine._judges import JudgeConfig
from editgauge.engine._options import open_protocols
from editgauge.engine._perception import MemoryGate
from editgauge.engine._schedule import Setup, worker_environment
from editgauge.engine._scoring import ScoringTask, score_task
from editgauge.engine._worker import configure_process
from editgauge.errors import EditGaugeError
from editgauge.models._cache import (
    MAX_BYTES_ON_DISK,
    Answer,
    CachedModel,
    RequestGroup,
    is_image,
    new_memory,
    open_store,
    size_of,
)
from editgauge.results import EncodedEntry, tables
from editgauge.results._journal import decode_line

LOAD_SAMPLE_SECONDS = 0.5
"""Duration of the load test that estimates the free cores."""
HASHED_BYTES = bytes(1 << 20)
HELPER_THREAD_PREFIXES = ("ask-pool", "asyncio")
"""Names of threads that compute outside the event loop; models use other names."""


@dataclass(frozen=True, slots=True)
class Effort:
    """Wall and CPU time of a piece of work."""

    seconds: float
    """Wall time."""
    cpu: float
    """Of all threads of the process together."""
    outside_models: float = 0.0
    """CPU seconds outside models: decoding, metrics and rules."""

    def without(self, other: Effort) -> Effort:
        """Subtract another effort; no field becomes negative."""
        return Effort(
            max(0.0, self.seconds - other.seconds),
            max(0.0, self.cpu - other.cpu),
            max(0.0, self.outside_models - other.outside_models),
        )

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.seconds + other.seconds, self.cpu + other.cpu, self.outside_models + other.outside_models)

    def scaled(self, share: float) -> Effort:
        """Multiply all fields by a factor."""
        return Effort(self.seconds * share, self.cpu * share, self.outside_models * share)

    def without_contention(self, share: float) -> Effort:
        """Return the effort without contention, given the share of a core that a busy thread got."""
        return Effort(self.seconds * share, self.cpu, self.outside_models)


def current_effort() -> Effort:
    """Return the effort of this process so far; call it in the thread of the event loop."""
    return Effort(time.perf_counter(), time.process_time(), time.thread_time() + _helper_seconds())


def expected_seconds(work: Effort, times: float, processes: int, cores: float) -> float:
    """Estimate wall seconds for `times` the work, divided between processes that share the cores.

    The work was measured in one process, models with all their threads. Processes can divide it, so that it takes as
    much less time as there are processes; but not less than the cores need for it.

    >>> expected_seconds(Effort(seconds=10, cpu=10), 6, processes=2, cores=2.0)
    30.0
    >>> expected_seconds(Effort(seconds=10, cpu=20), 6, processes=2, cores=2.0)
    60.0
    """
    return times * max(work.cpu / cores, work.seconds / processes)


def free_cores(threads: int) -> float:
    """Measure how many cores that many busy threads get at the current load."""
    deadline = time.perf_counter() + LOAD_SAMPLE_SECONDS
    with ThreadPoolExecutor(threads) as pool:
        shares = list(pool.map(_share_until, [deadline] * threads))
    return sum(shares)


def peak_memory() -> int:
    """Return the peak memory of this process in bytes."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _share_until(deadline: float) -> float:
    """Return the share of a core that this thread gets; hashing releases the GIL."""
    began, cpu_began = time.perf_counter(), time.thread_time()
    while time.perf_counter() < deadline:
        hashlib.sha256(HASHED_BYTES)
    return (time.thread_time() - cpu_began) / max(time.perf_counter() - began, 1e-9)


def _helper_seconds() -> float:
    """Return CPU seconds of threads outside the event loop; 0 on systems without thread clocks."""
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    if clock_of is None:
        return 0.0
    helpers = [
        thread for thread in threading.enumerate() if thread.name.startswith(HELPER_THREAD_PREFIXES) and thread.ident
    ]
    return sum(time.clock_gettime(clock_of(thread.ident)) for thread in helpers)


FILE = "calibration.json"
"""In the cache folder: the speed of models as measured so far."""


@dataclass(slots=True)
class QuestionWork:
    """Work of one model for one kind of question."""

    answers: int = 0
    """Answers it gave; a question that several outcomes share is asked once."""
    seconds: float = 0.0
    """That all of them took, while other models worked in parallel, as in a run."""
    bytes: int = 0
    """Of answers that a run would keep on disk."""


@dataclass(frozen=True, slots=True)
class ModelEffort:
    """Work of one model."""

    name: str
    identity: str
    """The model with its revision, and where it runs."""
    work: Mapping[str, QuestionWork]
    """By kind of question."""
    recalled: int
    """Questions that were answered in an earlier run."""


class TimedModel(CachedModel):
    """A model that counts and times its answers; nothing is cached on disk, so plans do not affect each other."""

    def __init__(self, cached: CachedModel, memory: LRUCache[str, Answer], cache: Path | None) -> None:
        super().__init__(cached.model, memory, open_store(cache))
        self.work: dict[str, QuestionWork] = defaultdict(QuestionWork)
        self.recalled: set[str] = set()
        """Keys that an earlier run answered."""
        self._answered: set[str] = set()

    def reset(self, memory: LRUCache[str, Answer]) -> None:
        """Reset the counts and use a new memory."""
        self._memory = memory
        self.work.clear()
        self.recalled.clear()
        self._answered.clear()

    def effort(self) -> ModelEffort:
        """Return the work of this model so far."""
        card, device = self.card, getattr(self.model, "device", "cpu")
        identity = f"{card.id} {card.revision} {card.sha256[:12]} on {device}"
        answered = {question: work for question, work in self.work.items() if work.answers}
        return ModelEffort(self.name, identity, answered, len(self.recalled))

    def recall(self, key: str) -> Answer | None:
        """Return a cached answer and count it when an earlier run cached it."""
        answer = super().recall(key)
        if answer is not None and key not in self._answered:
            self.recalled.add(key)
        return answer

    def answer(self, group: Hashable, requests: Sequence[Request]) -> list[Answer]:
        """Ask the model and measure the time."""
        assert isinstance(group, RequestGroup)  # noqa: S101 - the service makes no others
        work = self.work[group.question]
        self._answered |= {str(request.key) for request in requests}
        started = time.perf_counter()
        answers = super().answer(group, requests)
        work.seconds += time.perf_counter() - started
        work.answers += len(requests)
        work.bytes += sum(_cached_bytes(answer) for answer in answers)
        return answers

    def _keep(self, key: str, answer: Answer) -> None:
        self._memory.put(key, answer)


class TimingPerception(CountingPerception):
    """Perception that times its models and asks no judge."""

    def __init__(
        self, models: Mapping[str, str], cache: Path | None, judge_config: JudgeConfig, transcripts: Path | None
    ) -> None:
        super().__init__(models, None, judge_config, transcripts)
        memory = new_memory()
        by_model = {id(cached): TimedModel(cached, memory, cache) for cached in self._models.values()}
        self.timed_models = list(by_model.values())
        self._models = {role: by_model[id(cached)] for role, cached in self._models.items()}

    def reset_counts(self) -> None:
        """Reset the counts after the models have loaded their weights."""
        self.recorded_questions[self.inclined].clear()
        for model in self.timed_models:
            model.reset(new_memory())


def _cached_bytes(answer: Answer) -> int:
    size = size_of(answer)
    return 0 if size > MAX_BYTES_ON_DISK or is_image(answer) else size


class ModelSpeeds:
    """Seconds for an answer, by model, revision, device and kind of question.

    Kept is the least that was measured in any plan, because other work on the machine can only add to it.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or cache_root() / FILE
        self._measured = _read(self.path)

    def add(self, efforts: Sequence[ModelEffort]) -> None:
        """Add the measured speeds and save them."""
        for effort in efforts:
            for question, work in effort.work.items():
                key, seconds = _key(effort, question), work.seconds / work.answers
                self._measured[key] = min(seconds, self._measured.get(key, seconds))
        write_json(self.path, self._measured)

    def seconds_each(self, effort: ModelEffort, question: str) -> float:
        """Of one answer to a kind of question that was asked here."""
        return self._measured[_key(effort, question)]


def _key(effort: ModelEffort, question: str) -> str:
    return f"{question} by {effort.identity}"


def _read(path: Path) -> dict[str, float]:
    """Read earlier measurements; an unreadable file counts as none."""
    try:
        stored = json.loads(path.read_text("utf-8"))
        return {str(key): float(seconds) for key, seconds in stored.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


MAX_OUTCOMES_PER_SOURCE = 8
"""Outcomes of one source image that are scored at most."""


class SampleSize(NamedTuple):
    """How many outcomes are scored for an estimate."""

    sources: int
    per_source: int = MAX_OUTCOMES_PER_SOURCE


@dataclass(frozen=True, slots=True)
class TrialOrder:
    """A sample to score, and how to extrapolate from it."""

    setup: Setup
    tasks: Sequence[ScoringTask]
    by: Extrapolation
    at: float
    """When it was sent, in wall-clock time."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """Measurements of a scored sample."""

    entries: list[EncodedEntry]
    efforts: tuple[ModelEffort, ...]
    """Work of each model."""
    judges: Mapping[str, Mapping[str, Any]]
    """What judges would be asked by the whole run."""
    start: Effort
    """Until the process could take up its work."""
    work: Effort
    """Effort once everything is loaded."""
    loading: Effort
    """Additional effort while models are loading."""
    memory: int
    """Peak memory in bytes."""

    @property
    def bytes(self) -> int:
        """Size of the entries in a run folder, without what empty files take."""
        stored = [decode_line(entry.line, "journal") for entry in self.entries]
        return sum(
            tables.parquet_bytes(make(stored)) - tables.parquet_bytes(make([]))
            for make in (tables.scores_table, tables.evidence_table)
        )


def sample_tasks(tasks: Iterable[ScoringTask], sources: Sequence[str], size: SampleSize) -> list[ScoringTask]:
    """Return the first outcomes with an image, of source images drawn evenly from all of them."""
    many = min(size.sources, len(sources))
    sampled = [sources[index * len(sources) // many] for index in range(many)]
    by_source: dict[str, list[ScoringTask]] = {source: [] for source in sampled}
    for task in tasks:
        sampled_tasks = by_source.get(task.edit.source.name)
        if sampled_tasks is not None and task.outcome.image and len(sampled_tasks) < size.per_source:
            sampled_tasks.append(task)
    return [task for sampled_tasks in by_source.values() for task in sampled_tasks]


def score_sample(setup: Setup, tasks: Sequence[ScoringTask], by: Extrapolation, processes: int) -> TrialResult:
    """Score a sample in a separate process with its share of the cores."""
    order = TrialOrder(setup, tasks, by, time.time())
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "editgauge.engine._trial"],
        input=pickle.dumps(order),
        stdout=subprocess.PIPE,
        env=worker_environment(processes),
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
    see = TimingPerception(setup.models, setup.cache, setup.judge_config, setup.transcripts)
    async with see:
        see.inclined = False
        to_load = (
            order.tasks
            if setup.judge_config.addresses
            else list({task.edit.type: task for task in order.tasks}.values())
        )
        first, _ = await _scored(order.setup, to_load, see)
        see.inclined = True
        second, entries = await _scored(order.setup, order.tasks, see)
    loading = first.without(second.scaled(len(to_load) / len(order.tasks)))
    efforts = tuple(model.effort() for model in see.timed_models)
    judges = see.estimate(len(order.tasks), order.by)
    return TrialResult(entries, efforts, judges, start, second, loading, peak_memory())


async def _scored(
    setup: Setup, tasks: Sequence[ScoringTask], see: TimingPerception
) -> tuple[Effort, list[EncodedEntry]]:
    see.reset_counts()
    gate = MemoryGate()
    protocols = {protocol.name: protocol for protocol in open_protocols(setup.protocols, setup.models)}
    before = current_effort()
    outcomes = await asyncio.gather(
        *(score_task(task, [protocols[name] for name in task.protocols], see, gate) for task in tasks)
    )
    return current_effort().without(before), [entry for scored in outcomes for entry in scored.entries]


def main() -> None:
    """Read an order from standard input and write the result to standard output."""
    configure_process()
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
    from editgauge.engine import _trial  # noqa: PLW0406  this module under its own name

    _trial.main()
