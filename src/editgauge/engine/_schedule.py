"""Distribute tasks to worker processes on this machine; replace processes that die."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count, groupby, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from editgauge.engine._judges import JudgeConfig
from editgauge.engine._machine import VISIBLE_DEVICES, WorkerCount, count_cores
from editgauge.engine._options import open_protocols
from editgauge.engine._scoring import ScoredTask, ScoringTask, crashed_task
from editgauge.errors import EditGaugeError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

IN_FLIGHT_WITHOUT_MODELS = 8
"""Tasks of a process that never waits: enough to keep it busy."""
IN_FLIGHT_WITH_MODELS = 256
"""Tasks of a process whose items wait for models: enough to fill batches."""
MAX_TASKS_PER_SOURCE = 512
"""A source image with more outcomes than this may be decoded by several processes."""
MIN_ROUNDS = 4
"""A process holds at most this fraction of its work at a time, so that all finish at about the same time."""
MAX_ATTEMPTS = 2
"""A task whose process died is tried once more, alone; if that process dies too, the task is the cause."""
MAX_FAILED_STARTS = 3
"""Processes in a row that end before they are ready: then no task is the cause."""
IN_FLIGHT_DURING_START = 8
"""Tasks that fit into a pipe that is not read yet; more would block before the next process is started."""
EXIT_TIMEOUT_SECONDS = 5
READY = -1
"""Message number with which a process reports that it has loaded everything."""
REFUSED = -2
"""Message number with which it reports what a user must fix before anything can be scored."""
ALIVE = -3
"""Message number that a process sends regularly, whatever it is busy with."""
HEARTBEAT_SECONDS = 10.0
MAX_SILENCE_SECONDS = 300.0
"""A process that is silent for so long is stopped, frozen or swapped out; it is killed and replaced."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker needs before its first task.

    Attributes:
        protocols: names of the protocols.
        models: name of the model for each role.
        cache: folder of cached model answers.
        judge_config: the judges.
        transcripts: folder in which calls of judges are recorded.
        profile: folder for timings; None to record none.
        question_counts: folder in which processes count the questions to judges.

    """

    protocols: tuple[str, ...]
    models: dict[str, str]
    cache: Path | None = None
    judge_config: JudgeConfig = field(default_factory=JudgeConfig)
    transcripts: Path | None = None
    profile: Path | None = None
    question_counts: Path | None = None

    @property
    def waits(self) -> bool:
        """Whether items wait for answers, so that many should be in flight."""
        return bool(self.models or self.judge_config.addresses)


def max_in_flight(tasks: int, processes: int, *, models: bool) -> int:
    """Return how many tasks a process is given ahead."""
    if models and processes == 1:
        return IN_FLIGHT_WITH_MODELS
    few = max(1, min(IN_FLIGHT_WITHOUT_MODELS, -(-tasks // processes)))
    return max(few, min(IN_FLIGHT_WITH_MODELS, tasks // (MIN_ROUNDS * processes))) if models else few


@dataclass(frozen=True, slots=True)
class Attempt:
    """A task given to a worker, with the number of workers that died with it."""

    task: ScoringTask
    deaths: int = 0


class TaskQueue:
    """Tasks that no worker has been given yet; outcomes of one source image go to one worker if possible."""

    def __init__(self, tasks: Iterable[ScoringTask]) -> None:
        self._portions = _split_by_source(tasks)
        self._returned: deque[deque[ScoringTask]] = deque()
        self._portion_of: dict[Hashable, deque[ScoringTask]] = {}
        self._suspects: deque[Attempt] = deque()

    def next_attempt(self, worker: Hashable, in_flight: Collection[Attempt], limit: int) -> Attempt | None:
        """Return the next task for a worker; None if it has to wait.

        Suspects run alone, so that a further death names the cause.
        """
        if self._suspects:
            return None if in_flight else self._suspects.popleft()
        first = next(iter(in_flight), None)
        if len(in_flight) >= limit or (first and first.deaths):
            return None
        task = self.next(worker)
        return Attempt(task) if task else None

    def on_worker_exit(
        self, worker: Hashable, in_flight: Iterable[Attempt], *, blame: bool, max_attempts: int
    ) -> list[ScoringTask]:
        """Take back the tasks of a dead worker; return those that killed too many workers to be tried again.

        Args:
            worker: the worker that died.
            in_flight: its tasks.
            blame: whether one of them may be the cause.
            max_attempts: how many workers may die with a task.

        """
        self.release(worker)
        attempts = [replace(attempt, deaths=attempt.deaths + blame) for attempt in in_flight]
        self._suspects += (attempt for attempt in attempts if attempt.deaths < max_attempts)
        return [attempt.task for attempt in attempts if attempt.deaths >= max_attempts]

    def next(self, worker: Hashable) -> ScoringTask | None:
        """Return a task of the worker's current source image, of the next one, or of another worker's queue."""
        portion = self._portion_of.get(worker) or self._next_portion()
        if not portion:
            return None
        self._portion_of[worker] = portion
        return portion.popleft()

    def release(self, worker: Hashable) -> None:
        """Return what a worker was not given yet to the queue."""
        if portion := self._portion_of.pop(worker, None):
            self._returned.appendleft(portion)

    def _next_portion(self) -> deque[ScoringTask]:
        if self._returned:
            return self._returned.popleft()
        if portion := next(self._portions, None):
            return portion
        longest = max(self._portion_of.values(), key=len, default=deque[ScoringTask]())
        return deque(reversed([longest.pop() for _ in range((len(longest) + 1) // 2)]))


def _split_by_source(tasks: Iterable[ScoringTask]) -> Iterator[deque[ScoringTask]]:
    """Yield the tasks of one source image after the other, a bounded number at a time."""
    for _, of_source in groupby(tasks, key=lambda task: task.edit.source.path):
        while portion := deque(islice(of_source, MAX_TASKS_PER_SOURCE)):
            yield portion


def thread_settings(processes: int) -> dict[str, str]:
    """Return environment variables by which several processes share the cores; none for one process."""
    return dict.fromkeys(THREAD_VARIABLES, str(max(1, count_cores() // processes))) if processes > 1 else {}


def worker_environment(processes: int) -> dict[str, str]:
    """Return the environment of one of several processes; the user's thread settings win."""
    return {**thread_settings(processes), **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def start_process(module: str, processes: int, gpu: str | None = None) -> subprocess.Popen[bytes]:
    """Start one of our modules as a process with pipes; it sees one GPU if named."""
    gpu_setting = {} if gpu is None else {VISIBLE_DEVICES: gpu}
    return subprocess.Popen(  # noqa: S603 - a module of ours
        # -P: a file in the user's folder must not shadow a module of Python.
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**worker_environment(processes), **gpu_setting},
        process_group=0,  # Ctrl-C is for the parent; workers end when the pipe does
    )


def execute(tasks: Sequence[ScoringTask], setup: Setup, workers: WorkerCount) -> Generator[ScoredTask, None, None]:
    """Yield scored tasks as they complete, in arbitrary order. Closing the generator ends the processes."""
    return _WorkerPool(tasks, setup, workers.processes, workers.gpus).run()


@dataclass(slots=True, eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    tasks: IO[bytes]
    results: IO[bytes]
    gpu: str | None = None
    ready: bool = False
    last_message: float = field(default_factory=time.monotonic)
    in_flight: dict[int, Attempt] = field(default_factory=dict)


class _WorkerPool:
    """Worker processes, each with a few tasks in flight. A process that dies is replaced and its tasks retried."""

    def __init__(self, tasks: Sequence[ScoringTask], setup: Setup, processes: int, gpus: Sequence[str] = ()) -> None:
        self._setup = setup
        self._processes = processes
        self._gpus = gpus
        self._queue = TaskQueue(tasks)
        self._max_in_flight = max_in_flight(len(tasks), processes, models=setup.waits)
        self._results: queue.SimpleQueue[tuple[_Worker, tuple[int, Any] | None]] = queue.SimpleQueue()
        self._numbers = count()
        self._workers: list[_Worker] = []
        self._listeners: list[threading.Thread] = []
        self._failed_starts = 0

    def run(self) -> Generator[ScoredTask, None, None]:
        try:
            for number in range(self._processes):
                self._feed(self._start(self._gpus[number % len(self._gpus)] if self._gpus else None))
            while any(worker.in_flight for worker in self._workers):
                worker, result = self._next_result()
                worker.last_message = time.monotonic()
                if result is None:
                    yield from self._on_worker_exit(worker)
                    self._feed(self._start(worker.gpu))
                elif result[0] == ALIVE:
                    continue
                elif result[0] == READY:
                    worker.ready, self._failed_starts = True, 0
                    self._feed(worker)
                elif result[0] == REFUSED:
                    raise EditGaugeError(result[1])
                else:
                    number, scored = result
                    del worker.in_flight[number]
                    yield scored
                    self._feed(worker)
        finally:
            self._stop()

    def _next_result(self) -> tuple[_Worker, tuple[int, Any] | None]:
        """Wait for a message; kill workers that are silent for too long, whose end is then reported as any other."""
        while True:
            try:
                return self._results.get(timeout=HEARTBEAT_SECONDS)
            except queue.Empty:
                oldest = time.monotonic() - MAX_SILENCE_SECONDS
                for worker in self._workers:
                    if worker.last_message < oldest:
                        worker.process.kill()

    def _feed(self, worker: _Worker) -> None:
        limit = self._max_in_flight if worker.ready else min(self._max_in_flight, IN_FLIGHT_DURING_START)
        while attempt := self._queue.next_attempt(worker, worker.in_flight.values(), limit):
            number = next(self._numbers)
            worker.in_flight[number] = attempt
            with suppress(BrokenPipeError):  # the listener thread reports its death
                pickle.dump((number, attempt.task), worker.tasks)
                worker.tasks.flush()

    def _on_worker_exit(self, worker: _Worker) -> Iterator[ScoredTask]:
        self._workers.remove(worker)
        code = worker.process.wait()
        with suppress(BrokenPipeError):
            worker.tasks.close()
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= MAX_FAILED_STARTS:
                raise EditGaugeError(
                    f"{MAX_FAILED_STARTS} worker processes in a row ended while they started (exit code {code}), "
                    "for the reason they gave above. What was scored is kept; fix it and give the same command again."
                )
        reason = f"the process that scored it died (exit code {code}); is memory short?"
        attempts = worker.in_flight.values()
        for task in self._queue.on_worker_exit(worker, attempts, blame=worker.ready, max_attempts=MAX_ATTEMPTS):
            yield crashed_task(task, open_protocols(task.protocols, self._setup.models), reason)

    def _start(self, gpu: str | None = None) -> _Worker:
        process = start_process("editgauge.engine._worker", self._processes, gpu)
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        worker = _Worker(process, process.stdin, process.stdout, gpu)
        self._workers.append(worker)
        pickle.dump(self._setup, worker.tasks)
        self._listeners.append(threading.Thread(target=self._listen, args=(worker,), daemon=True))
        self._listeners[-1].start()
        return worker

    def _listen(self, worker: _Worker) -> None:
        with worker.results:
            while True:
                try:
                    result = pickle.load(worker.results)  # noqa: S301 - written by our own process
                except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                    result = None
                self._results.put((worker, result))
                if result is None:
                    return

    def _stop(self) -> None:
        for worker in self._workers:
            if worker.in_flight:
                worker.process.kill()
            with suppress(BrokenPipeError):
                worker.tasks.close()
        for worker in self._workers:
            try:
                worker.process.wait(EXIT_TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:  # a plug-in's thread that does not end; all results are here
                worker.process.kill()
                worker.process.wait()
        for listener in self._listeners:  # none may be left when the interpreter ends
            listener.join(EXIT_TIMEOUT_SECONDS)
