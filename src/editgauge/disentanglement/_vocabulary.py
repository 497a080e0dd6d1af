"""Objects and attributes of the disentanglement test, and the prompts they form."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from editgauge._util.files import read_text
from editgauge.errors import BadInputError
from editgauge.types import id_problem

OBJECTS = "objects"
MIN_KINDS = 2
MIN_OBJECTS = 2
MIN_ATTRIBUTES = 4
MIN_UNIQUE_ATTRIBUTES = 3
"""Attributes that no other kind has, so that both parts of a split contain every kind."""


@dataclass(frozen=True)
class Vocabulary:
    """Objects, and attributes by kind."""

    objects: tuple[str, ...]
    kinds: Mapping[str, tuple[str, ...]]

    @cached_property
    def prompts(self) -> tuple[str, ...]:
        """All distinct prompts: each attribute alone and with each object.

        >>> Vocabulary(("chair",), {"color": ("red",)}).prompts
        ('red', 'red chair')
        """
        attributes = [word for words in self.kinds.values() for word in words]
        prompts = (prompt for word in attributes for prompt in (word, *(f"{word} {name}" for name in self.objects)))
        return tuple(dict.fromkeys(prompts))

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Attributes of more than one kind, such as 'abstract'."""
        counts = Counter(word for words in self.kinds.values() for word in words)
        return tuple(word for word, count in counts.items() if count > 1)

    def without(self, attributes: tuple[str, ...]) -> Vocabulary:
        """Return a copy without some attributes."""
        kinds = {kind: tuple(word for word in words if word not in attributes) for kind, words in self.kinds.items()}
        return Vocabulary(self.objects, kinds)

    def describe(self) -> dict[str, list[str]]:
        """Return the content of a vocabulary file."""
        return {OBJECTS: list(self.objects), **{kind: list(words) for kind, words in self.kinds.items()}}


def read_vocabulary(file: str | Path | None = None) -> Vocabulary:
    """Read a vocabulary file (JSON or YAML); without a file, return the vocabulary of PixLens.

    The file maps `objects` and every kind of attribute to a list of words.
    """
    if file is None:
        return _vocabulary(yaml.safe_load((resources.files(__package__ or "") / "vocabulary.yaml").read_text("utf-8")))
    path = Path(file)
    try:
        text = read_text(path)
        lists = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise BadInputError(f"The vocabulary '{file}' cannot be read: {error.strerror or error}.") from error
    except (ValueError, yaml.YAMLError) as error:
        raise BadInputError(f"The vocabulary '{file}' is neither JSON nor YAML: {error}") from error
    problems = _check_lists(lists)
    if not problems:
        problems = _check_unique_attributes(_vocabulary(lists))
    if problems:
        raise BadInputError(f"The vocabulary '{file}' cannot be used:", problems)
    return _vocabulary(lists)


def _check_unique_attributes(vocabulary: Vocabulary) -> list[str]:
    """List the kinds that have too few attributes of their own."""
    left = vocabulary.without(vocabulary.shared).kinds
    few = {kind: len(words) for kind, words in left.items() if len(words) < MIN_UNIQUE_ATTRIBUTES}
    return [
        f"'{kind}' has {count} words that no other kind has; {MIN_UNIQUE_ATTRIBUTES} are needed"
        for kind, count in few.items()
    ]


def _vocabulary(lists: Mapping[str, list[str]]) -> Vocabulary:
    kinds = {kind: tuple(words) for kind, words in lists.items() if kind != OBJECTS}
    return Vocabulary(tuple(lists[OBJECTS]), kinds)


def _check_lists(lists: Any) -> list[str]:
    if not isinstance(lists, dict) or OBJECTS not in lists:
        return [f"it must map '{OBJECTS}' and each kind of attribute to a list of words"]
    problems = [problem for key, words in lists.items() for problem in _check_list(str(key), words)]
    if len(lists) - 1 < MIN_KINDS:
        problems.append(f"it has {len(lists) - 1} kinds of attributes; {MIN_KINDS} are needed to distinguish kinds")
    return problems


def _check_list(key: str, words: Any) -> list[str]:
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return [f"'{key}' must be a list of words"]
    minimum = MIN_OBJECTS if key == OBJECTS else MIN_ATTRIBUTES
    problems = [f"'{key}': {problem}" for problem in map(id_problem, words) if problem]
    problems += [f"'{key}' has {word!r} twice" for word, count in Counter(words).items() if count > 1]
    if len(words) < minimum:
        problems.append(f"'{key}' has {len(words)} words; {minimum} are needed")
    return problems
