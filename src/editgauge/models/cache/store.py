"""Answers on disk: one file each, in folders by the first digits of their key.

Any number of processes, on any number of machines, may share it without a lock: a file is written aside and renamed
into place, so that it is there whole or not at all, and it carries a checksum, so that what a dying disk made of it is
noticed and asked again. Each shelf has its share of the bytes and lets go by itself of what was not used for longest.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from editgauge._util.files import DRAFT_PREFIX
from editgauge._util.progress import log_info
from editgauge.models.cache.packing import Answer, DamagedAnswerError, pack, unpack

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
