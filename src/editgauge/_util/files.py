"""Reading and writing files: only regular files are read, and writing is atomic."""

from __future__ import annotations

import errno
import io
import json
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from editgauge.errors import BadInputError

DRAFT_PREFIX = ".writing-"
"""Prefix of files that are being written; one that a killed process left behind may be deleted."""
FILE_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading; raise `OSError` for a pipe, a device or a socket, which may never end.

    The kind is checked before opening (opening a device can have effects) and after (the file may have been replaced).
    """
    _require_regular(path.stat().st_mode, path)
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _require_regular(os.fstat(file).st_mode, path)
        return os.fdopen(file, "rb")
    except BaseException:
        os.close(file)
        raise


def _require_regular(mode: int, path: Path) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        kind = FILE_KINDS.get(stat.S_IFMT(mode), "no file")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


def open_text(path: Path, encoding: str = "utf-8") -> TextIO:
    """Open a regular file as text; lines end at line feeds only (Python would also break at carriage returns)."""
    return io.TextIOWrapper(open_regular(path), encoding=encoding, newline="\n")


def read_bytes(path: Path) -> bytes:
    """Return the content of a regular file."""
    with open_regular(path) as file:
        return file.read()


def read_text(path: Path, encoding: str = "utf-8", errors: str = "strict") -> str:
    """Return the text of a regular file, with line ends as line feeds."""
    return read_bytes(path).decode(encoding, errors).replace("\r\n", "\n").replace("\r", "\n")


def write_bytes(path: Path, content: bytes, mode: int | None = None) -> None:
    """Write a file atomically: a killed process leaves the old content or the new; `mode` sets permissions."""
    write_parts(path, (content,), mode)


def write_parts(path: Path, parts: Iterable[bytes], mode: int | None = None) -> None:
    """Write a file atomically from several parts."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{DRAFT_PREFIX}{secrets.token_hex(8)}{path.suffix}")
        try:
            with draft.open("xb") as file:
                if mode is not None:
                    draft.chmod(mode)
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadInputError(
            f"'{path}' cannot be written: {error.strerror or error}. Choose another folder, or free disk space."
        ) from error


def write_text(path: Path, content: str) -> None:
    """Write text atomically as UTF-8."""
    try:
        encoded = content.encode("utf-8")
    except UnicodeEncodeError as error:
        excerpt = ascii(content[max(0, error.start - 40) : error.end])
        raise BadInputError(
            f"'{path}' cannot be written: {excerpt} is not UTF-8; is it a file name in another encoding?"
        ) from error
    write_bytes(path, encoded)


def write_json(path: Path, content: Any) -> None:
    """Write indented JSON atomically; keys keep their order."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_jsonl(path: Path, lines: Iterable[Any]) -> None:
    """Write JSON Lines atomically."""
    write_text(path, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))


def require_new(folder: Path, ignore: str = "") -> None:
    """Raise `BadInputError` unless a folder does not exist or is empty, except for one name to ignore."""
    names = sorted(path.name for path in folder.iterdir() if path.name != ignore) if folder.is_dir() else []
    if names or folder.is_file():
        raise BadInputError(f"'{folder}' is not empty; choose a new folder for `out`.", names[:5])
