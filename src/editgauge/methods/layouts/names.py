"""File names: their letters, their suffixes, and the seed they may carry."""

from __future__ import annotations

import re
import unicodedata

from editgauge._util.images import IMAGE_SUFFIXES

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
