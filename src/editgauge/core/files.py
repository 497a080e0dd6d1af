"""Writing files so that a kill at any instant leaves the old content or the new, never a mixture."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from editgauge.core.errors import BadInput


def write_bytes(path: Path, content: bytes) -> None:
    """Writes beside the target, flushes to disk, and renames over it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-", suffix=path.suffix)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadInput(
            f"'{path}' cannot be written: {error.strerror or error}. Is the disk full or read-only?"
        ) from error


def write_text(path: Path, content: str) -> None:
    """The same for text, as UTF-8."""
    write_bytes(path, content.encode("utf-8"))


def write_json(path: Path, content: Any) -> None:
    """The same for JSON, readable, in the order given: methods and protocols keep the order a user named them in."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
