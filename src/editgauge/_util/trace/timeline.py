"""Where time goes: spans of work in this process, recorded only while a profile is wanted.

    with timeline.span("forward"):              # a stage of whatever is being done
        ...
    rows = await timeline.stepped(name, work)   # the steps of a coroutine, without the time for which it waits

Nothing is recorded, and hardly any time is spent, until `start`. What is recorded can be opened with Perfetto or
chrome://tracing, and is also summed up: each second belongs to the innermost span that held it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Coroutine, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar, cast

Result = TypeVar("Result")
MOST_EVENTS = 100_000
"""Of one process: a trace of this length is as much as a viewer opens with ease. Sums go on beyond it."""
SHORTEST = 50e-6
"""Seconds; shorter spans are summed up but not drawn."""
QUEUE, REPLY = "queue", "reply"
"""The stages of requests that wait, for their turn or for another machine; no work is done in them here."""

_stepping: ContextVar[str | None] = ContextVar("stepping", default=None)
_idle = nullcontext()


@dataclass(slots=True)
class _Open:
    of: str
    inside: float = 0.0
    """Seconds of spans within it."""


class Timeline:
    """What one process did, and for how long."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.left_out = 0
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)
        self.times: Counter[tuple[str, str]] = Counter()
        self._began = time.perf_counter()
        self._since_1970 = time.time() - self._began
        self._open = threading.local()
        self._lock = threading.Lock()

    @contextmanager
    def span(self, stage: str, of: str | None = None) -> Iterator[None]:
        """A stage of the work on something; of what the enclosing span works on when left out."""
        stack: list[_Open] = self._open.__dict__.setdefault("stack", [])
        mine = _Open(of if of is not None else stack[-1].of if stack else "")
        stack.append(mine)
        began = time.perf_counter()
        try:
            yield
        finally:
            lasted = time.perf_counter() - began
            stack.pop()
            if stack:
                stack[-1].inside += lasted
            self._add(mine.of, stage, lasted - mine.inside)
            self._draw(mine.of, stage, began, lasted)

    def waited(self, of: str, since: Sequence[float], stage: str = QUEUE) -> None:
        """Requests went out that were asked at these moments, or came back that went out then."""
        now = time.perf_counter()
        self._add(of, stage, sum(now - moment for moment in since), len(since))
        self._draw(of, stage, min(since), now - min(since), track=f"{of} {stage}")

    def count(self, of: str, what: str) -> None:
        """Something happened that takes no time worth measuring."""
        self._add(of, what, 0.0)

    def snapshot(self) -> dict[str, Any]:
        """All of it as plain values: a trace in the form of Chrome, and the sums."""
        rows = [
            {"of": of, "stage": stage, "seconds": self.seconds[of, stage], "times": times}
            for (of, stage), times in self.times.items()
        ]
        process = {"process": os.getpid(), "host": socket.gethostname(), "seconds": time.perf_counter() - self._began}
        return {"traceEvents": self.events, "left_out": self.left_out, "sums": rows, **process}

    def _add(self, of: str, stage: str, seconds: float, times: int = 1) -> None:
        with self._lock:
            self.seconds[of, stage] += seconds
            self.times[of, stage] += times

    def _draw(self, of: str, stage: str, began: float, lasted: float, track: str | None = None) -> None:
        if lasted < SHORTEST:
            return
        if len(self.events) >= MOST_EVENTS:
            self.left_out += 1
            return
        self.events.append(
            {
                "name": f"{of}: {stage}",
                "cat": stage,
                "ph": "X",
                "ts": round((began + self._since_1970) * 1e6),
                "dur": round(lasted * 1e6),
                "pid": os.getpid(),
                "tid": track or threading.current_thread().name,
            }
        )


class _Steps(Coroutine[Any, Any, Result]):
    """A coroutine whose every step is a span; tasks that it starts are part of it."""

    def __init__(self, timeline: Timeline, of: str, steps: Coroutine[Any, Any, Result]) -> None:
        self._timeline = timeline
        self._of = of
        self._steps = steps

    def send(self, value: Any) -> Any:
        """One step, up to where it waits."""
        with self._timeline.span("score", self._of), _within(self._of):
            return self._steps.send(value)

    def throw(self, *error: Any) -> Any:
        """One step that begins with an error."""
        with self._timeline.span("score", self._of), _within(self._of):
            return self._steps.throw(*error)

    def close(self) -> None:
        """Ends it where it waits."""
        self._steps.close()

    def __await__(self) -> Generator[Any, Any, Result]:
        return cast(Generator[Any, Any, Result], self)  # it has all that a generator has

    def __iter__(self) -> _Steps[Result]:
        return self

    def __next__(self) -> Any:
        return self.send(None)


@contextmanager
def _within(of: str) -> Iterator[None]:
    token = _stepping.set(of)
    try:
        yield
    finally:
        _stepping.reset(token)


_current: Timeline | None = None
"""One for all threads of a process, as a clock on the wall is."""


def start() -> Timeline:
    """Records from now on, in this process. Tasks of the running event loop belong to what started them."""
    global _current
    _current = timeline = Timeline()

    def make_task(loop: asyncio.AbstractEventLoop, steps: Any, **more: Any) -> asyncio.Task[Any]:
        of = _stepping.get()
        return asyncio.Task(steps if of is None else _Steps(timeline, of, steps), loop=loop, **more)

    asyncio.get_running_loop().set_task_factory(make_task)
    return timeline


def stop() -> None:
    """Records no more."""
    global _current
    _current = None


def span(stage: str, of: str | None = None) -> AbstractContextManager[None]:
    """A stage of the work on something; of what the enclosing span works on when left out."""
    return _idle if _current is None else _current.span(stage, of)


def stepped(of: str, steps: Coroutine[Any, Any, Result]) -> Coroutine[Any, Any, Result]:
    """The coroutine, with its steps recorded."""
    return steps if _current is None else _Steps(_current, of, steps)


def waited(of: str, since: Sequence[float], stage: str = QUEUE) -> None:
    """Requests went out that were asked at these moments of `time.perf_counter`, or came back that went out then."""
    if _current is not None:
        _current.waited(of, since, stage)


def count(of: str, what: str) -> None:
    """Something happened that takes no time worth measuring."""
    if _current is not None:
        _current.count(of, what)


def is_recording() -> bool:
    """Whether a profile is wanted."""
    return _current is not None
