"""Progress of long work: a bar with rate and time left on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from editgauge._util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_LOOKED_BACK = 120.0
"""Models answer in batches, so that steps come in bursts; over this time they even out."""


@contextmanager
def progress(what: str, total: int, *, quiet: bool = False, done: int = 0) -> Iterator[Callable[[], None]]:
    """Shows work of `total` steps on standard error; call what is yielded after each step."""
    if quiet or total == 0:
        yield lambda: None
    elif sys.stderr.isatty():
        with _bar(what, total, done) as advance:
            yield advance
    else:
        with _lines(what, total, done, sys.stderr) as advance:
            yield advance


@contextmanager
def _bar(what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """Steps a second, as measured lately."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed or 0:.1f}/s", style="progress.data.speed")

    left = TimeRemainingColumn(compact=True, elapsed_when_finished=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), left)
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=SECONDS_LOOKED_BACK) as bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda: bar.advance(task)


@contextmanager
def _lines(what: str, total: int, done: int, out: TextIO) -> Iterator[Callable[[], None]]:
    last_printed, pace = time.monotonic(), StepPace()

    def advance() -> None:
        nonlocal done, last_printed
        done += 1
        now = time.monotonic()
        pace.step(now)
        if done == total or now - last_printed > SECONDS_BETWEEN_LINES:
            last_printed = now
            rate = pace.rate(now)
            left = f", {rate:.1f}/s, {(total - done) / rate:.0f} s left" if rate else ""
            out.write(f"{what}: {done} of {total}{left}\n")
            out.flush()

    yield advance


class StepPace:
    """How fast steps come lately. What happens before the first of them, while workers start and models load, is not
    counted: the first estimate of the time left would be far too long."""

    def __init__(self) -> None:
        self._steps = 0
        self._seen: deque[tuple[float, int]] = deque()
        """Moments, some time apart, and how many steps were done then."""

    def step(self, now: float) -> None:
        """One more is done."""
        self._steps += 1
        if not self._seen or now - self._seen[-1][0] >= SECONDS_BETWEEN_LOOKS:
            self._seen.append((now, self._steps))
        while len(self._seen) > 1 and now - self._seen[1][0] > SECONDS_LOOKED_BACK:
            self._seen.popleft()

    def rate(self, now: float) -> float | None:
        """Steps a second; None while too little has been seen to tell."""
        if not self._seen or now - self._seen[0][0] < SECONDS_BETWEEN_LOOKS:
            return None
        then, steps = self._seen[0]
        return (self._steps - steps) / (now - then) or None


def say(sentence: str, *, quiet: bool = False) -> None:
    """A remark to the person at the terminal, on standard error so that output can be piped."""
    if not quiet:
        sys.stderr.write(printable(sentence) + "\n")
        sys.stderr.flush()
