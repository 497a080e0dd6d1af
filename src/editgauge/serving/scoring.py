"""Who scores the items of a service: a scorer in this process, or several in processes of their own."""

from __future__ import annotations

import asyncio
import hashlib
import pickle
import subprocess
import threading
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

from editgauge.engine._schedule import start_process
from editgauge.engine.scorer import Scorer, ScorerOptions
from editgauge.errors import EditGaugeError
from editgauge.serving.schema import BatchResult, Problem, ScoreRequest, arguments_of, response_of
from editgauge.types import Reason

WARM_UP, STOP = "warm up", "stop"
"""Sent to a process instead of a request: load the models; give up the item of this number."""
FURTHER_ITEMS = 4
"""A process that knows the source image may have this many more items in hand than the least busy one."""
SOURCES_REMEMBERED = 64
SECONDS_TO_LEAVE = 5
ANSWERS_KEPT = 1024
"""Of the latest requests, at some ten kilobytes each."""
TRANSIENT: frozenset[Reason] = frozenset({"unreachable", "refused", "unparsable", "budget", "crashed"})
"""Reasons for a missing score that may be gone at the next request."""


class ProcessEnded(Exception):
    """The process that scored an item ended before it had an answer."""


class Scoring(Protocol):
    """Scores items. Cancelling stops the work."""

    @property
    def models(self) -> Mapping[str, str]:
        """The model of each role."""
        ...

    async def warm_up(self) -> None:
        """Loads the models."""
        ...

    async def score(self, request: ScoreRequest) -> BatchResult:
        """What became of an item."""
        ...

    def close(self) -> None:
        """Ends what was started."""
        ...


class SharedScoring:
    """Scores equal requests once: those that wait for the same answer, and those that were answered lately.

    Requests are equal when all their bytes are. An answer with evidence is large, so it is not kept; nor is one with a
    score that is missing for a reason that may pass.
    """

    def __init__(self, scoring: Scoring, kept: int = ANSWERS_KEPT) -> None:
        self._scoring, self._most = scoring, kept
        self._under_way: dict[bytes, _Shared] = {}
        self._kept: OrderedDict[bytes, BatchResult] = OrderedDict()

    async def warm_up(self) -> None:
        """Loads the models."""
        await self._scoring.warm_up()

    async def score(self, request: ScoreRequest) -> BatchResult:
        """What became of an item. The work is stopped when all who wait for it have given up."""
        key = hashlib.sha256(request.model_dump_json().encode()).digest()
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._under_way:
            self._under_way[key] = _Shared(asyncio.create_task(self._scoring.score(request)))
        shared = self._under_way[key]
        shared.waiting += 1
        try:
            result = await asyncio.shield(shared.task)
        finally:
            shared.waiting -= 1
            if not shared.waiting:
                self._under_way.pop(key)
                shared.task.cancel()  # does nothing to a task that is done
        self._keep(key, request, result)
        return result

    def _keep(self, key: bytes, request: ScoreRequest, result: BatchResult) -> None:
        if request.evidence or result.result is None or any(each.reason in TRANSIENT for each in result.result.scores):
            return
        self._kept[key] = result
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)


@dataclass(slots=True)
class _Shared:
    """Work that one or several wait for."""

    task: asyncio.Task[BatchResult]
    waiting: int = 0


class OneScorer:
    """Scores with one scorer, which its creator closes."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer, self.models = scorer, scorer.models

    async def warm_up(self) -> None:
        """Loads the models; raises `EditGaugeError` where one cannot be used."""
        scores = await asyncio.wrap_future(self._scorer.warm_up())
        crashes = [each for each in scores if each.reason == "crashed"]
        if crashes:
            raise EditGaugeError(f"{crashes[0].protocol} cannot score: {crashes[0].detail}")

    async def score(self, request: ScoreRequest) -> BatchResult:
        """What became of an item."""
        try:
            # In a thread: a judge may be asked what the instruction means.
            future = await asyncio.to_thread(lambda: self._scorer.submit(**arguments_of(request)))
            scores = await asyncio.wrap_future(future)
        except EditGaugeError as error:
            return BatchResult(error=Problem(reason="bad_input", detail=str(error)))
        return BatchResult(result=response_of(scores, request.evidence))

    def close(self) -> None:
        """Nothing was started here."""


class ScorerProcesses:
    """Scores in processes that share the cores; outcomes of one source image go to the same process if they can.

    Args:
        options: the arguments of the scorer of each process
        models: the model of each role
        processes: how many

    """

    def __init__(self, options: ScorerOptions, models: Mapping[str, str], processes: int) -> None:
        self.models = models
        self._options = options
        self._number = processes
        self._processes: list[ScoringProcess] = []
        self._knows: dict[int, set[ScoringProcess]] = {}
        """Which processes had the latest source images, by their hash."""

    async def warm_up(self) -> None:
        """Starts the processes and loads the models of each."""
        self._replace_ended()
        await asyncio.gather(*(each.ask(WARM_UP) for each in self._processes))

    async def score(self, request: ScoreRequest) -> BatchResult:
        """What became of an item; raises `ProcessEnded` when its process did not live to tell."""
        self._replace_ended()
        result: BatchResult = await self._process_for(request.sources[0]).ask(request)
        return result

    def close(self) -> None:
        """Ends the processes."""
        for each in self._processes:
            each.close()

    def _process_for(self, source: str) -> ScoringProcess:
        """One that knows the source image, unless another is idle or has far less to do."""
        name = hash(source)
        know = [each for each in self._knows.pop(name, ()) if not each.has_ended]
        least_busy, chosen = (min(some, key=_items_in_hand) for some in (self._processes, know or self._processes))
        further = FURTHER_ITEMS if least_busy.waiting else 0
        if len(chosen.waiting) > len(least_busy.waiting) + further:
            chosen = least_busy
        self._knows[name] = {*know, chosen}
        while len(self._knows) > SOURCES_REMEMBERED:
            del self._knows[next(iter(self._knows))]
        return chosen

    def _replace_ended(self) -> None:
        for each in self._processes:
            if each.has_ended:
                each.close()
        alive = [each for each in self._processes if not each.has_ended]
        missing = self._number - len(alive)
        self._processes = alive + [ScoringProcess(self._options, self._number) for _ in range(missing)]


def _items_in_hand(process: ScoringProcess) -> int:
    return len(process.waiting)


class ScoringProcess:
    """A process with a scorer; made and asked within one event loop."""

    def __init__(self, options: ScorerOptions, processes: int) -> None:
        self.has_ended = False
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        """Who waits for an answer, by the number of the question."""
        self._numbers = count()
        self._loop = asyncio.get_running_loop()
        self._process = start_process("editgauge.serving.worker", processes)
        self._sender = ThreadPoolExecutor(1, "to-scorer")
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._send(options)

    async def ask(self, question: ScoreRequest | str) -> Any:
        """The answer of the process."""
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

    def close(self) -> None:
        """Ends the process."""
        self._sender.shutdown(cancel_futures=True)
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        with suppress(BrokenPipeError):  # it has ended
            self._process.stdin.close()
        try:
            self._process.wait(SECONDS_TO_LEAVE)
        except subprocess.TimeoutExpired:  # it is at work for someone who has left
            self._process.kill()
            self._process.wait()
        self._listener.join(SECONDS_TO_LEAVE)

    def _send(self, message: object) -> None:
        """In a thread, and in turn: a pipe that is full must not hold the service up."""
        self._sender.submit(self._write, message)

    def _write(self, message: object) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it was asked for
        with suppress(BrokenPipeError, ValueError):  # its end is announced by the thread that listens to it
            pickle.dump(message, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101 - it was asked for
        with self._process.stdout as answers, suppress(RuntimeError):  # the event loop may be closed before we end
            while True:
                try:
                    number, answer = pickle.load(answers)  # noqa: S301 - written by our own process
                except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                    self._loop.call_soon_threadsafe(self._end)
                    return
                self._loop.call_soon_threadsafe(self._deliver, number, answer)

    def _deliver(self, number: int, answer: object) -> None:
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
            self._deliver(number, ProcessEnded())
