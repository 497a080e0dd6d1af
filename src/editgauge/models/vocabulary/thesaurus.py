"""Other words for a word in all of WordNet's parts of speech: for comparing texts, where a verb counts like a noun."""

from __future__ import annotations

from functools import cache

from editgauge.core.errors import CannotTell
from editgauge.models.vocabulary.phrases import singulars
from editgauge.models.vocabulary.resolve import PULL
from editgauge.models.vocabulary.wordnet import WordNet

PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")


@cache
def words_for_the_same(word: str) -> frozenset[str]:
    """All the words that share a meaning with this one; raises `CannotTell` when WordNet is not on this machine.

    Plurals of nouns are traced back to their singular; the forms of verbs are not.
    """
    forms = (word, *singulars(word))
    synonyms = {
        name.partition("(")[0].casefold()  # an adjective may tell where it stands: 'galore(ip)'
        for part in _parts()
        for form in forms
        for sense in part.senses(form)
        for name in part.names(sense)
    }
    return frozenset(synonyms - {word})


@cache
def _parts() -> tuple[WordNet, ...]:
    from editgauge.models.weights import MissingWeights, weights_of

    try:
        files = weights_of("wordnet")
    except MissingWeights as missing:
        raise CannotTell("no_model", f"synonyms come from WordNet, which is not on this machine; {PULL}") from missing
    return tuple(
        WordNet(files.path(f"index.{part}"), files.path(f"data.{part}"), files.path("index.adj"))
        for part in PARTS_OF_SPEECH
    )
