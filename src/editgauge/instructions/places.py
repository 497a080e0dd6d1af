"""Where something should be: prepositions, and what follows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from editgauge.instructions.lexicon import lists_in, match, match_any, table, words
from editgauge.instructions.things import Thing, read_thing
from editgauge.instructions.tokens import MARKS, Token, skip, token_at
from editgauge.types import Position, Relation

SIDED: frozenset[Relation] = frozenset({"left", "right", "above", "below"})
"""Relations that name a side of the anchor."""
AROUND_SIDES = frozenset({"side", "hand", "hand-side", "corner", "part", "edge", "left", "right"})
AFTER_SIDES = frozenset({"and", "instead", "please", "next", "that", "which", "who", "with"})


@dataclass(frozen=True, slots=True)
class Place:
    """A relation with its anchor, and how many tokens say so."""

    relation: Relation
    anchor: Thing | None
    start: int
    end: int
    preposition: str = ""

    @property
    def position(self) -> Position:
        """The place as a field of an edit; the picture as a whole is no anchor."""
        is_thing = self.anchor is not None and not self.anchor.pronoun and self.anchor.head not in words("whole")
        return Position(self.relation, self.anchor.name if self.anchor and is_thing else None)


def find_place(tokens: Sequence[Token], start: int = 0) -> Place | None:
    """The first place that is named from `start` on, at any distance."""
    for at in range(start, len(tokens)):
        place = read_place(tokens, at)
        if place is None or (place.relation == "in" and place.anchor and place.anchor.is_worn):
            continue
        if not (place.preposition == "by" and at and _is_done_by(tokens[at - 1])):
            return place
    return None


def _is_done_by(word: str) -> bool:
    """ "struck by", "held by": what follows does it, and is no place."""
    return word.endswith(("ed", "en", "uck", "ught", "eld")) and word not in {"bed", "shed", "kitchen", "oven", "field"}


def read_place(tokens: Sequence[Token], at: int) -> Place | None:
    """The place that is named exactly here, or None."""
    side = _side(tokens, at)
    if side:
        return side
    name, length = match_any(lists_in("relations"), tokens, at)
    if not length or match("nearby", tokens, at) > length:
        return None
    relation = cast("Relation", name.removeprefix("relations."))
    preposition = " ".join(tokens[at : at + length])
    anchor, end = read_thing(tokens, at + length, predicate=True)
    if end == len(tokens) - 1 and tokens[end] in words("noun_verbs") | words("materials"):
        anchor, end = read_thing(tokens, at + length)  # "next to the wine glass", "on the cutting board"
    if not anchor:
        return None
    return Place(relation, anchor, at, end, preposition)


def _side(tokens: Sequence[Token], at: int) -> Place | None:
    """A side of the whole picture: "on the left", "to the right side of the image"; or of a thing that is named."""
    has_preposition = token_at(tokens, at) in {"to", "on", "at", "in", "towards", "toward", "into"}
    if not has_preposition and token_at(tokens, at) not in {"left", "right"}:
        return None
    here = skip(tokens, {"the", "far", "very", "lower", "upper", "its", "his", "her"}, at + has_preposition)
    side = table("sides").get(str(token_at(tokens, here)))
    if side is None:
        return None
    here = skip(tokens, AROUND_SIDES, here + 1)
    relation = cast("Relation", side)
    if list(tokens[at:here]) == ["on", "top"] and token_at(tokens, here) != "of":
        return None  # "add a cherry on top": of what, is not said
    if token_at(tokens, here) == "of":
        anchor, end = read_thing(tokens, here + 1)
        if side == "above":
            relation = "on"
        return Place(relation, anchor if anchor else None, at, end)
    if here < len(tokens) and tokens[here] not in MARKS and tokens[here] not in AFTER_SIDES:
        return None
    return Place(relation, None, at, here)
