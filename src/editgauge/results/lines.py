"""Lines with a checksum, appended individually: each is whole or absent after a kill."""

from __future__ import annotations

import json
import os
import time
import zlib
from pathlib import Path
from typing import Any

from editgauge.errors import BadRunError

SECONDS_BETWEEN_SYNCS = 1.0


def line_with_checksum(content: dict[str, Any]) -> bytes:
    """A checksum, a blank, JSON."""
    encoded = json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(encoded), encoded)


def content_of_line(line: bytes, of: str) -> Any:
    """The inverse of `line_with_checksum`; a torn or altered line raises `BadRunError`."""
    checksum, _, encoded = line.rstrip(b"\n").partition(b" ")
    if not line.endswith(b"\n") or checksum != b"%08x" % zlib.crc32(encoded):
        raise BadRunError(f"a line of the {of} is torn or was altered")
    return json.loads(encoded)


class LineFile:
    """Appends lines. A killed process loses at most the line in hand; a power cut at most about a second.

    Args:
        path: the file, made with the first line
        is_new: must it not exist yet?
    """

    def __init__(self, path: Path, *, is_new: bool = False) -> None:
        self.path = path
        self._flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_EXCL if is_new else 0)
        self._file = -1
        self._synced = time.monotonic()

    def append(self, line: bytes) -> None:
        """Hands the whole line to the operating system before it returns; raises `OSError`, and nothing is added."""
        if self._file < 0:
            self._file = os.open(self.path, self._flags, 0o666)
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

    def close(self) -> None:
        """Flushes to disk and closes; harmless when closed already."""
        if self._file < 0:
            return
        file, self._file = self._file, -1
        try:
            os.fsync(file)
        finally:
            os.close(file)
