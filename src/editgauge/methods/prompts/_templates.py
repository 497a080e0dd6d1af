"""Prompt families (`families.yaml`) and template files."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal, get_args

import yaml

from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.methods.prompts._language import find_problems
from editgauge.types import Relation

Form = Literal["instruction", "caption", "captions", "token"]
DEFAULT_TOKEN = "sks"  # noqa: S105  a word that a model has learned, not a secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """How methods of one family are prompted, and after whom."""

    form: Form
    template: str
    after: str
    token: str | None = None
    also: tuple[str, ...] = ()


@cache
def families() -> dict[str, Family]:
    """All families by name."""
    text = (resources.files(__package__) / "families.yaml").read_text(encoding="utf-8")
    rows = yaml.safe_load(text)
    return {name: Family(**{**row, "also": tuple(row.get("also", ()))}) for name, row in rows.items()}


def family(name: str) -> Family:
    """Return the family of that name.

    >>> family("Instruct-Pix2Pix").form, family("SDE-Edit").form, family("Textual Inversion").token
    ('instruction', 'instruction', '*')
    """
    for key, row in families().items():
        if _folded(name) in map(_folded, (key, *row.also)):
            return row
    raise UnknownNameError("method family", name, families())


def _folded(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower()


VERSIONED = re.compile(r"(\w+)\.v([0-9]{1,6})\.txt", re.ASCII)
NAMES: Mapping[str, Collection[str]] = {
    "instruction": EDIT_TYPES,
    "caption": EDIT_TYPES,
    "source": EDIT_TYPES,
    "position": tuple(relation.replace(" ", "_") for relation in get_args(Relation)),
}
"""The folders of a set, and what the files in each are called after."""


@dataclass(frozen=True, slots=True)
class Template:
    """The text of a template file, and the name to remember it by."""

    name: str
    text: str


DEFAULT_SET = "plain"
"""What another set lacks comes from this one."""


def has_template(template: str, kind: str, name: str, folder: Path | None = None) -> bool:
    """Return whether the user's folder, or without one the set itself, has that template."""
    directory: Traversable = folder / kind if folder else _sets() / template / kind
    return _newest(directory, name) is not None


def find_template(template: str, kind: str, name: str, folder: Path | None = None) -> Template | None:
    """Find the template `<kind>/<name>.v<number>.txt` in the user's folder, the set, or the default set."""
    custom = _newest(folder / kind, name) if folder else None
    if folder and custom:
        return _read(custom, f"{folder.name}/{kind}/{custom.name}")
    return _built_in(template, kind, name) or _built_in(DEFAULT_SET, kind, name)


def check_choice(template: str, folder: Path | None) -> None:
    """Refuses a set that does not exist, and a folder with templates that would never be found."""
    names = set_names()
    if template not in names:
        raise UnknownNameError("set of prompt templates", template, names)
    if folder is None:
        return
    if not folder.is_dir():
        raise BadInputError(f"There is no folder of templates at '{folder}'.")
    astray = [file for file in sorted([*folder.glob("*.txt"), *folder.glob("*/*.txt")]) if not _fits(file, folder)]
    if astray:
        raise BadInputError(
            f"The folder of templates '{folder}' holds files that no edit would use. A template is called as in "
            f"'instruction/color.v1.txt'; the folders are {', '.join(NAMES)}.",
            [file.relative_to(folder).as_posix() for file in astray],
        )


def _fits(file: Path, folder: Path) -> bool:
    name = VERSIONED.fullmatch(file.name)
    return name is not None and file.parent.parent == folder and name[1] in NAMES.get(file.parent.name, ())


@cache
def set_names() -> frozenset[str]:
    """Return the names of the built-in template sets."""
    return frozenset(entry.name for entry in _sets().iterdir() if entry.is_dir())


def _sets() -> Traversable:
    return resources.files(__package__) / "templates"


@cache
def _built_in(template: str, kind: str, name: str) -> Template | None:
    file = _newest(_sets() / template / kind, name)
    return _read(file, f"{template}/{kind}/{file.name}") if file else None


def _newest(folder: Traversable, name: str) -> Traversable | None:
    if not folder.is_dir():
        return None
    files = ((VERSIONED.fullmatch(file.name), file) for file in folder.iterdir())
    versions = {int(match[2]): file for match, file in files if match and match[1] == name}
    return versions[max(versions)] if versions else None


def _read(file: Traversable, name: str) -> Template:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"The template '{name}' cannot be read: {error}.") from error
    problems = find_problems(text)
    if problems:
        raise BadInputError(f"The template '{name}' cannot be used.", problems)
    return Template(name, text)
