"""What can be asked, and a lane for each of them, so that none waits for another."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar, runtime_checkable

from editgauge._util import profiling


class Request(NamedTuple):
    """One thing that is asked, under the name by which its answer is known."""

    key: Hashable
    payload: Any


@runtime_checkable
class Backend(Protocol):
    """Answers batches. It is asked by one thread at a time, which is never the thread of the event loop."""

    @property
    def batch(self) -> int:
        """How many requests it likes at once."""
        ...

    def answer(self, group: Hashable, requests: Sequence[Request]) -> Sequence[Any]:
        """One answer per request, in their order; all requests were asked under the same group."""
        ...


@runtime_checkable
class AsyncBackend(Protocol):
    """Answers one request at a time to each of a few who wait, as a service over HTTP does."""

    @property
    def at_once(self) -> int:
        """How many requests may be under way together."""
        ...

    async def reply(self, request: Request) -> Any:
        """The answer."""
        ...


Waiting = tuple[Request, asyncio.Future[Any], float]
"""What was asked, who waits for it, and since when."""


class BatchLane:
    """What is asked of one backend; a single thread answers, batch after batch.

    Within a group the order is that of asking. Of several groups the youngest goes first: it holds questions that
    follow from earlier answers, and answering those lets items end, and with them what they hold in memory.
    """

    def __init__(self, backend: Backend, answered: Callable[[], None]) -> None:
        self._batches = Batches(backend)
        self._name = name_of(backend)
        self._answered = answered
        self._thread = ThreadPoolExecutor(1, f"ask-{type(backend).__name__}")
        self._groups: dict[Hashable, list[Waiting]] = {}
        self._busy = False

    def add(self, group: Hashable, request: Request, future: asyncio.Future[Any]) -> None:
        """Takes a request; a batch that is full goes out at once."""
        waiting = self._groups.setdefault(group, [])
        waiting.append((request, future, time.perf_counter()))
        if len(waiting) >= self._batches.most and not self._busy:
            self._send(group)

    def flush(self) -> None:
        """Send what there is, because nothing can be added to it: a full batch if there is one."""
        while self._groups and not self._busy:
            self._send([*self._full(), *reversed(self._groups)][0])

    def close(self) -> None:
        """Release the thread, and requests without a receiver."""
        self._groups.clear()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _full(self) -> list[Hashable]:
        """The groups that can fill a batch, the youngest first."""
        return [group for group, waiting in reversed(self._groups.items()) if len(waiting) >= self._batches.most]

    def _send(self, group: Hashable) -> None:
        """Sends a batch of a group; requests without a receiver are dropped, even if nothing is left then."""
        waiting, most = self._groups[group], self._batches.most
        waiting[:] = [each for each in waiting if not each[1].cancelled()]
        batch = waiting[:most]
        del waiting[:most]
        if not waiting:
            del self._groups[group]
        if not batch:
            return
        self._busy = True
        requests = [request for request, _, _ in batch]
        profiling.waited(self._name, [since for _, _, since in batch])
        under_way = asyncio.get_running_loop().run_in_executor(self._thread, self._batches.run, group, requests)
        under_way.add_done_callback(lambda done: self._deliver(batch, done))

    def _deliver(self, batch: list[Waiting], done: asyncio.Future[list[Answer]]) -> None:
        if done.cancelled():  # the layer was closed
            return
        self._busy = False
        for (_, future, _), (answer, error) in zip(batch, done.result(), strict=True):
            if future.done():
                continue
            if error is None:
                future.set_result(answer)
            else:
                future.set_exception(error)
        for group in self._full()[:1]:
            self._send(group)
        self._answered()


class AsyncLane:
    """What is asked of one service: each request goes out at once, as long as not too many are under way."""

    def __init__(self, backend: AsyncBackend, _: Callable[[], None]) -> None:
        self._backend = backend
        self._name = name_of(backend)
        self._room = asyncio.Semaphore(max(1, backend.at_once))
        self._under_way: set[asyncio.Task[None]] = set()

    def add(self, _: Hashable, request: Request, future: asyncio.Future[Any]) -> None:
        """Takes a request."""
        task = asyncio.get_running_loop().create_task(self._reply(request, future))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def flush(self) -> None:
        """Nothing is held back here."""

    def close(self) -> None:
        """Gives up what is under way."""
        for task in self._under_way:
            task.cancel()

    async def _reply(self, request: Request, future: asyncio.Future[Any]) -> None:
        since = time.perf_counter()
        async with self._room:
            if future.cancelled():  # it has no receiver any more
                return
            profiling.waited(self._name, [since])
            since = time.perf_counter()
            try:
                answer = await self._backend.reply(request)
                profiling.waited(self._name, [since], profiling.REPLY)
            except asyncio.CancelledError:
                future.cancel()
                raise
            except Exception as error:
                if not future.cancelled():
                    future.set_exception(error)
            else:
                if not future.cancelled():
                    future.set_result(answer)


def name_of(backend: Backend | AsyncBackend) -> str:
    """What a backend is called in a profile: its name where it has one."""
    return str(getattr(backend, "name", type(backend).__name__))


Answer = tuple[Any, BaseException | None]
"""What was answered, or what was raised instead."""


class Batches:
    """Runs the batches of one backend, and remembers how large they may be."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.most = max(1, backend.batch)
        """This many requests fit into memory, as far as is known."""

    def run(self, group: Hashable, requests: Sequence[Request]) -> list[Answer]:
        """One answer or one error per request; nothing is raised."""
        if len(requests) > self.most:
            return self.run(group, requests[: self.most]) + self.run(group, requests[self.most :])
        try:
            answers = self._backend.answer(group, requests)
            if len(answers) != len(requests):
                raise ValueError(f"{len(requests)} requests were given {len(answers)} answers")
            return [(answer, None) for answer in answers]
        except Exception as error:
            if len(requests) == 1:
                return [(None, error)]
            if is_out_of_memory(error):
                self.most = len(requests) // 2
            smaller = self.most if is_out_of_memory(error) else 1
        # Outside the handler: the error's frames would keep the failed batch in memory.
        parts = (requests[start : start + smaller] for start in range(0, len(requests), smaller))
        return [answer for part in parts for answer in self.run(group, part)]


def is_out_of_memory(error: BaseException) -> bool:
    """Was memory short? Libraries have errors of their own for it, which are known by name or by what they say."""
    named = any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__)
    said = isinstance(error, RuntimeError) and "out of memory" in str(error).lower()
    return isinstance(error, MemoryError) or named or said


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

QUIET_PASSES = 8
"""This many passes of the event loop without a new request mean that no item can go on.

A woken item needs a few passes until it asks again: one for its task, one for each `gather` or task in between. One
that needs more joins the next batch, and nothing else changes.
"""


class Ask:
    """What items wait for, in one event loop at a time.

    Args:
        pool: how many heavy functions may run at once; as many as there are processors when left out

    """

    def __init__(self, pool: int | None = None) -> None:
        self._pool = ThreadPoolExecutor(pool or os.cpu_count() or 1, "ask-pool")
        self._lanes: dict[int, BatchLane | AsyncLane] = {}
        self._shared: dict[tuple[int, Hashable], asyncio.Future[Any]] = {}
        self._waiting: Counter[asyncio.Future[Any]] = Counter()
        """How many wait for each answer."""
        self._asked = 0
        self._watching: asyncio.AbstractEventLoop | None = None

    async def __call__(
        self, backend: Backend | AsyncBackend, key: Hashable, payload: Any, group: Hashable = None
    ) -> Any:
        """The backend's answer. Who asks the same key while it is pending waits for the same answer.

        Args:
            backend: who is asked
            key: the request's identity; the same key must mean the same payload
            payload: what the backend needs to answer it
            group: only requests of one group go into one batch

        """
        place = id(backend), key
        known = self._shared.get(place)
        if known is None or known.cancelled():
            future = self._shared[place] = asyncio.get_running_loop().create_future()
            future.add_done_callback(lambda done: self._forget(place, done))
            self._lane(backend).add(group, Request(key, payload), future)
            self._asked += 1
            self._watch()
        return await self._answer_to(self._shared[place])

    def _forget(self, place: tuple[int, Hashable], done: asyncio.Future[Any]) -> None:
        if self._shared.get(place) is done:  # what all gave up may have been asked again meanwhile
            del self._shared[place]

    async def _answer_to(self, future: asyncio.Future[Any]) -> Any:
        """One who gives up must not take the answer from the others; when all have, it is not asked for any more."""
        self._waiting[future] += 1
        try:
            return await asyncio.shield(future)
        finally:
            self._waiting[future] -= 1
            if not self._waiting[future]:
                del self._waiting[future]
                future.cancel()  # does nothing to an answer that is there

    async def call(
        self, function: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """What a heavy pure function returns, computed outside the event loop."""
        return await asyncio.wrap_future(self._pool.submit(_timed(function), *arguments, **named))

    def close(self) -> None:
        """Lets the threads go; what is still running ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for lane in self._lanes.values():
            lane.close()
        self._lanes.clear()  # they refer to us and to their models: break the cycle without the garbage collector

    def _lane(self, backend: Backend | AsyncBackend) -> BatchLane | AsyncLane:
        if id(backend) not in self._lanes:
            kind = AsyncLane if isinstance(backend, AsyncBackend) else BatchLane
            self._lanes[id(backend)] = kind(backend, self._watch)  # type: ignore[arg-type]
        return self._lanes[id(backend)]

    def _watch(self) -> None:
        """Begins to wait for the moment when no item can go on."""
        loop = asyncio.get_running_loop()
        if self._watching is not loop:  # an earlier loop may have ended before its watch did
            self._watching = loop
            loop.call_soon(self._pass, self._asked, QUIET_PASSES)

    def _pass(self, questions: int, left: int) -> None:
        if self._asked == questions and left == 0:
            self._watching = None
            for lane in self._lanes.values():
                lane.flush()
            return
        left = left - 1 if self._asked == questions else QUIET_PASSES
        asyncio.get_running_loop().call_soon(self._pass, self._asked, left)


def _timed(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    name = getattr(function, "__name__", type(function).__name__)

    def timed(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        with profiling.span("compute", name):
            return function(*arguments, **named)

    return timed
