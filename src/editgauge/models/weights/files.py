"""Weights that are on this machine; every file is hashed before it is used."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from editgauge._util.packages import sha256_of
from editgauge.errors import FatalError, UnknownNameError


class MissingWeightsError(FatalError):
    """Weights that are not on this machine."""


class DamagedWeightsError(FatalError):
    """Weights on this machine whose content is not the one that was recorded."""


@dataclass(frozen=True)
class WeightFiles:
    """A whole set of weights: where it is, what it is, under which license."""

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
        """The file of that name; raises `DamagedWeightsError` when its content is not the recorded one."""
        inside = [name] if name in self.files else [file for file in self.files if PurePosixPath(file).name == name]
        if len(inside) != 1:
            raise UnknownNameError(f"file of the weights '{self.name}'", name, self.files)
        self._check(inside[0])
        return self.files[inside[0]]

    def check(self) -> None:
        """Raises `DamagedWeightsError` when the content of any file is not the recorded one."""
        for name in self.hashes or ():
            self._check(name)

    @cached_property
    def sha256(self) -> str:
        """One hash for the whole set: that of the sorted hashes of its files, as they are on this machine."""
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
    """SHA-256 of a file as it is now; read again only when its inode, its size or its time changed."""
    status = path.stat()
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
    if identity not in _measured:
        _measured[identity] = sha256_of(path)
    return _measured[identity]


def sha256_of_set(hashes: Iterable[str]) -> str:
    """SHA-256 of the sorted hashes, each on a line of its own."""
    return hashlib.sha256("".join(f"{hash}\n" for hash in sorted(hashes)).encode("ascii")).hexdigest()
