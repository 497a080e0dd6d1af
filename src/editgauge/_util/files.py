"""Files: only regular ones are read; a kill while one is written leaves the old content or the new, never a mixture."""

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

DRAFT = ".writing-"
"""How the name of a file begins that is being written; a kill leaves it behind, and anyone may clear it away."""

KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: Path) -> BinaryIO:
    """The file opened for reading; raises `OSError` when it is a pipe, a device or a socket, which may never end.

    Its kind is asked before it is opened (opening a device can do something) and after (it may have been exchanged).
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
        kind = KINDS.get(stat.S_IFMT(mode), "no file")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


def open_text(path: Path, encoding: str = "utf-8") -> TextIO:
    """The same as text; lines end at line feeds only (Python would also break at carriage returns)."""
    return io.TextIOWrapper(open_regular(path), encoding=encoding, newline="\n")


def read_bytes(path: Path) -> bytes:
    """The content of a regular file."""
    with open_regular(path) as file:
        return file.read()


def read_text(path: Path, encoding: str = "utf-8", errors: str = "strict") -> str:
    """The text of a regular file, with line ends as line feeds."""
    return read_bytes(path).decode(encoding, errors).replace("\r\n", "\n").replace("\r", "\n")


def write_bytes(path: Path, content: bytes, mode: int | None = None) -> None:
    """Writes next to the target, flushes to disk, and renames over it; `mode` says who may read it."""
    write_parts(path, (content,), mode)


def write_parts(path: Path, parts: Iterable[bytes], mode: int | None = None) -> None:
    """The same for content that comes part by part."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f"{DRAFT}{secrets.token_hex(8)}{path.suffix}")
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
            f"'{path}' cannot be written: {error.strerror or error}. Choose another place, or make room there."
        ) from error


def write_text(path: Path, content: str) -> None:
    """The same for text, as UTF-8."""
    try:
        encoded = content.encode("utf-8")
    except UnicodeEncodeError as error:
        odd = ascii(content[max(0, error.start - 40) : error.end])
        raise BadInputError(
            f"'{path}' cannot be written: {odd} is not UTF-8; is it a file name in another encoding?"
        ) from error
    write_bytes(path, encoded)


def write_json(path: Path, content: Any) -> None:
    """The same for JSON, readable, in the order given: methods and protocols keep the order a user named them in."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_jsonl(path: Path, lines: Iterable[Any]) -> None:
    """The same for JSON with one value on each line."""
    write_text(path, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines))


def require_new(folder: Path, but: str = "") -> None:
    """Raises `BadInputError` unless the folder is new or empty, but for one name."""
    there = sorted(each.name for each in folder.iterdir() if each.name != but) if folder.is_dir() else []
    if there or folder.is_file():
        raise BadInputError(f"'{folder}' holds something already; choose a new folder for --out.", there[:5])
