"""Word lists of `words.yaml` and lookups in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from typing import Any

import yaml

from editgauge._util.text import to_gerund

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
CONTRACTION = re.compile(r"(?<=\w)(n't|'(?:s|d|re|ll|ve|m))(?!\w)", re.IGNORECASE)
ADJECTIVE_LISTS = (
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
)
"""Lists of adjectives with the edit type that changes such a property; earlier lists win."""
_FUNCTION_LISTS = (
    "polite",
    "openers",
    "wishes",
    "closers",
    "be",
    "modals",
    "have",
    "wear",
    "hold",
    "contain",
    "say",
    "show",
    "look",
    "become",
    "adverbs",
    "whole",
    "backgrounds",
    "quantities",
    "numbers",
    "which",
    "instead",
    "in_its_place",
    "nearby",
    "before_values",
    "around_sizes",
    "sides",
    "view_words",
    "property_nouns",
)
_IRREGULAR = {
    "men": "man",
    "women": "woman",
    "children": "child",
    "people": "person",
    "mice": "mouse",
    "geese": "goose",
    "feet": "foot",
    "teeth": "tooth",
    "leaves": "leaf",
    "knives": "knife",
    "loaves": "loaf",
    "wolves": "wolf",
    "scarves": "scarf",
    "shelves": "shelf",
    "wives": "wife",
    "calves": "calf",
}


@cache
def _lists() -> dict[str, Any]:
    text = (resources.files(__package__) / "words.yaml").read_text(encoding="utf-8")
    lists: dict[str, Any] = yaml.load(text, Loader=_LOADER)  # noqa: S506 - BaseLoader keeps 'on' and 'no' as text
    return lists


@cache
def table(name: str) -> dict[str, str]:
    """Return a list whose words have values, such as `verbs.state`; in a plain list a word is its own value."""
    entry: Any = _lists()
    for part in name.split("."):
        entry = entry[part]
    if isinstance(entry, list):
        return {word: word for word in entry}
    direct = {key: value for key, value in entry.items() if isinstance(value, str)}
    return direct or {word: key for key, group in entry.items() for word in group}


@cache
def words(name: str) -> frozenset[str]:
    """Return a list by name; `verbs.add` is the list `add` inside `verbs`.

    >>> "red" in words("colors"), "erase" in words("verbs.remove")
    (True, True)
    """
    return frozenset(table(name))


@cache
def lists_in(group: str) -> tuple[str, ...]:
    """Return the names of the lists inside `verbs`, `participles` or `relations`."""
    return tuple(f"{group}.{name}" for name in _lists()[group])


@cache
def plain_lists() -> tuple[str, ...]:
    """Return the names of the lists without lists inside."""
    return tuple(name for name, entry in _lists().items() if isinstance(entry, list) and name != "common")


@cache
def _phrases(name: str) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Group the entries of a list by their first word, longest first."""
    by_first: dict[str, list[tuple[str, ...]]] = {}
    for entry in words(name):
        parts = tuple(CONTRACTION.sub(r" \1", entry).split())
        by_first.setdefault(parts[0], []).append(parts)
    return {first: tuple(sorted(entries, key=len, reverse=True)) for first, entries in by_first.items()}


def match(name: str, tokens: Sequence[str], start: int = 0) -> int:
    """Return the length of the longest entry of a list that begins at `start`; 0 if there is none.

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
    """Return the list with the longest match at `start` and its length; ("", 0) if none matches."""
    name, length = max(((name, match(name, tokens, start)) for name in names), key=lambda pair: pair[1])
    return (name, length) if length else ("", 0)


def mentions(name: str, tokens: Sequence[str]) -> bool:
    """Tell whether any entry of a list occurs in the tokens."""
    return any(match(name, tokens, index) for index in range(len(tokens)))


@cache
def _action_forms() -> dict[str, str]:
    """Map the forms of the verbs of `actions` to their base forms."""
    forms: dict[str, str] = {}
    for base in sorted(words("actions")):
        third = f"{base[:-1]}ies" if base.endswith("y") and base[-2] not in "aeiou" else f"{base}s"
        third = f"{base}es" if base.endswith(("s", "sh", "ch", "x", "z")) else third
        forms |= {to_gerund(base): base, third: base, base: base}
    return forms


def action_base(word: str) -> str | None:
    """Return the base form of a verb of `actions`, or None.

    >>> action_base("sleeping"), action_base("sleeps"), action_base("table")
    ('sleep', 'sleep', None)
    """
    return _action_forms().get(word)


def is_activity(word: str) -> bool:
    """Tell whether an -ing word is a verb rather than a noun.

    >>> is_activity("jumping"), is_activity("painting"), is_activity("breakdancing")
    (True, False, True)
    """
    if not word.endswith("ing") or word in words("ing_nouns"):
        return False
    return len(word) > 5 or _action_forms().get(word, word) != word


@cache
def singular(noun: str) -> str:
    """Return the likely singular of a noun, for comparisons.

    >>> singular("berries"), singular("glasses"), singular("men"), singular("bus")
    ('berry', 'glass', 'man', 'bus')
    """
    if noun in _IRREGULAR:
        return _IRREGULAR[noun]
    if noun.endswith("ies") and len(noun) > 4:
        return f"{noun[:-3]}y"
    if noun.endswith(("ses", "xes", "zes", "ches", "shes", "oes")) and noun not in {"shoes", "horses", "houses"}:
        return noun[:-2]
    return noun[:-1] if len(noun) > 3 and noun.endswith("s") and not noun.endswith(("ss", "us", "is")) else noun


def in_list(name: str, noun: str) -> bool:
    """Tell whether a noun or its singular is in a list."""
    return noun in words(name) or singular(noun) in words(name)


def is_plural(noun: str) -> bool:
    """Tell whether a noun looks like a plural."""
    return singular(noun) != noun


@cache
def adjective_kinds() -> dict[str, str]:
    """Map each adjective to the edit type that changes it, or to `age` or `other`."""
    kinds: dict[str, str] = {}
    for kind, name in ADJECTIVE_LISTS:
        for word in words(name):
            kinds.setdefault(word, kind)
    return kinds


def kind_of(word: str) -> str:
    """Return the edit type that changes what an adjective says; `other` for unknown words.

    >>> kind_of("red"), kind_of("heart-shaped"), kind_of("nicer"), kind_of("spoon")
    ('color', 'shape', 'other', 'other')
    """
    return known_kind(word) or "other"


def known_kind(word: str) -> str | None:
    """Return the kind of a listed adjective, also of its comparative; None for other words."""
    if word.endswith("-shaped"):
        return "shape"
    kinds = adjective_kinds()
    stems = (word[: -len(end)] for end in ("er", "r", "est", "st") if word.endswith(end))
    bases = (form for stem in stems for form in (stem, f"{stem.removesuffix('i')}y", stem[:-1]) if len(stem) > 2)
    return kinds.get(word) or next((kinds[base] for base in bases if base in kinds), None)


@cache
def _function_words() -> frozenset[str]:
    """Collect the words of the lists that say how a request is made, not what it is about."""
    names = (*lists_in("verbs"), *lists_in("participles"), *lists_in("relations"), *_FUNCTION_LISTS)
    return frozenset(word for name in names for entry in words(name) for word in entry.split())


def is_function_word(word: str) -> bool:
    """Tell whether a word only shapes a request: a command, a preposition, politeness."""
    return word in _function_words()
