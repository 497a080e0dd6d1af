"""Files of an outcome folder: normalized names, seeds, the file tree, and faults."""

from __future__ import annotations

import os
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, NamedTuple

from editgauge._util.images import IMAGE_SUFFIXES
from editgauge.errors import BadInputError

_SEED_IN_NAME = re.compile(r"(.+?)__?seed([0-9]{1,18})")
_SEED_FOLDER = re.compile(r"seed([0-9]{1,18})")


def normalize_name(name: str) -> str:
    """Normalize to NFC; some file systems store 'é' as two characters."""
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def fold_case(name: str) -> str:
    """Return the normalized name in lower case."""
    return normalize_name(name.casefold())


def is_image(name: str) -> bool:
    """Whether the suffix, in any capitals, is one of an image that can be read."""
    stem, dot, suffix = name.rpartition("/")[2].rpartition(".")
    return bool(stem) and (dot + suffix).lower() in IMAGE_SUFFIXES


def without_suffix(name: str) -> str:
    """Remove an image suffix; other dots stay.

    >>> without_suffix("sample_1.jpg"), without_suffix("eta_0.8")
    ('sample_1', 'eta_0.8')
    """
    return name[: name.rindex(".")] if is_image(name) else name


def read_seed(path: str) -> tuple[str, int] | None:
    """Split the one seed marker from a path; None when it has no marker, or several.

    >>> read_seed("seed3/color/cat"), read_seed("cat__seed3"), read_seed("cat")
    (('color/cat', 3), ('cat', 3), None)
    """
    if "seed" not in path:
        return None
    *folders, name = path.split("/")
    marks = [mark for folder in folders if (mark := _SEED_FOLDER.fullmatch(folder))]
    named = _SEED_IN_NAME.fullmatch(name)
    if len(marks) + bool(named) != 1:
        return None
    remaining = [folder for folder in folders if not _SEED_FOLDER.fullmatch(folder)]
    return (
        ("/".join([*remaining, named[1]]), int(named[2])) if named else ("/".join([*remaining, name]), int(marks[0][1]))
    )


def escape_name(name: str) -> str:
    """Escape control characters and invalid encodings of a file name for printing."""
    return name if name.isprintable() else repr(name)[1:-1]


FaultKind = Literal[
    "missing",  # an edit without an outcome
    "missing_seed",  # an edit without an outcome for a seed that other edits have
    "duplicate",  # a second picture for an outcome, which is not used
    "misspelled",  # a file that matches no edit, and is close to one that is missing; not used
    "capitals",  # a file that differs from what was expected in capitals only; used
    "unmatched",  # a file that matches no edit
    "link",  # a link that is not followed
    "unlisted",  # a folder that was not looked into
]

MIN_SIMILARITY = 0.8
MAX_COMPARED = 300
"""Comparing spellings takes missing files times unknown files; beyond this it would take seconds and not help."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One row: what kind, the edit's id or the file, and a sentence."""

    kind: FaultKind
    where: str
    detail: str


def find_misspelled(unexpected: Mapping[str, str], missing: Iterable[str]) -> dict[str, str]:
    """For files that match no edit, the missing path each resembles; numbers must agree, for they are never misspelled.

    Args:
        unexpected: file to its path without suffix and seed.
        missing: the expected paths, without suffix.

    >>> find_misspelled({"cta.png": "cta", "cat2.png": "cat2"}, ["cat", "cat1"])
    {}
    >>> find_misspelled({"black-catt.png": "black-catt"}, ["black-cat", "cat1"])
    {'black-catt.png': 'black-cat'}

    """
    by_number: dict[str, list[str]] = defaultdict(list)
    for path in missing:
        by_number[_digits(path)].append(path)
    close: dict[str, str] = {}
    for file, path in list(unexpected.items())[:MAX_COMPARED]:
        near = get_close_matches(path, by_number.get(_digits(path), [])[:MAX_COMPARED], n=1, cutoff=MIN_SIMILARITY)
        if near:
            close[file] = near[0]
    return close


def _digits(path: str) -> str:
    return re.sub(r"\D+", " ", path).strip()


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
    """The files of a folder, sorted by name."""

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
