"""Transcripts: every call, appended as one line each, whole or absent after a kill.

Each process writes a file of its own, so that several may share a folder without locks. A file is made with its first
line. What a kill left unfinished at the end of a file is passed over; a line that was altered is an error.
"""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from editgauge.core.errors import BadRun
from editgauge.judges.calls import Call
from editgauge.judges.faults import Fault

SECONDS_BETWEEN_SYNCS = 1.0


class Transcripts:
    """The calls of a folder, those of earlier processes included.

    Args:
        folder: where the files lie; nothing is written anywhere when left out
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        self.folder = Path(folder) if folder is not None else None
        self._calls: dict[str, Call] = {}
        self._file = -1
        self._synced = time.monotonic()
        self.spent = 0.0
        """What all calls of the folder cost together."""
        for call in read_transcripts(self.folder) if self.folder else ():
            self._remember(call)

    def recall(self, identity: str) -> Call | None:
        """The call of this identity: the first that was settled, else the last that was not."""
        return self._calls.get(identity)

    def append(self, call: Call) -> None:
        """Hands the whole line to the operating system before it returns."""
        if self.folder is not None:
            try:
                self._write(self.folder, call.to_line())
            except OSError as error:
                raise BadRun(
                    f"The transcripts in '{self.folder}' cannot be written: {error.strerror or error}. "
                    "What was answered so far is kept; make room and give the same command again to continue."
                ) from error
        self._remember(call)

    def counts(self) -> Counter[Fault | str]:
        """How many questions were answered, and how many ended in each fault."""
        return Counter(call.fault or "answered" for call in self._calls.values())

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls.values())

    def __len__(self) -> int:
        return len(self._calls)

    def close(self) -> None:
        """Flushes to disk and closes; harmless when closed already. Appending begins a new file."""
        if self._file >= 0:
            file, self._file = self._file, -1
            try:
                os.fsync(file)
            finally:
                os.close(file)

    def _remember(self, call: Call) -> None:
        self.spent += call.cost
        known = self._calls.get(call.identity)
        if known is None or not known.final:
            self._calls[call.identity] = call

    def _write(self, folder: Path, line: bytes) -> None:
        if self._file < 0:
            folder.mkdir(parents=True, exist_ok=True)
            name = f"{time.time_ns():020d}-{secrets.token_hex(4)}.jsonl"
            self._file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o666)
        whole = os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
            if time.monotonic() - self._synced > SECONDS_BETWEEN_SYNCS:
                os.fsync(self._file)
                self._synced = time.monotonic()
        except OSError:
            os.ftruncate(self._file, whole)
            raise


def read_transcripts(folder: Path) -> Iterator[Call]:
    """All calls of a folder, oldest file first."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                try:
                    yield Call.from_line(line)
                except BadRun as error:
                    raise BadRun(f"'{path}', line {number}: {error}.") from error
