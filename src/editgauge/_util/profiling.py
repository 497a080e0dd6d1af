"""Where time goes: spans of work in this process, recorded only while a profile is wanted.

    with timeline.span("forward"):              # a stage of whatever is being done
        ...
    rows = await timeline.stepped(name, work)   # the steps of a coroutine, without the time for which it waits

Nothing is recorded, and hardly any time is spent, until `start`. What is recorded can be opened with Perfetto or
chrome://tracing, and is also summed up: each second belongs to the innermost span that held it.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Coroutine, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from editgauge._util.files import read_text, write_json, write_parts, write_text

Result = TypeVar("Result")
MOST_EVENTS = 100_000
"""Of one process: a trace of this length is as much as a viewer opens with ease. Sums go on beyond it."""
SHORTEST = 50e-6
"""Seconds; shorter spans are summed but not drawn."""
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
    """Recorded spans of one process, and their sums."""

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
        """Record a stage of the work on something; by default, on what the enclosing span works on."""
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
        """Record waiting times of requests that started at these moments."""
        now = time.perf_counter()
        self._add(of, stage, sum(now - moment for moment in since), len(since))
        self._draw(of, stage, min(since), now - min(since), track=f"{of} {stage}")

    def count(self, of: str, what: str) -> None:
        """Count an event without duration."""
        self._add(of, what, 0.0)

    def snapshot(self) -> dict[str, Any]:
        """Return everything as plain values: a trace in Chrome's format, and the sums."""
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
    """A coroutine whose steps are recorded as spans, including tasks that it starts."""

    def __init__(self, timeline: Timeline, of: str, steps: Coroutine[Any, Any, Result]) -> None:
        self._timeline = timeline
        self._of = of
        self._steps = steps

    def send(self, value: Any) -> Any:
        """Run one step, up to where it waits."""
        with self._timeline.span("score", self._of), _within(self._of):
            return self._steps.send(value)

    def throw(self, *error: Any) -> Any:
        """Run one step that begins with an error."""
        with self._timeline.span("score", self._of), _within(self._of):
            return self._steps.throw(*error)

    def close(self) -> None:
        """Close the coroutine where it waits."""
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
"""Shared by all threads of the process."""


def start() -> Timeline:
    """Start recording in this process; tasks of the running event loop belong to what started them."""
    global _current  # noqa: PLW0603  one timeline per process
    _current = timeline = Timeline()

    def make_task(loop: asyncio.AbstractEventLoop, steps: Any, **more: Any) -> asyncio.Task[Any]:
        of = _stepping.get()
        return asyncio.Task(steps if of is None else _Steps(timeline, of, steps), loop=loop, **more)

    asyncio.get_running_loop().set_task_factory(make_task)
    return timeline


def stop() -> None:
    """Stop recording."""
    global _current  # noqa: PLW0603  one timeline per process
    _current = None


def span(stage: str, of: str | None = None) -> AbstractContextManager[None]:
    """Record a stage of the work on something; by default, on what the enclosing span works on."""
    return _idle if _current is None else _current.span(stage, of)


def stepped(of: str, steps: Coroutine[Any, Any, Result]) -> Coroutine[Any, Any, Result]:
    """Wrap a coroutine so that its steps are recorded."""
    return steps if _current is None else _Steps(_current, of, steps)


def waited(of: str, since: Sequence[float], stage: str = QUEUE) -> None:
    """Record waiting times of requests that started at these moments of `time.perf_counter`."""
    if _current is not None:
        _current.waited(of, since, stage)


def count(of: str, what: str) -> None:
    """Count an event without duration."""
    if _current is not None:
        _current.count(of, what)


def is_recording() -> bool:
    """Return whether a profile is being recorded."""
    return _current is not None


FOLDER = "profile"
TIMELINE = "timeline.json"
SUMS = "sums.json"
PART = "part-"


@dataclass(frozen=True, slots=True)
class Spent:
    """What a stage of the work on something took, over all processes."""

    of: str
    """A model, a protocol, `pictures`, a function."""
    stage: str
    seconds: float
    times: int


@dataclass(frozen=True, slots=True)
class Profile:
    """Where the time of a run went."""

    processes: int
    seconds: float
    """How long the processes were there, together."""
    spent: tuple[Spent, ...]
    left_out: int = 0
    """Spans that are in the sums but not in the timeline, because there were too many."""


def begin(run: Path) -> Path:
    """Create the folder of a new profile and delete an earlier one."""
    folder = run / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def write_part(folder: Path, part: Mapping[str, Any]) -> None:
    """Write the part of one process, as returned by `Timeline.snapshot`."""
    write_text(folder / f"{PART}{secrets.token_hex(8)}.json", json.dumps(part))


def gather(folder: Path) -> Profile:
    """Merge the parts of all processes into one profile."""
    parts = sorted(folder.glob(f"{PART}*.json"))
    sums: dict[tuple[str, str], list[float]] = {}
    seconds, left_out = 0.0, 0
    for part in parts:
        trace = _read(part)
        seconds, left_out = seconds + trace["seconds"], left_out + trace["left_out"]
        for row in trace["sums"]:
            sum_ = sums.setdefault((row["of"], row["stage"]), [0.0, 0])
            sum_[0] += row["seconds"]
            sum_[1] += row["times"]
    spent = tuple(Spent(of, stage, took, int(times)) for (of, stage), (took, times) in sorted(sums.items()))
    profile = Profile(len(parts), seconds, spent, left_out)
    write_parts(folder / TIMELINE, _trace(parts))
    write_json(folder / SUMS, _as_json(profile))
    for part in parts:
        part.unlink()
    return profile


def read_profile(run: Path) -> Profile | None:
    """Return the profile of a run, or None if none was recorded."""
    path = run / FOLDER / SUMS
    if not path.is_file():
        return None
    trace = _read(path)
    spent = tuple(Spent(**row) for row in trace["spent"])
    return Profile(trace["processes"], trace["seconds"], spent, trace["left_out"])


def _as_json(profile: Profile) -> dict[str, Any]:
    rows = [{"of": s.of, "stage": s.stage, "seconds": round(s.seconds, 6), "times": s.times} for s in profile.spent]
    seconds = round(profile.seconds, 6)
    return {"processes": profile.processes, "seconds": seconds, "left_out": profile.left_out, "spent": rows}


def _trace(parts: list[Path]) -> Iterator[bytes]:
    """Yield the merged trace part by part, so that one part at a time is in memory."""
    yield b'{"displayTimeUnit":"ms","traceEvents":['
    comma = b"\n"
    for number, part in enumerate(parts, 1):
        for event in _numbered(_read(part), number):
            yield comma + json.dumps(event).encode()
            comma = b",\n"
    yield b"\n]}\n"


def _numbered(part: Mapping[str, Any], process: int) -> Iterator[dict[str, Any]]:
    """Yield the events of a process with numeric process and thread ids, as viewers need them."""
    name = f"process {part['process']} on {part['host']}"
    yield {"name": "process_name", "ph": "M", "pid": process, "tid": 0, "args": {"name": name}}
    tracks: dict[str, int] = {}
    for event in part["traceEvents"]:
        track = event["tid"]
        if track not in tracks:
            tracks[track] = len(tracks) + 1
            yield {"name": "thread_name", "ph": "M", "pid": process, "tid": tracks[track], "args": {"name": track}}
        yield event | {"pid": process, "tid": tracks[track]}


def _read(path: Path) -> Any:
    return json.loads(read_text(path))
