"""The journal: checksummed lines appended one at a time, each complete or absent after a kill."""

from __future__ import annotations

import json
import os
import time
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from editgauge._util.files import open_regular
from editgauge.errors import BadRunError
from editgauge.evidence import to_json
from editgauge.results._records import ImageStamp, ScoreKey, ScoreRecord, Stamps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SECONDS_BETWEEN_SYNCS = 1.0
ADVICE = (
    "The file was changed by hand or damaged. Delete that line and give the same `editgauge run` command again: what "
    "is missing is scored again."
)
SIDES = ("source", "edited", "reference")
"""The images of an outcome, in the order of `Stamps`."""


def encode_line(content: Mapping[str, Any]) -> bytes:
    """Encode a JSON object as one line with a checksum in front."""
    encoded = json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(encoded), encoded)


def decode_line(line: bytes, source: str) -> Any:
    """Invert `encode_line`.

    Args:
        line: the line with its line break.
        source: what it is a line of, for the message.

    Raises:
        BadRunError: the line is torn or was altered.

    """
    checksum, _, encoded = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(encoded):
        raise BadRunError(f"a line of the {source} is torn or was altered")
    return json.loads(encoded)


class LineFile:
    """Append lines to a file. A killed process loses at most the current line; a power cut about a second.

    Args:
        path: created with the first line.
        is_new: fail if the file exists.

    """

    def __init__(self, path: Path, *, is_new: bool = False) -> None:
        self.path = path
        self._flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_EXCL if is_new else 0)
        self._file = -1
        self._last_sync = time.monotonic()

    def append(self, line: bytes) -> None:
        """Hand the line to the operating system before returning; on `OSError` nothing is added."""
        if self._file < 0:
            self._file = os.open(self.path, self._flags, 0o666)
        size = os.fstat(self._file).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._file, line[written:])
            if time.monotonic() - self._last_sync > SECONDS_BETWEEN_SYNCS:
                os.fsync(self._file)
                self._last_sync = time.monotonic()
        except OSError:
            os.ftruncate(self._file, size)
            raise

    def close(self) -> None:
        """Flush to disk and close; does nothing if closed."""
        if self._file < 0:
            return
        file, self._file = self._file, -1
        try:
            os.fsync(file)
        finally:
            os.close(file)


class EncodedEntry(NamedTuple):
    """A journal entry ready to be appended, with what the index of a run needs."""

    key: ScoreKey
    images: Stamps
    line: bytes


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """All scores of one protocol for one outcome, with the state of the image files."""

    index: int
    """Position of the edit in the benchmark; tables come out in this order."""
    edit: str
    edit_type: str
    source: str
    """Name of the photograph (`Edit.origin`): scores of one photograph are not independent."""
    method: str
    seed: int
    protocol: str
    source_image: ImageStamp
    edited_image: ImageStamp | None
    scores: tuple[ScoreRecord, ...]
    reference_image: ImageStamp | None = None

    @property
    def key(self) -> ScoreKey:
        """Outcome and protocol."""
        return ScoreKey(self.edit, self.method, self.seed, self.protocol)

    @property
    def images(self) -> Stamps:
        """The image files behind the scores."""
        return self.source_image, self.edited_image, self.reference_image

    def encode(self) -> EncodedEntry:
        """Serialize the scores and their evidence; this happens once, where they were computed."""
        return EncodedEntry(self.key, self.images, encode_line(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the entry, in the layout of the run folder."""
        return {
            "place": self.index,  # its name in run folders since the first edition
            "edit": self.edit,
            "edit_type": self.edit_type,
            "source": self.source,
            "method": self.method,
            "seed": self.seed,
            "protocol": self.protocol,
            **{
                f"{side}_image": asdict(stamp) if stamp else None
                for side, stamp in zip(SIDES[:2], self.images[:2], strict=True)
            },
            "rows": [
                {
                    "name": score.name,
                    "value": score.value,
                    "reason": score.reason,
                    "detail": score.explanation,
                    "evidence": [to_json(piece) for piece in score.evidence],
                }
                for score in self.scores
            ],
            "reference_image": asdict(self.reference_image) if self.reference_image else None,
        }


def key_of(stored: Mapping[str, Any]) -> ScoreKey:
    """Return the key of an entry as stored."""
    return ScoreKey(*(stored[name] for name in ScoreKey._fields))


def images_of(stored: Mapping[str, Any]) -> Stamps:
    """Return the image stamps of an entry as stored; older entries have no reference."""
    stamps = (stored.get(f"{side}_image") for side in SIDES)
    return tuple(ImageStamp(**stamp) if stamp else None for stamp in stamps)


class Journal:
    """The file that scores are appended to while a run is under way."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries = _drop_torn_tail(path)
        self._lines = LineFile(path)

    def append(self, line: bytes) -> None:
        """Append an encoded entry. The first one creates the file."""
        try:
            self._lines.append(line)
        except OSError as error:
            raise self._write_error(error) from error
        self.entries += 1

    def close(self) -> None:
        """Flush to disk and close; does nothing if closed. Appending opens the file again."""
        try:
            self._lines.close()
        except OSError as error:
            raise self._write_error(error) from error

    def _write_error(self, error: OSError) -> BadRunError:
        return BadRunError(
            f"'{self.path}' cannot be written: {error.strerror}. What was scored so far is kept; "
            "make room and give the same command again to continue."
        )


def journals(scores: Path) -> list[Path]:
    """Return the journals in the `scores` folder of a run, without half-written drafts (`.writing-….jsonl`)."""
    return sorted(scores.glob("[0-9]*.jsonl"))


def read_journal(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a journal as stored; a torn last line (a kill during a write) is skipped."""
    try:
        file = open_regular(path)
    except OSError as error:
        raise BadRunError(f"'{path}' cannot be read: {error.strerror or error}.") from error
    with file:
        lines: dict[ScoreKey, int] = {}
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                stored = decode_line(line, "journal")
                key, _ = key_of(stored), images_of(stored)
                _check_scores(stored["rows"])
            except (BadRunError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                raise BadRunError(f"'{path}', line {number}: {error}. {ADVICE}") from error
            if key in lines:
                raise BadRunError(f"'{path}', line {number} repeats line {lines[key]} ({key.edit}). {ADVICE}")
            lines[key] = number
            yield stored


def _check_scores(rows: Any) -> None:
    for row in rows:
        row["name"], row["value"], row["reason"], row["detail"], row["evidence"]


def _drop_torn_tail(path: Path) -> int:
    """Cut off a last line without a line break and return the number of complete lines."""
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
