"""The journal: lines appended individually, each whole or absent after a kill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from editgauge._util.files import open_regular
from editgauge.errors import BadRunError
from editgauge.results.lines import LineFile
from editgauge.results.records import Key, Record

if TYPE_CHECKING:
    from collections.abc import Iterator

ADVICE = (
    "The file was changed by hand or damaged. Delete that line and give the same `editgauge run` command again: what "
    "is missing is scored again."
)


class Journal:
    """Appends records."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records = _drop_torn_tail(path)
        self._lines = LineFile(path)

    def append(self, record: Record) -> None:
        """Hands the whole line to the operating system before it returns. The first one makes the file."""
        try:
            self._lines.append(record.to_line())
        except OSError as error:
            raise self._failure(error) from error
        self.records += 1

    def close(self) -> None:
        """Flushes to disk and closes; harmless when closed already. Appending opens the file again."""
        try:
            self._lines.close()
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> BadRunError:
        return BadRunError(
            f"'{self.path}' cannot be written: {error.strerror}. What was scored so far is kept; "
            "make room and give the same command again to continue."
        )


def journals(scores: Path) -> list[Path]:
    """The journals in a run's folder of scores; a half-written draft of one (`.writing-….jsonl`) is none."""
    return sorted(scores.glob("[0-9]*.jsonl"))


def read_journal(path: Path) -> Iterator[Record]:
    """The records of a journal; a torn last line (a kill in the middle of a write) is passed over."""
    try:
        file = open_regular(path)
    except OSError as error:
        raise BadRunError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    with file:
        lines: dict[Key, int] = {}
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                record = Record.from_line(line)
            except (BadRunError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                raise BadRunError(f"'{path}', line {number}: {error}. {ADVICE}") from error
            if record.key in lines:
                raise BadRunError(
                    f"'{path}', line {number} repeats line {lines[record.key]} ({record.key.edit}). {ADVICE}"
                )
            lines[record.key] = number
            yield record


def _drop_torn_tail(path: Path) -> int:
    """Cuts off a last line without an end; gives the number of whole lines."""
    lines = size = 0
    if path.exists():
        try:
            open_regular(path).close()
        except OSError as error:
            raise BadRunError(f"'{path}' cannot be continued: {error.strerror or error}.") from error
        with path.open("rb+") as file:
            for line in file:
                if line.endswith(b"\n"):
                    lines += 1
                    size += len(line)
            file.truncate(size)
    return lines
