"""A folder of outcomes, listed once."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from editgauge.errors import BadInputError
from editgauge.methods.layouts.faults import Fault
from editgauge.methods.layouts.names import escape_name, fold_case, is_image, normalize_name, read_seed, without_suffix

MAX_DEPTH = 5
"""Folders below folders; the deepest public layout has four, and a folder per seed makes five."""


class TreeImage(NamedTuple):
    """An image below the folder."""

    name: str
    """Relative to the folder, with `/`."""
    bare: str
    """The same without suffix and mark of a seed."""


class NameReading(NamedTuple):
    """One way to read a file's name: as it stands, or with its mark of a seed taken off."""

    path: str
    seed: int
    seeded: bool
    file: str


@dataclass(frozen=True, slots=True)
class Tree:
    """What is in a folder, in the order of names."""

    folder: Path
    images: tuple[TreeImage, ...]
    readings: Mapping[str, Sequence[NameReading]]
    """By path, whatever its capitals."""
    other_files: tuple[str, ...]
    """Files that are no images."""
    faults: tuple[Fault, ...]


def list_tree(folder: Path) -> Tree:
    """List files up to five folders deep; hidden files are skipped, links to elsewhere are not followed.

    Links to files are followed as long as they stay in the folder: outcomes that someone else packed must not reach
    other files of this machine.
    """
    listing = _Listing(Path(os.path.realpath(folder)))
    listing.look(str(folder), "", MAX_DEPTH)
    images, other_files = [], []
    readings: dict[str, list[NameReading]] = defaultdict(list)
    for name in sorted(listing.files):
        if not is_image(name):
            other_files.append(name)
            continue
        path = normalize_name(without_suffix(name))
        readings[fold_case(path)].append(NameReading(path, 0, False, name))
        seeded = read_seed(path)
        if seeded:
            readings[fold_case(seeded[0])].append(NameReading(*seeded, True, name))
        images.append(TreeImage(name, seeded[0] if seeded else path))
    ordered = sorted(listing.faults, key=lambda fault: fault.where)
    return Tree(folder, tuple(images), readings, tuple(other_files), tuple(ordered))


@dataclass(slots=True)
class _Listing:
    root: Path
    files: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    def look(self, folder: str, below: str, depth: int) -> None:
        try:
            with os.scandir(folder) as entries:
                visible = [entry for entry in entries if not entry.name.startswith(".")]
        except OSError as error:
            if not below:
                raise BadInputError(f"'{folder}' cannot be listed: {error.strerror or error}.") from error
            self.faults.append(Fault("unlisted", escape_name(below), f"cannot be listed: {error.strerror or error}"))
            return
        for entry in visible:
            name = below + entry.name
            if entry.is_symlink():
                self._follow(entry, name)
            elif entry.is_file():
                self.files.append(name)
            elif entry.is_dir():
                if depth:
                    self.look(entry.path, f"{name}/", depth - 1)
                else:
                    self.faults.append(Fault("unlisted", escape_name(name), f"is deeper than {MAX_DEPTH} folders"))

    def _follow(self, entry: os.DirEntry[str], name: str) -> None:
        target = Path(os.path.realpath(entry.path))
        if not target.exists():
            why = "is a link that leads nowhere"
        elif target.is_dir():
            why = "is a link to a folder, which is not followed"
        elif not target.is_relative_to(self.root):
            why = "is a link out of the folder, which is not followed; copy the file, or name it in a JSONL list"
        elif target.is_file():
            self.files.append(name)
            return
        else:
            return
        self.faults.append(Fault("link", escape_name(name), why))
