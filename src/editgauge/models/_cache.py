"""Answers as bytes and back: a line of JSON, then plain arrays. No pickle: a file from a stranger can do no harm.

Masks and class maps are packed small, which shrinks them ten to sixty times; floating-point numbers stay as they are,
because packing them costs more time than it saves room.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util.files import DRAFT_PREFIX
from editgauge._util.packages import cache_root
from editgauge._util.progress import log_info
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.models.answers import ClassMap, ClassScores, Detections, Faces, Patches, Poses, TextLines
from editgauge.options import Amount

Bundle = Patches | ClassScores | TextLines | Faces | Poses
"""Answers whose fields are arrays, words and tuples of words."""
BUNDLES: dict[str, type[Bundle]] = {
    "patches": Patches,
    "class scores": ClassScores,
    "text lines": TextLines,
    "faces": Faces,
    "poses": Poses,
}
Answer = NDArray[Any] | Mapping[str, NDArray[Any]] | Detections | ClassMap | Bundle | float | str
MAGIC = b"EditGauge answer 2\n"
CHECKSUM = 16
FASTEST = 1


class DamagedAnswerError(Exception):
    """Bytes that are not what was packed under this key."""


def pack(key: str, answer: Answer) -> bytes:
    """The answer with a checksum over it and its key."""
    kind, plain, arrays = _apart(answer)
    bodies = [_squeezed(array) for array in arrays.values()]
    layout = [
        [name, array.dtype.str, list(array.shape), len(body)]
        for (name, array), body in zip(arrays.items(), bodies, strict=True)
    ]
    header = json.dumps({"kind": kind, "plain": plain, "arrays": layout}).encode() + b"\n"
    return MAGIC + _checksum(key, header, *bodies) + b"".join([header, *bodies])


def unpack(key: str, packed: bytes) -> Answer:
    """What was packed; raises `DamagedAnswerError` when these are other bytes, or were packed under another key."""
    content = memoryview(packed)[len(MAGIC) + CHECKSUM :]
    if not packed.startswith(MAGIC) or packed[len(MAGIC) :][:CHECKSUM] != _checksum(key, content):
        raise DamagedAnswerError(key)
    end = packed.index(b"\n", len(MAGIC) + CHECKSUM) + 1
    header = json.loads(packed[len(MAGIC) + CHECKSUM : end])
    arrays: dict[str, NDArray[Any]] = {}
    for name, dtype, shape, size in header["arrays"]:
        arrays[name] = _spread(packed[end : end + size], np.dtype(dtype), tuple(shape))
        end += size
    return _together(header["kind"], header["plain"], arrays)


def size_of(answer: Answer) -> int:
    """How many bytes the answer takes in memory, about."""
    _, plain, arrays = _apart(answer)
    return sum(array.nbytes for array in arrays.values()) + len(str(plain)) + 200


def _checksum(key: str, *parts: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(key.encode(), digest_size=CHECKSUM)
    for part in parts:
        digest.update(part)
    return digest.digest()


def _squeezed(array: NDArray[Any]) -> bytes:
    if array.dtype == np.bool_:
        return zlib.compress(np.packbits(array).tobytes(), FASTEST)
    if array.dtype == np.uint8:
        return zlib.compress(array.tobytes(), FASTEST)
    return array.tobytes()


def _spread(body: bytes, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    if dtype == np.bool_:
        bits = np.frombuffer(zlib.decompress(body), np.uint8)
        return np.unpackbits(bits, count=math.prod(shape)).view(np.bool_).reshape(shape)
    content = zlib.decompress(body) if dtype == np.uint8 else body
    return np.frombuffer(content, dtype).reshape(shape).copy()  # libraries want arrays they may write to


def _apart(answer: Answer) -> tuple[str, Any, dict[str, NDArray[Any]]]:
    """What it is, its plain part and its arrays."""
    match answer:
        case np.ndarray():
            return "array", None, {"": answer}
        case Detections():
            names = list(dict.fromkeys((*answer.phrases, *answer.words)))
            place = {name: number for number, name in enumerate(names)}
            called = [[place[name] for name in side] for side in (answer.phrases, answer.words)]
            arrays = {"boxes": answer.boxes, "confidences": answer.confidences, "called": np.array(called, np.int32)}
            if answer.places is not None:
                arrays["places"] = answer.places
            return "detections", names, arrays
        case ClassMap():
            return "classes", list(answer.classes), {"places": answer.places}
        case Patches() | ClassScores() | TextLines() | Faces() | Poses():
            kind = next(kind for kind, bundle in BUNDLES.items() if isinstance(answer, bundle))
            values = {field.name: getattr(answer, field.name) for field in fields(answer)}
            arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
            return kind, {name: value for name, value in values.items() if name not in arrays}, arrays
        case float() | str():
            return "plain", answer, {}
        case Mapping():
            return "features", None, {name: np.asarray(array) for name, array in answer.items()}
    raise TypeError(f"a model answered with {type(answer).__name__}, which is no kind of answer")


def _together(kind: str, plain: Any, arrays: dict[str, NDArray[Any]]) -> Answer:
    match kind:
        case "array":
            return arrays[""]
        case "detections":
            phrases, words = (tuple(plain[place] for place in side) for side in arrays["called"].tolist())
            return Detections(arrays["boxes"], arrays["confidences"], phrases, words, arrays.get("places"))
        case "classes":
            return ClassMap(arrays["places"], tuple(plain))
        case _ if kind in BUNDLES:
            values: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()
            }
            return BUNDLES[kind](**{**values, **arrays})
        case "plain":
            return float(plain) if isinstance(plain, int | float) else str(plain)
        case _:
            return arrays


class Memory:
    """The answers used last, as many as fit into some bytes. Several threads may use it."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, tuple[Answer, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Answer | None:
        """The answer, if it is still here."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: str, answer: Answer) -> None:
        """Keeps it, and lets go of those that were not used for longest."""
        size = size_of(answer)
        with self._lock:
            _, before = self._kept.pop(key, (None, 0))
            self._kept[key] = answer, size
            self._bytes += size - before
            while self._bytes > self._most and len(self._kept) > 1:
                _, (_, gone) = self._kept.popitem(last=False)
                self._bytes -= gone


LAYOUT = "v1"
NAMES = "names"
"""A file for each model whose id cannot stand in the name of a file: it holds the id."""
SHELVES = 64
BLOCK = 4096
"""A file takes whole blocks of a disk, however small it is."""
LOOK_AFTER = 1 / 16
"""A shelf is looked through whenever this part of its share was written to it since."""
KEEP = 0.9
"""How much of its share a shelf keeps when it has to let go."""
SECONDS_OF_A_DRAFT = 3600
"""An older one was left behind by a process that was killed."""
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of the store."""

    path: Path
    model: str
    bytes: int
    used: float
    """When it was last asked for, in seconds since 1970."""


class Store:
    """The answers on disk.

    Args:
        folder: where they are; made when the first one is kept
        most_bytes: how many bytes they may take together
        tell: is given a sentence, once, should the disk refuse

    """

    def __init__(self, folder: Path, most_bytes: int, tell: Callable[[str], None] = log_info) -> None:
        self._shelves = folder / LAYOUT
        self._share = most_bytes / SHELVES
        self._tell = tell
        self._refused = False
        self._since_look: dict[Path, float] = {}
        self._named: set[str] = set()

    def get(self, key: str, model: str) -> Answer | None:
        """The answer that was kept under the key; None if there is none, or only a damaged one."""
        path = self._path(key, model)
        try:
            answer = unpack(key, path.read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            self._give_up(error)
            return None
        except DamagedAnswerError:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            return None
        with suppress(OSError):  # what may only be read is never let go either
            os.utime(path)
        return answer

    def put(self, key: str, model: str, answer: Answer) -> None:
        """Keeps it. A disk that refuses is reported once; everything goes on without remembering."""
        if self._refused:
            return
        path = self._path(key, model)
        packed = pack(key, answer)
        try:
            _write(path, packed)
            self._name(model)
            self._make_room(path.parent, len(packed))
        except OSError as error:
            self._give_up(error)

    def entries(self) -> Iterator[StoredFile]:
        """Everything that is kept."""
        for number in range(SHELVES):
            yield from _entries(self._shelves / f"{number:02x}")

    def names(self) -> dict[str, str]:
        """The ids of models by what they are called in the names of files, where the two differ."""
        return {file.name: file.read_text("utf-8") for file in (self._shelves / NAMES).glob("[!.]*")}

    def _name(self, model: str) -> None:
        if model not in self._named and name_of(model) != model:
            _write(self._shelves / NAMES / name_of(model), model.encode())
        self._named.add(model)

    def _path(self, key: str, model: str) -> Path:
        return self._shelves / f"{int(key[:2], 16) % SHELVES:02x}" / f"{key}.{name_of(model)}"

    def _make_room(self, shelf: Path, written: int) -> None:
        self._since_look[shelf] = self._since_look.get(shelf, self._share) + written
        if self._since_look[shelf] < self._share * LOOK_AFTER:
            return
        self._since_look[shelf] = 0
        _forget_drafts(shelf)
        kept = sorted(_entries(shelf), key=lambda entry: entry.used)
        size = sum(entry.bytes for entry in kept)
        target = size if size <= self._share else self._share * KEEP
        for entry in kept:
            if size <= target:
                break
            entry.path.unlink(missing_ok=True)
            size -= entry.bytes

    def _give_up(self, error: OSError) -> None:
        if not self._refused:
            self._refused = True
            self._tell(
                f"What models answer is not remembered from here on: '{self._shelves.parent}' refuses it "
                f"({error.strerror or error}). The scores are the same; a later run will ask again."
            )


class TwoLevels:
    """What is asked is looked for near first; what was found far is kept near, and what is new goes to both.

    Args:
        near: on a disk of this machine's own
        far: on a disk that machines share

    """

    def __init__(self, near: Store, far: Store) -> None:
        self._near = near
        self._far = far

    def get(self, key: str, model: str) -> Answer | None:
        """The answer that was kept under the key, here or by another machine."""
        answer = self._near.get(key, model)
        if answer is None:
            answer = self._far.get(key, model)
            if answer is not None:
                self._near.put(key, model, answer)
        return answer

    def put(self, key: str, model: str, answer: Answer) -> None:
        """Keeps it on both levels."""
        self._near.put(key, model, answer)
        self._far.put(key, model, answer)


def _write(path: Path, content: bytes) -> None:
    """The whole file or none; not flushed to the disk: a checksum tells what a power cut left of an answer."""
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
    """A model's id as it stands in the names of files.

    >>> name_of("google/owlvit-base-patch32")
    'google+owlvit-base-patch32'
    """
    return _NOT_IN_A_NAME.sub("+", model)[:120]


def _entries(shelf: Path) -> Iterator[StoredFile]:
    with suppress(FileNotFoundError), os.scandir(shelf) as files:
        for file in files:
            with suppress(FileNotFoundError):  # another process may let go of it at any moment
                _, _, model = file.name.partition(".")
                if not file.name.startswith(DRAFT_PREFIX):
                    status = file.stat()
                    yield StoredFile(Path(file.path), model, -(-status.st_size // BLOCK) * BLOCK, status.st_mtime)


def _forget_drafts(shelf: Path) -> None:
    for draft in shelf.glob(f"{DRAFT_PREFIX}*"):
        with suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > SECONDS_OF_A_DRAFT:
                draft.unlink()


SIZE_SETTING = "EDITGAUGE_CACHE_BYTES"
SHARED_SETTING = "EDITGAUGE_SHARED_CACHE"
"""A folder that several machines see: what one of them asked, none asks again."""
ANSWERS = "answers"
USUAL_BYTES = 10_000_000_000
DAY = 86_400


@dataclass(frozen=True, slots=True)
class ModelEntries:
    """How much is remembered of one model."""

    model: str
    entries: int
    bytes: int


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """Where answers are remembered, and how much of what."""

    folder: Path
    most_bytes: int
    models: tuple[ModelEntries, ...]

    @property
    def entries(self) -> int:
        """How many answers there are."""
        return sum(model.entries for model in self.models)

    @property
    def bytes(self) -> int:
        """How much room they take."""
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
    kept = list(_store().entries())
    chosen = kept if model is None else _of_model(model, kept)
    if older_than is not None:
        chosen = [entry for entry in chosen if time.time() - entry.used > older_than * DAY]
    for entry in chosen:
        entry.path.unlink(missing_ok=True)
    return CacheInfo(_folder(), most_bytes(), _by_model(chosen))


def cache_dir() -> Path | None:
    """The folder in which a run remembers answers; None when EDITGAUGE_CACHE_BYTES is 0."""
    return _folder() if most_bytes() else None


def open_store(folder: Path | None) -> Store | TwoLevels | None:
    """The answers kept in a folder, and behind it those of EDITGAUGE_SHARED_CACHE where that is set."""
    if folder is None:
        return None
    near, shared = Store(folder, most_bytes()), os.environ.get(SHARED_SETTING, "").strip()
    return TwoLevels(near, Store(Path(shared).expanduser() / ANSWERS, most_bytes())) if shared else near


def most_bytes() -> int:
    """How much room answers may take: EDITGAUGE_CACHE_BYTES, or 10 GB."""
    setting = os.environ.get(SIZE_SETTING, "").strip()
    try:
        chosen = int(float(setting)) if setting else USUAL_BYTES
    except (ValueError, OverflowError):
        chosen = -1
    if chosen < 0:
        raise BadInputError(
            f"{SIZE_SETTING} is a number of bytes, such as 2e9, or 0 to remember nothing; got '{setting}'."
        )
    return chosen


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

    called = {name_of(model), name_of(models.get(model)().card.id) if model in models else ""}
    there = {entry.model for entry in entries}
    if not called & there and model not in models:
        raise UnknownNameError("model with answers in the cache", model, there, "editgauge cache info")
    return [entry for entry in entries if entry.model in called]
