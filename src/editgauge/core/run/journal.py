"""The journal: lines appended one by one, each whole or absent after a kill."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge.core.errors import BadRun
from editgauge.core.run.records import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

SECONDS_BETWEEN_SYNCS = 1.0


class Journal:
    """Appends records. A killed process loses at most the line in hand; a power cut at most about a second."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = _drop_torn_tail(path)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._synced = time.monotonic()

    def append(self, record: Record) -> None:
        """Hands the whole line to the operating system before it returns."""
        line = record.to_line()
        start = os.lseek(self._file, 0, os.SEEK_END)
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError as error:
            os.ftruncate(self._file, start)
            raise BadRun(
                f"'{self.path}' cannot be written: {error.strerror}. What was scored so far is kept; "
                "make room and give the same command again to continue."
            ) from error
        self.records += 1
        if time.monotonic() - self._synced > SECONDS_BETWEEN_SYNCS:
            os.fsync(self._file)
            self._synced = time.monotonic()

    def close(self) -> None:
        """Flushes to disk and closes; harmless when closed already."""
        if self._file >= 0:
            os.fsync(self._file)
            os.close(self._file)
            self._file = -1


def read_journal(path: Path) -> Iterator[Record]:
    """The records of a journal; a torn last line (a kill in the middle of a write) is passed over."""
    with path.open("rb") as file:
        number = 0
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield Record.from_line(line)
            except (BadRun, ValueError, TypeError, KeyError) as error:
                raise BadRun(f"{path.name}, line {number}: {error}.") from error


def _drop_torn_tail(path: Path) -> int:
    """Cuts off a last line without an end, and counts the whole lines."""
    if not path.exists():
        return 0
    with path.open("rb+") as file:
        whole_lines = whole_bytes = 0
        for line in file:
            if line.endswith(b"\n"):
                whole_lines += 1
                whole_bytes += len(line)
        file.truncate(whole_bytes)
    return whole_lines
