"""Collects what is asked, shares it, and decides when it goes out."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from editgauge._util.ask.lanes import AsyncBackend, AsyncLane, Backend, BatchLane, Request
from editgauge._util.trace import timeline

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
        with timeline.span("compute", name):
            return function(*arguments, **named)

    return timed
