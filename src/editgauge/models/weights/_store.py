"""Weights on this machine: find, download and verify them.

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


class MissingWeightsError(FatalError):
    """Weights that are not on this machine."""


class DamagedWeightsError(FatalError):
    """Weights on this machine whose hash is not the recorded one."""


@dataclass(frozen=True)
class WeightFiles:
    """A complete set of weights: files, revision and license."""

    name: str
    license: str
    revision: str
    """The package and its version, or the repository of the model hub and its commit."""
    folder: Path
    """Holds all the files; of a model of the hub it can be loaded as it is."""
    files: Mapping[str, Path]
    """By their names inside the set."""
    hashes: Mapping[str, str] | None = None
    """SHA-256 of the files as they were recorded; None when there is no record and they are computed when asked for."""

    def path(self, name: str) -> Path:
        """Return the path of a file; raise `DamagedWeightsError` when its hash is not the recorded one."""
        inside = [name] if name in self.files else [file for file in self.files if PurePosixPath(file).name == name]
        if len(inside) != 1:
            raise UnknownNameError(f"file of the weights '{self.name}'", name, self.files)
        self._check(inside[0])
        return self.files[inside[0]]

    def check(self) -> None:
        """Raise `DamagedWeightsError` when the hash of any file is not the recorded one."""
        for name in self.hashes or ():
            self._check(name)

    @cached_property
    def sha256(self) -> str:
        """One hash of the whole set: that of the sorted hashes of its files."""
        self.check()
        return sha256_of_set(measured_sha256(path) for path in self.files.values())

    def _check(self, name: str) -> None:
        expected = (self.hashes or {}).get(name)
        measured = measured_sha256(self.files[name]) if expected else expected
        if measured != expected:
            raise DamagedWeightsError(
                f"The file '{self.files[name]}' of the weights '{self.name}' has the SHA-256 {measured}, not "
                f"{expected}: it was changed or damaged, and is not used. Run `editgauge models pull {self.name}`."
            )


_measured: dict[tuple[int, ...], str] = {}


def measured_sha256(path: Path) -> str:
    """Hash a file; memoized until its inode, size or time changes."""
    status = path.stat()
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if identity not in _measured:
        _measured[identity] = sha256_of(path)
    return _measured[identity]


def sha256_of_set(hashes: Iterable[str]) -> str:
    """Hash the sorted hashes, one per line."""
    return hashlib.sha256("".join(f"{digest}\n" for digest in sorted(hashes)).encode("ascii")).hexdigest()


VARIABLE = "EDITGAUGE_WEIGHTS"


def user_weights_folder() -> Path | None:
    """Return the folder of EDITGAUGE_WEIGHTS; None if it is not set."""
    named = os.environ.get(VARIABLE, "").strip()
    return Path(named).expanduser().absolute() if named else None


def user_files(entry: WeightsEntry) -> WeightFiles | None:
    """Return the set from the user's folder if it holds every file with the right hash."""
    folder = user_weights_folder()
    if folder is None or entry.package is None:
        return None
    paths = {file.name: path for file in entry.files if (path := _find_local(file, folder))}
    if len(paths) < len(entry.files):
        return None
    return WeightFiles(entry.name, entry.license, str(entry.carrier), folder, paths, entry.hashes)


def mismatched_files(entry: WeightsEntry) -> list[Path]:
    """Return files of the user's folder with the right name but another hash."""
    folder = user_weights_folder()
    names = [file.name for file in entry.files if folder and not _find_local(file, folder)]
    return [path for name in names if folder for path in _named(name, folder)]


def user_repository(entry: WeightsEntry) -> WeightFiles | None:
    """Return a hub model from the user's folder, by its name here or on the hub."""
    root = user_weights_folder()
    if root is None or entry.hub is None:
        return None
    folders = [root / entry.name, root / entry.hub]
    folder = next((candidate for candidate in folders if (candidate / "config.json").is_file()), None)
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
    return WeightFiles(entry.name, entry.license, f"{_release(files)} of this system", folder, files)


def _release(files: dict[str, Path]) -> str:
    """Read WordNet's release from the license at the head of its files."""
    with files["data.noun"].open(encoding="latin-1") as file:
        match = re.search(r"WordNet (\d+\.\d+) Copyright", file.read(4096))
    return f"WordNet {match[1]}" if match else "WordNet of unknown release"


def _find_local(file: File, folder: Path) -> Path | None:
    fitting = (path for path in _named(file.name, folder) if path.stat().st_size == file.bytes)
    return next((path for path in fitting if measured_sha256(path) == file.sha256), None)


def _named(name: str, folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob(name) if path.is_file())


TEXT_SUFFIXES = (".json", ".txt", ".model", ".md")
"""Settings, vocabularies, tokenizers, and the card with the license."""
WEIGHT_SUFFIXES = (".safetensors", ".bin")
"""Weights, the safer form first; a repository that has it is not asked for the other."""


@dataclass(frozen=True, slots=True)
class RepositoryRecord:
    """Record of a downloaded repository."""

    hub: str
    commit: str
    folder: str
    bytes: Mapping[str, int]
    hashes: Mapping[str, str]


def recorded(entry: WeightsEntry, revision: str | None = None) -> RepositoryRecord | None:
    """Read the record of an earlier download; None if there is none."""
    try:
        return RepositoryRecord(**json.loads(_record_path(entry, revision).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def pulled_files(entry: WeightsEntry, revision: str | None = None) -> WeightFiles | None:
    """Return the set from the hub's cache if it was pulled and all file sizes match."""
    record = recorded(entry, revision)
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
    assert entry.hub is not None, "chosen by the caller"  # noqa: S101
    earlier = recorded(entry, revision)
    commit = revision or entry.revision or (earlier.commit if earlier else None)
    say(f"asking the model hub for {entry.hub}" + (f" at {commit[:12]}" if commit else ""))
    with _hub_errors(entry):
        folder, expected = _download(entry.hub, commit, say, grown)
        say(f"checking {entry.hub}")
        files = [name for name in select_files(_names(folder)) if not expected or name in expected]
        hashes = {name: sha256_of(folder / name) for name in files}
        _compare(entry, folder, hashes, {**_named_by_hash(folder, files), **expected})
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
    top = [name for name in names if "/" not in name and not name.startswith(".")]
    form = next((form for form in WEIGHT_SUFFIXES if any(name.endswith(form) for name in top)), WEIGHT_SUFFIXES[0])
    return sorted(name for name in top if PurePosixPath(name).suffix in {*TEXT_SUFFIXES, form})


def _download(
    hub: str, commit: str | None, say: MessageCallback, grown: GrowthCallback | None
) -> tuple[Path, dict[str, str | None]]:
    """Download; return the folder and the listed files with hashes (empty when the hub is unreachable)."""
    client = _client()
    try:
        repository = client.HfApi().model_info(hub, revision=commit, files_metadata=True)
    except client.errors.HfHubHTTPError:
        raise
    except (client.errors.OfflineModeIsEnabled, client.errors.HTTPError) as error:
        say(f"the model hub was not reached ({_first_line(error)}): taking what its cache holds")
        cached = client.snapshot_download(hub, revision=commit, local_files_only=True, allow_patterns=["config.json"])
        return Path(cached), {}
    listed = {item.rfilename: item.lfs.sha256 if item.lfs else None for item in repository.siblings or []}
    files = select_files(listed)
    say(f"fetching {len(files)} files of {hub} at {repository.sha[:12]}")
    cache = Path(client.constants.HF_HUB_CACHE) / f"models--{hub.replace('/', '--')}" / "blobs"
    with _without_bars(client), watch_growth([cache], grown):
        folder = client.snapshot_download(hub, revision=repository.sha, allow_patterns=files)
    return Path(folder), {name: listed[name] for name in files}


def _compare(entry: WeightsEntry, folder: Path, hashes: Mapping[str, str], expected: Mapping[str, str | None]) -> None:
    missing = [name for name in {*expected, *_shards(folder)} if name not in hashes]
    if missing or not any(name.endswith(WEIGHT_SUFFIXES) for name in hashes):
        raise FetchError(
            f"{entry.hub} is not whole in '{folder}': there is no {', '.join(missing) or 'file of weights'}. "
            "Go online and pull again."
        )
    for name, sha256 in hashes.items():
        if (should := expected.get(name)) and should != sha256:
            (folder / name).resolve().unlink()
            (folder / name).unlink(missing_ok=True)
            raise FetchError(
                f"'{name}' of {entry.hub} is not the one the model hub announces: its SHA-256 is {sha256}, expected "
                f"{should}. It was removed. Pull again."
            )


def _shards(folder: Path) -> set[str]:
    """Return the shards of a large model, according to its index."""
    indices = [json.loads(index.read_text("utf-8")) for index in folder.glob("*.safetensors.index.json")]
    return {name for index in indices for name in index["weight_map"].values()}


def _named_by_hash(folder: Path, files: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 that the hub's cache uses as the name of large files."""
    names = {name: (folder / name).resolve().name for name in files}
    return {name: blob_name for name, blob_name in names.items() if len(blob_name) == 64}


def _names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _record_path(entry: WeightsEntry, revision: str | None) -> Path:
    name = str(entry.hub).replace("/", "--") + (f"@{revision.replace('/', '-')}" if revision else "")
    return cache_root() / "hub" / f"{name}.json"


def _client() -> Any:
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
def _without_bars(client: Any) -> Iterator[None]:
    """Hide the client's progress bars: the caller shows its own."""
    silent = client.utils.are_progress_bars_disabled()
    client.utils.disable_progress_bars()
    try:
        yield
    finally:
        if not silent:
            client.utils.enable_progress_bars()


@contextmanager
def _hub_errors(entry: WeightsEntry) -> Iterator[None]:
    """Convert errors of the hub client to `FetchError` with advice."""
    client = _client()
    by_hand = f"or put a folder with the model into {VARIABLE} as '{entry.name}'"
    try:
        yield
    except client.errors.GatedRepoError as error:
        raise FetchError(
            f"{entry.hub} is gated: accept its license on its page of the model hub, log in with `hf auth login`, and "
            f"pull again; {by_hand}."
        ) from error
    except client.errors.RevisionNotFoundError as error:
        raise FetchError(f"{entry.hub} has no such revision at the model hub: {_first_line(error)}") from error
    except client.errors.RepositoryNotFoundError as error:
        raise FetchError(f"The model hub shows no {entry.hub}; is it private, and are you logged in?") from error
    except client.errors.LocalEntryNotFoundError as error:
        raise FetchError(
            f"{entry.hub} is not whole in the cache of the model hub, and the hub was not reached. Go online (is "
            f"HF_HUB_OFFLINE set?) and pull again; {by_hand}."
        ) from error
    except client.errors.HTTPError as error:
        raise FetchError(
            f"{entry.hub} could not be fetched: {_first_line(error) or type(error).__name__}. Is this machine online? "
            f"Files that came whole are kept. Pull again; {by_hand}."
        ) from error
    except OSError as error:
        if error.errno is None:  # the client's own complaint about what came, not the system's about where it goes
            raise FetchError(
                f"{entry.hub} did not arrive whole: {_first_line(error)} Pull again; {by_hand}."
            ) from error
        raise FetchError(
            f"{entry.hub} could not be kept in the cache of the model hub: {error.strerror}. "
            f"Make room there, or set HF_HOME to a folder that can be written; {by_hand}."
        ) from error


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "")


ACCEPTANCE_FILE = "accepted-license.json"
Where = Literal["here", "can be pulled", "hub"]


class LicenseNotAcceptedError(EditGaugeError):
    """Weights whose license must be accepted by name before they are fetched."""


@dataclass(frozen=True, slots=True)
class WeightInfo:
    """Description of a set of weights, present or not."""

    name: str
    about: str
    roles: tuple[str, ...]
    license: str
    license_from: str
    """`package`, or `upstream` when it is the license of the project that trained the weights."""
    source: str
    revision: str | None
    """The commit of a model of the hub; None until the first pull where none is pinned."""
    bytes: int | None
    """Of its files; None when only a pull will tell."""
    bytes_to_fetch: int | None
    where: Where
    folder: Path | None
    files: dict[str, Path]
    sha256: dict[str, str]
    """Of every file, by its name, as recorded."""


def weights_of(name: str, revision: str | None = None) -> WeightFiles:
    """Return a set of weights on this machine; never download.

    Args:
        name: A name of the catalog, or a repository of the model hub (`owner/name`).
        revision: A commit, tag or branch of the hub, where it is to be another than the pinned one.

    Raises `MissingWeightsError` when it is not here, or not whole.
    """
    entry = entry_of(name)
    if files := _find(entry, revision):
        return files
    mismatched = mismatched_files(entry)
    hint = (
        f" In {VARIABLE}, '{mismatched[0]}' has the name but not the content (SHA-256) of a file of it."
        if mismatched
        else ""
    )
    raise MissingWeightsError(f"The weights '{name}' are not on this machine: run `{_command(entry, revision)}`.{hint}")


def available(name: str) -> bool:
    """Tell whether the weights are on this machine, by names and sizes; `verify` checks hashes."""
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
        name: As of `weights_of`.
        say: Told in a few words what is asked of the model hub.
        grown: Told now and then how many bytes of the download have come.
        accept: The license by name, where it must be accepted before anything is fetched.
        revision: As of `weights_of`.
    """
    entry = entry_of(name)
    if accepted := user_files(entry) or user_repository(entry):
        say(f"{name} is in {VARIABLE}")
        return accepted
    _accept(entry, accept)
    if entry.hub:
        return pull_from_hub(entry, say, grown, revision)
    try:
        fetch_package(entry.carrier, grown=grown)
    except FetchError as error:
        raise FetchError(f"{error}\n{_ways_out(entry)}") from error
    return weights_of(name)


def verify(name: str) -> WeightFiles:
    """Hash every file of a set; raise `BadInputError` with all that are missing or damaged."""
    weights = weights_of(name)
    faults = [find_fault(weights.files[key], key, sha256) for key, sha256 in (weights.hashes or {}).items()]
    if problems := [fault for fault in faults if fault]:
        raise BadInputError(f"The weights '{name}' are not whole. Run `{_command(entry_of(name))}`.", problems)
    return weights


def info(name: str) -> WeightInfo:
    """Describe a set of weights."""
    entry = entry_of(name)
    local_files = _find(entry)
    record = recorded(entry) if entry.hub else None
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
    return list(dict.fromkeys(item for name in names for item in _required_weights(name)))


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


def _accept(entry: WeightsEntry, accept: str | None) -> None:
    """Reject a license that was not accepted by name; acceptance is stored next to the files."""
    if not entry.accept:
        return
    note = entry.carrier.folder / ACCEPTANCE_FILE
    if accept == entry.license:
        write_json(note, {"weights": entry.name, "license": entry.license})
    elif not note.is_file():
        accepted = f" You gave '{accept}'." if accept else ""
        raise LicenseNotAcceptedError(
            f"The weights '{entry.name}' are under {entry.license}, which asks more of those who share or serve what "
            f"is made with them than the other models do.{accepted} If that is fine for you, run "
            f"`{_command(entry)} --accept {entry.license}`."
        )


def _ways_out(entry: WeightsEntry) -> str:
    names = ", ".join(file.name for file in entry.files)
    instead = f" '{entry.instead}' does the same work and needs pip only." if entry.instead else ""
    return f"Files got another way are taken, too: put {names} into a folder and name it in {VARIABLE}.{instead}"


def _command(entry: WeightsEntry, revision: str | None = None) -> str:
    return f"editgauge models pull {entry.name}" + (f" --revision {revision}" if revision else "")
