"""Taking the wanted files, and only those, out of an archive."""

from __future__ import annotations

import os
import shutil
import tarfile
import zipfile
import zlib
from lzma import LZMAError
from pathlib import Path
from typing import IO

from editgauge.core.errors import FetchFailed
from editgauge.core.fetch.carrier import Carrier

DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError, RuntimeError)


def unpack(carrier: Carrier, archive: Path, into: Path) -> None:
    """Writes the wanted files below a folder, under their names inside the archive."""
    try:
        take = _from_zip if zipfile.is_zipfile(archive) else _from_tar  # old source archives are zips, too
        names = take(carrier, archive, into)
    except DAMAGED as error:
        why = str(error).partition(":")[0]
        raise FetchFailed(
            f"{carrier.archive} cannot be unpacked ({why}). Was the download cut short? Try again."
        ) from error
    missing = [file for file in carrier.files if file not in names]
    if missing:
        raise FetchFailed(f"{carrier.archive} lacks a file that was expected in it: '{missing[0]}'.")


def _from_zip(carrier: Carrier, archive: Path, into: Path) -> set[str]:
    with zipfile.ZipFile(archive) as packed:
        wanted = set(carrier.files) & set(packed.namelist())
        for file in wanted:
            with packed.open(file) as content:
                _write(content, into / file)
    return wanted


def _from_tar(carrier: Carrier, archive: Path, into: Path) -> set[str]:
    """One pass from front to back: going back in a compressed archive means unpacking it again."""
    names: set[str] = set()
    with tarfile.open(archive) as packed:
        for member in packed:
            if member.name in carrier.files and member.isreg():  # a link could point anywhere
                content = packed.extractfile(member)
                assert content is not None, "a regular file has content"  # noqa: S101
                with content:
                    _write(content, into / member.name)
                names.add(member.name)
            if len(names) == len(carrier.files):
                break
    return names


def _write(content: IO[bytes], target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as unpacked:
        shutil.copyfileobj(content, unpacked)
        unpacked.flush()
        os.fsync(unpacked.fileno())
