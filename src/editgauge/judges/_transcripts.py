"""Transcripts: every call, appended as one line each, whole or absent after a kill.

Each process writes a file of its own, so that several may share a folder without locks. A file is made with its first
line. What a kill left unfinished at the end of a file is passed over; a line that was altered is an error.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from editgauge.errors import BadRunError
from editgauge.judges._endpoint import ChatCompletion
from editgauge.judges._faults import TRANSIENT_FAULTS, Fault
from editgauge.results._journal import LineFile, decode_line, encode_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A question put to a model, with all that came of it."""

    identity: str
    asked: Mapping[str, Any]
    """Model, prompt with version, text, form, hashes of the pictures, parameters, repetition."""
    endpoint: str
    body: ChatCompletion | None
    """The chat completion as it was sent; None when none came."""
    model: str | None
    """The model as the endpoint calls it."""
    fault: Fault | None
    detail: str
    estimated_tokens: int
    """Of the prompt, before it was sent."""
    prompt_tokens: int | None
    """As the endpoint counted."""
    completion_tokens: int | None
    cost: float
    """With what failed attempts may have cost; 0 when no price was given."""
    latency: float
    """Seconds of the last attempt."""
    seconds: float
    """From asking to the end, with all attempts, pauses and waiting for a turn."""
    attempts: tuple[str, ...]
    """What became of each attempt, in order; the last is `answered` or the fault."""
    at: str
    """When it ended, UTC."""

    @property
    def final(self) -> bool:
        """Is it settled? What failed for a passing reason is asked again in the next run."""
        return self.fault not in TRANSIENT_FAULTS

    def to_line(self) -> bytes:
        """One line of a transcript."""
        return encode_line(asdict(self))

    @classmethod
    def from_line(cls, line: bytes) -> Call:
        """The inverse of `to_line`; a torn or altered line raises `BadRunError`."""
        try:
            stored = decode_line(line, "transcript")
            return cls(**{**stored, "attempts": tuple(stored["attempts"])})
        except (ValueError, TypeError, KeyError) as error:
            raise BadRunError(f"a line of the transcript holds something else than a call ({error})") from error


class Transcripts:
    """The calls of a folder, those of earlier processes included.

    Args:
        folder: where the files lie; nothing is written anywhere when left out
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        self.folder = Path(folder) if folder is not None else None
        self._calls: dict[str, Call] = {}
        self._file: LineFile | None = None
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
                raise BadRunError(
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
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    def _remember(self, call: Call) -> None:
        self.spent += call.cost
        known = self._calls.get(call.identity)
        if known is None or not known.final:
            self._calls[call.identity] = call

    def _write(self, folder: Path, line: bytes) -> None:
        if self._file is None:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = LineFile(folder / f"{time.time_ns():020d}-{secrets.token_hex(4)}.jsonl", is_new=True)
        self._file.append(line)


def read_transcripts(folder: Path) -> Iterator[Call]:
    """All calls of a folder, oldest file first."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                try:
                    yield Call.from_line(line)
                except BadRunError as error:
                    raise BadRunError(f"'{path}', line {number}: {error}.") from error
