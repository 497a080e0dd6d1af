"""Plain English for edits that come as parts: short instructions and the type an instruction names."""

from __future__ import annotations

import re

from editgauge.core.recipes import COLOURS
from editgauge.core.text import article, is_plural, with_article
from editgauge.core.types import Position

PLACES = {
    "left": "to the left of the {}",
    "right": "to the right of the {}",
    "above": "above the {}",
    "below": "below the {}",
    "on": "on top of the {}",
    "center": "in the center of the {}",
}
ADJECTIVES_OF_SHAPE = ("square", "oval", "rectangular", "round", "triangular", "flat")
SPOKEN_COLOURS = frozenset(
    {*COLOURS, "grey", "gold", "silver", "beige", "turquoise", "violet", "blonde", "blond", "tan", "maroon", "navy"}
)


def instruction(kind: str, subject: str, from_: str | None, to: str, position: Position | None = None) -> str:
    """What to tell a method, from the parts of an edit.

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


ADD = r"(?:add|insert)\b"
PUT = r"(?:put|place)\b(?! (?:the|this|that|these|those|his|her|its|their|it|them|him)\b)"
REMOVE = r"(?:remove|delete|erase|get rid of|take away)\b"
ONE_OF_SEVERAL = r"one (?!of (?:his|her|its|their)\b)"
VERBS = re.compile(
    r"\b(?:add|insert|put|placing|remov\w+|delete|erase|get rid of|take away|replac\w+|change|turn|swap|make)\b"
)
THE_BACKGROUND = r"(?:change|replace|make|turn|set) (?:the |it's |its )?(?:image |photo |picture )?background\b"
INSTEAD = re.compile(r" (?:inst\w*d of|in (?:the )?place of) ")
BECOMES = re.compile(r"(?:change|turn|transform|convert|make) (?:the |her |his |its |their )?(.+?) (in)?to (.+)")
NO_THINGS = {"it", "image", "photo", "picture", "scene", "day", "night", "summer", "winter", "autumn", "spring"}
MADE = re.compile(r"(?:make|turn|paint|dye|colou?r|let|have) (?:the |her |his |its |their )?.+ ([a-z]+)")


def guess_type(told: str) -> str:
    """The edit type an instruction names beyond doubt; `unspecified` for everything else.

    Meant for sets that have instructions and no types. One verb, at the beginning, decides; an instruction with two
    of them ("remove the cup and add a plate") is none of our types.

    >>> [guess_type(told) for told in ("Add a dog.", "put the zebras next to a river", "Turn the apple into an orange")]
    ['object_addition', 'unspecified', 'object_replacement']
    >>> [guess_type(told) for told in ("change the ball to blue", "change the tree in the background to a house")]
    ['color', 'object_replacement']
    """
    words = re.sub(r"^(?:please |let's |let us |can we |can you |could you )", "", " ".join(told.lower().split()))
    words = words.rstrip(".!? ")
    if len(VERBS.findall(words)) > 1:
        return "unspecified"
    if re.match(THE_BACKGROUND, words):
        return "background"
    if "in the style of" in words:
        return "style"
    if re.match(r"(?:replace|swap|substitute)\b.+ (?:with|by|for)\b", words):
        return "object_replacement"
    if re.match(REMOVE, words):
        return "single_instance_removal" if re.match(f"{REMOVE} {ONE_OF_SEVERAL}", words) else "object_removal"
    if re.match(f"{ADD}|{PUT}", words):
        return "object_replacement" if INSTEAD.search(words) else "object_addition"
    return _becomes(words)


def _becomes(words: str) -> str:
    """Something becomes a colour or another thing; the same thing of another kind is neither."""
    if re.match(r"(?:change|make) the colou?r of\b", words):
        return "color"
    changed = BECOMES.fullmatch(words)
    if changed:
        before, into, after = changed.groups()
        if after in SPOKEN_COLOURS:
            return "color"
        head, has_article = after.split()[-1], after.startswith(("a ", "an "))
        is_thing = has_article or (into and head not in SPOKEN_COLOURS)
        is_other = head not in before.split() and not {before, head} & NO_THINGS
        return "object_replacement" if is_thing and is_other else "unspecified"
    made = MADE.fullmatch(words) or re.fullmatch(r"the .+ should be ([a-z]+)", words)
    if made and made.group(1) in SPOKEN_COLOURS and not re.search(r"\b(?:a|an|and|wear|wearing|hold) [a-z]+$", words):
        return "color"
    return "unspecified"
