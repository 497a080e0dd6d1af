"""A folder with one sub-folder for each method: `--outcomes "results/*"`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from editgauge.errors import BadInputError
from editgauge.methods.layouts._files import escape_name
from editgauge.types import id_problem

WILDCARD = "/*"
SKIPPED_FOLDERS = {"input"}
"""ImagenHub keeps the sources there, next to the methods."""
_NUMBER = re.compile(r"(?<![\w.])(-?[0-9]{1,15}(?:\.[0-9]{1,15})?(?:e-?[0-9]{1,2})?)(?![\w.])", re.ASCII)
_METHOD = re.compile(r"[^\[\]=]+(\[[^\[\]]+\])?")


def expand_folders(texts: Iterable[str]) -> list[str]:
    """Expand `FOLDER/*` in `outcomes` to one `NAME=FOLDER` per method in the folder."""
    written: list[str] = []
    for text in [texts] if isinstance(texts, str) else texts:
        folder = Path(text.removesuffix(WILDCARD) or os.sep).expanduser()
        if not text.endswith(WILDCARD):
            written.append(text)
        elif "=" in text and not folder.is_dir():
            stars = text.partition("=")[2]
            raise BadInputError(f"'{stars}' stands for several methods and takes no name: `outcomes='{stars}'`.")
        else:
            written += [f"{name}={path}" for name, path in discover(folder).items()]
    return written


def discover(folder: Path) -> dict[str, Path]:
    """Return one folder per method by name; hidden folders and ImagenHub's `input` are skipped.

    A sub-folder that is a link, or whose name cannot name a method, is an error rather than a method that is missing.
    """
    try:
        with os.scandir(folder) as entries:
            visible = sorted((entry for entry in entries if not entry.name.startswith(".")), key=_in_order)
    except OSError as error:
        raise BadInputError(f"'{folder}' cannot be listed: {error.strerror or error}.") from error
    methods = [entry for entry in visible if entry.is_dir() and entry.name not in SKIPPED_FOLDERS]
    problems = [f"{escape_name(entry.name)}: {why}" for entry in methods if (why := _problem(entry))]
    if problems:
        problems.append("give such a folder by name: `outcomes='NAME=FOLDER'`")
        raise BadInputError(f"'{folder}' holds folders that cannot be taken as methods.", problems)
    if not methods:
        raise BadInputError(f"'{folder}' holds no sub-folders; 'FOLDER/*' takes one for each method.")
    return {entry.name: folder / entry.name for entry in methods}


def _in_order(entry: os.DirEntry[str]) -> tuple[str, list[tuple[float, str]], str]:
    """By name, and variants of a method by the size of their numbers: `[steps=5]` stands before `[steps=10]`."""
    method, _, options = entry.name.partition("[")
    parts = _NUMBER.split(options.removesuffix("]"))
    return method, [(float(part), "") if index % 2 else (0.0, part) for index, part in enumerate(parts)], entry.name


def _problem(entry: os.DirEntry[str]) -> str | None:
    if entry.is_symlink():
        return "a link, which is not followed"
    if not _METHOD.fullmatch(entry.name):
        return "a method is called NAME or NAME[VARIANT]"
    return id_problem(entry.name)
