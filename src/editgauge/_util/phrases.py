"""A small grammar for positions and sizes as people and benchmarks write them."""

from __future__ import annotations

import re
from typing import Literal

from editgauge.errors import UnscorableError
from editgauge.types import Position, Relation

Size = Literal["small", "large"]

ANCHOR = r" (?:the |a |an |his |her |its |their )?(?P<anchor>.+)"
SIDE = rf"(?:to |on |at )?(?:the )?(?:far )?{{}}(?:[- ]hand)?(?: side)?(?: of{ANCHOR})?"
PLACES: tuple[tuple[Relation, str], ...] = (
    ("left", SIDE.format("left")),
    ("right", SIDE.format("right")),
    ("center", rf"(?:in |at |to )?(?:the )?(?:center|centre|middle)(?: of{ANCHOR})?"),
    ("on", rf"(?:on|at) (?:the )?top(?: of{ANCHOR})?"),
    ("on", rf"(?:atop|onto|on)(?:{ANCHOR})"),
    ("above", rf"(?:above|over)(?:{ANCHOR})?"),
    ("below", rf"(?:below|under|underneath|beneath)(?:{ANCHOR})?"),
)
"""Tried in this order, because 'on the left of' begins like 'on'."""
DEPTH = r"in front of|behind|next to|besides?|near|close to|by|inside|in|into|within|between|among|around|against|with"
"""Say nothing about left, right, above or below in a picture."""
_PLACED = [(relation, re.compile(words)) for relation, words in PLACES]
_NO_PLACE = re.compile(rf"(?:{DEPTH})(?: .+)?")
_WHOLE = re.compile(r"(?:the )?(?:image|picture|photo|photograph|frame|scene)")
SIZES: dict[str, Size] = {
    **dict.fromkeys(("small", "smaller", "tiny", "little", "short", "shorter"), "small"),
    **dict.fromkeys(("large", "larger", "big", "bigger", "huge", "giant", "tall", "taller"), "large"),
}


def read_position(text: str) -> Position:
    """Parse a position; raise `UnscorableError` for phrases that say nothing about the image plane.

    >>> read_position("on top of the table")
    Position(relation='on', anchor='table')
    >>> read_position("to left"), read_position("in the middle of the image")
    (Position(relation='left', anchor=None), Position(relation='center', anchor=None))
    """
    words = _plain(text)
    for relation, pattern in _PLACED:
        match = pattern.fullmatch(words)
        if match:
            anchor = match["anchor"]
            return Position(relation, None if anchor is None or _WHOLE.fullmatch(anchor) else anchor)
    if _NO_PLACE.fullmatch(words):
        raise UnscorableError("unknown_word", f"'{text}' says nothing about left, right, above or below in a picture")
    raise UnscorableError("unknown_word", f"'{text}' names no place in a picture")


def read_placing(text: str) -> tuple[str, Position]:
    """Split a phrase into an object and its position.

    >>> read_placing("wine glass to left")
    ('wine glass', Position(relation='left', anchor=None))
    >>> read_placing("a ball below the bench")
    ('ball', Position(relation='below', anchor='bench'))
    """
    pieces = without_article(text).split(" ")
    for cut in range(len(pieces)):
        remainder = " ".join(pieces[cut:])
        if any(pattern.fullmatch(remainder) for _, pattern in _PLACED):
            if cut == 0:
                raise UnscorableError("unknown_word", f"'{text}' names a place without a thing")
            return " ".join(pieces[:cut]), read_position(remainder)
        if _NO_PLACE.fullmatch(remainder):
            read_position(remainder)
    raise UnscorableError("unknown_word", f"'{text}' names a thing without a place")


def read_size(text: str) -> Size:
    """Parse a size as small or large.

    >>> read_size("a bit Bigger")
    'large'
    """
    sizes = {SIZES[word] for word in _plain(text).split() if word in SIZES}
    if len(sizes) != 1:
        raise UnscorableError("unknown_word", f"'{text}' is neither small nor large")
    return sizes.pop()


def without_article(phrase: str) -> str:
    """Remove a leading article.

    >>> without_article("An old car")
    'old car'
    """
    return re.sub(r"^(?:the|a|an|some|one|another|this|that) ", "", _plain(phrase))


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("_", " ").split()).rstrip(".!")
