"""Prompt language: articles, nouns, and the expansion of templates."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib import resources

import yaml

from editgauge._util.text import article, to_gerund


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


PARTS = ("subject", "from", "to", "position", "anchor")
MODES: Mapping[str, Callable[[str], str]] = {"a": with_a, "the": with_the, "noun": noun, "ing": to_gerund}

SLOT = re.compile(r"(?:\b([Aa])n?\s+)?\{([^{}]*)\}")
GROUP = re.compile(r"\[([^\[\]]*)\]")


def expand_template(template: str, parts: Mapping[str, str]) -> str:
    """Expand the template with these parts; check with `missing_parts` first whether they suffice.

    >>> expand_template("make {the subject} {to}[ instead of {from}]", {"subject": "cat", "to": "black"})
    'make the cat black'
    """
    resolved = GROUP.sub(lambda group: _choose(_choices(group[1]), parts), template)
    return _tidy(SLOT.sub(lambda slot: _agreeing(slot[1], _say(slot[2], parts)), resolved))


def missing_parts(template: str, parts: Mapping[str, str]) -> list[str]:
    """Return the required parts of the template that are missing.

    >>> missing_parts("make {the subject} {to}[ instead of {from}]", {"subject": "cat"})
    ['to']
    """
    resolved = GROUP.sub(lambda group: _choose(_choices(group[1]), parts), template)
    return [name for name in dict.fromkeys(_names(resolved)) if name not in parts]


@lru_cache(maxsize=1000)
def find_problems(template: str) -> tuple[str, ...]:
    """Everything that is wrong with a template of ours or of a user's folder."""
    least = GROUP.sub(lambda group: _choices(group[1])[-1], template)
    problems = [] if least.strip() else ["it says nothing, or may say nothing when parts are absent"]
    for inside in (slot[2] for slot in SLOT.finditer(template)):
        names = _names_in(inside)
        problems += [f"there is no part '{name}'; there are {', '.join(PARTS)}" for name in names if name not in PARTS]
        problems += [] if names else [f"'{{{inside}}}' names no part"]
    for group in GROUP.finditer(template):
        if not all(SLOT.search(choice) for choice in _choices(group[1])[:-1]):
            problems.append(f"'{group[0]}' has a choice without a slot, so it leaves nothing to choose")
    if set("{}[]") & set(SLOT.sub("", GROUP.sub(r"\1", template))):
        problems.append("a brace or bracket has no partner, or is inside another one")
    return tuple(problems)


def _choices(group: str) -> list[str]:
    choices = group.split("|")
    return choices if len(choices) > 1 else [*choices, ""]


def _choose(choices: list[str], parts: Mapping[str, str]) -> str:
    return next((choice for choice in choices if all(name in parts for name in _names(choice))), choices[-1])


def _names(template: str) -> list[str]:
    return [name for slot in SLOT.finditer(template) for name in _names_in(slot[2])]


def _names_in(slot: str) -> list[str]:
    words = slot.split()
    return words[1:] if words and words[0] in MODES else words


def _say(slot: str, parts: Mapping[str, str]) -> str:
    names, mode = _names_in(slot), MODES.get(slot.split()[0])
    words = join_phrases([parts[name] for name in names]) if len(names) > 1 else parts[names[0]]
    return mode(words) if mode else words


def _agreeing(before: str | None, words: str) -> str:
    if before is None:
        return words
    phrase = f"{article(noun(words))} {noun(words)}"
    return phrase[0].upper() + phrase[1:] if before == "A" else phrase


def _tidy(text: str) -> str:
    return " ".join(text.split())
