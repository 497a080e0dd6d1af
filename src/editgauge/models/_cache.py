"""Cache answers of models in memory and on disk, and manage the cache (`editgauge cache`).

An answer is stored as a line of JSON and raw arrays, never as a pickle, so that a file from another machine is harmless
to read. Masks and class maps are compressed ten to sixty times; floats are not, because compression costs more time
than it saves.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
import time
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from editgauge import __version__
from editgauge._util import profiling
from editgauge._util.batching import Request
from editgauge._util.caching import LRUCache
from editgauge._util.files import DRAFT_PREFIX
from editgauge._util.packages import cache_root
from editgauge._util.progress import log_info
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.models.answers import BUNDLES, Bundle, ClassMap, Detections
from editgauge.models.roles import Model
from editgauge.options import Amount

Answer = NDArray[Any] | Mapping[str, NDArray[Any]] | Detections | ClassMap | Bundle | float | str
FIELDS_ON_DISK = {"class_token": "whole"}
"""Names on disk of fields that were renamed later, so that existing caches stay valid."""
MAGIC = b"EditGauge answer 2\n"
CHECKSUM_BYTES = 16
COMPRESSION_LEVEL = 1
LAYOUT = "v1"
NAMES_FOLDER = "names"
"""Folder with one file per model whose id is not a valid file name; the file holds the id."""
SHARDS = 64
"""Number of folders over which answers are spread."""
BLOCK_BYTES = 4096
"""Unit in which disks allocate space."""
SCAN_FRACTION = 1 / 16
"""Fraction of a shard's size limit that is written between two scans."""
EVICTION_TARGET_FRACTION = 0.9
"""Fraction of its size limit to which a full shard is reduced."""
MAX_DRAFT_SECONDS = 3600
"""Age from which a draft is taken for one that a killed process left behind."""
MAX_BYTES_IN_MEMORY = 128_000_000
"""Enough for the features of about thirty images at the four megabytes of SAM."""
MAX_BYTES_ON_DISK = 4_000_000
"""Size limit of one answer on disk; larger ones stay in memory. The features of OWL-ViT (1.8 MB for a second of work)
are worth storing; those of SAM (4.2 MB and more) would evict ten thousand answers for every few hundred images."""
POSTPROCESSING_SETTINGS = {"operating_point"}
"""Settings that are applied to cached answers, and so are not part of the key."""
SIZE_SETTING = "EDITGAUGE_CACHE_BYTES"
SHARED_SETTING = "EDITGAUGE_SHARED_CACHE"
"""Environment variable with a folder of answers that several machines share."""
ANSWERS = "answers"
DEFAULT_BYTES = 10_000_000_000
SECONDS_PER_DAY = 86_400

_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")


class DamagedAnswerError(Exception):
    """Stored bytes are damaged or belong to another key."""


def pack(key: str, answer: Answer) -> bytes:
    """Encode an answer with a checksum over it and its key."""
    kind, plain, arrays = _split(answer)
    bodies = [_compress(array) for array in arrays.values()]
    layout = [
        [name, array.dtype.str, list(array.shape), len(body)]
        for (name, array), body in zip(arrays.items(), bodies, strict=True)
    ]
    header = json.dumps({"kind": kind, "plain": plain, "arrays": layout}).encode() + b"\n"
    return MAGIC + _checksum(key, header, *bodies) + b"".join([header, *bodies])


def unpack(key: str, packed: bytes) -> Answer:
    """Decode packed bytes; raise `DamagedAnswerError` when they are damaged or belong to another key."""
    content = memoryview(packed)[len(MAGIC) + CHECKSUM_BYTES :]
    if not packed.startswith(MAGIC) or packed[len(MAGIC) :][:CHECKSUM_BYTES] != _checksum(key, content):
        raise DamagedAnswerError(key)
    end = packed.index(b"\n", len(MAGIC) + CHECKSUM_BYTES) + 1
    header = json.loads(packed[len(MAGIC) + CHECKSUM_BYTES : end])
    arrays: dict[str, NDArray[Any]] = {}
    for name, dtype, shape, size in header["arrays"]:
        arrays[name] = _decompress(packed[end : end + size], np.dtype(dtype), tuple(shape))
        end += size
    return _join(header["kind"], header["plain"], arrays)


def size_of(answer: Answer) -> int:
    """Estimate the memory of an answer in bytes."""
    _, plain, arrays = _split(answer)
    return sum(array.nbytes for array in arrays.values()) + len(str(plain)) + 200


def new_memory() -> LRUCache[str, Answer]:
    """Return an empty cache of answers in memory."""
    return LRUCache(MAX_BYTES_IN_MEMORY, size_of)


def _checksum(key: str, *parts: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(key.encode(), digest_size=CHECKSUM_BYTES)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _compress(array: NDArray[Any]) -> bytes:
    if array.dtype == np.bool_:
        return zlib.compress(np.packbits(array).tobytes(), COMPRESSION_LEVEL)
    if array.dtype == np.uint8:
        return zlib.compress(array.tobytes(), COMPRESSION_LEVEL)
    return array.tobytes()


def _decompress(body: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if dtype == np.bool_:
        bits = np.frombuffer(zlib.decompress(body), np.uint8)
        return np.unpackbits(bits, count=math.prod(shape)).view(np.bool_).reshape(shape)
    content = zlib.decompress(body) if dtype == np.uint8 else body
    return np.frombuffer(content, dtype).reshape(shape).copy()  # models expect writable arrays


def _split(answer: Answer) -> tuple[str, Any, dict[str, NDArray[Any]]]:
    """Split an answer into its kind, its JSON part and its arrays."""
    if isinstance(answer, Bundle):
        kind = next(kind for kind, bundle in BUNDLES.items() if isinstance(answer, bundle))
        values = {FIELDS_ON_DISK.get(field.name, field.name): getattr(answer, field.name) for field in fields(answer)}
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        return kind, {name: value for name, value in values.items() if name not in arrays}, arrays
    match answer:
        case np.ndarray():
            return "array", None, {"": answer}
        case Detections():
            names = list(dict.fromkeys((*answer.phrases, *answer.words)))
            index_by_name = {name: index for index, name in enumerate(names)}
            name_indices = [[index_by_name[name] for name in column] for column in (answer.phrases, answer.words)]
            arrays = {
                "boxes": answer.boxes,
                "confidences": answer.confidences,
                "called": np.array(name_indices, np.int32),
            }
            if answer.output_indices is not None:
                arrays["places"] = answer.output_indices
            return "detections", names, arrays
        case ClassMap():
            return "classes", list(answer.classes), {"places": answer.labels}
        case float() | str():
            return "plain", answer, {}
        case Mapping():
            return "features", None, {name: np.asarray(array) for name, array in answer.items()}
    raise TypeError(f"a model answered with {type(answer).__name__}, which is no kind of answer")


def _join(kind: str, plain: Any, arrays: dict[str, NDArray[Any]]) -> Answer:
    """Build an answer from the parts that `_split` returns."""
    match kind:
        case "array":
            return arrays[""]
        case "detections":
            phrases, words = (tuple(plain[index] for index in column) for column in arrays["called"].tolist())
            return Detections(arrays["boxes"], arrays["confidences"], phrases, words, arrays.get("places"))
        case "classes":
            return ClassMap(arrays["places"], tuple(plain))
        case _ if kind in BUNDLES:
            values: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
            }
            values.update(arrays)
            field_names = {name_on_disk: name for name, name_on_disk in FIELDS_ON_DISK.items()}
            return BUNDLES[kind](**{field_names.get(name, name): value for name, value in values.items()})
        case "plain":
            return float(plain) if isinstance(plain, int | float) else str(plain)
        case _:
            return arrays


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of the store."""

    path: Path
    model: str
    bytes: int
    used: float
    """Time of last use, in seconds since 1970."""


class Store:
    """Answers on disk, evicted by time of last use.

    Args:
        folder: folder of the store, created with the first answer.
        most_bytes: size limit of all answers.
        log: receives one message if the disk fails.

    """

    def __init__(self, folder: Path, most_bytes: int, log: Callable[[str], None] = log_info) -> None:
        self._root = folder / LAYOUT
        self._shard_limit = most_bytes / SHARDS
        self._log = log
        self._is_disabled = False
        self._bytes_since_scan: dict[Path, float] = {}
        self._named_models: set[str] = set()

    def get(self, key: str, model: str) -> Answer | None:
        """Return the answer stored under the key; None if missing or damaged."""
        path = self._path(key, model)
        try:
            answer = unpack(key, path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            self._on_disk_error(error)
            return None
        except DamagedAnswerError:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            return None
        with suppress(OSError):  # a read-only file is not evicted either
            os.utime(path)
        return answer

    def put(self, key: str, model: str, answer: Answer) -> None:
        """Store an answer; after a disk error, log it once and store nothing more."""
        if self._is_disabled:
            return
        path = self._path(key, model)
        packed = pack(key, answer)
        try:
            _write_atomically(path, packed)
            self._write_name(model)
            self._make_room(path.parent, len(packed))
        except OSError as error:
            self._on_disk_error(error)

    def entries(self) -> Iterator[StoredFile]:
        """Yield all stored files."""
        for shard in range(SHARDS):
            yield from _scan_shard(self._root / f"{shard:02x}")

    def names(self) -> dict[str, str]:
        """Return the model ids that differ from their file-name suffix, by that suffix."""
        return {file.name: file.read_text("utf-8") for file in (self._root / NAMES_FOLDER).glob("[!.]*")}

    def _write_name(self, model: str) -> None:
        """Write the id of a model if it differs from its file-name suffix."""
        if model not in self._named_models and name_of(model) != model:
            _write_atomically(self._root / NAMES_FOLDER / name_of(model), model.encode())
        self._named_models.add(model)

    def _path(self, key: str, model: str) -> Path:
        return self._root / f"{int(key[:2], 16) % SHARDS:02x}" / f"{key}.{name_of(model)}"

    def _make_room(self, shard: Path, written_bytes: int) -> None:
        """Delete the least recently used files of a shard that exceeds its limit, scanning it only now and then."""
        self._bytes_since_scan[shard] = self._bytes_since_scan.get(shard, self._shard_limit) + written_bytes
        if self._bytes_since_scan[shard] < self._shard_limit * SCAN_FRACTION:
            return
        self._bytes_since_scan[shard] = 0
        _delete_old_drafts(shard)
        entries = sorted(_scan_shard(shard), key=lambda entry: entry.used)
        size = sum(entry.bytes for entry in entries)
        if size <= self._shard_limit:
            return
        for entry in entries:
            if size <= self._shard_limit * EVICTION_TARGET_FRACTION:
                break
            entry.path.unlink(missing_ok=True)
            size -= entry.bytes

    def _on_disk_error(self, error: OSError) -> None:
        if self._is_disabled:
            return
        self._is_disabled = True
        self._log(
            f"Answers of models are no longer cached: '{self._root.parent}' cannot be used "
            f"({error.strerror or error}). The scores are the same; a later run will compute them again."
        )


class TwoLevels:
    """A local store backed by a shared one; answers are read through and written to both.

    Args:
        local: store on a disk of this machine.
        shared: store on a disk that machines share.

    """

    def __init__(self, local: Store, shared: Store) -> None:
        self._local = local
        self._shared = shared

    def get(self, key: str, model: str) -> Answer | None:
        """Return the answer stored under the key, locally or by another machine."""
        answer = self._local.get(key, model)
        if answer is None:
            answer = self._shared.get(key, model)
            if answer is not None:
                self._local.put(key, model, answer)
        return answer

    def put(self, key: str, model: str, answer: Answer) -> None:
        """Store an answer on both levels."""
        self._local.put(key, model, answer)
        self._shared.put(key, model, answer)


class RequestGroup(NamedTuple):
    """Requests that may go into one batch."""

    question: str
    """Name of the model's method that answers."""
    shape: tuple[int, ...] | None
    """Shape of the images, for models that do not resize them; otherwise None."""


class CachedModel:
    """A model with its answer cache in memory and, optionally, on disk."""

    def __init__(self, model: Model, memory: LRUCache[str, Answer], store: Store | TwoLevels | None) -> None:
        self.model = model
        self.card = model.card
        self._memory = memory
        self._store = store
        self._kinds: dict[type, bool] = {}
        self._stage = "load"
        """Profiling stage outside the forward pass: the first call loads the model, later ones prepare images."""
        card = model.card
        settings = {name: value for name, value in card.settings.items() if name not in POSTPROCESSING_SETTINGS}
        self._identity = [
            __version__,  # versions may preprocess images differently
            card.role,
            card.id,
            card.revision,
            card.sha256,
            card.input_size,
            sorted(settings.items()),
        ]

    @property
    def name(self) -> str:
        """Model id, as shown in profiles."""
        return self.card.id

    @property
    def batch(self) -> int:
        """Preferred batch size."""
        return self.model.batch

    def is_a(self, kind: type) -> bool:
        """Return whether the model is an instance of a protocol; memoized, because the check is slow."""
        if kind not in self._kinds:
            self._kinds[kind] = isinstance(self.model, kind)
        return self._kinds[kind]

    def key(self, question: str, *arguments: object) -> str:
        """Return the cache key: a hash of model, revision, settings, question and its arguments."""
        return hashlib.sha256(json.dumps([self._identity, question, *arguments]).encode()).hexdigest()

    def group(self, question: str, shape: tuple[int, ...]) -> RequestGroup:
        """Return the batch group: models that resize images themselves accept mixed shapes."""
        return RequestGroup(question, shape if self.card.input_size is None else None)

    def recall(self, key: str) -> Answer | None:
        """Return an answer from memory or disk; None if there is none."""
        answer = self._memory.get(key)
        if answer is None and self._store:
            with profiling.span("remember", self.name):
                answer = self._store.get(key, self.card.id)
            if answer is not None:
                self._memory.put(key, _freeze(answer))
        profiling.count(self.name, "unknown" if answer is None else "recalled")
        return answer

    def answer(self, group: Hashable, requests: Sequence[Request]) -> list[Answer]:
        """Ask the model and cache the answers; runs in the model's own thread."""
        assert isinstance(group, RequestGroup)  # noqa: S101 - the service makes no others
        with profiling.span(self._stage, self.name):
            raw_answers = getattr(self.model, group.question)([request.payload for request in requests])
        self._stage = "prepare"
        with profiling.span("remember", self.name):
            answers = [_freeze(answer) for answer in raw_answers]
            for request, answer in zip(requests, answers, strict=True):
                self._keep(str(request.key), answer)
        return answers

    def _keep(self, key: str, answer: Answer) -> None:
        self._memory.put(key, answer)
        if self._store and size_of(answer) <= MAX_BYTES_ON_DISK and not is_image(answer):
            self._store.put(key, self.card.id, answer)


def _freeze(answer: Any) -> Answer:
    """Make an answer read-only, because items share it; mappings of features stay writable for the model."""
    if isinstance(answer, np.ndarray):
        array = answer if answer.base is None else answer.copy()  # a view would keep its whole batch in memory
        array.setflags(write=False)
        return array
    if is_dataclass(answer):
        for field in fields(answer):
            if isinstance(value := getattr(answer, field.name), np.ndarray):
                value.setflags(write=False)
    frozen: Answer = float(answer) if isinstance(answer, np.floating) else answer
    return frozen


def is_image(answer: Answer) -> bool:
    """Return whether features are the image itself, which is not worth caching."""
    return isinstance(answer, dict) and set(answer) == {"pixels"}


def _write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically, without a sync: the checksum detects damage by a power failure."""
    draft = path.with_name(f"{DRAFT_PREFIX}{secrets.token_hex(8)}")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
        raise


def name_of(model: str) -> str:
    """Convert a model id to a file-name suffix.

    >>> name_of("google/owlvit-base-patch32")
    'google+owlvit-base-patch32'
    """
    return _UNSAFE_CHARACTERS.sub("+", model)[:120]


def _scan_shard(shard: Path) -> Iterator[StoredFile]:
    """Yield the stored files of a shard, with their sizes rounded up to whole blocks."""
    with suppress(FileNotFoundError), os.scandir(shard) as files:
        for file in files:
            if file.name.startswith(DRAFT_PREFIX):
                continue
            with suppress(FileNotFoundError):  # another process may delete it at any time
                status = file.stat()
                _, _, model = file.name.partition(".")
                size = math.ceil(status.st_size / BLOCK_BYTES) * BLOCK_BYTES
                yield StoredFile(Path(file.path), model, size, status.st_mtime)


def _delete_old_drafts(shard: Path) -> None:
    for draft in shard.glob(f"{DRAFT_PREFIX}*"):
        with suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > MAX_DRAFT_SECONDS:
                draft.unlink()


@dataclass(frozen=True, slots=True)
class ModelEntries:
    """Number and size of the cached answers of one model."""

    model: str
    entries: int
    bytes: int


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """Folder, limit and content of the answer cache."""

    folder: Path
    most_bytes: int
    models: tuple[ModelEntries, ...]

    @property
    def entries(self) -> int:
        """Number of answers."""
        return sum(model.entries for model in self.models)

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return sum(model.bytes for model in self.models)


def info() -> CacheInfo:
    """Show where answers of models are cached, and how many of each model.

    Example:
        $ editgauge cache info
        >>> editgauge.cache.info()

    """
    return CacheInfo(_answer_folder(), most_bytes(), _count_by_model(list(_open_local_store().entries())))


def clear(*, model: str | None = None, older_than: Amount | None = None) -> CacheInfo:
    """Delete cached answers of models, all or some; later runs compute them again.

    Example:
        $ editgauge cache clear --older-than 30
        >>> editgauge.cache.clear(older_than=30)

    Args:
        model: only answers of this model, by its name or as `editgauge cache info` calls it.
        older_than: only answers that were not used for this many days.

    """
    entries = list(_open_local_store().entries())
    selected = entries if model is None else _select_model(model, entries)
    if older_than is not None:
        selected = [entry for entry in selected if time.time() - entry.used > older_than * SECONDS_PER_DAY]
    for entry in selected:
        entry.path.unlink(missing_ok=True)
    return CacheInfo(_answer_folder(), most_bytes(), _count_by_model(selected))


def cache_dir() -> Path | None:
    """Return the folder of cached answers; None when EDITGAUGE_CACHE_BYTES is 0."""
    return _answer_folder() if most_bytes() else None


def open_store(folder: Path | None) -> Store | TwoLevels | None:
    """Open the answers in a folder, backed by EDITGAUGE_SHARED_CACHE if that is set."""
    if folder is None:
        return None
    local = Store(folder, most_bytes())
    shared_root = os.environ.get(SHARED_SETTING, "").strip()
    if not shared_root:
        return local
    return TwoLevels(local, Store(Path(shared_root).expanduser() / ANSWERS, most_bytes()))


def most_bytes() -> int:
    """Return the size limit of the cache: EDITGAUGE_CACHE_BYTES, or 10 GB."""
    setting = os.environ.get(SIZE_SETTING, "").strip()
    try:
        limit = int(float(setting)) if setting else DEFAULT_BYTES
    except (ValueError, OverflowError):
        limit = -1
    if limit < 0:
        raise BadInputError(
            f"{SIZE_SETTING} is a number of bytes, such as 2e9, or 0 to remember nothing; got '{setting}'."
        )
    return limit


def _answer_folder() -> Path:
    return cache_root() / ANSWERS


def _open_local_store() -> Store:
    return Store(_answer_folder(), most_bytes())


def _count_by_model(entries: list[StoredFile]) -> tuple[ModelEntries, ...]:
    sizes_by_model: dict[str, list[int]] = {}
    names = _open_local_store().names()
    for entry in entries:
        sizes_by_model.setdefault(names.get(entry.model, entry.model), []).append(entry.bytes)
    return tuple(ModelEntries(model, len(sizes), sum(sizes)) for model, sizes in sorted(sizes_by_model.items()))


def _select_model(model: str, entries: list[StoredFile]) -> list[StoredFile]:
    from editgauge.models import models

    file_names = {name_of(model), name_of(models.get(model)().card.id) if model in models else ""}
    stored_models = {entry.model for entry in entries}
    if not file_names & stored_models and model not in models:
        raise UnknownNameError("model with answers in the cache", model, stored_models, "editgauge cache info")
    return [entry for entry in entries if entry.model in file_names]
