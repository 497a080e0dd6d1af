"""Caption templates from a caption's own words, by rules: `A cat on a suitcase` becomes `A {target} on a suitcase`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from editgauge.benchmarks._text.wording import SPOKEN_COLORS
from editgauge.building.unibench.mentions import Mention, mentions
from editgauge.core.text import with_article

_COLOR_BEFORE = re.compile(rf"\b(?:{'|'.join(sorted(SPOKEN_COLORS))})\s+$", re.IGNORECASE)
_PREPOSITION = (
    r"(?:on top of|in front of|next to|to the left of|to the right of|on|in|at|by|under|above|below|behind|beside|near|"
    r"inside|against|over)"
)
_PLACED = re.compile(rf"\b{_PREPOSITION}\s+(?:an?|the|his|her|its|their|some)\s+(?:[\w-]+\s+){{0,2}}$", re.IGNORECASE)


def with_slot(caption: str, mention: Mention) -> str:
    """The caption with another class in place of a mention."""
    return f"{caption[: mention.start]}{{target}}{caption[mention.end :]}"


def with_color(caption: str, mention: Mention) -> str:
    """The caption with another color for a mention.

    >>> with_color("A black cat on a mat", Mention("cat", 8, 11, False))
    'A {color} cat on a mat'
    """
    before = _COLOR_BEFORE.sub("", caption[: mention.start])
    return f"{before}{{color}} {caption[mention.start :]}"


def with_place(caption: str, mention: Mention, anchors: Sequence[Mention]) -> str | None:
    """The caption with another place for a mention, where the caption says what it is next to.

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
    """The caption with something new in the picture.

    >>> with_addition("A cat on a mat.")
    'A cat on a mat, and a {target} {position} the {anchor}.'
    """
    return f"{caption.rstrip(' .!')}, and a {{target}} {{position}} the {{anchor}}."


def plain_caption(classes: Sequence[str]) -> str:
    """A caption for a picture that has none.

    >>> plain_caption(["cat", "umbrella"])
    'A photo of a cat and an umbrella'
    """
    return f"A photo of {' and '.join(with_article(each) for each in classes)}"


def mention_of(caption: str, class_: str, classes: Sequence[str]) -> Mention | None:
    """Where a caption mentions a class in the singular."""
    single = (each for each in mentions(caption, classes) if each.class_ == class_ and not each.is_plural)
    return next(single, None)
