"""Progress of long work, and log messages.

Progress is a bar with rate and remaining time on a terminal, a line every few seconds elsewhere. Messages go to the
logger `editgauge`; the command line prints them to standard error (`print_log`), applications configure `logging`.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from editgauge._util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS_BETWEEN_LINES = 5.0
SECONDS_BETWEEN_SAMPLES = 1.0
RATE_WINDOW_SECONDS = 120.0
"""Models answer in batches, so steps come in bursts; over this time they even out."""

logger = logging.getLogger("editgauge")
logger.addHandler(logging.NullHandler())


def log_info(message: str, *, quiet: bool = False) -> None:
    """Log a message for the user at level INFO."""
    if not quiet:
        logger.info("%s", message)


class _StandardErrorHandler(logging.Handler):
    """Prints messages to the current standard error, so that output can be piped."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(printable(record.getMessage()) + "\n")
        sys.stderr.flush()


def print_log() -> None:
    """Print log messages of level INFO and above to standard error; calling it twice does no harm."""
    if not any(isinstance(handler, _StandardErrorHandler) for handler in logger.handlers):
        logger.addHandler(_StandardErrorHandler())
    logger.setLevel(logging.INFO)


@contextmanager
def progress(description: str, total: int, *, quiet: bool = False, done: int = 0) -> Iterator[Callable[[], None]]:
    """Show progress of `total` steps on standard error; call the yielded function after each step."""
    if quiet or total == 0:
        yield lambda: None
    elif sys.stderr.isatty():
        with _bar(description, total, done) as advance:
            yield advance
    else:
        with _lines(description, total, done, sys.stderr) as advance:
            yield advance


@contextmanager
def _bar(description: str, total: int, done: int) -> Iterator[Callable[[], None]]:
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
        """Steps per second over the last two minutes."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed or 0:.1f}/s", style="progress.data.speed")

    remaining = TimeRemainingColumn(compact=True, elapsed_when_finished=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), remaining)
    with Progress(*columns, console=Console(stderr=True), speed_estimate_period=RATE_WINDOW_SECONDS) as bar:
        task = bar.add_task(description, total=total, completed=done)
        yield lambda: bar.advance(task)


@contextmanager
def _lines(description: str, total: int, done: int, out: TextIO) -> Iterator[Callable[[], None]]:
    last_printed, estimate = time.monotonic(), StepRate()

    def advance() -> None:
        nonlocal done, last_printed
        done += 1
        now = time.monotonic()
        estimate.step(now)
        if done == total or now - last_printed > SECONDS_BETWEEN_LINES:
            last_printed = now
            rate = estimate.rate(now)
            remaining = f", {rate:.1f}/s, {(total - done) / rate:.0f} s left" if rate else ""
            out.write(f"{description}: {done} of {total}{remaining}\n")
            out.flush()

    yield advance


class StepRate:
    """Recent steps per second.

    Time before the first step is not counted: workers start and models load, and the first estimate of the remaining
    time would be far too long.
    """

    def __init__(self) -> None:
        self._steps = 0
        self._samples: deque[tuple[float, int]] = deque()  # time, steps done by then

    def step(self, now: float) -> None:
        """Count one step."""
        self._steps += 1
        if not self._samples or now - self._samples[-1][0] >= SECONDS_BETWEEN_SAMPLES:
            self._samples.append((now, self._steps))
        while len(self._samples) > 1 and now - self._samples[1][0] > RATE_WINDOW_SECONDS:
            self._samples.popleft()

    def rate(self, now: float) -> float | None:
        """Return steps per second, or None before there is enough data."""
        if not self._samples or now - self._samples[0][0] < SECONDS_BETWEEN_SAMPLES:
            return None
        start, steps = self._samples[0]
        return (self._steps - steps) / (now - start) or None
