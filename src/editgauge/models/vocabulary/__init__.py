"""Words and what they stand for: from what people say to what a closed-vocabulary model knows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from editgauge.errors import UnscorableError
from editgauge.models.vocabulary._words import (
    PULL,
    Resolution,
    Resolver,
    Sense,
    WordNet,
    plain_words,
    sense_of,
    singulars,
)

_open = cache(WordNet)
_opened_by_folder: dict[object, WordNet] = {}


def resolve(phrase: str, vocabulary: Sequence[str]) -> Resolution:
    """Map a phrase to a word of the vocabulary; raise `UnscorableError("unknown_word", …)` if none fits.

    >>> resolve("two TV monitors", ("cat", "tv"))
    Resolution(word='tv', how='plural, table')
    """
    return _resolver(tuple(vocabulary), wordnet_here()).resolve(phrase)


def synonyms(word: str) -> tuple[str, ...]:
    """Return synonyms from WordNet; raise `UnscorableError` when it lacks the word."""
    wordnet, sense = _sense(word)
    return tuple(name for name in wordnet.names(sense) if name.casefold() != word.casefold())


def siblings(word: str) -> tuple[str, ...]:
    """Return co-hyponyms from WordNet (for a zebra: horse, ass …); raise like `synonyms`."""
    wordnet, sense = _sense(word)
    beside = (kind for parent in wordnet.kind_of(sense) for kind in wordnet.kinds(parent) if kind != sense)
    return tuple(dict.fromkeys(wordnet.names(kind)[0] for kind in beside))


def wordnet_here() -> WordNet | None:
    """Open WordNet if it is on this machine; memoized, because every phrase needs it."""
    from editgauge._util.packages import cache_root
    from editgauge.models.weights import MissingWeightsError, weights_of
    from editgauge.models.weights._store import user_weights_folder

    folders = (cache_root(), user_weights_folder())
    if folders not in _opened_by_folder:
        try:
            files = weights_of("wordnet")
        except MissingWeightsError:
            return None
        _opened_by_folder[folders] = _open(*map(files.path, ("index.noun", "data.noun", "index.adj")))
    return _opened_by_folder[folders]


def needed_wordnet(purpose: str) -> WordNet:
    """Open WordNet; raise `UnscorableError` when it is not on this machine.

    Args:
        purpose: how the sentence begins that says so: `synonyms come from`

    """
    wordnet = wordnet_here()
    if wordnet is None:
        raise UnscorableError("no_model", f"{purpose} WordNet, which is not on this machine; {PULL}")
    return wordnet


@cache
def words_for_the_same(word: str) -> frozenset[str]:
    """Return all words that share a sense with this one; raise `UnscorableError` without WordNet.

    Plurals of nouns are traced back to their singular; the forms of verbs are not.
    """
    forms = (word, *singulars(word))
    names = {
        name.partition("(")[0].casefold()  # an adjective may tell where it stands: 'galore(ip)'
        for part in _parts_of_speech()
        for form in forms
        for sense in part.senses(form)
        for name in part.names(sense)
    }
    return frozenset(names - {word})


@cache
def _parts_of_speech() -> tuple[WordNet, ...]:
    from editgauge.models.weights import weights_of

    needed_wordnet("synonyms come from")
    files = weights_of("wordnet")
    return tuple(
        WordNet(files.path(f"index.{part}"), files.path(f"data.{part}"), files.path("index.adj"))
        for part in ("noun", "verb", "adj", "adv")
    )


@cache
def _resolver(vocabulary: tuple[str, ...], wordnet: WordNet | None) -> Resolver:
    return Resolver(vocabulary, wordnet)


def _sense(word: str) -> tuple[WordNet, Sense]:
    wordnet = needed_wordnet(f"'{word}' was to be looked up in")
    noun = " ".join(plain_words(word))
    for form in (noun, *singulars(noun)):
        sense = sense_of(form, wordnet)
        if sense is not None:
            return wordnet, sense
    raise UnscorableError("unknown_word", f"WordNet has no noun '{word}'")
