"""The little English a prompt needs: articles, and nouns without them."""

from __future__ import annotations

from functools import cache
from importlib import resources

import yaml

from editgauge._util.text import article


@cache
def _lists() -> dict[str, list[str]]:
    text = (resources.files(__package__) / "english.yaml").read_text(encoding="utf-8")
    lists: dict[str, list[str]] = yaml.safe_load(text)
    return lists


def normalize_text(words: str) -> str:
    """Replace underscores by spaces and collapse whitespace; hyphens stay.

    >>> normalize_text("stop_sign"), normalize_text(" heart-shaped  ")
    ('stop sign', 'heart-shaped')
    """
    return " ".join(words.replace("_", " ").split())


def noun(phrase: str) -> str:
    """Remove the phrase's article.

    >>> noun("the cat"), noun("her jacket")
    ('cat', 'her jacket')
    """
    first, _, remainder = phrase.partition(" ")
    return remainder if remainder and first.lower() in _lists()["articles"] else phrase


def join_phrases(phrases: list[str]) -> str:
    """Several phrases as one, the last being its main word.

    >>> join_phrases(["brown", "the bench"]), join_phrases(["brown", "her jacket"])
    ('brown bench', 'her brown jacket')
    """
    *before, last = (noun(phrase) for phrase in phrases)
    first, _, remainder = last.partition(" ")
    return " ".join([first, *before, remainder] if remainder and has_determiner(last) else [*before, last])


def with_a(phrase: str) -> str:
    """Prefix "a" or "an", unless the phrase is plural, uncountable or has a determiner.

    >>> with_a("apple"), with_a("the unicorn"), with_a("shoes"), with_a("pair of shoes"), with_a("her jacket")
    ('an apple', 'a unicorn', 'shoes', 'a pair of shoes', 'her jacket')
    """
    bare = noun(phrase)
    return bare if has_determiner(bare) or not _countable(bare) else f"{article(bare)} {bare}"


def with_the(phrase: str) -> str:
    """Prefix "the", unless the phrase has a determiner.

    >>> with_the("a cat"), with_the("her jacket")
    ('the cat', 'her jacket')
    """
    bare = noun(phrase)
    return bare if has_determiner(bare) else f"the {bare}"


def has_determiner(phrase: str) -> bool:
    """Whether the phrase begins with a word that leaves no room for an article.

    >>> has_determiner("her jacket"), has_determiner("2 cats"), has_determiner("cat")
    (True, True, False)
    """
    first = phrase.partition(" ")[0]
    return first.lower() in _lists()["determiners"] or first.isdecimal()


def _countable(phrase: str) -> bool:
    lists, words = _lists(), phrase.lower().split()
    ends = [index for index, word in enumerate(words) if index and word in lists["prepositions"]]
    main = words[ends[0] - 1] if ends else words[-1]
    if main in lists["with_a"] or main in lists["without_a"]:
        return main in lists["with_a"]
    return not main.endswith("s") or main.endswith(("ss", "us", "is"))
