"""Weights that are on this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from editgauge.core.errors import Hopeless, UnknownName
from editgauge.core.fetch import sha256_of


class MissingWeights(Hopeless):
    """Weights that are not on this machine."""


@dataclass(frozen=True)
class WeightFiles:
    """A whole set of weights: where it is, what it is, under which licence."""

    name: str
    licence: str
    revision: str
    """The package and its version, or the repository of the model hub and its commit."""
    folder: Path
    """Holds all the files; of a model of the hub it can be loaded as it is."""
    files: Mapping[str, Path]
    """By their names inside the set."""
    hashes: Mapping[str, str] | None = None
    """SHA-256 of the files as they were recorded; None when there is no record and they are computed when asked for."""

    def path(self, name: str) -> Path:
        """The file of that name."""
        if name in self.files:
            return self.files[name]
        found = [path for inside, path in self.files.items() if PurePosixPath(inside).name == name]
        if len(found) != 1:
            raise UnknownName(f"file of the weights '{self.name}'", name, self.files)
        return found[0]

    @cached_property
    def sha256(self) -> str:
        """One hash for the whole set: that of the sorted hashes of its files."""
        return sha256_of_set((self.hashes or {name: sha256_of(path) for name, path in self.files.items()}).values())


def sha256_of_set(hashes: Iterable[str]) -> str:
    """SHA-256 of the sorted hashes, each on a line of its own."""
    return hashlib.sha256("".join(f"{each}\n" for each in sorted(hashes)).encode("ascii")).hexdigest()
