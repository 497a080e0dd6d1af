"""Is this the name of one thing? Rules find objects by name alone, so everything else is refused, with the reason."""

from __future__ import annotations

import re

from editgauge.benchmarks._text.wording import SPOKEN_COLORS
from editgauge.core.errors import CannotTell

DETERMINERS = re.compile(
    r"(?:(?:the|a|an|some|another|this|that|these|those|his|her|its|their|my|our|all|both|several|few|more|"
    r"many|lots of|a lot of|two|three|four|five|new|extra|additional) )+"
)
IN_THE_PICTURE = re.compile(
    r" (?:in|from|of|to|into|on) (?:the |this |that )?(?:image|picture|photo|photograph|scene|frame|shot)"
)
NARROWING = re.compile(
    r"\b(?:on|in|at|with|without|behind|beside|besides|near|next|under|over|above|below|beneath|between|around|against|"
    r"that|which|who|whose|where|is|are|wearing|holding|standing|sitting|by|to|from|for|like|into|onto|inside|left|right|"
    r"the|be|being|no|not|one of|some of|leftmost|rightmost|middle|front|back|first|second|third|last|other|biggest|"
    r"largest|smallest|closest|farthest)\b"
)
"""Words that no name has: they say which one is meant, or begin a sentence."""
NOT_ONE_NAME = {
    *("it", "them", "him", "her", "he", "she", "they", "one", "ones", "everything", "something", "someone", "anything"),
    *("image", "picture", "photo", "photograph", "scene", "frame", "background", "foreground", "weather", "season"),
    *("day", "night", "time", "daytime", "nighttime", "summer", "winter", "spring", "autumn", "fall", "style", "color"),
    *("colour", "lighting", "light", "brightness", "contrast"),
}
"""Pronouns, and what is everywhere in a picture or nowhere."""
DOES = {
    *(
        "eat",
        "contain",
        "read",
        "ride",
        "drink",
        "play",
        "jump",
        "chase",
        "catch",
        "throw",
        "kick",
        "fly",
        "drive",
        "cook",
    ),
    *("use", "smoke", "sit", "stand", "look", "hang", "show", "walk", "run", "hit", "face", "touch", "push", "pull"),
}
"""A 'name' that ends so is the beginning of a sentence."""
ENDS_LIKE_DOING = {
    *("painting", "building", "ceiling", "railing", "clothing", "ring", "string", "wing", "king", "earring", "pudding"),
    *("icing", "frosting", "dressing", "topping", "awning", "swing", "spring", "stocking", "lightning", "flooring"),
}
SHADE = r"(?:(?:plain|light|dark|bright|deep|pale|neon|hot|baby|royal|navy|sky|forest|lime|solid|all) )?"
COLOR = re.compile(rf"{SHADE}(?:{'|'.join(sorted(SPOKEN_COLORS))})(?: colou?r(?:ed)?)?")
LONGEST_NAME = 4
"""Words."""


def thing(text: str) -> str:
    """The name alone, without articles; raises `CannotTell` for what is not the name of one thing.

    >>> thing("the old car"), thing("some slices of pizza in the picture")
    ('old car', 'slices of pizza')
    """
    whole = IN_THE_PICTURE.sub("", f" {text} ").strip(" .,!?")
    name = DETERMINERS.sub("", f"{whole} ", count=1).strip() if DETERMINERS.match(f"{whole} ") else whole
    problem = _problem(name)
    if problem:
        raise CannotTell("unparsable", f"'{text.strip()}' {problem}")
    return name


def color(text: str) -> str | None:
    """The color, when these words name nothing but one.

    >>> color("light blue"), color("a blue car"), color("red color")
    ('light blue', None, 'red')
    """
    words = text.strip(" .,!?")
    is_one = COLOR.fullmatch(words)
    return re.sub(r" colou?r(?:ed)?$|^(?:all|solid|plain) ", "", words) if is_one else None


def without_color(name: str) -> tuple[str | None, str]:
    """The color a name begins with, and the rest: once painted blue, the red car is no red car.

    >>> without_color("red car"), without_color("orange")
    (('red', 'car'), (None, 'orange'))
    """
    first, _, rest = name.partition(" ")
    return (first, rest) if rest and first in SPOKEN_COLORS else (None, name)


def _problem(name: str) -> str | None:
    if not name or name in NOT_ONE_NAME or name.split()[-1] in NOT_ONE_NAME:
        return "names no single thing that can be found in a picture"
    if re.search(r" (?:and|or|then|but)\b|,", name):
        return "names more than one thing"
    if re.search(r"'s?\b", name):
        return "is a part of something named by its owner"
    if NARROWING.search(name):
        return "says which one of several is meant, and rules find objects by name alone"
    last = name.split()[-1]
    if last in DOES or (" " in name and last.endswith("ing") and last not in ENDS_LIKE_DOING):
        return "says what something does"
    if len(name.split()) > LONGEST_NAME:
        return f"has more than {LONGEST_NAME} words, which is hardly a name"
    return None
