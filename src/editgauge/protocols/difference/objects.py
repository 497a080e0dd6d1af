"""Are two objects of difference captions the same kind of thing? Words first; a model where they do not tell."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from editgauge.errors import UnscorableError
from editgauge.models.vocabulary import synonyms
from editgauge.models.vocabulary.phrases import plain_words, singulars, without_what_follows
from editgauge.protocols.difference.naming import head
from editgauge.protocols.difference.questions import same_object
from editgauge.protocols.difference.triplets import Alike, Triplet, compared_objects

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception

ALIKE = 0.7
"""Cosine of sentence embeddings from which two names mean one thing. MiniLM gives no false pair of 18 at it, such as
dog and cat (.66), and finds 11 of 18 true ones together with WordNet; at .6 it finds 15, and dog and cat are one."""
Opinion = Callable[[str, str], Awaitable[bool]]


def same_words(one: str, other: str) -> bool:
    """Do their nouns say the same, by themselves, as singular and plural, or as WordNet's synonyms?

    Attributes do not count: EditInspector's match is relaxed in the same way (section 3.2).

    >>> same_words("red cars", "a blue car on the street"), same_words("car", "carpet")
    (True, False)
    """
    first, second = _nouns(one), _nouns(other)
    return bool(first & second) or bool(_wider(first) & second)


async def known_alike(human: Sequence[Triplet], model: Sequence[Triplet], opinion: Opinion) -> Alike:
    """A function that knows of all available pairs whether they are alike; a model is asked where words do not tell."""
    pairs = list(compared_objects(human, model))
    unlike = [pair for pair in pairs if not same_words(*pair)]
    opinions = zip(unlike, await gather(*(opinion(*pair) for pair in unlike)), strict=True)
    known = {**dict.fromkeys(pairs, True), **dict(opinions)}
    return lambda one, other: known[one, other]


def judged(perception: JudgingPerception, judge: str) -> Opinion:
    """What a judge says."""

    async def opinion(one: str, other: str) -> bool:
        return (await perception.ask(same_object(one, other, perception), role=judge)).value

    return opinion


def embedded(perception: JudgingPerception) -> Opinion:
    """What sentence embeddings say."""

    async def opinion(one: str, other: str) -> bool:
        return await perception.similarity(one, other) >= ALIKE

    return opinion


def _nouns(name: str) -> set[str]:
    """The noun of a name, alone and with the word before it: 'fire hydrant' and 'hydrant'."""
    words = plain_words(name)
    kept = without_what_follows(words) if words else []
    noun = head(" ".join(kept)) if kept else name.casefold()
    names = {noun, *([" ".join(kept[-2:])] if len(kept) > 1 else [])}
    return names | {each for name in names for each in singulars(name)}


def _wider(nouns: set[str]) -> set[str]:
    return {same.casefold() for noun in nouns for same in _synonyms(noun)}


def _synonyms(noun: str) -> tuple[str, ...]:
    try:
        return synonyms(noun)
    except UnscorableError:  # a word that WordNet lacks has no synonyms there; the model is asked next
        return ()
