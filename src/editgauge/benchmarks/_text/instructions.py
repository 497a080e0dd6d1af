"""From an instruction to PixLens's parts: edit type, category, from, to and position; or why they cannot be told.

PixLens read the instructions of MagicBrush by hand (supplement 9). These are rules: they take what is said in so many
words, and leave the rest alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from editgauge.benchmarks._text.things import COLOR, color, thing, without_color
from editgauge.core.errors import CannotTell
from editgauge.core.phrases import SIZES, read_position, read_size
from editgauge.core.types import Position, Relation

POLITE = re.compile(
    r"^(?:please|kindly|now|maybe|let's|let us|lets|we should|you should|could we|could you|can we|can you|would you|"
    r"i want you to|i want to|i would like to|i'd like to|we could|we can) "
)
VERBS = re.compile(
    r"\b(?:add|insert|put|placing|remov\w+|delete|erase|get rid of|take away|replac\w+|change|turn|swap|make)\b"
)
BE = r"(?:is|are|was|were|should be|be|could be)"
HAVE = r"(?:(?:be |is |are |was |were )?(?:wearing|holding|carrying)|wears?|wore|have|has|had|holds?|held|carry|grow)"
BIGGER = "|".join(SIZES)
SIDES: dict[str, Relation] = {
    "left": "left",
    "right": "right",
    "center": "center",
    "centre": "center",
    "middle": "center",
}
SIDE = "|".join(SIDES)
PLACE = re.compile(
    r" (?=(?:to|on|onto|at|in|into|inside|within|above|over|below|under|underneath|beneath|atop|next|beside|besides|"
    r"near|close|by|between|among|around|against|behind|along|across)\b)"
)
WORN = {
    *(
        "hat",
        "cap",
        "beret",
        "helmet",
        "crown",
        "glasses",
        "sunglasses",
        "goggles",
        "monocle",
        "mask",
        "veil",
        "earrings",
    ),
    *("scarf", "tie", "bowtie", "bow", "collar", "bandana", "ribbon", "necklace", "vest", "shirt", "sweater", "jacket"),
    *(
        "coat",
        "dress",
        "shoes",
        "boots",
        "gloves",
        "watch",
        "saddle",
        "beard",
        "mustache",
        "moustache",
        "tattoo",
        "logo",
    ),
    *("sticker", "wings", "horns", "topping", "toppings", "sprinkles", "icing", "frosting", "sauce", "syrup"),
}
"""What becomes a part of the thing it is put on."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What PixLens's rules need to know of an edit."""

    type: str
    subject: str | None = None
    from_: str | None = None
    to: str | None = None
    position: Position | None = None


def read_instruction(told: str) -> Parts:
    """The parts that an instruction names; raises `CannotTell` for everything else.

    >>> read_instruction("Could we add a cup to the left of the plate?").position
    Position(relation='left', anchor='plate')
    >>> read_instruction("Let the dog wear a hat")
    Parts(type='alter_parts', subject='dog', from_=None, to='hat', position=None)
    """
    words = re.sub(r",? please$", "", " ".join(told.lower().replace("’", "'").split()).rstrip(".!? "))
    while POLITE.match(words):
        words = POLITE.sub("", words)
    if len(VERBS.findall(words)) > 1:
        raise CannotTell("unparsable", f"'{told}' has more than one wish")
    for pattern, read in RULES:
        found = pattern.fullmatch(words)
        if found:
            return read(*found.groups())
    raise CannotTell("unparsable", f"'{told}' is of no form that the rules know")


def _addition(text: str) -> Parts:
    name, *place = PLACE.split(text, maxsplit=1)
    if not place:
        return Parts("object_addition", to=thing(name))
    where = place[0]
    if re.fullmatch(r"(?:on|in|at|to) the (?:back|fore)ground", where):
        return Parts("object_addition", to=thing(name))
    onto = re.fullmatch(rf"to (?!(?:the )?(?:far )?(?:{SIDE})\b)(?:the |a |an )?(.+)", where)
    if onto:
        return _onto_something(name, onto.group(1))
    try:
        position = read_position(where)
    except CannotTell:  # 'behind the car' is no direction in a picture, but the addition itself is clear
        return Parts("object_addition", to=thing(name))
    if position.anchor is None:
        return Parts("object_addition", to=thing(name), position=position)
    anchor = thing(position.anchor)
    if position.relation == "on" and name.split()[-1] in WORN:
        return Parts("alter_parts", subject=anchor, to=thing(name))
    if position.relation == "center":
        return Parts("object_addition", to=thing(name))
    return Parts("positional_addition", subject=anchor, to=thing(name), position=Position(position.relation, anchor))


def _onto_something(name: str, anchor: str) -> Parts:
    """'Add a cup to the picture' is an addition, 'add a hat to the dog' makes it a part of the dog."""
    if re.fullmatch(r"(?:this |that )?(?:image|picture|photo|photograph|scene|frame|shot)", anchor):
        return Parts("object_addition", to=thing(name))
    return Parts("alter_parts", subject=thing(anchor), to=thing(name))


def _replacement(old: str, new: str) -> Parts:
    if color(new):
        return _color(old, new)
    before, after = thing(old), thing(new)
    if before.split()[-1] == after.split()[-1]:
        raise CannotTell("unparsable", f"'{before}' and '{after}' have one name; a rule would find both at once")
    return Parts("object_replacement", subject=before, from_=before, to=after)


def _instead(new: str, old: str) -> Parts:
    return _replacement(old, new)


def _becomes(old: str, new: str) -> Parts:
    """Something becomes a color, a size or another thing; other adjectives are of no type that has a rule."""
    if color(new):
        return _color(old, new)
    if re.fullmatch(rf"(?:a bit |a little |much |even |way )?(?:{BIGGER})", new):
        return _size(old, new)
    if not re.match(r"(?:a|an) ", new):
        raise CannotTell("unparsable", f"'{new}' is neither a color, a size nor another thing")
    return _replacement(old, new)


def _color(subject: str, name: str) -> Parts:
    told = color(name)
    if told is None:
        raise CannotTell("unparsable", f"'{name}' is no color that the rules know")
    before, what = without_color(thing(subject))
    return Parts("color", subject=what, from_=before, to=told)


def _recolored(subject: str, before: str, after: str) -> Parts:
    return replace(_color(subject, after), from_=color(before))


def _size(subject: str, change: str) -> Parts:
    return Parts("size", subject=thing(subject), to=read_size(change))


def _sized(verb: str, subject: str) -> Parts:
    return Parts("size", subject=thing(subject), to="small" if verb in {"shrink", "decrease", "reduce"} else "large")


def _part(subject: str, part: str) -> Parts:
    return Parts("alter_parts", subject=thing(subject), to=thing(part))


def _removal(what: str) -> Parts:
    taken = re.sub(r" from .+$", "", what)
    one = re.fullmatch(r"one (?:of )?(?:the |these |those )?(.+)", taken)
    if one:
        return Parts("single_instance_removal", subject=thing(one.group(1)))
    return Parts("object_removal", subject=thing(taken))


def _moved(subject: str, start: str | None, end: str) -> Parts:
    before = SIDES[start] if start else None
    return Parts(
        "position_replacement", subject=thing(subject), from_=before, to=SIDES[end], position=Position(SIDES[end])
    )


SOME = r"((?:a|an|some|another|more|two|three|several|a few|many) .+|[a-z]+s)"
ANY = r"(?!the |this |that |these |those |his |her |its |their |it |them |him )(.+)"
"""What is not there yet: 'put the cup on the table' moves a cup."""
THERE_BE = r"(?:let|have) there be|(?:what if )?there (?:was|were|is|are|should be|could be|needs to be)"
WANT = r"(?:it|we|i) needs?|i want|we want|i would like|i'd like|have"
RULES: tuple[tuple[re.Pattern[str], Callable[..., Parts]], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"(?:replace|swap|substitute|exchange) (.+?) (?:with|by|for) (.+)", _replacement),
        (r"(?:let )?(.+?) (?:should )?be (?:replaced|swapped|substituted) (?:with|by|for) (.+)", _replacement),
        (r"(?:put|place|add|have|use|insert) (.+?) (?:instead of|in place of|in the place of) (.+)", _instead),
        (r"(?:remove|delete|erase|get rid of|take away|take out|eliminate) (.+)", _removal),
        (r"(?:let )?(.+?) (?:should )?be (?:removed|deleted|erased|taken away)", _removal),
        (r"(?:change|make|turn) the colou?r of (.+?) (?:to |into |be )+(.+)", _color),
        (r"(?:change|make|turn) (.+?)(?:'s)? colou?r (?:to |into )?(.+)", _color),
        (rf"(?:change|turn) (.+?) from ({COLOR.pattern}) to ({COLOR.pattern})", _recolored),
        (r"(enlarge|shrink|magnify) (.+)", _sized),
        (r"(increase|decrease|reduce) the size of (.+)", _sized),
        (
            rf"(?:move|shift|slide|bring|push) (.+?)(?: from the ({SIDE})(?: side)?)? (?:to|towards?) the (?:far )?"
            rf"({SIDE})(?: side)?(?: of the (?:image|picture|photo|scene|frame))?",
            _moved,
        ),
        (r"(?:change|turn|transform|convert|make) (.+?) into (.+)", _replacement),
        (r"let (.+?) (?:turn|become) (?:in)?(?:to )?(.+)", _becomes),
        (r"(?:change|turn|transform|convert) (.+?) (?:to|for) (?:be )?(.+)", _becomes),
        (rf"(?:paint|dye|colou?r) (.+?) (?:in )?({COLOR.pattern})", _color),
        (rf"give (.+?) {SOME}", _part),
        (rf"(?:{THERE_BE}) {ANY}", _addition),
        (rf"(?:let|make|have|get|what if|if) ((?:the|his|her) .+?) {HAVE} (.+)", _part),
        (rf"((?:the|his|her) .+?) (?:should|could|needs to|must) {HAVE} (.+)", _part),
        (rf"(?:{WANT}) {SOME}", _addition),
        (rf"(?:add|insert|include|put|place|attach|draw) {ANY}", _addition),
        (rf"(?:let|make|have|what if|can|could) (.+?) {BE} (?:look like )?(.+)", _becomes),
        (rf"((?:the|his|her) .+?) {BE} (.+)", _becomes),
        (r"(?:make|turn) (.+?) ((?:a|an) .+)", _becomes),
        (r"(?:make|turn) (.+?) ((?:(?:a bit|a little|much|even|way|light|dark|bright|pale|navy|neon) )?\w+)", _becomes),
    )
)
"""Tried in this order; the first form that fits decides."""
