"""What a caption mentions, and templates made from its own words: `A cat on a mat` becomes `A {target} on a mat`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from editgauge._util.text import with_article
from editgauge.benchmarks.wording import SPOKEN_COLORS
from editgauge.errors import UnscorableError
from editgauge.models.vocabulary import resolve
from editgauge.models.vocabulary._phrases import english

LONGEST = 3
"""Words in the name of a class: 'baseball bat', 'hair drier'."""
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_COLOR_BEFORE = re.compile(rf"\b(?:{'|'.join(sorted(SPOKEN_COLORS))})\s+$", re.IGNORECASE)
_PREPOSITION = (
    r"(?:on top of|in front of|next to|to the left of|to the right of|on|in|at|by|under|above|below|behind|beside|near|"
    r"inside|against|over)"
)
_PLACED = re.compile(rf"\b{_PREPOSITION}\s+(?:an?|the|his|her|its|their|some)\s+(?:[\w-]+\s+){{0,2}}$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a caption that stand for a class."""

    class_: str
    start: int
    end: int
    is_plural: bool


def mentions(caption: str, classes: Sequence[str]) -> tuple[Mention, ...]:
    """Return the mentions of a caption from left to right; longer names win.

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
    return tuple(sorted(listed, key=lambda item: item.start))


@cache
def _named(words: str, classes: tuple[str, ...]) -> tuple[str, bool] | None:
    """Return the class that words name exactly, and whether it is plural."""
    if words.split()[0] in english().determiners:
        return None
    try:
        class_ = resolve(words, classes)
    except UnscorableError:
        return None
    return None if "head noun" in class_.how else (class_.word, "plural" in class_.how)


def with_slot(caption: str, mention: Mention) -> str:
    """Replace a mention by a class slot."""
    return f"{caption[: mention.start]}{{target}}{caption[mention.end :]}"


def with_color(caption: str, mention: Mention) -> str:
    """Replace the color of a mention by a slot.

    >>> with_color("A black cat on a mat", Mention("cat", 8, 11, False))
    'A {color} cat on a mat'
    """
    before = _COLOR_BEFORE.sub("", caption[: mention.start])
    return f"{before}{{color}} {caption[mention.start :]}"


def with_place(caption: str, mention: Mention, anchors: Sequence[Mention]) -> str | None:
    """Replace the position of a mention by a slot, if the caption states it.

    >>> with_place("A cat sits on an old suitcase.", Mention("cat", 2, 5, False), [Mention("suitcase", 21, 29, False)])
    'A cat sits {position} a {anchor}.'
    """
    for anchor in anchors:
        between = caption[mention.end : anchor.start] if anchor.start > mention.end else ""
        placed = _PLACED.search(between)
        if placed:
            return (
                f"{caption[: mention.end]}{between[: placed.start()]}{{position}} a {{anchor}}{caption[anchor.end :]}"
            )
    return None


def with_addition(caption: str) -> str:
    """Add a slot for a new object to the caption.

    >>> with_addition("A cat on a mat.")
    'A cat on a mat, and a {target} {position} the {anchor}.'
    """
    return f"{caption.rstrip(' .!')}, and a {{target}} {{position}} the {{anchor}}."


def plain_caption(classes: Sequence[str]) -> str:
    """Compose a caption for an image without one.

    >>> plain_caption(["cat", "umbrella"])
    'A photo of a cat and an umbrella'
    """
    return f"A photo of {' and '.join(with_article(class_name) for class_name in classes)}"


def mention_of(caption: str, class_: str, classes: Sequence[str]) -> Mention | None:
    """Where a caption mentions a class in the singular."""
    single = (mention for mention in mentions(caption, classes) if mention.class_ == class_ and not mention.is_plural)
    return next(single, None)
