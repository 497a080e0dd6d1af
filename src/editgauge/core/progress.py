"""Progress of long work: a bar with rate and time left on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS_BETWEEN_LINES = 5.0


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
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda: bar.advance(task)


@contextmanager
def _lines(what: str, total: int, done: int, out: TextIO) -> Iterator[Callable[[], None]]:
    started = told = time.monotonic()
    at_start = done

    def advance() -> None:
        nonlocal done, told
        done += 1
        now = time.monotonic()
        if done == total or now - told > SECONDS_BETWEEN_LINES:
            told = now
            rate = (done - at_start) / max(now - started, 1e-9)
            out.write(f"{what}: {done} of {total}, {rate:.1f}/s, {(total - done) / rate:.0f} s left\n")
            out.flush()

    yield advance


def say(sentence: str, *, quiet: bool = False) -> None:
    """A remark to the person at the terminal, on standard error so that output can be piped."""
    if not quiet:
        sys.stderr.write(sentence + "\n")
        sys.stderr.flush()
