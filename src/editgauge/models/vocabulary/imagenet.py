"""The 1,000 classes of ImageNet and the phrases that cover some of them.

A phrase covers the classes at or below what it means in WordNet: "dog" covers all breeds of dogs. A phrase that is
narrower than a class stands for that class, as with COCO's words. Two kinds of words are not used: those that cover so
many classes that they say little ("animal"), and those of which ImageNet has few kinds ("person", "flower").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from editgauge.errors import UnscorableError
from editgauge.models.vocabulary._words import (
    Sense,
    WordNet,
    english,
    explain_mismatch,
    plain_words,
    read_table,
    singulars,
    without_what_follows,
)

MAX_CLASSES = 150
"""A phrase that covers more says too little: all breeds of dogs are 118 classes, all mammals 218."""
MIN_COMPLETENESS = 0.01
"""Of 5,430 kinds of persons the classes cover 25, of 396 flowers 2: such words would be missed almost always."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The ImageNet classes of a phrase."""

    classes: frozenset[int]
    completeness: float
    """The share of the kinds that WordNet knows of the phrase which these classes cover: 0.8 of dogs, 0.15 of hats.
    Where it is small, a high probability speaks for the thing, but a low one hardly against it."""


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = read_table("imagenet.yaml")
    return table


@cache
def class_words() -> tuple[tuple[str, ...], ...]:
    """Return the words of each class, the usual one first."""
    return tuple(tuple(words.split(", ")) for words in _table()["classes"].values())


@cache
def class_names() -> tuple[str, ...]:
    """Return the usual word of each class."""
    return tuple(words[0] for words in class_words())


def classes_of(phrase: str) -> frozenset[int]:
    """Return the classes of a phrase; raise `UnscorableError("unknown_word", …)` if none or too many."""
    return coverage_of(phrase).classes


def coverage_of(phrase: str) -> Coverage:
    """Return the classes of a phrase and their completeness; raise like `classes_of`."""
    from editgauge.models.vocabulary import needed_wordnet

    return _vocabulary(needed_wordnet(f"the classes of '{phrase}' come from")).coverage(phrase)


@cache
def _vocabulary(wordnet: WordNet) -> ImageNetVocabulary:
    return ImageNetVocabulary(wordnet)


class ImageNetVocabulary:
    """Maps phrases to ImageNet classes."""

    def __init__(self, wordnet: WordNet) -> None:
        self._wordnet = wordnet
        self._class_of: dict[Sense, int] = {}
        self._below: dict[Sense, set[int]] = {}
        for number in range(len(class_words())):
            sense = self.sense_of_class(number)
            self._class_of[sense] = number
            for above in wordnet.ancestors(sense):
                self._below.setdefault(above, set()).add(number)
        self._cached = cache(self._coverage)
        self._is_covered = cache(self._at_or_below_a_class)

    def sense_of_class(self, number: int) -> Sense:
        """Return the sense of a class: the best match of its words, of the kind given in the table."""
        words = {word.casefold() for word in class_words()[number]}
        senses = dict.fromkeys(sense for word in class_words()[number] for sense in self._wordnet.senses(word))
        kind = _table()["kind_of"].get(number)
        if kind:
            senses = dict.fromkeys(sense for sense in senses if kind in self._above(sense))
        shared = {sense: self._match(sense, words) for sense in senses}
        return max(shared, key=lambda sense: shared[sense])

    def senses_above_classes(self) -> Iterator[tuple[Sense, frozenset[int]]]:
        """Yield every sense at or above a class, with its classes."""
        return ((sense, frozenset(classes)) for sense, classes in self._below.items())

    def coverage(self, phrase: str) -> Coverage:
        """Return the coverage of a phrase; raise `UnscorableError("unknown_word", …)` if none or too many."""
        answer = self._cached(phrase)
        if isinstance(answer, str):
            why = f": {answer}" if answer else ""
            raise UnscorableError("unknown_word", f"ImageNet has no classes for '{phrase}'{why}")
        return answer

    def _coverage(self, phrase: str) -> Coverage | str:
        words = plain_words(phrase)
        if not words:
            return "it holds no word"
        if "and" in words or "or" in words:
            return "it names more than one thing"
        head = without_what_follows(words)
        if len(head) > 1 and head[0] in english().not_the_thing:
            return f"with '{head[0]}' before it, it may be something else"
        for start in range(len(head)):
            for form in _forms(head[start:]):
                senses = self._wordnet.senses(form)
                if not senses:
                    continue
                answer = self._of_noun(form, senses)
                if isinstance(answer, str) and len(head[start:]) > 1 and head[start] in english().looks:
                    continue  # WordNet's "black cat" is a marten, but people mean a cat
                if isinstance(answer, str):
                    return answer
                fault = explain_mismatch(head[:start], form, self._wordnet, is_grown=self._is_grown(senses[0]))
                return fault or answer
        return "WordNet has no such noun"

    def _of_noun(self, noun: str, senses: tuple[Sense, ...]) -> Coverage | str:
        """Cover a noun by its pinned sense, or by its first physical one."""
        pinned: str | int | None = _table()["meant"].get(noun)
        if isinstance(pinned, int):
            return Coverage(frozenset({pinned}), 1.0)
        if pinned:
            senses = tuple(sense for sense in senses if pinned in self._above(sense))
        sense = next((item for item in senses if item in self._below or "physical entity" in self._above(item)), None)
        if sense is None:
            return f"'{noun}' is nothing that can be seen"
        below = self._below.get(sense, set())
        if len(below) > MAX_CLASSES or self._says_little(sense):
            return f"'{noun}' is too general, it covers {len(below)} of 1,000 classes"
        if not below:
            return self._wider(sense)
        completeness = 1.0 if sense in self._class_of else self._completeness(sense)
        if completeness < MIN_COMPLETENESS:
            return f"{len(below)} classes are too few of all the kinds of '{noun}'"
        return Coverage(frozenset(below), completeness)

    def _says_little(self, sense: Sense) -> bool:
        """Tell whether the kinds of a sense have no common appearance."""
        return self._wordnet.names(sense)[0] in _table()["says_little"]

    def _wider(self, sense: Sense) -> Coverage | str:
        """Cover a sense by the nearest class above it whose name it shares.

        A coffee cup is detected where a cup is, but an arrow is not detected where a projectile is.
        """
        wider = next(
            (self._class_of[ancestor] for ancestor in self._wordnet.ancestors(sense) if ancestor in self._class_of),
            None,
        )
        if wider is None:
            return ""
        if not self._is_called(sense, class_words()[wider]):
            return f"it is a kind of {class_names()[wider]}, which is more general"
        return Coverage(frozenset({wider}), 1.0)

    def _is_called(self, sense: Sense, words: tuple[str, ...]) -> bool:
        """Tell whether a name of the sense ends with one of the words."""
        names = tuple(name.casefold() for name in self._wordnet.names(sense))
        return any(name.endswith(word.casefold()) for name in names for word in words)

    def _completeness(self, sense: Sense) -> float:
        """Return the fraction of a sense's leaf hyponyms that are at or below a class."""
        kinds = {item for item in self._kinds(sense) if not self._wordnet.kinds(item)}
        return sum(self._is_covered(kind) for kind in kinds) / len(kinds)

    def _at_or_below_a_class(self, sense: Sense) -> bool:
        return sense in self._class_of or any(self._is_covered(above) for above in self._wordnet.kind_of(sense))

    def _kinds(self, sense: Sense) -> set[Sense]:
        """Return a sense and all its hyponyms."""
        visited: set[Sense] = set()
        stack = [sense]
        while stack:
            current = stack.pop()
            if current not in visited:
                visited.add(current)
                stack.extend(self._wordnet.kinds(current))
        return visited

    def _match(self, sense: Sense, words: set[str]) -> tuple[int, int]:
        names = {name.casefold() for name in self._wordnet.names(sense)}
        return len(names & words), -len(names)

    def _above(self, sense: Sense) -> set[str]:
        return {name for ancestor in self._wordnet.ancestors(sense) for name in self._wordnet.names(ancestor)}

    def _is_grown(self, sense: Sense) -> bool:
        return bool({"living thing", "food"} & self._above(sense))


def _forms(words: list[str]) -> Iterator[str]:
    """Yield forms of a noun as WordNet may list it: as is, with hyphens ("t-shirt"), singular."""
    same = _table()["same_as"]
    name = " ".join(words)
    yield from dict.fromkeys(same.get(form, form) for form in (name, "-".join(words), *singulars(name)))
