"""The word lists of `words.yaml`, and what the grammar asks of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any

import yaml

from editgauge._util.text import to_gerund

LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""The fast one where the YAML library was built with it."""
VOWELS = "aeiou"


@cache
def _lists() -> dict[str, Any]:
    text = (resources.files(__package__) / "words.yaml").read_text(encoding="utf-8")
    lists: dict[str, Any] = yaml.load(text, Loader=LOADER)  # noqa: S506 - every value stays a text: 'on', 'no'
    return lists


@cache
def words(name: str) -> frozenset[str]:
    """A list by its name; `verbs.add` is the list `add` inside `verbs`.

    >>> "red" in words("colors"), "erase" in words("verbs.remove")
    (True, True)
    """
    return frozenset(table(name))


@cache
def table(name: str) -> dict[str, str]:
    """A list whose words have values, such as `verbs.state`; the value of a word in a plain list is the word."""
    entry: Any = _lists()
    for part in name.split("."):
        entry = entry[part]
    if isinstance(entry, list):
        return {word: word for word in entry}
    inner = {key: value for key, value in entry.items() if isinstance(value, str)}
    return inner or {word: key for key, group in entry.items() for word in group}


@cache
def plain_lists() -> tuple[str, ...]:
    """The names of the lists that have no lists inside."""
    return tuple(name for name, entry in _lists().items() if isinstance(entry, list) and name != "common")


@cache
def _phrases(name: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    """The entries of a list by their first word, the longest first."""
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for entry in words(name):
        parts = tuple(entry.split())
        by_first.setdefault(parts[0], []).append(parts)
    return {first: tuple(sorted(entries, key=len, reverse=True)) for first, entries in by_first.items()}


def match(name: str, tokens: Sequence[str], start: int = 0) -> int:
    """How many tokens from `start` on are the longest entry of a list; 0 when none begins there.

    >>> match("verbs.remove", ["get", "rid", "of", "it"]), match("verbs.add", ["remove"])
    (3, 0)
    """
    if start >= len(tokens):
        return 0
    for entry in _phrases(name).get(tokens[start], ()):
        if tuple(tokens[start : start + len(entry)]) == entry:
            return len(entry)
    return 0


def match_any(names: Iterable[str], tokens: Sequence[str], start: int = 0) -> tuple[str, int]:
    """The list with the longest match from `start` on, and its length; ("", 0) when none matches."""
    lengths = [(name, match(name, tokens, start)) for name in names]
    return max(lengths, key=lambda each: each[1], default=("", 0)) if any(n for _, n in lengths) else ("", 0)


def mentions(name: str, tokens: Sequence[str]) -> bool:
    """Is any entry of a list among the tokens?"""
    return any(match(name, tokens, at) for at in range(len(tokens)))


@cache
def lists_in(group: str) -> tuple[str, ...]:
    """The names of the lists inside `verbs`, `participles` or `relations`, as `match_any` takes them."""
    return tuple(f"{group}.{name}" for name in _lists()[group])


@cache
def _action_forms() -> dict[str, str]:
    """All forms of the verbs that say what something does, with the base form."""
    forms: dict[str, str] = {}
    for base in sorted(words("actions")):
        third = f"{base[:-1]}ies" if base.endswith("y") and base[-2] not in VOWELS else f"{base}s"
        third = f"{base}es" if base.endswith(("s", "sh", "ch", "x", "z")) else third
        for form in (to_gerund(base), third, base):
            forms[form] = base
    return forms


def action_base(word: str) -> str | None:
    """The base form of a verb that says what something does, or None.

    >>> action_base("sleeping"), action_base("sleeps"), action_base("table")
    ('sleep', 'sleep', None)
    """
    return _action_forms().get(word)


def is_ing_verb(word: str) -> bool:
    """Does the word say what something is doing?

    >>> is_ing_verb("jumping"), is_ing_verb("painting"), is_ing_verb("breakdancing")
    (True, False, True)
    """
    if not word.endswith("ing") or word in words("ing_nouns"):
        return False
    return len(word) > 5 or _action_forms().get(word, word) != word


@cache
def singular(noun: str) -> str:
    """The likeliest singular of a noun; only to compare two words.

    >>> singular("berries"), singular("glasses"), singular("men"), singular("bus")
    ('berry', 'glass', 'man', 'bus')
    """
    irregular = {"men": "man", "women": "woman", "children": "child", "people": "person", "mice": "mouse"}
    irregular |= {"geese": "goose", "feet": "foot", "teeth": "tooth", "leaves": "leaf", "knives": "knife"}
    if noun in irregular:
        return irregular[noun]
    if noun.endswith("ies") and len(noun) > 4:
        return f"{noun[:-3]}y"
    if noun.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        return noun[:-2]
    return noun[:-1] if len(noun) > 3 and noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else noun


def is_plural(noun: str) -> bool:
    """Has the noun the form of a plural?"""
    return singular(noun) != noun


@cache
def adjective_kinds() -> dict[str, str]:
    """What an adjective says of a thing: the edit type that changes it, or `other`; the first list counts."""
    kinds: dict[str, str] = {}
    for kind, name in (
        ("color", "colors"),
        ("size", "sizes"),
        ("shape", "shapes"),
        ("texture", "materials"),
        ("texture", "patterns"),
        ("action", "feelings"),
        ("action", "states"),
        ("alter_parts", "lacking"),
        ("age", "ages"),
        ("other", "other_adjectives"),
        ("color", "hues"),
    ):
        for word in words(name):
            kinds.setdefault(word, kind)
    return kinds
