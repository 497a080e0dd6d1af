"""Writing files so that a kill at any instant leaves the old content or the new, never a mixture."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from editgauge.core.errors import BadInput

DRAFT = ".writing-"
"""How the name of a file begins that is being written; a kill leaves it behind, and anyone may clear it away."""


def write_bytes(path: Path, content: bytes) -> None:
    """Writes beside the target, flushes to disk, and renames over it."""
    write_parts(path, (content,))


def write_parts(path: Path, parts: Iterable[bytes]) -> None:
    """The same for content that comes part by part."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{DRAFT}{secrets.token_hex(8)}{path.suffix}")
        try:
            with draft.open("xb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadInput(
            f"'{path}' cannot be written: {error.strerror or error}. Choose another place, or make room there."
        ) from error


def write_text(path: Path, content: str) -> None:
    """The same for text, as UTF-8."""
    try:
        encoded = content.encode("utf-8")
    except UnicodeEncodeError as error:
        odd = ascii(content[max(0, error.start - 40) : error.end])
        raise BadInput(
            f"'{path}' cannot be written: {odd} is not UTF-8; is it a file name in another encoding?"
        ) from error
    write_bytes(path, encoded)


def write_json(path: Path, content: Any) -> None:
    """The same for JSON, readable, in the order given: methods and protocols keep the order a user named them in."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
