"""Scoring backends of the service: one scorer in this process, or several in worker processes."""

from __future__ import annotations

import asyncio
import hashlib
import json
import pickle
import subprocess
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from editgauge._util.caching import LRUCache
from editgauge.engine._schedule import MAX_SILENCE_SECONDS, start_process
from editgauge.engine.scorer import Scorer
from editgauge.errors import EditGaugeError
from editgauge.options import ScorerOptions
from editgauge.serving._schema import BatchResult, Problem, ScoreRequest, arguments_of, response_of
from editgauge.types import Reason

WARM_UP, STOP = "warm up", "stop"
"""Messages to a process other than a request: load the models; cancel the question with this number."""
AFFINITY_SLACK = 4
"""A process that has seen the source image may have this many more items in flight than the least busy one."""
MAX_REMEMBERED_SOURCES = 64
EXIT_TIMEOUT_SECONDS = 5
MAX_CACHED_ANSWERS = 1024
"""About 10 KB each."""
TRANSIENT_REASONS: frozenset[Reason] = frozenset({"unreachable", "refused", "unparsable", "budget", "crashed"})
"""Reasons for a missing score that may not recur at the next request."""


class ProcessEndedError(Exception):
    """Raised when the process that scores an item ends before it answers."""


class Scoring(Protocol):
    """Backend that scores items; canceling a call stops its work."""

    @property
    def models(self) -> Mapping[str, str]:
        """The model of each role."""
        ...

    async def warm_up(self) -> None:
        """Load the models."""
        ...

    async def score(self, request: ScoreRequest) -> BatchResult:
        """Score one item."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class SharedScoring:
    """Backend that scores equal requests once, by sharing work in flight and caching recent answers.

    Requests are equal when all their bytes are. Answers with evidence are too large to cache, and answers with a score
    that is missing for a transient reason are not final.
    """

    def __init__(self, scoring: Scoring, max_answers: int = MAX_CACHED_ANSWERS) -> None:
        self._scoring = scoring
        self._in_flight: dict[bytes, _SharedTask] = {}
        self._answers = LRUCache[bytes, BatchResult](max_answers)

    @property
    def models(self) -> Mapping[str, str]:
        """The model of each role."""
        return self._scoring.models

    async def warm_up(self) -> None:
        """Load the models."""
        await self._scoring.warm_up()

    async def score(self, request: ScoreRequest) -> BatchResult:
        """Score one item, sharing the work of equal requests; cancel it when no client waits any longer."""
        key = hashlib.sha256(
            json.dumps(request.model_dump()).encode()
        ).digest()  # ASCII, so lone surrogates are escaped
        if (cached := self._answers.get(key)) is not None:
            return cached
        if key not in self._in_flight:
            self._in_flight[key] = _SharedTask(asyncio.create_task(self._scoring.score(request)))
        shared = self._in_flight[key]
        shared.waiting += 1
        try:
            result = await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if not shared.waiting:
                self._in_flight.pop(key)
                shared.task.cancel()  # no-op for a finished task
        if not request.evidence and _is_final(result):
            self._answers.put(key, result)
        return result


def _is_final(result: BatchResult) -> bool:
    return result.result is not None and not any(score.reason in TRANSIENT_REASONS for score in result.result.scores)


@dataclass(slots=True)
class _SharedTask:
    """A scoring task that one or more requests await."""

    task: asyncio.Task[BatchResult]
    waiting: int = 0


class OneScorer:
    """Backend with one scorer in this process; the creator of the scorer closes it."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self.models = scorer.models

    async def warm_up(self) -> None:
        """Load the models; raise `EditGaugeError` if one cannot be used."""
        scores = await asyncio.wrap_future(self._scorer.warm_up())
        crashes = [score for score in scores if score.reason == "crashed"]
        if crashes:
            raise EditGaugeError(f"{crashes[0].protocol} cannot score: {crashes[0].detail}")

    async def score(self, request: ScoreRequest) -> BatchResult:
        """Score one item."""
        try:
            # In a thread: parsing the instruction may call a judge.
            future = await asyncio.to_thread(lambda: self._scorer.submit(**arguments_of(request)))
            scores = await asyncio.wrap_future(future)
        except EditGaugeError as error:
            return BatchResult(error=Problem(reason="bad_input", detail=str(error)))
        return BatchResult(result=response_of(scores, with_evidence=request.evidence))

    def close(self) -> None:
        """Do nothing: the creator closes the scorer."""


class ScorerProcesses:
    """Backend with several processes that share the cores; a source image goes to the same process if possible.

    Args:
        options: Arguments of the scorer of each process.
        models: The model of each role.
        processes: Number of processes.

    """

    def __init__(self, options: ScorerOptions, models: Mapping[str, str], processes: int) -> None:
        self.models = models
        self._options = options
        self._process_count = processes
        self._processes: list[ScoringProcess] = []
        self._warm_processes = LRUCache[int, set[ScoringProcess]](MAX_REMEMBERED_SOURCES)
        """Processes that scored the latest source images, by the hash of the image."""

    async def warm_up(self) -> None:
        """Start the processes and load the models in each."""
        self._replace_ended()
        await asyncio.gather(*(process.ask(WARM_UP) for process in self._processes))

    async def score(self, request: ScoreRequest) -> BatchResult:
        """Score one item in a process; raise `ProcessEndedError` if the process ends."""
        self._replace_ended()
        result: BatchResult = await self._process_for(request.sources[0]).ask(request)
        return result

    def close(self) -> None:
        """Stop the processes."""
        for process in self._processes:
            process.close()

    def _process_for(self, source: str) -> ScoringProcess:
        """Return a process that has seen the source image, unless another is much less busy."""
        key = hash(source)
        warm = [process for process in self._warm_processes.get(key) or () if not process.has_ended]
        least_busy = min(self._processes, key=_queue_length)
        process = min(warm, key=_queue_length, default=least_busy)
        slack = AFFINITY_SLACK if least_busy.waiting else 0
        if _queue_length(process) > _queue_length(least_busy) + slack:
            process = least_busy
        self._warm_processes.put(key, {*warm, process})
        return process

    def _replace_ended(self) -> None:
        """Replace processes that have ended or stopped responding, and start those that are missing."""
        for process in self._processes:
            if process.is_silent:
                process.kill()
            if process.has_ended:
                process.close()
        alive = [process for process in self._processes if not process.has_ended]
        missing = self._process_count - len(alive)
        self._processes = alive + [ScoringProcess(self._options, self._process_count) for _ in range(missing)]


def _queue_length(process: ScoringProcess) -> int:
    return len(process.waiting)


class ScoringProcess:
    """A process with a scorer; create it and ask it within one event loop."""

    def __init__(self, options: ScorerOptions, processes: int) -> None:
        self.has_ended = False
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        """Pending answers by question number."""
        self._numbers = count()
        self._last_message = time.monotonic()
        self._loop = asyncio.get_running_loop()
        self._process = start_process("editgauge.serving._worker", processes)
        self._sender = ThreadPoolExecutor(1, "to-scorer")
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._send(options)

    @property
    def is_silent(self) -> bool:
        """Whether the process hangs: a healthy one sends a heartbeat every few seconds."""
        return time.monotonic() - self._last_message > MAX_SILENCE_SECONDS

    async def ask(self, question: ScoreRequest | str) -> Any:
        """Send a question and return the answer of the process."""
        number = next(self._numbers)
        self.waiting[number] = answer = self._loop.create_future()
        self._send((number, question))
        try:
            return await answer
        except asyncio.CancelledError:
            self._send((number, STOP))
            raise
        finally:
            del self.waiting[number]

    def kill(self) -> None:
        """Kill the process; callers that wait for it get `ProcessEndedError`."""
        self._process.kill()
        self._end()

    def close(self) -> None:
        """Stop the process."""
        self._sender.shutdown(cancel_futures=True)
        assert self._process.stdin is not None  # noqa: S101 - the process has pipes
        with suppress(BrokenPipeError):  # the process has ended
            self._process.stdin.close()
        try:
            self._process.wait(EXIT_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:  # still busy with a canceled item
            self._process.kill()
            self._process.wait()
        self._listener.join(EXIT_TIMEOUT_SECONDS)

    def _send(self, message: object) -> None:
        """Write in a thread, in order: a full pipe must not block the event loop."""
        self._sender.submit(self._write, message)

    def _write(self, message: object) -> None:
        assert self._process.stdin is not None  # noqa: S101 - the process has pipes
        with suppress(BrokenPipeError, ValueError):  # the listener reports the end of the process
            pickle.dump(message, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def _listen(self) -> None:
        """Deliver the answers of the process until it ends; runs in a thread."""
        assert self._process.stdout is not None  # noqa: S101 - the process has pipes
        with self._process.stdout as answers, suppress(RuntimeError):  # the event loop may be closed already
            while True:
                try:
                    number, answer = pickle.load(answers)  # noqa: S301 - written by our own process
                except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                    self._loop.call_soon_threadsafe(self._end)
                    return
                self._last_message = time.monotonic()
                self._loop.call_soon_threadsafe(self._deliver, number, answer)

    def _deliver(self, number: int, answer: object) -> None:
        """Resolve the future of a question; heartbeats and canceled questions have none."""
        future = self.waiting.get(number)
        if future is None or future.done():
            return
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)

    def _end(self) -> None:
        self.has_ended = True
        for number in self.waiting:
            self._deliver(number, ProcessEndedError())
