"""A model's own word for a phrase, and how it was found; never by how the letters look.

The steps, in this order: the word itself, its singular, the documented table, WordNet (the most frequent sense of a
noun, when it is a kind of what a known word means), and finally the head noun with its describing words taken off. A
wider word is never narrowed: a car is a vehicle, but someone who asks for a vehicle may mean a boat.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

from editgauge._util.text import join_words, with_article
from editgauge.errors import UnscorableError
from editgauge.models.vocabulary._phrases import (
    english,
    is_possessive,
    plain_words,
    read_table,
    singulars,
    without_what_follows,
)
from editgauge.models.vocabulary._wordnet import Sense, WordNet

PERSON = "person"
PULL = "`editgauge models pull wordnet` brings WordNet, which knows more words"


@dataclass(frozen=True, slots=True)
class Resolution:
    """A word of the vocabulary, and the steps that led to it."""

    word: str
    how: str
    """`same`, `plural`, `table`, `head noun`, `WordNet: …`, or several of them in the order they were taken."""


@cache
def table() -> dict[str, Any]:
    """Read the synonyms and pinned senses of `table.yaml`."""
    rows: dict[str, Any] = read_table("table.yaml")
    return rows


@cache
def _synonyms() -> dict[str, str]:
    return {synonym: word for word, rows in table()["synonyms"].items() for synonym in rows}


PHRASES_KEPT = 4096
"""Answers about the latest phrases."""


class Resolver:
    """Maps phrases to the words of one vocabulary."""

    def __init__(self, vocabulary: Sequence[str], wordnet: WordNet | None) -> None:
        self._words = {word.casefold(): word for word in vocabulary}
        self._wordnet = wordnet
        self._latest = lru_cache(maxsize=PHRASES_KEPT)(self._answer)
        self._word_of: dict[Sense, str] = {}
        for word in vocabulary:
            if wordnet and (sense := sense_of(word, wordnet)) is not None:
                self._word_of.setdefault(sense, word)

    def resolve(self, phrase: str) -> Resolution:
        """Map a phrase to a word; raise `UnscorableError` when there is none, or more than one."""
        resolution = self._latest(phrase)
        if isinstance(resolution, UnscorableError):
            raise UnscorableError(resolution.reason, resolution.detail)
        return resolution

    def _answer(self, phrase: str) -> Resolution | UnscorableError:
        """Return errors as values, so that they can be cached like answers."""
        try:
            return self._resolve(phrase)
        except UnscorableError as unknown:
            return unknown.with_traceback(None)

    def _resolve(self, phrase: str) -> Resolution:
        words = plain_words(phrase)
        if not words:
            raise self._unknown(phrase, "it holds no word")
        exact = self._named(" ".join(words))
        if exact:
            return exact
        if "and" in words or "or" in words:
            raise self._unknown(phrase, "it names more than one thing")
        head = without_what_follows(words)
        for start in range(len(head)):
            name = " ".join(head[start:])
            resolution = self._named(name) or self._by_wordnet(head[start:], phrase)
            if resolution:
                self._check_description(head[:start], resolution.word, phrase)
                is_whole = len(head[start:]) == len(words)
                return resolution if is_whole else Resolution(resolution.word, _steps("head noun", resolution.how))
        raise self._unknown(phrase, "" if self._wordnet else PULL)

    def _named(self, name: str) -> Resolution | None:
        """Look up a name in the vocabulary and the synonym table."""
        for form, step in _forms(name):
            if form in self._words:
                return Resolution(self._words[form], step or "same")
            if _synonyms().get(form) in self._words:
                return Resolution(_synonyms()[form], _steps(step, "table"))
        return None

    def _by_wordnet(self, words: list[str], phrase: str) -> Resolution | None:
        """Resolve a name by WordNet. A compound that WordNet knows as something else is not shortened."""
        if self._wordnet is None:
            return None
        for form, step in _forms(" ".join(words)):
            senses = self._wordnet.senses(form)
            if not senses:
                continue
            reached = [self._reached(sense) for sense in senses]
            word = reached[0]
            if word == PERSON and set(reached) != {PERSON}:
                raise self._unknown(phrase, f"by WordNet '{form}' can be a person or something else")
            candidates = {item for item in reached if item and item not in {word, PERSON}}
            if word and candidates:
                either = join_words([with_article(candidate) for candidate in (word, *sorted(candidates))], "or")
                raise self._unknown(phrase, f"by WordNet '{form}' can be {either}")
            if word:
                return Resolution(word, _steps(step, self._note(form, word, senses[0])))
            if len(words) > 1 and words[0] not in english().looks:
                raise self._unknown(phrase, f"by WordNet '{form}' is a thing of its own")
        return None

    def _reached(self, sense: Sense) -> str | None:
        """Return the nearest vocabulary word among the hypernyms of a sense."""
        above = self._wordnet.ancestors(sense) if self._wordnet else ()
        return next((self._word_of[item] for item in above if item in self._word_of), None)

    def _note(self, form: str, word: str, sense: Sense) -> str:
        same = self._word_of.get(sense) == word
        return f"WordNet: {form} is {'another word for' if same else 'a kind of'} {word}"

    def _check_description(self, describing: list[str], word: str, phrase: str) -> None:
        """Check that words before a noun only describe it."""
        if fault := explain_mismatch(describing, word, self._wordnet, is_grown=word in english().grown):
            raise self._unknown(phrase, fault)

    def _unknown(self, phrase: str, why: str) -> UnscorableError:
        reason = f": {why}" if why else ""
        return UnscorableError(
            "unknown_word", f"none of the {len(self._words)} words that the model knows means '{phrase}'{reason}"
        )


def explain_mismatch(describing: list[str], noun: str, wordnet: WordNet | None, *, is_grown: bool) -> str:
    """Explain why modifiers may change what a noun names; empty when they only describe it.

    >>> explain_mismatch(["toy"], "car", None, is_grown=False)
    "with 'toy' before it, it may be no car"
    """
    lists = english()
    for word in describing:
        if word in lists.not_the_thing or (word in lists.materials and is_grown):
            return f"with '{word}' before it, it may be no {noun}"
        is_listed = word in lists.looks | lists.uses | lists.materials | lists.determiners
        adjective = wordnet is not None and wordnet.is_adjective(word)
        if not (is_listed or adjective or is_possessive(word)):
            return f"'{word}' may make something else of {with_article(noun)}"
    return ""


def sense_of(word: str, wordnet: WordNet) -> Sense | None:
    """Return the sense of a word in images: the one pinned in the table, else WordNet's first."""
    pinned: dict[str, str] = table()["senses"].get(word, {})
    senses = wordnet.senses(pinned.get("name", word))
    if "kind_of" in pinned:
        hypernym = pinned["kind_of"]
        senses = tuple(s for s in senses if any(hypernym in wordnet.names(above) for above in wordnet.ancestors(s)))
    return senses[0] if senses else None


def _forms(name: str) -> Iterator[tuple[str, str]]:
    yield name, ""
    for singular in singulars(name):
        yield singular, "plural"


def _steps(*steps: str) -> str:
    return ", ".join(step for step in steps if step and step != "same")
