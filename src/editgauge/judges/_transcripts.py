"""Record judge calls as checksummed JSON lines.

Each process appends to its own file, so that several processes may share a folder without locks. An incomplete last
line, left by a kill, is skipped; an altered line is an error.
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

_QUESTION_KEY = "asked"
"""Key of the question in a line of a transcript."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A recorded call: question, reply, fault, tokens, cost and timing."""

    identity: str
    question: Mapping[str, Any]
    """Model, prompt with version, text, form, image hashes, parameters and repetition."""
    endpoint: str
    body: ChatCompletion | None
    """The chat completion as received, or None."""
    model: str | None
    """Model name as reported by the endpoint."""
    fault: Fault | None
    detail: str
    estimated_tokens: int
    """Estimate of the prompt tokens before sending."""
    prompt_tokens: int | None
    """Prompt tokens as counted by the endpoint."""
    completion_tokens: int | None
    cost: float
    """Cost including failed attempts; 0 without a price."""
    latency: float
    """Duration of the last attempt in seconds."""
    seconds: float
    """Total duration in seconds, including retries and waiting."""
    attempts: tuple[str, ...]
    """Result of each attempt; the last is `answered` or the fault."""
    at: str
    """End of the call, UTC."""

    @property
    def is_final(self) -> bool:
        """False for transient faults, which the next run asks again."""
        return self.fault not in TRANSIENT_FAULTS

    def to_line(self) -> bytes:
        """Serialize to one line of a transcript."""
        content = asdict(self)
        return encode_line({_QUESTION_KEY if name == "question" else name: content[name] for name in content})

    @classmethod
    def from_line(cls, line: bytes) -> Call:
        """Parse a line; raise `BadRunError` if it is damaged."""
        try:
            stored = decode_line(line, "transcript")
            question = stored.pop(_QUESTION_KEY)
            return cls(**{**stored, "question": question, "attempts": tuple(stored["attempts"])})
        except (ValueError, TypeError, KeyError) as error:
            raise BadRunError(f"not a recorded call ({error})") from error


class Transcripts:
    """The recorded calls of a folder.

    Args:
        folder: folder of the transcript files; None keeps calls in memory only.

    """

    def __init__(self, folder: Path | str | None = None) -> None:
        self.folder = Path(folder) if folder is not None else None
        self._calls: dict[str, Call] = {}
        self._file: LineFile | None = None
        self.spent = 0.0
        """Total cost of all calls."""
        for call in read_transcripts(self.folder) if self.folder else ():
            self._store(call)

    def recall(self, identity: str) -> Call | None:
        """Return the call of an id: the first final one, else the last."""
        return self._calls.get(identity)

    def append(self, call: Call) -> None:
        """Append a call to the file of this process."""
        if self.folder is not None:
            try:
                self._write(self.folder, call.to_line())
            except OSError as error:
                raise BadRunError(
                    f"The transcripts in '{self.folder}' cannot be written: {error.strerror or error}. "
                    "Recorded answers are safe; free disk space and run the same command again to continue."
                ) from error
        self._store(call)

    def counts(self) -> Counter[Fault | str]:
        """Count answered questions and faults."""
        return Counter(call.fault or "answered" for call in self._calls.values())

    def __iter__(self) -> Iterator[Call]:
        return iter(self._calls.values())

    def __len__(self) -> int:
        return len(self._calls)

    def close(self) -> None:
        """Flush and close the file; a later append starts a new one."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    def _store(self, call: Call) -> None:
        self.spent += call.cost
        previous = self._calls.get(call.identity)
        if previous is None or not previous.is_final:
            self._calls[call.identity] = call

    def _write(self, folder: Path, line: bytes) -> None:
        if self._file is None:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = LineFile(folder / f"{time.time_ns():020d}-{secrets.token_hex(4)}.jsonl", is_new=True)
        self._file.append(line)


def read_transcripts(folder: Path) -> Iterator[Call]:
    """Yield all calls of a folder, oldest file first."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    break
                try:
                    yield Call.from_line(line)
                except BadRunError as error:
                    raise BadRunError(f"'{path}', line {number}: {error}.") from error
