"""The scenes and attributes of Places365 and the phrases that stand for them.

The table `places.yaml` maps common words for surroundings ("woods", "city street", "snow") to scenes and attributes. It
needs no WordNet: what a scene is called says little about which other scenes it looks like.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from editgauge.errors import UnscorableError
from editgauge.models.vocabulary._words import plain_words, read_table, singulars, without_what_follows


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = read_table("places.yaml")
    return table


@cache
def scene_names() -> tuple[str, ...]:
    """Return the names of the 365 scenes; a slash separates scenes of one name, as in `church/indoor`."""
    return tuple(_table()["scenes"])


@cache
def indoor_scenes() -> frozenset[int]:
    """Return the indices of the scenes that are indoors."""
    return frozenset(_table()["indoor"])


@cache
def attribute_names() -> tuple[str, ...]:
    """Return the names of the 102 attributes."""
    return tuple(_table()["attributes"])


def scenes_of(phrase: str) -> frozenset[int]:
    """Return the indices of the scenes that a phrase covers; empty if it covers none.

    >>> sorted(scene_names()[index] for index in scenes_of("a rainy forest"))[:3]
    ['bamboo forest', 'forest path', 'forest road']
    >>> sorted(scene_names()[index] for index in scenes_of("the lighthouse"))
    ['lighthouse']
    """
    return next((_scenes()[form] for form in _forms(phrase) if form in _scenes()), frozenset())


def attributes_of(phrase: str) -> frozenset[int]:
    """Return the indices of the attributes that stand for a phrase; empty if there are none.

    >>> [attribute_names()[index] for index in sorted(attributes_of("green grass"))]
    ['grass']
    """
    return next((_attributes()[form] for form in _forms(phrase) if form in _attributes()), frozenset())


def unknown_scene(phrase: str) -> UnscorableError:
    """Return the error for a phrase that names neither a scene nor an attribute."""
    return UnscorableError("unknown_word", f"Places365 has no scene or attribute for '{phrase}'")


@cache
def _scenes() -> dict[str, frozenset[int]]:
    """Return the scenes of every word: published names first, then the table's groups and their synonyms."""
    index = {name: number for number, name in enumerate(scene_names())}
    scenes: dict[str, frozenset[int]] = {}
    for name, number in index.items():
        base = name.partition("/")[0]
        scenes[base] = scenes.get(base, frozenset()) | {number}
    scenes |= {word: frozenset(index[name] for name in names) for word, names in _table()["covers"].items()}
    return scenes | {synonym: scenes[word] for word, synonyms in _table()["same_as"].items() for synonym in synonyms}


@cache
def _attributes() -> dict[str, frozenset[int]]:
    index = {name: number for number, name in enumerate(attribute_names())}
    return {word: frozenset(index[name] for name in names) for word, names in _table()["stuff"].items()}


def _forms(phrase: str) -> Iterator[str]:
    """Yield the phrase without leading modifiers, one word shorter each time, as is and in the singular.

    What follows "of" comes last: "the top of a mountain".
    """
    words = plain_words(phrase)
    head = without_what_follows(words) if words else []
    for start in range(len(head)):
        noun = " ".join(head[start:])
        yield from (noun, *singulars(noun))
    if "of" in words[1:-1]:
        yield from _forms(" ".join(words[words.index("of", 1) + 1 :]))
