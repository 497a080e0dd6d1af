"""Find, download and verify weights on this machine.

Sources in order: the user's folder (EDITGAUGE_WEIGHTS), the cache, the model hub, the operating system. Every file is
hashed before it is used. A repository of the model hub is pinned to the commit and hashes of its first download.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

from editgauge._util.files import write_json
from editgauge._util.packages import (
    GrowthCallback,
    MessageCallback,
    cache_root,
    fetch_package,
    find_fault,
    sha256_of,
    watch_growth,
)
from editgauge.errors import BadInputError, EditGaugeError, FatalError, FetchError, UnknownNameError
from editgauge.models.weights._catalog import SHOWN_BY, File, WeightsEntry, catalog_entries, entry_of

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDER_VARIABLE = "EDITGAUGE_WEIGHTS"
"""Environment variable with the user's folder of weights."""
ACCEPTANCE_FILE = "accepted-license.json"
SHA256_HEX_LENGTH = 64
TEXT_SUFFIXES = (".json", ".txt", ".model", ".md")
"""Settings, vocabularies, tokenizers, and the model card with the license."""
WEIGHT_SUFFIXES = (".safetensors", ".bin")
"""Formats of weights in order of preference; only one is downloaded."""

Location = Literal["here", "can be pulled", "hub"]

_sha256_cache: dict[tuple[int, ...], str] = {}
"""Hashes by device, inode, size and modification time."""


class MissingWeightsError(FatalError):
    """Raised for weights that are not on this machine."""


class DamagedWeightsError(FatalError):
    """Raised for weights whose hash is not the recorded one."""


class LicenseNotAcceptedError(EditGaugeError):
    """Raised for weights whose license must be accepted by name before they are downloaded."""


@dataclass(frozen=True)
class WeightFiles:
    """A complete set of weights: files, revision and license."""

    name: str
    license: str
    revision: str
    """The package and its version, or the repository of the model hub and its commit."""
    folder: Path
    """Folder with all files; for a model of the hub, it can be loaded directly."""
    files: Mapping[str, Path]
    """Paths by the names inside the set."""
    hashes: Mapping[str, str] | None = None
    """Recorded SHA-256 of each file; None without a record, where nothing can be checked."""

    def path(self, name: str) -> Path:
        """Return the path of a file; raise `DamagedWeightsError` when its hash is not the recorded one."""
        matches = [name] if name in self.files else [file for file in self.files if PurePosixPath(file).name == name]
        if len(matches) != 1:
            raise UnknownNameError(f"file of the weights '{self.name}'", name, self.files)
        self._check(matches[0])
        return self.files[matches[0]]

    def check(self) -> None:
        """Raise `DamagedWeightsError` when the hash of any file is not the recorded one."""
        for name in self.hashes or ():
            self._check(name)

    @cached_property
    def sha256(self) -> str:
        """Hash of the set, computed from the sorted hashes of its files."""
        self.check()
        return sha256_of_set(measured_sha256(path) for path in self.files.values())

    def _check(self, name: str) -> None:
        expected = (self.hashes or {}).get(name)
        if not expected:
            return
        measured = measured_sha256(self.files[name])
        if measured != expected:
            raise DamagedWeightsError(
                f"The file '{self.files[name]}' of the weights '{self.name}' has the SHA-256 {measured}, not "
                f"{expected}: it was changed or damaged, and is not used. Run `editgauge models pull {self.name}`."
            )


@dataclass(frozen=True, slots=True)
class WeightInfo:
    """Description of a set of weights, present or not."""

    name: str
    about: str
    roles: tuple[str, ...]
    license: str
    license_from: str
    """`package`, or `upstream` for the license of the project that trained the weights."""
    source: str
    revision: str | None
    """Commit of a model of the hub; None before the first pull if no commit is pinned."""
    bytes: int | None
    """Total size of the files; None if it is unknown before a pull."""
    bytes_to_fetch: int | None
    where: Location
    folder: Path | None
    files: dict[str, Path]
    sha256: dict[str, str]
    """Recorded hash of each file by name."""


def measured_sha256(path: Path) -> str:
    """Hash a file; cached until its inode, size or modification time changes."""
    status = path.stat()
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if identity not in _sha256_cache:
        _sha256_cache[identity] = sha256_of(path)
    return _sha256_cache[identity]


def sha256_of_set(hashes: Iterable[str]) -> str:
    """Hash the sorted hashes, one per line."""
    return hashlib.sha256("".join(f"{digest}\n" for digest in sorted(hashes)).encode("ascii")).hexdigest()


def weights_of(name: str, revision: str | None = None) -> WeightFiles:
    """Return a set of weights on this machine; never download.

    Args:
        name: A name of the catalog, or a repository of the model hub (`owner/name`).
        revision: A commit, tag or branch of the hub; the pinned one by default.

    Raises:
        MissingWeightsError: The set is missing or incomplete.

    """
    entry = entry_of(name)
    if files := _find(entry, revision):
        return files
    mismatched = mismatched_files(entry)
    hint = (
        f" In {FOLDER_VARIABLE}, '{mismatched[0]}' has the name but not the content (SHA-256) of a file of it."
        if mismatched
        else ""
    )
    raise MissingWeightsError(
        f"The weights '{name}' are not on this machine: run `{_pull_command(entry, revision)}`.{hint}"
    )


def available(name: str) -> bool:
    """Return whether the weights are on this machine, by names and sizes; `verify` checks hashes."""
    return _find(entry_of(name)) is not None


def pull(
    name: str,
    say: MessageCallback = lambda _: None,
    *,
    grown: GrowthCallback | None = None,
    accept: str | None = None,
    revision: str | None = None,
) -> WeightFiles:
    """Download a set of weights and verify it; existing files are only verified.

    Args:
        name: See `weights_of`.
        say: Called with short messages about the current step.
        grown: Called regularly with the number of downloaded bytes.
        accept: Name of the license, if it must be accepted before the download.
        revision: See `weights_of`.

    """
    entry = entry_of(name)
    if local_files := user_files(entry) or user_repository(entry):
        say(f"{name} is in {FOLDER_VARIABLE}")
        return local_files
    _require_acceptance(entry, accept)
    if entry.hub:
        return pull_from_hub(entry, say, grown, revision)
    try:
        fetch_package(entry.carrier, grown=grown)
    except FetchError as error:
        raise FetchError(f"{error}\n{_manual_advice(entry)}") from error
    return weights_of(name)


def verify(name: str) -> WeightFiles:
    """Hash every file of a set; raise `BadInputError` that lists all missing or damaged files."""
    weights = weights_of(name)
    faults = [find_fault(weights.files[key], key, sha256) for key, sha256 in (weights.hashes or {}).items()]
    if problems := [fault for fault in faults if fault]:
        raise BadInputError(f"The weights '{name}' are not whole. Run `{_pull_command(entry_of(name))}`.", problems)
    return weights


def info(name: str) -> WeightInfo:
    """Describe a set of weights."""
    entry = entry_of(name)
    local_files = _find(entry)
    record = read_record(entry) if entry.hub else None
    return WeightInfo(
        name=entry.name,
        about=entry.about,
        roles=tuple(entry.roles) or _roles_of_models().get(entry.name, ("any",)),
        license=entry.license,
        license_from=entry.license_from,
        source=entry.source,
        revision=entry.revision or (record.commit if record else None),
        bytes=sum(record.bytes.values()) if record else sum(file.bytes for file in entry.files) or None,
        bytes_to_fetch=entry.package.bytes if entry.package else None,
        where="here" if local_files else "hub" if entry.hub else "can be pulled",
        folder=local_files.folder if local_files else None,
        files=dict(local_files.files) if local_files else {},
        sha256=dict(record.hashes) if record else entry.hashes,
    )


def required_weights(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the sets of weights that names require, each with its alternatives, without duplicates.

    Args:
        names: Sets of weights, models, repositories of the model hub, or profiles such as `lite`.

    """
    return list(dict.fromkeys(alternatives for name in names for alternatives in _required_weights(name)))


def _required_weights(name: str) -> list[tuple[str, ...]]:
    from editgauge.models import models, profiles

    if name in catalog_entries() or "/" in name:
        return [(entry_of(name).name,)]
    if name in profiles.PROFILES:
        return profiles.weights_of_profile(name)
    if name in models:
        return profiles.weights_of_model(name)
    raise UnknownNameError(
        "set of weights, model or profile", name, {*catalog_entries(), *models, *profiles.PROFILES}, SHOWN_BY
    )


@cache
def _roles_of_models() -> dict[str, tuple[str, ...]]:
    """Return the roles of the models that use each set of weights."""
    from editgauge.models.catalog import MODELS
    from editgauge.models.profiles import make_model

    roles: dict[str, dict[str, None]] = {}
    for name, row in MODELS.items():
        for weights in make_model(name).weights:
            roles.setdefault(entry_of(weights).name, {})[row.role] = None
    return {weights: tuple(names) for weights, names in roles.items()}


def _find(entry: WeightsEntry, revision: str | None = None) -> WeightFiles | None:
    """Find a set on this machine, in the user's folder first."""
    return (
        user_files(entry)
        or user_repository(entry)
        or _cached_files(entry)
        or (pulled_files(entry, revision) if entry.hub else None)
        or installed_files(entry)
    )


def _cached_files(entry: WeightsEntry) -> WeightFiles | None:
    """Return the set that `pull` fetched. Hashes were verified then; only sizes are checked."""
    if entry.package is None:
        return None
    carrier = entry.carrier
    paths = {file.name: carrier.folder / file.path for file in entry.files}
    if not all(paths[file.name].is_file() and paths[file.name].stat().st_size == file.bytes for file in entry.files):
        return None
    return WeightFiles(entry.name, entry.license, str(carrier), paths[entry.files[0].name].parent, paths, entry.hashes)


def _require_acceptance(entry: WeightsEntry, accept: str | None) -> None:
    """Store the acceptance of a license next to the files; raise an error if it was never accepted."""
    if not entry.accept:
        return
    acceptance = entry.carrier.folder / ACCEPTANCE_FILE
    if accept == entry.license:
        write_json(acceptance, {"weights": entry.name, "license": entry.license})
    elif not acceptance.is_file():
        mismatch = f" You gave '{accept}'." if accept else ""
        raise LicenseNotAcceptedError(
            f"The weights '{entry.name}' are under {entry.license}, which asks more of those who share or serve what "
            f"is made with them than the other models do.{mismatch} If that is fine for you, run "
            f"`{_pull_command(entry)} --accept {entry.license}`."
        )


def _manual_advice(entry: WeightsEntry) -> str:
    names = ", ".join(file.name for file in entry.files)
    alternative = f" '{entry.instead}' does the same work and needs pip only." if entry.instead else ""
    advice = f"Files got another way are taken, too: put {names} into a folder and name it in {FOLDER_VARIABLE}."
    return advice + alternative


def _pull_command(entry: WeightsEntry, revision: str | None = None) -> str:
    return f"editgauge models pull {entry.name}" + (f" --revision {revision}" if revision else "")


def user_weights_folder() -> Path | None:
    """Return the folder of EDITGAUGE_WEIGHTS; None if it is not set."""
    folder = os.environ.get(FOLDER_VARIABLE, "").strip()
    return Path(folder).expanduser().absolute() if folder else None


def user_files(entry: WeightsEntry) -> WeightFiles | None:
    """Return the set from the user's folder if it holds every file with the right hash."""
    folder = user_weights_folder()
    if folder is None or entry.package is None:
        return None
    paths = {file.name: path for file in entry.files if (path := _find_by_hash(file, folder))}
    if len(paths) < len(entry.files):
        return None
    return WeightFiles(entry.name, entry.license, str(entry.carrier), folder, paths, entry.hashes)


def mismatched_files(entry: WeightsEntry) -> list[Path]:
    """Return files of the user's folder with the right name but another hash."""
    folder = user_weights_folder()
    if folder is None:
        return []
    names = [file.name for file in entry.files if not _find_by_hash(file, folder)]
    return [path for name in names for path in _find_by_name(name, folder)]


def user_repository(entry: WeightsEntry) -> WeightFiles | None:
    """Return a hub model from the user's folder, by its name in the catalog or on the hub."""
    root = user_weights_folder()
    if root is None or entry.hub is None:
        return None
    candidates = (root / entry.name, root / entry.hub)
    folder = next((candidate for candidate in candidates if (candidate / "config.json").is_file()), None)
    if folder is None:
        return None
    files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return WeightFiles(entry.name, entry.license, f"{entry.hub} of the folder given", folder, files)


def installed_files(entry: WeightsEntry) -> WeightFiles | None:
    """Return the set as installed by the operating system; its revision names the release."""
    if entry.system is None or not (folder := Path(entry.system)).is_dir():
        return None
    files = {file.name: folder / file.name for file in entry.files}
    if not all(path.is_file() for path in files.values()):
        return None
    return WeightFiles(entry.name, entry.license, f"{_read_wordnet_release(files)} of this system", folder, files)


def _read_wordnet_release(files: dict[str, Path]) -> str:
    """Read WordNet's release from the license at the head of its files."""
    with files["data.noun"].open(encoding="latin-1") as file:
        match = re.search(r"WordNet (\d+\.\d+) Copyright", file.read(4096))
    return f"WordNet {match[1]}" if match else "WordNet of unknown release"


def _find_by_hash(file: File, folder: Path) -> Path | None:
    candidates = (path for path in _find_by_name(file.name, folder) if path.stat().st_size == file.bytes)
    return next((path for path in candidates if measured_sha256(path) == file.sha256), None)


def _find_by_name(name: str, folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob(name) if path.is_file())


@dataclass(frozen=True, slots=True)
class RepositoryRecord:
    """Record of a downloaded repository."""

    hub: str
    commit: str
    folder: str
    bytes: Mapping[str, int]
    hashes: Mapping[str, str]


def read_record(entry: WeightsEntry, revision: str | None = None) -> RepositoryRecord | None:
    """Read the record of an earlier download; None if there is none."""
    try:
        return RepositoryRecord(**json.loads(_record_path(entry, revision).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def pulled_files(entry: WeightsEntry, revision: str | None = None) -> WeightFiles | None:
    """Return the set from the hub's cache if it was pulled and all file sizes match."""
    record = read_record(entry, revision)
    if record is None:
        return None
    folder = Path(record.folder)
    files = {name: folder / name for name in record.bytes}
    if not all(path.is_file() and path.stat().st_size == record.bytes[name] for name, path in files.items()):
        return None
    return WeightFiles(entry.name, entry.license, f"{record.hub} {record.commit}", folder, files, record.hashes)


def pull_from_hub(
    entry: WeightsEntry, say: MessageCallback, grown: GrowthCallback | None, revision: str | None = None
) -> WeightFiles:
    """Download the set at the requested, pinned or recorded commit, and record its hashes."""
    assert entry.hub is not None  # noqa: S101 - for the type checker
    previous = read_record(entry, revision)
    commit = revision or entry.revision or (previous.commit if previous else None)
    say(f"asking the model hub for {entry.hub}" + (f" at {commit[:12]}" if commit else ""))
    with _convert_hub_errors(entry):
        folder, expected = _download(entry.hub, commit, say, grown)
        say(f"checking {entry.hub}")
        files = [name for name in select_files(_list_files(folder)) if not expected or name in expected]
        hashes = {name: sha256_of(folder / name) for name in files}
        _verify_download(entry, folder, hashes, {**_blob_hashes(folder, files), **expected})
    sizes = {name: (folder / name).stat().st_size for name in files}
    record = RepositoryRecord(entry.hub, folder.name, str(folder), sizes, hashes)
    write_json(_record_path(entry, revision), asdict(record))
    pulled = pulled_files(entry, revision)
    if pulled is None:
        raise FetchError(f"{entry.hub} was brought into '{folder}', but is gone from there again.")
    return pulled


def select_files(names: Iterable[str]) -> list[str]:
    """Select the files to download: settings, and the weights in one format.

    >>> select_files(["config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5", "onnx/model.onnx"])
    ['config.json', 'model.safetensors']
    """
    candidates = {name: PurePosixPath(name).suffix for name in names if "/" not in name and not name.startswith(".")}
    weight_suffix = next((suffix for suffix in WEIGHT_SUFFIXES if suffix in candidates.values()), WEIGHT_SUFFIXES[0])
    return sorted(name for name, suffix in candidates.items() if suffix in {*TEXT_SUFFIXES, weight_suffix})


def _download(
    hub: str, commit: str | None, say: MessageCallback, grown: GrowthCallback | None
) -> tuple[Path, dict[str, str | None]]:
    """Download a repository; return its folder and the listed hashes by file (empty if the hub is unreachable)."""
    client = _import_client()
    try:
        repository = client.HfApi().model_info(hub, revision=commit, files_metadata=True)
    except client.errors.HfHubHTTPError:  # the hub answered: `_convert_hub_errors` explains it
        raise
    except (client.errors.OfflineModeIsEnabled, client.errors.HTTPError) as error:
        say(f"the model hub was not reached ({_first_line(error)}): taking what its cache holds")
        cached = client.snapshot_download(hub, revision=commit, local_files_only=True, allow_patterns=["config.json"])
        return Path(cached), {}
    hashes = {file.rfilename: file.lfs.sha256 if file.lfs else None for file in repository.siblings or []}
    files = select_files(hashes)
    say(f"fetching {len(files)} files of {hub} at {repository.sha[:12]}")
    blobs = Path(client.constants.HF_HUB_CACHE) / f"models--{hub.replace('/', '--')}" / "blobs"
    with _hide_progress_bars(client), watch_growth([blobs], grown):
        folder = client.snapshot_download(hub, revision=repository.sha, allow_patterns=files)
    return Path(folder), {name: hashes[name] for name in files}


def _verify_download(
    entry: WeightsEntry, folder: Path, hashes: Mapping[str, str], expected: Mapping[str, str | None]
) -> None:
    """Raise `FetchError` if a file is missing, or differs from the hub's; delete a file that differs."""
    missing = [name for name in {*expected, *_list_shards(folder)} if name not in hashes]
    if missing or not any(name.endswith(WEIGHT_SUFFIXES) for name in hashes):
        raise FetchError(
            f"{entry.hub} is not whole in '{folder}': there is no {', '.join(missing) or 'file of weights'}. "
            "Go online and pull again."
        )
    for name, sha256 in hashes.items():
        expected_sha256 = expected.get(name)
        if expected_sha256 and expected_sha256 != sha256:
            (folder / name).resolve().unlink()
            (folder / name).unlink(missing_ok=True)
            raise FetchError(
                f"'{name}' of {entry.hub} is not the one the model hub announces: its SHA-256 is {sha256}, expected "
                f"{expected_sha256}. It was removed. Pull again."
            )


def _list_shards(folder: Path) -> set[str]:
    """Return the file names of the shards of a large model, from its index."""
    indices = [json.loads(path.read_text("utf-8")) for path in folder.glob("*.safetensors.index.json")]
    return {name for index in indices for name in index["weight_map"].values()}


def _blob_hashes(folder: Path, files: Iterable[str]) -> dict[str, str]:
    """Return the hashes of large files: the hub's cache names their blobs by SHA-256."""
    blob_names = {name: (folder / name).resolve().name for name in files}
    return {name: blob_name for name, blob_name in blob_names.items() if len(blob_name) == SHA256_HEX_LENGTH}


def _list_files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _record_path(entry: WeightsEntry, revision: str | None) -> Path:
    name = str(entry.hub).replace("/", "--") + (f"@{revision.replace('/', '-')}" if revision else "")
    return cache_root() / "hub" / f"{name}.json"


def _import_client() -> Any:
    try:
        import huggingface_hub
        import huggingface_hub.constants
        import huggingface_hub.errors
    except ModuleNotFoundError as error:
        raise FetchError(
            "The client of the model hub is not installed: `pip install 'editgauge[torch]'` brings it."
        ) from error
    return huggingface_hub


@contextmanager
def _hide_progress_bars(client: Any) -> Iterator[None]:
    """Hide the client's progress bars: the caller shows its own."""
    were_hidden = client.utils.are_progress_bars_disabled()
    client.utils.disable_progress_bars()
    try:
        yield
    finally:
        if not were_hidden:
            client.utils.enable_progress_bars()


@contextmanager
def _convert_hub_errors(entry: WeightsEntry) -> Iterator[None]:
    """Convert errors of the hub client to `FetchError` with advice."""
    client = _import_client()
    alternative = f"or put a folder with the model into {FOLDER_VARIABLE} as '{entry.name}'"
    try:
        yield
    except client.errors.GatedRepoError as error:
        raise FetchError(
            f"{entry.hub} is gated: accept its license on its page of the model hub, log in with `hf auth login`, and "
            f"pull again; {alternative}."
        ) from error
    except client.errors.RevisionNotFoundError as error:
        raise FetchError(f"{entry.hub} has no such revision at the model hub: {_first_line(error)}") from error
    except client.errors.RepositoryNotFoundError as error:
        raise FetchError(f"The model hub shows no {entry.hub}; is it private, and are you logged in?") from error
    except client.errors.LocalEntryNotFoundError as error:
        raise FetchError(
            f"{entry.hub} is not whole in the cache of the model hub, and the hub was not reached. Go online (is "
            f"HF_HUB_OFFLINE set?) and pull again; {alternative}."
        ) from error
    except client.errors.HTTPError as error:
        raise FetchError(
            f"{entry.hub} could not be fetched: {_first_line(error) or type(error).__name__}. Is this machine online? "
            f"Files that came whole are kept. Pull again; {alternative}."
        ) from error
    except OSError as error:
        if error.errno is None:  # raised by the client about the download, not by the system about the disk
            raise FetchError(
                f"{entry.hub} did not arrive whole: {_first_line(error)} Pull again; {alternative}."
            ) from error
        raise FetchError(
            f"{entry.hub} could not be kept in the cache of the model hub: {error.strerror}. "
            f"Make room there, or set HF_HOME to a folder that can be written; {alternative}."
        ) from error


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")
