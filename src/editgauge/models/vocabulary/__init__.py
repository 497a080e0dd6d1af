"""Words and what they stand for: from what people say to what a closed-vocabulary model knows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from editgauge.core.errors import CannotTell
from editgauge.models.vocabulary.phrases import plain_words, singulars
from editgauge.models.vocabulary.resolve import PULL, Resolution, Resolver, sense_of
from editgauge.models.vocabulary.wordnet import Sense, WordNet

__all__ = ["Resolution", "WordNet", "resolve", "siblings", "synonyms", "wordnet_here"]

_found: dict[object, WordNet] = {}


def resolve(phrase: str, vocabulary: Sequence[str]) -> Resolution:
    """The word of the vocabulary that a phrase stands for; raises `CannotTell("unknown_word", …)` when there is none.

    >>> resolve("two TV monitors", ("cat", "tv"))
    Resolution(word='tv', how='plural, table')
    """
    return _resolver(tuple(vocabulary), wordnet_here()).resolve(phrase)


def synonyms(word: str) -> tuple[str, ...]:
    """Other words for the same thing, by WordNet; raises `CannotTell` when it does not know the word."""
    wordnet, sense = _sense(word)
    return tuple(name for name in wordnet.names(sense) if name.casefold() != word.casefold())


def siblings(word: str) -> tuple[str, ...]:
    """Other kinds of what this is a kind of, by WordNet (for a zebra: horse, ass …); raises `CannotTell` as well."""
    wordnet, sense = _sense(word)
    beside = (kind for parent in wordnet.kind_of(sense) for kind in wordnet.kinds(parent) if kind != sense)
    return tuple(dict.fromkeys(wordnet.names(kind)[0] for kind in beside))


def wordnet_here() -> WordNet | None:
    """WordNet, when it is on this machine; found once per place where it may lie, because every phrase asks for it."""
    from editgauge.core.fetch import cache_root
    from editgauge.models.weights import MissingWeights, weights_of
    from editgauge.models.weights.local import folder_given

    places = (cache_root(), folder_given())
    if places not in _found:
        try:
            files = weights_of("wordnet")
        except MissingWeights:
            return None
        _found[places] = _opened(*(str(files.path(name)) for name in ("index.noun", "data.noun", "index.adj")))
    return _found[places]


@cache
def _opened(nouns: str, senses: str, adjectives: str) -> WordNet:
    from pathlib import Path

    return WordNet(Path(nouns), Path(senses), Path(adjectives))


@cache
def _resolver(vocabulary: tuple[str, ...], wordnet: WordNet | None) -> Resolver:
    return Resolver(vocabulary, wordnet)


def _sense(word: str) -> tuple[WordNet, Sense]:
    wordnet = wordnet_here()
    if wordnet is None:
        raise CannotTell("no_model", f"'{word}' was to be looked up in WordNet, which is not on this machine; {PULL}")
    noun = " ".join(plain_words(word))
    for form in (noun, *singulars(noun)):
        sense = sense_of(form, wordnet)
        if sense is not None:
            return wordnet, sense
    raise CannotTell("unknown_word", f"WordNet has no noun '{word}'")
