"""The cache of model answers: encoding to bytes, a store on disk, models with a cache, and `editgauge cache`.

An encoded answer is a line of JSON and plain arrays, never a pickle, so that a file from elsewhere is harmless. Masks
and class maps are compressed ten to sixty times; floats are not, because compression costs more time than it saves.
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
"""Fields that are stored under an older name, so that existing caches stay valid."""
MAGIC = b"EditGauge answer 2\n"
CHECKSUM_BYTES = 16
COMPRESSION_LEVEL = 1


class DamagedAnswerError(Exception):
    """Bytes that are not what was packed under this key."""


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
    return np.frombuffer(content, dtype).reshape(shape).copy()  # libraries want arrays they may write to


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
            index = {name: number for number, name in enumerate(names)}
            called = [[index[name] for name in side] for side in (answer.phrases, answer.words)]
            arrays = {"boxes": answer.boxes, "confidences": answer.confidences, "called": np.array(called, np.int32)}
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
    match kind:
        case "array":
            return arrays[""]
        case "detections":
            phrases, words = (tuple(plain[index] for index in side) for side in arrays["called"].tolist())
            return Detections(arrays["boxes"], arrays["confidences"], phrases, words, arrays.get("places"))
        case "classes":
            return ClassMap(arrays["places"], tuple(plain))
        case _ if kind in BUNDLES:
            values: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
            }
            names = {stored: name for name, stored in FIELDS_ON_DISK.items()}
            return BUNDLES[kind](**{names.get(name, name): value for name, value in {**values, **arrays}.items()})
        case "plain":
            return float(plain) if isinstance(plain, int | float) else str(plain)
        case _:
            return arrays


LAYOUT = "v1"
NAMES_FOLDER = "names"
"""Folder with one file per model whose id is not a valid file name; the file holds the id."""
SHARDS = 64
BLOCK_BYTES = 4096
"""Disks allocate whole blocks, however small a file is."""
SCAN_FRACTION = 1 / 16
"""A shard is scanned whenever this part of its share was written since the last scan."""
EVICTION_TARGET_FRACTION = 0.9
"""Part of its share to which a full shard is reduced."""
MAX_DRAFT_SECONDS = 3600
"""An older draft was left behind by a killed process."""
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of the store."""

    path: Path
    model: str
    bytes: int
    used: float
    """When it was last asked for, in seconds since 1970."""


class Store:
    """Answers on disk, evicted by time of last use.

    Args:
        folder: folder of the store, created with the first answer.
        most_bytes: size limit of all answers.
        log: receives one message if the disk fails.

    """

    def __init__(self, folder: Path, most_bytes: int, log: Callable[[str], None] = log_info) -> None:
        self._root = folder / LAYOUT
        self._share = most_bytes / SHARDS
        self._log = log
        self._refused = False
        self._since_scan: dict[Path, float] = {}
        self._named: set[str] = set()

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
        """Store an answer. A disk error is logged once and disables storing."""
        if self._refused:
            return
        path = self._path(key, model)
        packed = pack(key, answer)
        try:
            _write(path, packed)
            self._name(model)
            self._make_room(path.parent, len(packed))
        except OSError as error:
            self._on_disk_error(error)

    def entries(self) -> Iterator[StoredFile]:
        """Yield all stored files."""
        for number in range(SHARDS):
            yield from _entries(self._root / f"{number:02x}")

    def names(self) -> dict[str, str]:
        """Map file-name forms of model ids to the ids, where they differ."""
        return {file.name: file.read_text("utf-8") for file in (self._root / NAMES_FOLDER).glob("[!.]*")}

    def _name(self, model: str) -> None:
        if model not in self._named and name_of(model) != model:
            _write(self._root / NAMES_FOLDER / name_of(model), model.encode())
        self._named.add(model)

    def _path(self, key: str, model: str) -> Path:
        return self._root / f"{int(key[:2], 16) % SHARDS:02x}" / f"{key}.{name_of(model)}"

    def _make_room(self, shard: Path, written: int) -> None:
        self._since_scan[shard] = self._since_scan.get(shard, self._share) + written
        if self._since_scan[shard] < self._share * SCAN_FRACTION:
            return
        self._since_scan[shard] = 0
        _delete_old_drafts(shard)
        entries = sorted(_entries(shard), key=lambda entry: entry.used)
        size = sum(entry.bytes for entry in entries)
        target = size if size <= self._share else self._share * EVICTION_TARGET_FRACTION
        for entry in entries:
            if size <= target:
                break
            entry.path.unlink(missing_ok=True)
            size -= entry.bytes

    def _on_disk_error(self, error: OSError) -> None:
        if not self._refused:
            self._refused = True
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


MAX_BYTES_IN_MEMORY = 128_000_000
"""Enough for the features of about thirty images at the four megabytes of SAM."""
MAX_BYTES_ON_DISK = 4_000_000
"""Larger answers stay in memory. What OWL-ViT keeps of an image (1.8 MB for a second of work) is worth a place on the
disk; what SAM keeps (4.2 MB and more) would push out ten thousand answers for every few hundred images."""
POSTPROCESSING_SETTINGS = {"operating_point"}
"""Settings that are applied to what was answered, so that another value costs nothing."""


class RequestGroup(NamedTuple):
    """Requests that may go into one batch."""

    question: str
    """The method of the model that answers."""
    shape: tuple[int, ...] | None
    """Of the images, for models that take them as they are."""


class CachedModel:
    """A model with its answer cache in memory and, optionally, on disk."""

    def __init__(self, model: Model, memory: LRUCache[str, Answer], store: Store | TwoLevels | None) -> None:
        self.model = model
        self.card = model.card
        self._memory = memory
        self._store = store
        self._kinds: dict[type, bool] = {}
        self._stage = "load"
        """What a model does besides its forward pass: it loads itself when it is first asked, and prepares images."""
        settings = {name: value for name, value in self.card.settings.items() if name not in POSTPROCESSING_SETTINGS}
        card = self.card
        self._identity = [
            __version__,  # another version may prepare images in another way
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
        """Check a protocol with `isinstance`, memoized because runtime protocols are slow to check."""
        if kind not in self._kinds:
            self._kinds[kind] = isinstance(self.model, kind)
        return self._kinds[kind]

    def key(self, question: str, *about: object) -> str:
        """Hash model, revision, settings, question and subject to a cache key."""
        return hashlib.sha256(json.dumps([self._identity, question, *about]).encode()).hexdigest()

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
                self._memory.put(key, _frozen(answer))
        profiling.count(self.name, "unknown" if answer is None else "recalled")
        return answer

    def answer(self, group: Hashable, requests: Sequence[Request]) -> list[Answer]:
        """Ask the model, in its own thread, and cache the answers."""
        assert isinstance(group, RequestGroup)  # noqa: S101 - the service makes no others
        with profiling.span(self._stage, self.name):
            answered = getattr(self.model, group.question)([request.payload for request in requests])
        self._stage = "prepare"
        with profiling.span("remember", self.name):
            answers = [_frozen(item) for item in answered]
            for request, answer in zip(requests, answers, strict=True):
                self._keep(str(request.key), answer)
        return answers

    def _keep(self, key: str, answer: Answer) -> None:
        self._memory.put(key, answer)
        if self._store and size_of(answer) <= MAX_BYTES_ON_DISK and not is_image(answer):
            self._store.put(key, self.card.id, answer)


def _frozen(answer: Any) -> Answer:
    """Make an answer read-only, because items share it; features stay writable for the model."""
    if isinstance(answer, np.ndarray):
        array = answer if answer.base is None else answer.copy()  # a row must not keep its batch alive
        array.setflags(write=False)
        return array
    if is_dataclass(answer):
        for field in fields(answer):
            if isinstance(value := getattr(answer, field.name), np.ndarray):
                value.setflags(write=False)
    result: Answer = float(answer) if isinstance(answer, np.floating) else answer
    return result


def is_image(answer: Answer) -> bool:
    """Tell whether features are the image itself, which is not worth caching."""
    return isinstance(answer, dict) and set(answer) == {"pixels"}


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically. It is not synced: the checksum detects what a power cut damaged."""
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


def _entries(shard: Path) -> Iterator[StoredFile]:
    with suppress(FileNotFoundError), os.scandir(shard) as files:
        for file in files:
            with suppress(FileNotFoundError):  # another process may let go of it at any moment
                _, _, model = file.name.partition(".")
                if not file.name.startswith(DRAFT_PREFIX):
                    status = file.stat()
                    yield StoredFile(
                        Path(file.path), model, -(-status.st_size // BLOCK_BYTES) * BLOCK_BYTES, status.st_mtime
                    )


def _delete_old_drafts(shard: Path) -> None:
    for draft in shard.glob(f"{DRAFT_PREFIX}*"):
        with suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > MAX_DRAFT_SECONDS:
                draft.unlink()


SIZE_SETTING = "EDITGAUGE_CACHE_BYTES"
SHARED_SETTING = "EDITGAUGE_SHARED_CACHE"
"""A folder that several machines see: what one of them asked, none asks again."""
ANSWERS = "answers"
DEFAULT_BYTES = 10_000_000_000
DAY = 86_400


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
    return CacheInfo(_folder(), most_bytes(), _by_model(list(_store().entries())))


def clear(*, model: str | None = None, older_than: Amount | None = None) -> CacheInfo:
    """Delete cached answers of models, all or some; later runs compute them again.

    Example:
        $ editgauge cache clear --older-than 30
        >>> editgauge.cache.clear(older_than=30)

    Args:
        model: only answers of this model, by its name or as `editgauge cache info` calls it.
        older_than: only answers that were not used for this many days.

    """
    entries = list(_store().entries())
    selected = entries if model is None else _of_model(model, entries)
    if older_than is not None:
        selected = [entry for entry in selected if time.time() - entry.used > older_than * DAY]
    for entry in selected:
        entry.path.unlink(missing_ok=True)
    return CacheInfo(_folder(), most_bytes(), _by_model(selected))


def cache_dir() -> Path | None:
    """Return the folder of cached answers; None when EDITGAUGE_CACHE_BYTES is 0."""
    return _folder() if most_bytes() else None


def open_store(folder: Path | None) -> Store | TwoLevels | None:
    """Open the answers in a folder, backed by EDITGAUGE_SHARED_CACHE if that is set."""
    if folder is None:
        return None
    near, shared = Store(folder, most_bytes()), os.environ.get(SHARED_SETTING, "").strip()
    return TwoLevels(near, Store(Path(shared).expanduser() / ANSWERS, most_bytes())) if shared else near


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


def _folder() -> Path:
    return cache_root() / ANSWERS


def _store() -> Store:
    return Store(_folder(), most_bytes())


def _by_model(entries: list[StoredFile]) -> tuple[ModelEntries, ...]:
    counted: dict[str, list[int]] = {}
    names = _store().names()
    for entry in entries:
        counted.setdefault(names.get(entry.model, entry.model), []).append(entry.bytes)
    return tuple(ModelEntries(model, len(sizes), sum(sizes)) for model, sizes in sorted(counted.items()))


def _of_model(model: str, entries: list[StoredFile]) -> list[StoredFile]:
    from editgauge.models import models

    file_names = {name_of(model), name_of(models.get(model)().card.id) if model in models else ""}
    stored_models = {entry.model for entry in entries}
    if not file_names & stored_models and model not in models:
        raise UnknownNameError("model with answers in the cache", model, stored_models, "editgauge cache info")
    return [entry for entry in entries if entry.model in file_names]
