"""Models of the model hub: brought by its own client into its own cache, pinned to a commit, every file hashed.

The client goes on where a connection broke, and keeps the files that came whole. What it brought is written down here,
file by file; from then on the set is that commit and those hashes, whatever the hub's main branch becomes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from editgauge._util.files import write_json
from editgauge._util.packages import GrowthCallback, MessageCallback, cache_root, sha256_of, watch_growth
from editgauge.errors import FetchError
from editgauge.models.weights.catalog import WeightsEntry
from editgauge.models.weights.files import WeightFiles
from editgauge.models.weights.local import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = (".json", ".txt", ".model", ".md")
"""Settings, vocabularies, tokenizers, and the card with the license."""
FORMS = (".safetensors", ".bin")
"""Weights, the safer form first; a repository that has it is not asked for the other."""


@dataclass(frozen=True, slots=True)
class RepositoryRecord:
    """What was brought of a repository."""

    hub: str
    commit: str
    folder: str
    bytes: Mapping[str, int]
    hashes: Mapping[str, str]


def recorded(entry: WeightsEntry, revision: str | None = None) -> RepositoryRecord | None:
    """What was brought earlier, if it was."""
    try:
        return RepositoryRecord(**json.loads(_place(entry, revision).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def pulled_files(entry: WeightsEntry, revision: str | None = None) -> WeightFiles | None:
    """The set in the hub's cache, when it was pulled and every file still has its size."""
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
    """Brings the set, at the commit asked for, pinned or recorded, and writes down what came."""
    assert entry.hub is not None, "chosen by the caller"  # noqa: S101
    earlier = recorded(entry, revision)
    wanted = revision or entry.revision or (earlier.commit if earlier else None)
    say(f"asking the model hub for {entry.hub}" + (f" at {wanted[:12]}" if wanted else ""))
    with _errors(entry):
        folder, expected = _bring(entry.hub, wanted, say, grown)
        say(f"checking {entry.hub}")
        files = [name for name in wanted_files(_names(folder)) if not expected or name in expected]
        hashes = {name: sha256_of(folder / name) for name in files}
        _compare(entry, folder, hashes, {**_named_by_hash(folder, files), **expected})
    sizes = {name: (folder / name).stat().st_size for name in files}
    record = RepositoryRecord(entry.hub, folder.name, str(folder), sizes, hashes)
    write_json(_place(entry, revision), asdict(record))
    pulled = pulled_files(entry, revision)
    if pulled is None:
        raise FetchError(f"{entry.hub} was brought into '{folder}', but is gone from there again.")
    return pulled


def wanted_files(names: Iterable[str]) -> list[str]:
    """The files of a repository that are worth bringing: settings, and the weights in one form.

    >>> wanted_files(["config.json", "model.safetensors", "pytorch_model.bin", "tf_model.h5", "onnx/model.onnx"])
    ['config.json', 'model.safetensors']
    """
    top = [name for name in names if "/" not in name and not name.startswith(".")]
    form = next((form for form in FORMS if any(name.endswith(form) for name in top)), FORMS[0])
    return sorted(name for name in top if PurePosixPath(name).suffix in {*TEXTS, form})


def _bring(
    hub: str, wanted: str | None, say: MessageCallback, grown: GrowthCallback | None
) -> tuple[Path, dict[str, str | None]]:
    """The folder, and the files that the hub lists with the hashes it tells; no list when the hub was not reached."""
    client = _client()
    try:
        repository = client.HfApi().model_info(hub, revision=wanted, files_metadata=True)
    except client.errors.HfHubHTTPError:
        raise
    except (client.errors.OfflineModeIsEnabled, client.errors.HTTPError) as error:
        say(f"the model hub was not reached ({_first_line(error)}): taking what its cache holds")
        there = client.snapshot_download(hub, revision=wanted, local_files_only=True, allow_patterns=["config.json"])
        return Path(there), {}
    listed = {item.rfilename: item.lfs.sha256 if item.lfs else None for item in repository.siblings or []}
    files = wanted_files(listed)
    say(f"fetching {len(files)} files of {hub} at {repository.sha[:12]}")
    cache = Path(client.constants.HF_HUB_CACHE) / f"models--{hub.replace('/', '--')}" / "blobs"
    with _without_bars(client), watch_growth([cache], grown):
        folder = client.snapshot_download(hub, revision=repository.sha, allow_patterns=files)
    return Path(folder), {name: listed[name] for name in files}


def _compare(entry: WeightsEntry, folder: Path, hashes: Mapping[str, str], expected: Mapping[str, str | None]) -> None:
    missing = [name for name in {*expected, *_shards(folder)} if name not in hashes]
    if missing or not any(name.endswith(FORMS) for name in hashes):
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
    """The files that the weights of a big model are spread over, as its index tells."""
    indices = [json.loads(index.read_text("utf-8")) for index in folder.glob("*.safetensors.index.json")]
    return {name for index in indices for name in index["weight_map"].values()}


def _named_by_hash(folder: Path, files: Iterable[str]) -> dict[str, str]:
    """The hub's cache keeps big files under their SHA-256; small ones under a shorter name that does not help here."""
    names = {name: (folder / name).resolve().name for name in files}
    return {name: kept for name, kept in names.items() if len(kept) == 64}


def _names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _place(entry: WeightsEntry, revision: str | None) -> Path:
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
    """The caller shows progress; two bars would write over each other."""
    silent = client.utils.are_progress_bars_disabled()
    client.utils.disable_progress_bars()
    try:
        yield
    finally:
        if not silent:
            client.utils.enable_progress_bars()


@contextmanager
def _errors(entry: WeightsEntry) -> Iterator[None]:
    """What goes wrong at the hub, as a sentence with a way out."""
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
