"""English phrases, taken apart: what is the thing, what only describes it, and what is its singular."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml


@dataclass(frozen=True, slots=True)
class English:
    """Word lists of `phrases.yaml`."""

    determiners: frozenset[str]
    openers: frozenset[str]
    measures: frozenset[str]
    not_the_thing: frozenset[str]
    materials: frozenset[str]
    grown: frozenset[str]
    looks: frozenset[str]
    uses: frozenset[str]
    irregular: dict[str, str]


def read_table(name: str) -> Any:
    """Read a YAML file of this package."""
    content = (resources.files(__package__) / name).read_text(encoding="utf-8")
    return yaml.load(content, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both safe


@cache
def english() -> English:
    """Read the word lists once."""
    lists = read_table("phrases.yaml")
    irregular = lists.pop("irregular")
    return English(irregular=irregular, **{name: frozenset(words) for name, words in lists.items()})


def plain_words(phrase: str) -> list[str]:
    """Lowercase and split a phrase; drop leading determiners and numbers.

    >>> plain_words("The two Teddy-Bears!")
    ['teddy', 'bears']
    """
    words = re.findall(r"[^\W_]+(?:['’][^\W_]+)?", phrase.casefold().replace("’", "'"))
    remaining = list(words)
    while len(remaining) > 1 and (remaining[0] in english().determiners or remaining[0].isdigit()):
        remaining.pop(0)
    return remaining


def without_what_follows(words: list[str]) -> list[str]:
    """Strip trailing modifiers; of an "of" phrase keep the side that names the object.

    >>> without_what_follows(["dog", "on", "the", "couch"]), without_what_follows(["slice", "of", "cake"])
    (['dog'], ['cake'])
    """
    if "of" in words[1:-1]:
        index = words.index("of", 1)
        before, after = words[:index], words[index + 1 :]
        measured = bool({before[-1], *singulars(before[-1])} & english().measures)
        return without_what_follows(plain_words(" ".join(after)) if measured else before)
    ends = (index for index, word in enumerate(words) if index and word in english().openers)
    return words[: next(ends, len(words))]


def is_possessive(word: str) -> bool:
    """Tell whether a word is a possessive."""
    return word.endswith(("'s", "s'"))


def singulars(noun: str) -> list[str]:
    """Return possible singulars of a noun, likeliest first; only the last word changes.

    >>> singulars("knives"), singulars("wine glasses"), singulars("ties")
    (['knife', 'knif', 'knive'], ['wine glass', 'wine glasse'], ['ty', 'tie'])
    """
    before, blank, last = noun.rpartition(" ")
    return [f"{before}{blank}{singular}" for singular in _singulars(last)]


def _singulars(word: str) -> list[str]:
    if word in english().irregular:
        return [english().irregular[word]]
    if word.endswith("ves"):
        return [f"{word[:-3]}fe", f"{word[:-3]}f", word[:-1]]
    if word.endswith("ies"):
        return [f"{word[:-3]}y", word[:-1]]
    if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        return [word[:-2], word[:-1]]
    return [word[:-1]] if len(word) > 1 and word.endswith("s") and not word.endswith(("ss", "us")) else []
