"""A small grammar for positions and sizes as people and benchmarks write them."""

from __future__ import annotations

import re
from typing import Literal

from editgauge._util.text import article, is_plural, with_article
from editgauge.errors import UnscorableError
from editgauge.recipes import COLORS
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


POSITION_PHRASES = {
    "left": "to the left of the {}",
    "right": "to the right of the {}",
    "above": "above the {}",
    "below": "below the {}",
    "on": "on top of the {}",
    "center": "in the center of the {}",
}
ADJECTIVES_OF_SHAPE = ("square", "oval", "rectangular", "round", "triangular", "flat")
SPOKEN_COLORS = frozenset(
    {*COLORS, "grey", "gold", "silver", "beige", "turquoise", "violet", "blonde", "blond", "tan", "maroon", "navy"}
)


def instruction(kind: str, subject: str, from_: str | None, to: str, position: Position | None = None) -> str:
    """Compose an instruction from the parts of an edit.

    >>> instruction("positional_addition", "pizza", None, "wine glass", Position("left", "pizza"))
    'Add a wine glass to the left of the pizza.'
    >>> instruction("position_replacement", "dog", "right", "left")
    'Move the dog from the right to the left of the image.'
    """
    if kind == "positional_addition" and position:
        return f"Add {with_article(to)} {POSITION_PHRASES[position.relation].format(position.anchor or 'image')}."
    if kind == "position_replacement":
        return f"Move the {subject}{f' from the {from_}' if from_ else ''} to the {to} of the image."
    if kind == "background":
        return f"Change the background{f' from {with_article(from_)}' if from_ else ''} to {with_article(to)}."
    if kind == "viewpoint":
        return f"Show the {subject} from the {to}{f' instead of the {from_}' if from_ else ''}."
    if kind == "shape" and " " in to:
        return f"Give the {subject} the shape of {with_article(to)}."
    if kind == "texture" and is_plural(to):
        return f"Give the {subject} a texture of {to}."
    shape = to if to in ADJECTIVES_OF_SHAPE else f"{to.removesuffix('-shaped')}-shaped"
    sentences = {
        "object_addition": f"Add {with_article(to)} to the image.",
        "object_replacement": f"Replace the {from_ or subject} with {with_article(to)}.",
        "object_removal": f"Remove the {subject}.",
        "size": f"Make the {subject} {'smaller' if to == 'small' else 'larger'}.",
        "alter_parts": f"Add {with_article(to)} to the {subject}.",
        "color": f"Make the {subject} {to}.",
        "texture": f"Give the {subject} {article(to)} {to} texture.",
        "shape": f"Make the {subject} {shape}.",
        "style": f"Change the style of the image to {to}.",
        "action": f"Make the {subject} {'lie down' if to == 'lay' else to}.",
    }
    return sentences[kind]
