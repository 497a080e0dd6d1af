"""What a caption mentions: which words of it stand for a class."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from editgauge.core.errors import CannotTell
from editgauge.models.vocabulary import resolve
from editgauge.models.vocabulary.phrases import english

LONGEST = 3
"""Words in the name of a class: 'baseball bat', 'hair drier'."""
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a caption that stand for a class."""

    class_: str
    start: int
    end: int
    is_plural: bool


def mentions(caption: str, classes: Sequence[str]) -> tuple[Mention, ...]:
    """What the caption mentions, from left to right; longer names come first, so that a hot dog is no dog.

    >>> [(each.class_, each.start) for each in mentions("A cat beside two hot dogs", ("cat", "dog", "hot dog"))]
    [('cat', 2), ('hot dog', 17)]
    """
    words = list(_WORD.finditer(caption))
    taken: set[int] = set()
    listed = []
    for length in range(LONGEST, 0, -1):
        for first in range(len(words) - length + 1):
            span = range(first, first + length)
            start, end = words[first].start(), words[first + length - 1].end()
            named = None if taken & set(span) else _named(caption[start:end].casefold(), tuple(classes))
            if named:
                taken |= set(span)
                listed.append(Mention(named[0], start, end, named[1]))
    return tuple(sorted(listed, key=lambda each: each.start))


@cache
def _named(words: str, classes: tuple[str, ...]) -> tuple[str, bool] | None:
    """The class that these words name and nothing else, and whether they name several."""
    if words.split()[0] in english().determiners:
        return None
    try:
        class_ = resolve(words, classes)
    except CannotTell:
        return None
    return None if "head noun" in class_.how else (class_.word, "plural" in class_.how)
