"""Captions that describe the two pictures one after the other: what only one of them has is the difference."""

from __future__ import annotations

import re

from editgauge.models.vocabulary.phrases import singulars
from editgauge.protocols.difference.naming import head, named
from editgauge.protocols.difference.triplets import Triplet

_WHICH = r"(?:the )?(?:{}) (?:image|picture|photo|one)"
_HAS = r",? ?(?:there (?:is|are)|has|have|shows?|contains?|features?|includes?|depicts?)"
_FIRST = re.compile(_WHICH.format("first|original|source|left") + _HAS, re.IGNORECASE)
_SECOND = re.compile(
    _WHICH.format("second|edited|new|other|right") + r"(?:" + _HAS + r"|,? ?(?:does not|doesn't))", re.IGNORECASE
)
_NOT = re.compile(r"(?:does not|doesn't)\b", re.IGNORECASE)
_NO = re.compile(r"^(?:no|nothing)\b")
_LISTED = re.compile(r",? and |, ")


def tells_both_pictures(caption: str) -> bool:
    """Does it say what the first picture has, and what the second?"""
    first, second = _FIRST.search(caption), _SECOND.search(caption)
    return bool(first and second and first.start() < second.start())


def compared(caption: str) -> tuple[Triplet, ...]:
    """The differences of the two descriptions.

    >>> [str(each) for each in compared("The first image has a cup. The second image has a cup and a spoon.")]
    ['Add: nothing → spoon']
    """
    first, second = _FIRST.search(caption), _SECOND.search(caption)
    if first is None or second is None:
        return ()
    before = _listed(caption[first.end() : second.start()])
    after = [] if _NOT.search(second[0]) else _listed(caption[second.end() :])
    gone = [each for each in before if each not in after]
    come = [each for each in after if each not in before]
    paired = tuple(_exchanged(old, new) for old, new in zip(gone, come, strict=False))
    removed = tuple(Triplet(old, None, "Remove") for old in gone[len(come) :])
    return paired + removed + tuple(Triplet(None, new, "Add") for new in come[len(gone) :])


def _exchanged(old: str, new: str) -> Triplet:
    same = {head(old), *singulars(head(old))} & {head(new), *singulars(head(new))}
    return Triplet(old, new, "Change Attribute" if same else "Replace")


def _listed(words: str) -> list[str]:
    sentence = re.split(r"[.;]", words.lower())[0]
    parts = (
        part.strip() for part in _LISTED.split(re.sub(r"(?:,| )+(?:and|while|whereas|but)?(?: in)?\s*$", "", sentence))
    )
    return [name for part in parts if part and not _NO.match(part) and (name := named(part))]
