"""Folders that are filled bit by bit: a file of settings says what they were begun with, so that nothing is mixed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from editgauge._util.files import write_json
from editgauge.errors import BadInputError


def claim(folder: Path, file: str, settings: dict[str, Any], what: str, made_by: str) -> None:
    """Takes a new or empty folder, or one that was begun with the same settings, which are kept in the file.

    `what` is a word for what the folder holds, such as `outcomes`; `made_by` is the command that fills such folders.
    """
    path = folder / file
    if path.is_file():
        earlier = json.loads(path.read_text("utf-8"))
        changed = list(_changed(earlier, settings))
        if changed:
            raise BadInputError(f"'{folder}' holds {what} made with other settings; choose another folder.", changed)
    elif folder.is_dir() and any(folder.iterdir()):
        raise BadInputError(f"'{folder}' is not empty and was not made by `{made_by}`; choose another folder.")
    else:
        write_json(path, settings)


def _changed(earlier: Mapping[str, Any], settings: Mapping[str, Any], within: str = "") -> Iterator[str]:
    """What differs, each setting by its name, however deep it lies."""
    for key, new in settings.items():
        old, name = earlier.get(key), f"{within}{key}"
        if isinstance(old, dict) and isinstance(new, dict):
            yield from _changed(dict.fromkeys(new) | old, dict.fromkeys(old) | new, f"{name}.")
        elif old != new:
            yield f"{name}: {old} there, {new} asked for"
