"""The local engine: worker processes on this machine, one writer, bounded memory."""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from editgauge.engine.judges import Jury
from editgauge.engine.options import choose
from editgauge.engine.plan.worker_count import VISIBLE, WorkerCount, cores
from editgauge.engine.schedule.scheduler import Attempt, Scheduler, in_hand
from editgauge.engine.worker.scoring import ScoredTask, ScoringTask, crashed_task
from editgauge.errors import EditGaugeError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence


TRIES = 2
"""A task whose process died is tried once more, alone; if that process dies too, the task is to blame."""
FAILED_STARTS = 3
"""This many processes in a row that end before they are ready: no task is to blame, and no other would do better."""
WHILE_IT_STARTS = 8
"""This many tasks fit into a pipe that is not read yet; more would block before the next process is started."""
SECONDS_TO_LEAVE = 5
READY = -1
"""The number under which a process says that it has loaded everything."""
REFUSED = -2
"""The number under which it says what a user must fix before anything can be scored."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""How numerical libraries are told how many threads to use."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker must know before the first task."""

    protocols: tuple[str, ...]
    models: dict[str, str]
    cache: Path | None = None
    """Where answers of models are remembered."""
    jury: Jury = field(default_factory=Jury)
    transcripts: Path | None = None
    """Where calls of judges are recorded."""
    profile: Path | None = None
    """Where the time spent is recorded; None without a profile."""
    tallies: Path | None = None
    """Where the number of questions to judges is recorded."""

    @property
    def waits(self) -> bool:
        """Whether items wait for answers, so that it pays to work at many at once."""
        return bool(self.models or self.jury.addresses)


def threads_of(processes: int) -> dict[str, str]:
    """Settings by which several processes share the cores between them; one alone has them all."""
    return dict.fromkeys(THREADS, str(max(1, cores() // processes))) if processes > 1 else {}


def environment_of(processes: int) -> dict[str, str]:
    """The environment of one of several processes; a user's own setting of threads stands."""
    return {**threads_of(processes), **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def start_process(module: str, processes: int, card: str | None = None) -> subprocess.Popen[bytes]:
    """A process that runs one of our modules, with pipes to and from it; it sees one card if named."""
    sees = {} if card is None else {VISIBLE: card}
    return subprocess.Popen(  # noqa: S603 - a module of ours
        # -P: a file in the user's folder that is called like a module of Python must not take its place.
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**environment_of(processes), **sees},
        process_group=0,  # Ctrl-C is for us; they end when the pipe does
    )


def execute(tasks: Sequence[ScoringTask], setup: Setup, workers: WorkerCount) -> Generator[ScoredTask, None, None]:
    """What became of every task as it comes, in no fixed order. Closing the generator ends the processes."""
    return _Pool(tasks, setup, workers.processes, workers.cards).run()


@dataclass(slots=True, eq=False)
class _Worker:
    process: subprocess.Popen[bytes]
    to: IO[bytes]
    answers: IO[bytes]
    card: str | None = None
    """The GPU it sees, where there are several."""
    ready: bool = False
    in_hand: dict[int, Attempt] = field(default_factory=dict)


class _Pool:
    """Worker processes fed a few tasks each. A process that dies is replaced and its tasks are tried again."""

    def __init__(self, tasks: Sequence[ScoringTask], setup: Setup, processes: int, cards: Sequence[str] = ()) -> None:
        self._setup = setup
        self._processes = processes
        self._cards = cards
        self._waiting = Scheduler(tasks)
        self._in_hand = in_hand(len(tasks), processes, setup.waits)
        self._answers: queue.SimpleQueue[tuple[_Worker, tuple[int, Any] | None]] = queue.SimpleQueue()
        self._numbers = count()
        self._workers: list[_Worker] = []
        self._listeners: list[threading.Thread] = []
        self._failed_starts = 0

    def run(self) -> Generator[ScoredTask, None, None]:
        try:
            for number in range(self._processes):
                self._feed(self._start(self._cards[number % len(self._cards)] if self._cards else None))
            while any(worker.in_hand for worker in self._workers):
                worker, answer = self._answers.get()
                if answer is None:
                    yield from self._bury(worker)
                    self._feed(self._start(worker.card))
                elif answer[0] == READY:
                    worker.ready, self._failed_starts = True, 0
                    self._feed(worker)
                elif answer[0] == REFUSED:
                    raise EditGaugeError(answer[1])
                else:
                    number, scored = answer
                    del worker.in_hand[number]
                    yield scored
                    self._feed(worker)
        finally:
            self._stop()

    def _feed(self, worker: _Worker) -> None:
        most = self._in_hand if worker.ready else min(self._in_hand, WHILE_IT_STARTS)
        while attempt := self._waiting.attempt(worker, worker.in_hand.values(), most):
            number = next(self._numbers)
            worker.in_hand[number] = attempt
            with suppress(BrokenPipeError):  # its death is announced by the thread that listens to it
                pickle.dump((number, attempt.task), worker.to)
                worker.to.flush()

    def _bury(self, worker: _Worker) -> Iterator[ScoredTask]:
        self._workers.remove(worker)
        code = worker.process.wait()
        with suppress(BrokenPipeError):
            worker.to.close()
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS:
                raise EditGaugeError(
                    f"{FAILED_STARTS} worker processes in a row ended while they started (exit code {code}), "
                    "for the reason they gave above. What was scored is kept; fix it and give the same command again."
                )
        why = f"the process that scored it died (exit code {code}); is memory short?"
        for task in self._waiting.bury(worker, worker.in_hand.values(), blame=worker.ready, tries=TRIES):
            yield crashed_task(task, choose(task.protocols, self._setup.models), why)

    def _start(self, card: str | None = None) -> _Worker:
        process = start_process("editgauge.engine.worker.process", self._processes, card)
        assert process.stdin is not None  # noqa: S101 - both were asked for
        assert process.stdout is not None  # noqa: S101
        worker = _Worker(process, process.stdin, process.stdout, card)
        self._workers.append(worker)
        pickle.dump(self._setup, worker.to)
        self._listeners.append(threading.Thread(target=self._listen, args=(worker,), daemon=True))
        self._listeners[-1].start()
        return worker

    def _listen(self, worker: _Worker) -> None:
        with worker.answers:
            while True:
                try:
                    answer = pickle.load(worker.answers)  # noqa: S301 - written by our own process
                except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                    answer = None
                self._answers.put((worker, answer))
                if answer is None:
                    return

    def _stop(self) -> None:
        for worker in self._workers:
            if worker.in_hand:
                worker.process.kill()
            with suppress(BrokenPipeError):
                worker.to.close()
        for worker in self._workers:
            try:
                worker.process.wait(SECONDS_TO_LEAVE)
            except subprocess.TimeoutExpired:  # a plug-in's thread that does not end; all answers are here
                worker.process.kill()
                worker.process.wait()
        for listener in self._listeners:  # none may be left when the interpreter ends
            listener.join(SECONDS_TO_LEAVE)
