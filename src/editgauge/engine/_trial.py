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
from editgauge.models._cache import Answer, Memory, open_store, size_of
from editgauge.models._service import MAX_BYTES_IN_MEMORY, MAX_BYTES_ON_DISK, CachedModel, RequestGroup, is_image
from editgauge.results import EncodedEntry, tables
from editgauge.results._journal import decode_line

SECONDS_OF_A_LOOK = 0.5
"""For so long threads are kept busy to see how much of the machine they get."""
A_LITTLE_WORK = bytes(1 << 20)
HELPERS = ("ask-pool", "asyncio")
"""How the names of threads begin that compute outside the event loop; models have threads of other names."""


@dataclass(frozen=True, slots=True)
class Effort:
    """What a piece of work took."""

    seconds: float
    """Wall time."""
    cpu: float
    """Of all threads of the process together."""
    own: float = 0.0
    """Of these, what was no model's: decoding, metrics and rules, outside the event loop too."""

    def without(self, other: Effort) -> Effort:
        """What is left when the other is taken away; never less than nothing."""
        return Effort(
            max(0.0, self.seconds - other.seconds), max(0.0, self.cpu - other.cpu), max(0.0, self.own - other.own)
        )

    def __add__(self, other: Effort) -> Effort:
        return Effort(self.seconds + other.seconds, self.cpu + other.cpu, self.own + other.own)

    def scaled(self, share: float) -> Effort:
        """A share of it."""
        return Effort(self.seconds * share, self.cpu * share, self.own * share)

    def eased(self, share: float) -> Effort:
        """The same if others had not used the machine too, so that a busy thread got but a share of a core."""
        return Effort(self.seconds * share, self.cpu, self.own)


def so_far() -> Effort:
    """What this process has taken so far; called in the thread that runs the event loop."""
    return Effort(time.perf_counter(), time.process_time(), time.thread_time() + _of_helpers())


def expected(work: Effort, times: float, processes: int, cores: float) -> float:
    """Seconds of wall time for that many times the work, divided between processes that get that many cores.

    The work was measured in one process, models with all their threads. Processes can divide it, so that it takes as
    much less time as there are processes; but not less than the cores need for it.

    >>> expected(Effort(seconds=10, cpu=10), 6, processes=2, cores=2.0)
    30.0
    >>> expected(Effort(seconds=10, cpu=20), 6, processes=2, cores=2.0)
    60.0
    """
    return times * max(work.cpu / cores, work.seconds / processes)


def free_cores(threads: int) -> float:
    """How many cores that many busy threads get now, while others use the machine too; never more than threads."""
    deadline = time.perf_counter() + SECONDS_OF_A_LOOK
    with ThreadPoolExecutor(threads) as pool:
        shares = list(pool.map(_share_until, [deadline] * threads))
    return sum(shares)


def most_memory() -> int:
    """The most memory, in bytes, that this process ever had."""
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _share_until(deadline: float) -> float:
    """How much of a core this thread gets; hashing leaves the interpreter to the others."""
    began, own = time.perf_counter(), time.thread_time()
    while time.perf_counter() < deadline:
        hashlib.sha256(A_LITTLE_WORK)
    return (time.thread_time() - own) / max(time.perf_counter() - began, 1e-9)


def _of_helpers() -> float:
    """CPU seconds of the threads that compute outside the event loop; where no thread has a clock, nothing."""
    clock_of = getattr(time, "pthread_getcpuclockid", None)
    if clock_of is None:
        return 0.0
    helpers = [each for each in threading.enumerate() if each.name.startswith(HELPERS) and each.ident]
    return sum(time.clock_gettime(clock_of(each.ident)) for each in helpers)


FILE = "calibration.json"
"""In the cache folder: the speed of models as measured so far."""


@dataclass(slots=True)
class QuestionWork:
    """What one model did for one kind of question."""

    asked: int = 0
    """Answers it gave; a question that several outcomes share is asked once."""
    seconds: float = 0.0
    """That all of them took, while other models worked in parallel, as in a run."""
    bytes: int = 0
    """Of answers that a run would keep on disk."""


@dataclass(frozen=True, slots=True)
class ModelEffort:
    """What one model did."""

    name: str
    identity: str
    """The model with its revision, and where it runs."""
    work: Mapping[str, QuestionWork]
    """By kind of question."""
    recalled: int
    """Questions that were answered in an earlier run."""


class TimedModel(CachedModel):
    """Notes what a model is asked and how long it takes. Keeps nothing on disk, so that no plan changes a later one."""

    def __init__(self, cached: CachedModel, memory: Memory, cache: Path | None) -> None:
        super().__init__(cached.model, memory, open_store(cache))
        self.work: dict[str, QuestionWork] = defaultdict(QuestionWork)
        self.recalled: set[str] = set()
        """What was answered in an earlier run."""
        self._mine: set[str] = set()

    def begin_anew(self, memory: Memory) -> None:
        """Forgets what was asked and answered."""
        self._memory = memory
        self.work.clear()
        self.recalled.clear()
        self._mine.clear()

    def effort(self) -> ModelEffort:
        """What it did."""
        card, device = self.card, getattr(self.model, "device", "cpu")
        identity = f"{card.id} {card.revision} {card.sha256[:12]} on {device}"
        answered = {question: work for question, work in self.work.items() if work.asked}
        return ModelEffort(self.name, identity, answered, len(self.recalled))

    def recall(self, key: str) -> Answer | None:
        """What was answered before."""
        answer = super().recall(key)
        if answer is not None and key not in self._mine:
            self.recalled.add(key)
        return answer

    def answer(self, group: Hashable, requests: Sequence[Request]) -> list[Answer]:
        """Asks the model, and looks at the clock."""
        assert isinstance(group, RequestGroup)  # noqa: S101 - the service makes no others
        work = self.work[group.question]
        self._mine |= {str(request.key) for request in requests}
        started = time.perf_counter()
        answers = super().answer(group, requests)
        work.seconds += time.perf_counter() - started
        work.asked += len(requests)
        work.bytes += sum(_kept_bytes(answer) for answer in answers)
        return answers

    def _keep(self, key: str, answer: Answer) -> None:
        self._memory.put(key, answer)


class TimingPerception(CountingPerception):
    """The models of a run, listened to; judges are asked nothing."""

    def __init__(
        self, models: Mapping[str, str], cache: Path | None, judge_config: JudgeConfig, transcripts: Path | None
    ) -> None:
        super().__init__(models, None, judge_config, transcripts)
        memory = Memory(MAX_BYTES_IN_MEMORY)
        by_model = {id(cached): TimedModel(cached, memory, cache) for cached in self._models.values()}
        self.timed_models = list(by_model.values())
        self._models = {role: by_model[id(cached)] for role, cached in self._models.items()}

    def forget(self) -> None:
        """Starts over with models that have loaded their weights: only from then on times tell anything."""
        self.heard[self.inclined].clear()
        for model in self.timed_models:
            model.begin_anew(Memory(MAX_BYTES_IN_MEMORY))


def _kept_bytes(answer: Answer) -> int:
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
        """Takes in what these models did, and keeps it."""
        for effort in efforts:
            for question, work in effort.work.items():
                key, each = _key(effort, question), work.seconds / work.asked
                self._measured[key] = min(each, self._measured.get(key, each))
        write_json(self.path, self._measured)

    def seconds_each(self, effort: ModelEffort, question: str) -> float:
        """Of one answer to a kind of question that was asked here."""
        return self._measured[_key(effort, question)]


def _key(effort: ModelEffort, question: str) -> str:
    return f"{question} by {effort.identity}"


def _read(path: Path) -> dict[str, float]:
    """What was measured before; a file that cannot be read is measured again."""
    try:
        stored = json.loads(path.read_text("utf-8"))
        return {str(key): float(seconds) for key, seconds in stored.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


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
    return TrialResult(entries, efforts, judges, start, second, loading, most_memory())


async def _scored(
    setup: Setup, tasks: Sequence[ScoringTask], see: TimingPerception
) -> tuple[Effort, list[EncodedEntry]]:
    see.forget()
    gate = MemoryGate()
    chosen = {protocol.name: protocol for protocol in open_protocols(setup.protocols, setup.models)}
    before = so_far()
    outcomes = await asyncio.gather(
        *(score_task(task, [chosen[name] for name in task.protocols], see, gate) for task in tasks)
    )
    return so_far().without(before), [entry for scored in outcomes for entry in scored.entries]


def main() -> None:
    """Reads an order from standard input, and answers on standard output, where nothing else may come between."""
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
    from editgauge.engine import _trial as sampling

    sampling.main()
