"""Progress of downloads: a bar of bytes on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from editgauge.core.fetch.carrier import Grown

SECONDS_BETWEEN_LINES = 5.0
MB = 1e6


@contextmanager
def download_shown(what: str, total: int | None) -> Iterator[Grown]:
    """Shows on standard error how much has come; what is yielded is given the bytes so far.

    Args:
        what: What is being downloaded.
        total: Its bytes, where they are known before.
    """
    if sys.stderr.isatty():
        with _bar(what, total) as grown:
            yield grown
    else:
        yield _lines(what, total)


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[Grown]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    left = TimeRemainingColumn(compact=True, elapsed_when_finished=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), left)
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda so_far: bar.update(task, completed=min(so_far, total or so_far))


def _lines(what: str, total: int | None) -> Grown:
    told = time.monotonic()

    def grown(so_far: int) -> None:
        nonlocal told
        if time.monotonic() - told > SECONDS_BETWEEN_LINES:
            told = time.monotonic()
            of = f" of {total / MB:.0f}" if total else ""
            sys.stderr.write(f"{what}: {min(so_far, total or so_far) / MB:.0f}{of} MB\n")
            sys.stderr.flush()

    return grown
