"""What could be taken for something else, and what could not: so that a wrong answer is surely wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from importlib import resources

import yaml

from editgauge.errors import UnscorableError
from editgauge.models.vocabulary import siblings, wordnet_here, words_for_the_same
from editgauge.models.vocabulary._phrases import plain_words, singulars
from editgauge.models.vocabulary._resolve import sense_of
from editgauge.protocols.difference._triplets import head

MOST_STEPS = 10
"""Between two things in WordNet by way of what both are a kind of; farther apart they have nothing in common."""
REMEMBERED = 65_536
"""Pairs of names that were compared: a set has the same few thousand again and again."""
BEFORE_A_NOUN, AFTER_A_PREPOSITION = 0, 1
"""The places of the two forms of an attribute in its row."""
Rows = tuple[tuple[str, ...], ...]


@cache
def tables() -> dict[str, Rows]:
    """Return the attribute tables by kind; a row holds attributes that can be confused."""
    groups = yaml.safe_load((resources.files(__package__) / "attributes.yaml").read_text(encoding="utf-8"))
    return {kind: tuple(tuple(map(str, row)) for row in rows) for kind, rows in groups.items()}


def other_attributes(attribute: str, *taken: str | None) -> tuple[str, ...]:
    """Return clearly different attributes of the same kind and form, without the taken ones; raise `UnscorableError`.

    >>> other_attributes("bigger"), "maroon" in other_attributes("red"), "stone" in other_attributes("wood")
    (('small',), False, True)
    """
    mine = _place(attribute)
    if mine is None:
        raise UnscorableError("unknown_word", f"'{attribute}' is in no table of attributes")
    kind, row = mine
    avoided = {row, *(location[1] for item in taken if item and (location := _place(item)) and location[0] == kind)}
    forms = tables()[kind][row]
    is_adjective = attribute.casefold() == forms[BEFORE_A_NOUN] != forms[AFTER_A_PREPOSITION] and kind != "style"
    form = BEFORE_A_NOUN if is_adjective else AFTER_A_PREPOSITION
    return tuple(words[form] for number, words in enumerate(tables()[kind]) if number not in avoided)


def kind_of(attribute: str) -> str | None:
    """Color, material, pattern, shape, style or size; None for an attribute that is in no table."""
    location = _place(attribute)
    return location[0] if location else None


def are_other_attributes(one: str, other: str) -> bool:
    """Are these surely two attributes, of which a thing has one or the other?"""
    first, second = _place(one), _place(other)
    if first and second:
        return first[0] == second[0] and first[1] != second[1]
    if first or second:
        return False
    words = set(plain_words(one)), set(plain_words(other))
    synonyms = frozenset[str]().union(*(words_for_the_same(word) for word in words[0]))
    return not (words[0] & words[1] or words[1] & synonyms)


@lru_cache(REMEMBERED)
def may_be_the_same(one: str, other: str) -> bool:
    """Could one thing bear both names? Without WordNet only the words themselves can tell."""
    if set(_forms(one)) & set(_forms(other)):
        return True
    wordnet = wordnet_here()
    if wordnet is None:
        return False
    senses = [{sense for form in _forms(name) for sense in wordnet.senses(form)} for name in (one, other)]
    above = [{kind for sense in item for kind in wordnet.ancestors(sense)} for item in senses]
    return bool(senses[0] & above[1] or senses[1] & above[0])


@lru_cache(REMEMBERED)
def similar_things(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Other things of the same kind, the nearest first; raises `UnscorableError` when WordNet does not know the name.

    The words of a closed vocabulary, `known`, are considered too, however WordNet divides their kinds.
    """
    beside = (
        sibling for sibling in _siblings(name) if sibling == sibling.lower()
    )  # others are the names of one of them
    similar = dict.fromkeys([*beside, *_nearest(name, names)])
    return tuple(item for item in similar if not may_be_the_same(item, name))


def _siblings(name: str) -> tuple[str, ...]:
    try:
        return siblings(name)
    except UnscorableError:
        if head(name) == name:
            raise
        return siblings(head(name))


def _nearest(name: str, names: Sequence[str]) -> Iterator[str]:
    """Words by the steps to what both are a kind of."""
    wordnet = wordnet_here()
    if wordnet is None:
        return
    senses = (sense_of(form, wordnet) for form in _forms(name))
    mine = next((sense for sense in senses if sense is not None), None)
    if mine is None:
        return
    above = {kind: step for step, kind in enumerate(wordnet.ancestors(mine))}
    steps: list[tuple[int, str]] = []
    for word in names:
        sense = sense_of(word, wordnet)
        met = ((up, kind) for up, kind in enumerate(wordnet.ancestors(sense)) if kind in above) if sense else iter(())
        shared = next(met, None)
        if shared is not None:
            steps.append((shared[0] + above[shared[1]], word))
    yield from (word for step, word in sorted(steps) if step <= MOST_STEPS)


def _forms(name: str) -> list[str]:
    """Return dictionary forms of a name: complete, singular, and its noun."""
    phrase = " ".join(plain_words(name))
    noun = head(phrase) if phrase else ""
    return list(dict.fromkeys([phrase, *singulars(phrase), noun, *singulars(noun)])) if phrase else []


def _place(attribute: str) -> tuple[str, int] | None:
    """Return the kind and row of an attribute, or of its last word."""
    words = " ".join(attribute.casefold().split())
    for form in dict.fromkeys([words, *words.split()[-1:]]):
        for kind, rows in tables().items():
            for number, row in enumerate(rows):
                if form in row:
                    return kind, number
    return None
