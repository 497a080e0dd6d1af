"""A change in words: what one asks for, and what one says afterwards."""

from __future__ import annotations

import re
from collections.abc import Mapping

from editgauge.benchmarks._text.wording import instruction
from editgauge.building.training.change import WHOLE, DescribedChange
from editgauge.building.training.likeness import kind_of
from editgauge.core.text import plural, with_article
from editgauge.models.vocabulary.phrases import singulars

COMPARED = {"large": "larger", "small": "smaller"}
TYPES: Mapping[str | None, str] = {"color": "color", "shape": "shape", "size": "size", "style": "style"}
LOOK = "appearance"
"""What changed when the attribute is in no table."""
_ARTICLE = r"(?:\b(?P<article>an?) )?"


def instruction_of(change: DescribedChange) -> str:
    """What to ask for. What is taken away is not stated by its place: the decoy of a removal stands elsewhere.

    >>> instruction_of(DescribedChange("Add", None, "cup", where="on the table"))
    'Add a cup on the table.'
    """
    after = change.after or ""
    match change.action:
        case "Add":
            return f"Add {with_article(after)}{f' {change.where}' if change.where else ''}."
        case "Remove":
            return f"Remove the {change.before}."
        case "Replace":
            return instruction("object_replacement", change.before or "", change.before, after)
        case _:
            return instruction(TYPES.get(kind_of(after), "texture"), change.thing or WHOLE, None, after)


def caption_of(change: DescribedChange) -> str:
    """What differs afterwards.

    >>> caption_of(DescribedChange("Replace", "apple", "orange"))
    'The apple was replaced by an orange.'
    """
    match change.action:
        case "Add":
            at = f" {change.where}" if change.where else ""
            sentence = f"{with_article(change.after or '')} {_was(change.after)} added{at}."
        case "Remove":
            sentence = f"the {change.before} {_was(change.before)} removed."
        case "Replace":
            sentence = f"the {change.before} {_was(change.before)} replaced by {with_article(change.after or '')}."
        case _:
            sentence = _altered(change)
    return sentence[0].upper() + sentence[1:]


def _altered(change: DescribedChange) -> str:
    kind = kind_of(change.after or "")
    if change.after in COMPARED:
        return f"the {change.thing} {_was(change.thing)} made {COMPARED[change.after]}."
    since = f" from {change.before}" if change.before else ""
    if kind == "color":
        return f"the {change.thing} {_was(change.thing)} changed{since} to {change.after}."
    return f"the {kind or LOOK} of the {change.thing} was changed{since} to {change.after}."


def reworded(caption: str, old: str, new: str) -> str | None:
    """An instruction with another name in place of one; None unless the one is there exactly once, and fits.

    A cup of coffee keeps its name: in its place would stand a plate of coffee.

    >>> reworded("Let there be an old car on the street", "old car", "bus")
    'Let there be a bus on the street'
    """
    matches = list(re.finditer(rf"{_ARTICLE}\b{re.escape(old)}\b(?! of )", caption, re.IGNORECASE))
    if len(matches) != 1 or (matches[0]["article"] and _is_plural(new)):
        return None
    (place,) = matches
    name = with_article(new) if place["article"] else new
    name = name.capitalize() if (place["article"] or "")[:1].isupper() else name
    return f"{caption[: place.start()]}{name}{caption[place.end() :]}"


def as_many(name: str, like: str) -> str:
    """The name in the plural where another is.

    >>> as_many("peach", "apples"), as_many("peach", "apple")
    ('peaches', 'peach')
    """
    if not _is_plural(like) or _is_plural(name):
        return name
    return plural(name)


def _was(name: str | None) -> str:
    return "were" if _is_plural(name or "") else "was"


def _is_plural(name: str) -> bool:
    return bool(singulars(name)) and name != WHOLE
