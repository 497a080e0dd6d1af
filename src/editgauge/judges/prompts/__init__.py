"""Prompts are text files with a version in their name: `yes_no.v1.txt`. A slot is written `{question}`.

A published file is never changed, because answers are known by its text and version: a better wording is a new
version. A prompt is data: it can name slots and nothing else, and what fills a slot is never read as a prompt.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import yaml

from editgauge.errors import BadInputError, UnknownNameError, summarize_error

_VERSIONED = re.compile(r"([a-z][a-z0-9_]*)\.v([1-9][0-9]{0,5})\.txt", re.ASCII)
OF_RUBRICS = "rubric_"
"""How the names of prompts begin that rubrics ask for: `rubric_NAME_QUESTION`."""
_SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}", re.ASCII)


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """What a judge is told, and the prompt that it was made from."""

    prompt: str
    version: int
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of a prompt."""

    name: str
    version: int
    text: str

    @property
    def slots(self) -> frozenset[str]:
        """The names that it wants filled."""
        return frozenset(_SLOT.findall(self.text))

    def render(self, **slots: object) -> RenderedPrompt:
        """The prompt with all its slots filled; a slot too few or too many is an error."""
        problems = [f"'{name}' is not given" for name in sorted(self.slots - slots.keys())]
        problems += [f"'{name}' is given, but it has no such slot" for name in sorted(slots.keys() - self.slots)]
        if problems:
            raise BadInputError(f"The prompt '{self.name}.v{self.version}' cannot be rendered.", problems)
        return RenderedPrompt(self.name, self.version, _SLOT.sub(lambda slot: str(slots[slot[1]]), self.text).strip())

    def render_known(self, **slots: object) -> RenderedPrompt:
        """The prompt with all its slots filled; slots that it does not have are left out."""
        return self.render(**{name: value for name, value in slots.items() if name in self.slots})


def open_prompt(name: str, version: int | None = None, folder: Path | str | None = None) -> Prompt:
    """The prompt of a name, of the user's folder first, then of the built-in ones.

    Args:
        name: What it is called, without version and ending.
        version: Which version; the newest when left out.
        folder: Prompts of your own; those it lacks come from the built-in ones.
    """
    own = _prompts_in(_checked(Path(folder))) if folder else {}
    known = own if name in own else _built_in()
    if name not in known:
        raise UnknownNameError("prompt", name, {*own, *_built_in()})
    versions = known[name]
    if version is not None and version not in versions:
        there = ", ".join(f"v{each}" for each in sorted(versions))
        raise BadInputError(f"The prompt '{name}' has no version {version}. There are: {there}.")
    chosen = max(versions) if version is None else version
    return Prompt(name, chosen, _read(versions[chosen]))


def check_prompts(folder: Path) -> None:
    """Refuses a folder in which a prompt would never be asked for, or could not be filled; lists every fault."""
    problems = []
    for name, versions in sorted(_prompts_in(_checked(folder)).items()):
        if name.startswith(OF_RUBRICS):
            continue  # a rubric may be the user's own; what is asked for is known when it is opened
        if name not in _built_in():
            close = difflib.get_close_matches(name, _built_in(), n=1)
            guess = f"; did you mean '{close[0]}'?" if close else ""
            problems.append(f"'{name}': nothing asks for a prompt of that name{guess}")
            continue
        known = open_prompt(name).slots
        for version in sorted(versions):
            strange = sorted(open_prompt(name, version, folder).slots - known)
            problems += [f"'{name}.v{version}' has a slot {{{slot}}}, and nothing fills it" for slot in strange]
    if problems:
        raise BadInputError(f"The folder of prompts '{folder}' has problems.", problems)


def own_prompts(place: Path) -> frozenset[str]:
    """The names of the prompts in a user's folder or file."""
    return frozenset(_prompts_in(_checked(place)))


@cache
def _built_in() -> dict[str, dict[int, Any]]:
    return _prompts_in(resources.files(__package__))


class _Inside:
    """A prompt that stands in a file with others."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text

    def read_text(self, encoding: str | None = None) -> str:
        """Its text."""
        del encoding
        return self._text


def _in_file(file: Path) -> dict[str, dict[int, Any]]:
    """The prompts of one YAML file: a mapping of names, such as `rubric_gedit_semantics`, to texts."""
    try:
        content = yaml.safe_load(file.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise BadInputError(f"The file of prompts '{file}' cannot be read: {summarize_error(error)}") from error
    if not isinstance(content, dict) or not all(isinstance(each, str) for pair in content.items() for each in pair):
        raise BadInputError(f"The file of prompts '{file}' must map names of prompts to their texts.")
    return {name: {1: _Inside(f"{name}, in {file.name}", text)} for name, text in content.items()}


def _checked(folder: Path) -> Path:
    if folder.is_file():
        _in_file(folder)
        return folder
    if not folder.is_dir():
        raise BadInputError(f"There are no prompts at '{folder}': it takes a folder of texts, or one YAML file.")
    astray = sorted(file.name for file in folder.glob("*.txt") if not _VERSIONED.fullmatch(file.name))
    if astray:
        raise BadInputError(
            f"The folder of prompts '{folder}' holds files that would never be found. A prompt is called as in "
            "'yes_no.v2.txt'.",
            astray,
        )
    if not any(folder.glob("*.txt")):
        raise BadInputError(f"The folder '{folder}' holds no prompt. A prompt is called as in 'yes_no.v2.txt'.")
    return folder


def _prompts_in(folder: Traversable) -> dict[str, dict[int, Any]]:
    if isinstance(folder, Path) and folder.is_file():
        return _in_file(folder)
    versions: dict[str, dict[int, Any]] = {}
    for file in folder.iterdir():
        if match := _VERSIONED.fullmatch(file.name):
            versions.setdefault(match[1], {})[int(match[2])] = file
    return versions


def _read(file: Any) -> str:
    try:
        text: str = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"The prompt '{file.name}' cannot be read: {error}.") from error
    if not text.strip():
        raise BadInputError(f"The prompt '{file.name}' is empty.")
    return text
