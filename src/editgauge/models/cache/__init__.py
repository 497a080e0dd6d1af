"""The verb `cache`: what models answered before is kept on disk, so that nothing is asked twice."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from editgauge._util.packages import cache_root
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.models.cache.store import Store, StoredFile, TwoLevels, name_of
from editgauge.options import Amount

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
