"""Prompt templates: text files with a version in their name, such as `yes_no.v1.txt`, and slots such as `{question}`.

A published file never changes, because recorded answers depend on its text; better wording is a new version. Slot
values are inserted verbatim and never parsed as templates.
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
RUBRIC_PREFIX = "rubric_"
"""Prefix of rubric prompts: `rubric_NAME_QUESTION`."""
_SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}", re.ASCII)


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """The text of a question and the prompt that it was rendered from."""

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
        """Names of the slots."""
        return frozenset(_SLOT.findall(self.text))

    def render(self, **slots: object) -> RenderedPrompt:
        """Fill all slots; missing and unknown slots raise `BadInputError`."""
        problems = [f"'{name}' is missing" for name in sorted(self.slots - slots.keys())]
        problems += [f"'{name}' is not a slot of the prompt" for name in sorted(slots.keys() - self.slots)]
        if problems:
            raise BadInputError(f"The prompt '{self.name}.v{self.version}' cannot be rendered.", problems)
        return RenderedPrompt(self.name, self.version, _SLOT.sub(lambda slot: str(slots[slot[1]]), self.text).strip())

    def render_known(self, **slots: object) -> RenderedPrompt:
        """Fill all slots and ignore values for unknown slots."""
        return self.render(**{name: value for name, value in slots.items() if name in self.slots})


def open_prompt(name: str, version: int | None = None, folder: Path | str | None = None) -> Prompt:
    """Open a prompt of the given folder, or else a built-in one.

    Args:
        name: name without version and suffix.
        version: version; the newest by default.
        folder: folder or YAML file of prompts that override built-in ones.

    """
    custom = _prompts_in(_checked(Path(folder))) if folder else {}
    prompts = custom if name in custom else _built_in()
    if name not in prompts:
        raise UnknownNameError("prompt", name, {*custom, *_built_in()})
    versions = prompts[name]
    if version is not None and version not in versions:
        available = ", ".join(f"v{number}" for number in sorted(versions))
        raise BadInputError(f"The prompt '{name}' has no version {version}. Available: {available}.")
    version = max(versions) if version is None else version
    return Prompt(name, version, _read(versions[version]))


def check_prompts(folder: Path) -> None:
    """Raise `BadInputError` with all unknown prompts and slots of a folder."""
    problems = []
    for name, versions in sorted(_prompts_in(_checked(folder)).items()):
        if name.startswith(RUBRIC_PREFIX):
            continue  # checked when the rubric is opened
        if name not in _built_in():
            close = difflib.get_close_matches(name, _built_in(), n=1)
            guess = f"; did you mean '{close[0]}'?" if close else ""
            problems.append(f"'{name}': unknown prompt{guess}")
            continue
        slots = open_prompt(name).slots
        for version in sorted(versions):
            unknown = sorted(open_prompt(name, version, folder).slots - slots)
            problems += [f"'{name}.v{version}' has an unknown slot {{{slot}}}" for slot in unknown]
    if problems:
        raise BadInputError(f"The folder of prompts '{folder}' has problems.", problems)


def prompt_names(path: Path) -> frozenset[str]:
    """Return the names of the prompts in a folder or file."""
    return frozenset(_prompts_in(_checked(path)))


@cache
def _built_in() -> dict[str, dict[int, Any]]:
    return _prompts_in(resources.files(__package__))


class _InlinePrompt:
    """A prompt of a YAML file, readable like a path."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self._text = text

    def read_text(self, encoding: str | None = None) -> str:
        """Return the text."""
        del encoding
        return self._text


def _read_file(file: Path) -> dict[str, dict[int, Any]]:
    """Read a YAML file that maps names, such as `rubric_gedit_semantics`, to texts."""
    try:
        content = yaml.safe_load(file.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise BadInputError(f"The file of prompts '{file}' cannot be read: {summarize_error(error)}") from error
    if not isinstance(content, dict) or not all(isinstance(text, str) for pair in content.items() for text in pair):
        raise BadInputError(f"The file of prompts '{file}' must map names of prompts to their texts.")
    return {name: {1: _InlinePrompt(f"{name}, in {file.name}", text)} for name, text in content.items()}


def _checked(folder: Path) -> Path:
    if folder.is_file():
        _read_file(folder)
        return folder
    if not folder.is_dir():
        raise BadInputError(f"No prompts at '{folder}': give a folder of text files or one YAML file.")
    misnamed = sorted(file.name for file in folder.glob("*.txt") if not _VERSIONED.fullmatch(file.name))
    if misnamed:
        raise BadInputError(
            f"The folder of prompts '{folder}' has files with invalid names. A valid name is 'yes_no.v2.txt'.",
            misnamed,
        )
    if not any(folder.glob("*.txt")):
        raise BadInputError(f"The folder '{folder}' has no prompts. A valid name is 'yes_no.v2.txt'.")
    return folder


def _prompts_in(folder: Traversable) -> dict[str, dict[int, Any]]:
    if isinstance(folder, Path) and folder.is_file():
        return _read_file(folder)
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
