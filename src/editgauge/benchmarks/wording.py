"""Plain English for edits that come as parts: short instructions."""

from __future__ import annotations

from editgauge._util.text import article, is_plural, with_article
from editgauge.recipes import COLORS
from editgauge.types import Position

PLACES = {
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
        return f"Add {with_article(to)} {PLACES[position.relation].format(position.anchor or 'image')}."
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
