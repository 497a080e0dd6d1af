"""From an English phrase to a word of a closed vocabulary: heads and singulars of phrases, WordNet, resolution."""

from __future__ import annotations

import mmap
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from editgauge._util.text import join_words, with_article
from editgauge.errors import UnscorableError


@dataclass(frozen=True, slots=True)
class English:
    """Word lists of `phrases.yaml`."""

    determiners: frozenset[str]
    openers: frozenset[str]
    measures: frozenset[str]
    not_the_thing: frozenset[str]
    materials: frozenset[str]
    grown: frozenset[str]
    looks: frozenset[str]
    uses: frozenset[str]
    irregular: dict[str, str]


def read_table(name: str) -> Any:
    """Read a YAML file of this package."""
    content = (resources.files(__package__) / name).read_text(encoding="utf-8")
    return yaml.load(content, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both safe


@cache
def english() -> English:
    """Read the word lists once."""
    lists = read_table("phrases.yaml")
    irregular = lists.pop("irregular")
    return English(irregular=irregular, **{name: frozenset(words) for name, words in lists.items()})


def plain_words(phrase: str) -> list[str]:
    """Lowercase and split a phrase; drop leading determiners and numbers.

    >>> plain_words("The two Teddy-Bears!")
    ['teddy', 'bears']
    """
    words = re.findall(r"[^\W_]+(?:['’][^\W_]+)?", phrase.casefold().replace("’", "'"))
    remaining = list(words)
    while len(remaining) > 1 and (remaining[0] in english().determiners or remaining[0].isdigit()):
        remaining.pop(0)
    return remaining


def without_what_follows(words: list[str]) -> list[str]:
    """Strip trailing modifiers; of an "of" phrase keep the side that names the object.

    >>> without_what_follows(["dog", "on", "the", "couch"]), without_what_follows(["slice", "of", "cake"])
    (['dog'], ['cake'])
    """
    if "of" in words[1:-1]:
        index = words.index("of", 1)
        before, after = words[:index], words[index + 1 :]
        measured = bool({before[-1], *singulars(before[-1])} & english().measures)
        return without_what_follows(plain_words(" ".join(after)) if measured else before)
    ends = (index for index, word in enumerate(words) if index and word in english().openers)
    return words[: next(ends, len(words))]


def is_possessive(word: str) -> bool:
    """Tell whether a word is a possessive."""
    return word.endswith(("'s", "s'"))


def singulars(noun: str) -> list[str]:
    """Return possible singulars of a noun, likeliest first; only the last word changes.

    >>> singulars("knives"), singulars("wine glasses"), singulars("ties")
    (['knife', 'knif', 'knive'], ['wine glass', 'wine glasse'], ['ty', 'tie'])
    """
    before, blank, last = noun.rpartition(" ")
    return [f"{before}{blank}{singular}" for singular in _singulars(last)]


def _singulars(word: str) -> list[str]:
    if word in english().irregular:
        return [english().irregular[word]]
    if word.endswith("ves"):
        return [f"{word[:-3]}fe", f"{word[:-3]}f", word[:-1]]
    if word.endswith("ies"):
        return [f"{word[:-3]}y", word[:-1]]
    if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        return [word[:-2], word[:-1]]
    return [word[:-1]] if len(word) > 1 and word.endswith("s") and not word.endswith(("ss", "us")) else []


Sense = int
"""A meaning, by the place of its line in `data.noun`."""
KIND_OF, KINDS = "@", "~"
"""WordNet's signs for hypernym and hyponym. Instances (`@i`: Paris is a city) are left out: a name is no kind."""


class WordNet:
    """The nouns of WordNet, read from its folder `dict`."""

    def __init__(self, nouns: Path, senses: Path, adjectives: Path) -> None:
        self._nouns = _mapped(nouns)
        self._senses = _mapped(senses)
        self._adjectives = _mapped(adjectives)
        self._line_of = cache(self._read)

    def senses(self, noun: str) -> tuple[Sense, ...]:
        """Return the senses of a noun, most frequent first; empty when WordNet lacks it."""
        fields = _entry(self._nouns, noun)
        return tuple(int(offset) for offset in fields[-int(fields[2]) :]) if fields else ()

    def is_adjective(self, word: str) -> bool:
        """Tell whether the word can be an adjective."""
        return _entry(self._adjectives, word) is not None

    def names(self, sense: Sense) -> tuple[str, ...]:
        """Return the words of a sense."""
        return self._line_of(sense)[0]

    def kind_of(self, sense: Sense) -> tuple[Sense, ...]:
        """Return the direct hypernyms of a sense."""
        return self._pointed(sense, KIND_OF)

    def kinds(self, sense: Sense) -> tuple[Sense, ...]:
        """Return the direct hyponyms of a sense."""
        return self._pointed(sense, KINDS)

    def ancestors(self, sense: Sense) -> Iterator[Sense]:
        """Yield the sense and all its hypernyms, nearest first."""
        row, visited = [sense], {sense}
        while row:
            yield from row
            above = dict.fromkeys(parent for item in row for parent in self.kind_of(item))
            row = [parent for parent in above if parent not in visited]
            visited.update(row)

    def _pointed(self, sense: Sense, sign: str) -> tuple[Sense, ...]:
        return tuple(target for symbol, target in self._line_of(sense)[1] if symbol == sign)

    def _read(self, sense: Sense) -> tuple[tuple[str, ...], tuple[tuple[str, Sense], ...]]:
        """Parse the line of a sense: its words, and its pointers to nouns by symbol."""
        end = self._senses.find(b"\n", sense)
        fields = self._senses[sense:end].decode("latin-1").split(" | ", 1)[0].split(" ")
        count = int(fields[3], 16)
        after = 4 + 2 * count
        words = tuple(word.replace("_", " ") for word in fields[4:after:2])
        pointers = fields[after + 1 : after + 1 + 4 * int(fields[after])]
        rows = zip(pointers[0::4], pointers[1::4], pointers[2::4], strict=True)
        return words, tuple((sign, int(target)) for sign, target, part in rows if part == "n")


def _mapped(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _entry(index: mmap.mmap, word: str) -> list[str] | None:
    """Find the line of a word in an index file by bisection; lines are sorted by bytes."""
    target = word.lower().replace(" ", "_").encode("utf-8")
    low, high = 0, len(index)
    while low < high:
        start = index.rfind(b"\n", 0, (low + high) // 2) + 1
        end = index.find(b"\n", start, high)
        end = high if end < 0 else end  # the last line of a file that was cut off
        line = index[start:end]
        is_license = line.startswith(b"  ")  # which stands first, indented
        entry = line.split(b" ", 1)[0]
        if entry == target and not is_license:
            return line.decode("latin-1").split()
        if entry < target or is_license:
            low = end + 1
        else:
            high = start
    return None


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
            return f"'{word} {noun}' may be something else than {with_article(noun)}"
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


@cache
def coco_words() -> dict[int, str]:
    """Return COCO's class names by category id, from 1 to 90 with gaps."""
    words: dict[int, str] = read_table("coco.yaml")
    return words


GROUP_STARTS = (1, 2, 10, 16, 27, 34, 44, 52, 62, 72, 78, 84)
"""The number at which each of COCO's groups begins: person, vehicle, outdoor, animal, accessory, sports, kitchen, food,
furniture, electronic, appliance, indoor."""


def same_coco_kind(word: str, other: str) -> bool:
    """Tell whether both words are in one COCO group, such as vehicles; False for unknown words.

    >>> same_coco_kind("car", "truck"), same_coco_kind("car", "cup"), same_coco_kind("rocket", "rocket")
    (True, False, False)
    """
    groups = _groups()
    return word in groups and groups[word] == groups.get(other)


def is_animal(word: str) -> bool:
    """Tell whether a word is one of COCO's animals."""
    return same_coco_kind(word, "dog")


@cache
def _groups() -> dict[str, int]:
    return {word: bisect(GROUP_STARTS, number) for number, word in coco_words().items()}
