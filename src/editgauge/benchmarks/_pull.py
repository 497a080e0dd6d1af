"""Pull public benchmarks from their homes into the cache: `editgauge data pull NAME`.

A pulled benchmark is a folder with the files (`data/`) and `pulled.json`, which records home, commit, license and the
SHA-256 of every file. A pull that was interrupted continues; nothing that was pulled is ever run.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from editgauge._util.files import read_text, write_json
from editgauge._util.packages import MessageCallback, cache_root, sha256_of
from editgauge.benchmarks.metadata import BenchmarkHome, BenchmarkMetadata, benchmark_metadata, find_metadata
from editgauge.errors import BadInputError, FetchError, MissingExtraError

RECORD = "pulled.json"
GITHUB = "https://github.com"
ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")


@dataclass(frozen=True, slots=True)
class PulledBenchmark:
    """A benchmark in the cache."""

    name: str
    metadata: BenchmarkMetadata

    @property
    def folder(self) -> Path:
        """The folder in the cache, whether it exists or not."""
        return cache_root() / "benchmarks" / "pulled" / self.name

    @property
    def data(self) -> Path:
        """The path to pass to the reader as `data`."""
        path = self.metadata.home.path if self.metadata.home else ""
        return self.folder / "data" / path

    def record(self) -> dict[str, Any] | None:
        """Return what was recorded by the pull, or None if it was not pulled completely."""
        try:
            record: dict[str, Any] = json.loads(read_text(self.folder / RECORD))
        except (OSError, ValueError):
            return None
        return record

    def faults(self) -> list[str]:
        """List the files that are missing or differ from the recorded SHA-256."""
        record = self.record()
        if record is None:
            return [f"{self.folder / RECORD}: is missing"]
        files: dict[str, str] = record["files"]
        paths = {name: self.folder / "data" / name for name in files}
        return [
            f"{path}: {'differs from what was pulled' if path.is_file() else 'is missing'}"
            for name, path in paths.items()
            if not path.is_file() or sha256_of(path) != files[name]
        ]


def pulled_data(name: str) -> Path | None:
    """Return the path to pass as `data` for a benchmark that was pulled, or None."""
    metadata = benchmark_metadata().get(name)
    pulled = PulledBenchmark(name, metadata) if metadata else None
    return pulled.data if pulled and pulled.record() else None


def pull_hint(name: str) -> str:
    """Return a sentence that advises to pull a benchmark, or an empty text if it has no home."""
    metadata = benchmark_metadata().get(name)
    return f" Or pull it: `editgauge data pull {name}`." if metadata and metadata.home else ""


def pull_benchmark(name: str, *, accept: bool, mirror: str | None, tell: MessageCallback) -> PulledBenchmark:
    """Download a benchmark from its home, unpack it and record its files.

    Args:
        name: the benchmark.
        accept: whether the user accepts its license.
        mirror: endpoint of the hub, or URL prefix in place of `https://github.com`.
        tell: receives messages about the progress.

    Raises:
        BadInputError: it has no home that can be pulled, or its license was not accepted.
        FetchError: it could not be downloaded.

    """
    metadata = find_metadata(name)
    pulled = PulledBenchmark(name, metadata)
    home = metadata.home
    if home is None:
        raise BadInputError(f"The benchmark '{name}' has no home that can be pulled. Get it from: {metadata.page}.")
    if pulled.record():
        return pulled
    if not accept:
        raise BadInputError(
            f"{metadata.title} is at {home.url}, license: {metadata.license}. Pass `yes=True` if you accept it."
        )
    tell(f"{metadata.title} from {home.url} ({metadata.license})")
    target = pulled.folder / "data"
    target.mkdir(parents=True, exist_ok=True)
    commit = _from_hub(home, target, mirror) if home.hub else _from_git(home, target, mirror or GITHUB)
    if home.unpack:
        for archive in _archives(target):
            tell(f"unpacking {archive.name}")
            _unpack(archive)
    files = {path.relative_to(target).as_posix(): sha256_of(path) for path in _files(target)}
    listing = "".join(f"{digest}  {path}\n" for path, digest in files.items())
    record = {
        "name": name,
        "home": home.url,
        "revision": home.revision,
        "commit": commit,
        "license": metadata.license,
        "sha256": hashlib.sha256(listing.encode()).hexdigest(),
        "files": files,
    }
    write_json(pulled.folder / RECORD, record)
    return pulled


def _from_hub(home: BenchmarkHome, target: Path, endpoint: str | None) -> str:
    """Download a dataset of the hub; its client resumes what was interrupted. Return the commit."""
    try:
        hub: Any = import_module("huggingface_hub")
    except ImportError as error:
        raise MissingExtraError("Pulling from the model hub", ("huggingface_hub",), extra="hub") from error
    try:
        api = hub.HfApi(endpoint=endpoint)
        commit = str(home.revision or api.dataset_info(home.hub).sha)
        api.snapshot_download(
            home.hub,
            repo_type="dataset",
            revision=commit,
            local_dir=target,
            allow_patterns=[f"{home.path}/*"] if home.path else None,
        )
    except Exception as error:  # the client raises its own errors and those of the network
        raise FetchError(f"'{home.hub}' could not be pulled from the hub: {error}") from error
    return commit


def _from_git(home: BenchmarkHome, target: Path, prefix: str) -> str:
    """Fetch one commit of a repository without its history and check out the needed folder."""
    if shutil.which("git") is None:
        raise FetchError(f"Pulling '{home.git}' needs the program git.")
    url = f"{prefix.rstrip('/')}/{home.git}"
    _git(target, "init", "--quiet")
    _git(target, "fetch", "--quiet", "--depth", "1", url, home.revision)
    _git(target, "checkout", "--quiet", "--force", home.revision, "--", home.path or ".")
    return home.revision


def _git(folder: Path, *words: str) -> None:
    # Hooks of a fetched repository are never installed, and its configuration is not read.
    command = ["git", "-C", str(folder), "-c", "core.hooksPath=/dev/null", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  a fixed program
    if done.returncode:
        raise FetchError(f"git {words[0]} failed: {done.stderr.strip()[-300:]}")


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not {".git", ".cache"} & set(path.relative_to(folder).parts):
            yield path


def _archives(folder: Path) -> list[Path]:
    return [path for path in _files(folder) if path.name.lower().endswith(ARCHIVES)]


def _unpack(archive: Path) -> None:
    """Unpack an archive beside itself; a member that would leave the folder is refused."""
    is_zip = archive.suffix.lower() == ".zip"
    try:
        if is_zip:
            with zipfile.ZipFile(archive) as members:
                unsafe = [name for name in members.namelist() if _leaves(name)]
            if unsafe:
                raise FetchError(f"'{archive}' holds a file that would leave its folder: {unsafe[0]!r}.")
        shutil.unpack_archive(archive, archive.parent, filter=None if is_zip else "data")
    except (shutil.ReadError, tarfile.TarError, zipfile.BadZipFile, OSError) as error:
        raise FetchError(f"'{archive}' cannot be unpacked: {error}.") from error


def _leaves(name: str) -> bool:
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or ":" in path.parts[0] if path.parts else False
