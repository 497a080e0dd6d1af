"""A small reader of WordNet's nouns: what a word means, what that is a kind of, and what kinds there are of it.

WordNet's files are sorted and made to be searched where they lie, so nothing is loaded: a word costs a few dozen short
reads. The reader of nltk takes two seconds to import and wants files that the package does not carry.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

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
