"""Batching of requests to models and services.

    ask = Ask()
    answer = await ask(backend, key, payload)          # networks: in batches, in a thread of their own
    answer = await ask(judge, key, payload)            # services over HTTP: several at once
    answer = await ask.call(function, *arguments)      # heavy pure functions: in a thread pool

There are no timers. Items run as far as they can; when none can continue, the collected requests are sent. Equal
requests share one answer. Each backend has its own lane, so that none waits for another.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, ParamSpec, Protocol, TypeVar, runtime_checkable

from editgauge._util import profiling


class Request(NamedTuple):
    """A request, and the key under which its answer is shared."""

    key: Hashable
    payload: Any


@runtime_checkable
class Backend(Protocol):
    """Answers batches; called by one thread at a time, never by the thread of the event loop."""

    @property
    def batch(self) -> int:
        """Preferred number of requests in a batch."""
        ...

    def answer(self, group: Hashable, requests: Sequence[Request]) -> Sequence[Any]:
        """Return one answer per request, in order; all requests belong to one group."""
        ...


@runtime_checkable
class AsyncBackend(Protocol):
    """Answers single requests, several at a time, as a service over HTTP does."""

    @property
    def at_once(self) -> int:
        """Maximum number of concurrent requests."""
        ...

    async def reply(self, request: Request) -> Any:
        """Return the answer to a request."""
        ...


Waiting = tuple[Request, asyncio.Future[Any], float]
"""A request, the future of its answer, and the time at which it was made."""


class BatchLane:
    """Requests to one backend, answered in batches by a single thread.

    Within a group, requests are answered in order. Of several groups the newest goes first: its requests follow from
    earlier answers, and answering them lets items finish and release their memory.
    """

    def __init__(self, backend: Backend, answered: Callable[[], None]) -> None:
        self._batches = Batches(backend)
        self._name = name_of(backend)
        self._answered = answered
        self._thread = ThreadPoolExecutor(1, f"ask-{type(backend).__name__}")
        self._groups: dict[Hashable, list[Waiting]] = {}
        self._busy = False

    def add(self, group: Hashable, request: Request, future: asyncio.Future[Any]) -> None:
        """Add a request; a full batch is sent at once."""
        waiting = self._groups.setdefault(group, [])
        waiting.append((request, future, time.perf_counter()))
        if len(waiting) >= self._batches.most and not self._busy:
            self._send(group)

    def flush(self) -> None:
        """Send what there is, a full batch first, because no item can add to it."""
        while self._groups and not self._busy:
            self._send([*self._full(), *reversed(self._groups)][0])

    def close(self) -> None:
        """Release the thread and drop pending requests."""
        self._groups.clear()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _full(self) -> list[Hashable]:
        """Return the groups that can fill a batch, the newest first."""
        return [group for group, waiting in reversed(self._groups.items()) if len(waiting) >= self._batches.most]

    def _send(self, group: Hashable) -> None:
        """Send a batch of a group, without requests that were cancelled."""
        waiting, most = self._groups[group], self._batches.most
        waiting[:] = [entry for entry in waiting if not entry[1].cancelled()]
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
    """Requests to one service, sent at once up to a maximum number of concurrent requests."""

    def __init__(self, backend: AsyncBackend, _: Callable[[], None]) -> None:
        self._backend = backend
        self._name = name_of(backend)
        self._room = asyncio.Semaphore(max(1, backend.at_once))
        self._under_way: set[asyncio.Task[None]] = set()

    def add(self, _: Hashable, request: Request, future: asyncio.Future[Any]) -> None:
        """Send a request as soon as there is capacity."""
        task = asyncio.get_running_loop().create_task(self._reply(request, future))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    def flush(self) -> None:
        """Do nothing: requests are never held back."""

    def close(self) -> None:
        """Cancel running requests."""
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
    """Return the name of a backend in profiles."""
    return str(getattr(backend, "name", type(backend).__name__))


Answer = tuple[Any, BaseException | None]
"""An answer, or the exception that was raised instead."""


class Batches:
    """Runs batches of one backend and adapts their size to the available memory."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.most = max(1, backend.batch)
        """Maximum number of requests that fit into memory, as far as observed."""

    def run(self, group: Hashable, requests: Sequence[Request]) -> list[Answer]:
        """Return one answer or one error per request; raise nothing."""
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
    """Return whether memory was exhausted; libraries signal it by class name or by message."""
    has_name = any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__)
    has_message = isinstance(error, RuntimeError) and "out of memory" in str(error).lower()
    return isinstance(error, MemoryError) or has_name or has_message


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

QUIET_PASSES = 8
"""Passes of the event loop without a new request after which no item is assumed to be able to continue.

A resumed item needs a few passes until its next request: one for its task, one for each `gather` or task in between.
An item that needs more joins the next batch.
"""


class Ask:
    """Collects, shares and batches requests, in one event loop at a time.

    Args:
        pool: number of threads for heavy functions; the number of processors by default.
    """

    def __init__(self, pool: int | None = None) -> None:
        self._pool = ThreadPoolExecutor(pool or os.cpu_count() or 1, "ask-pool")
        self._lanes: dict[int, BatchLane | AsyncLane] = {}
        self._shared: dict[tuple[int, Hashable], asyncio.Future[Any]] = {}
        self._waiting: Counter[asyncio.Future[Any]] = Counter()
        """Number of callers that wait for each answer."""
        self._requests = 0
        self._watching: asyncio.AbstractEventLoop | None = None

    async def __call__(
        self, backend: Backend | AsyncBackend, key: Hashable, payload: Any, group: Hashable = None
    ) -> Any:
        """Return the backend's answer; requests with the same key share one answer while it is pending.

        Args:
            backend: model or service that answers.
            key: identity of the request; the same key must mean the same payload.
            payload: input of the backend.
            group: only requests of one group go into one batch.
        """
        identity = id(backend), key
        pending = self._shared.get(identity)
        if pending is None or pending.cancelled():
            future = self._shared[identity] = asyncio.get_running_loop().create_future()
            future.add_done_callback(lambda done: self._forget(identity, done))
            self._lane(backend).add(group, Request(key, payload), future)
            self._requests += 1
            self._watch()
        return await self._answer_to(self._shared[identity])

    def _forget(self, identity: tuple[int, Hashable], done: asyncio.Future[Any]) -> None:
        if self._shared.get(identity) is done:  # a cancelled request may have been made again meanwhile
            del self._shared[identity]

    async def _answer_to(self, future: asyncio.Future[Any]) -> Any:
        """Await a shared answer; it is cancelled only when all callers are."""
        self._waiting[future] += 1
        try:
            return await asyncio.shield(future)
        finally:
            self._waiting[future] -= 1
            if not self._waiting[future]:
                del self._waiting[future]
                future.cancel()  # no effect on a finished future

    async def call(
        self, function: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Run a heavy pure function in the thread pool."""
        return await asyncio.wrap_future(self._pool.submit(_timed(function), *arguments, **named))

    def close(self) -> None:
        """Release all threads; running calls end by themselves."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for lane in self._lanes.values():
            lane.close()
        self._lanes.clear()  # breaks a reference cycle, so that models are freed without the garbage collector

    def _lane(self, backend: Backend | AsyncBackend) -> BatchLane | AsyncLane:
        if id(backend) not in self._lanes:
            kind = AsyncLane if isinstance(backend, AsyncBackend) else BatchLane
            self._lanes[id(backend)] = kind(backend, self._watch)  # type: ignore[arg-type]
        return self._lanes[id(backend)]

    def _watch(self) -> None:
        """Start to wait until no item can continue."""
        loop = asyncio.get_running_loop()
        if self._watching is not loop:  # an earlier loop may have ended before its watch did
            self._watching = loop
            loop.call_soon(self._pass, self._requests, QUIET_PASSES)

    def _pass(self, questions: int, left: int) -> None:
        if self._requests == questions and left == 0:
            self._watching = None
            for lane in self._lanes.values():
                lane.flush()
            return
        left = left - 1 if self._requests == questions else QUIET_PASSES
        asyncio.get_running_loop().call_soon(self._pass, self._requests, left)


def _timed(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    name = getattr(function, "__name__", type(function).__name__)

    def timed(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        with profiling.span("compute", name):
            return function(*arguments, **named)

    return timed


T = TypeVar("T")


def run_async(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine and return its result, even where an event loop is running already.

    Without a running loop it runs in this thread, so that Ctrl-C stops it; in a notebook, whose thread has a running
    loop, it runs in another thread.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
