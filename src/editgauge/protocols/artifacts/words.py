"""The words of an edit that a detector may be asked, and those that name the edited object itself."""

from __future__ import annotations

from dataclasses import dataclass

from editgauge.core.phrases import without_article
from editgauge.core.types import Edit
from editgauge.protocols.difference.naming import things

ADDITIONS = ("object_addition", "positional_addition")
NAMES_NO_OBJECT = ("color", "texture", "shape", "style", "size", "position_replacement", "action", "viewpoint")
"""Edit types whose `from` and `to` say what an object is like, or where it is."""


@dataclass(frozen=True, slots=True)
class Words:
    """What to look for."""

    all: tuple[str, ...]
    edited: tuple[str, ...]
    """Those that name the object which the edit itself changes."""


def words_of(edit: Edit) -> Words:
    """The words of the edit; an addition changes the new object, any other edit its subject and what that becomes."""
    objects = () if edit.type in NAMES_NO_OBJECT else (edit.from_, edit.to)
    changed = (edit.to,) if edit.type in ADDITIONS else (edit.subject, *objects)
    edited = _plain(changed)
    told = [name for caption in (edit.source_caption, edit.target_caption) if caption for name in things(caption)]
    further = _plain((edit.subject, *edit.objects, *told))
    return Words(tuple(dict.fromkeys([*edited, *further])), edited)


def is_meant(word: str | None, edited: tuple[str, ...]) -> bool:
    """Does a detector's word name the edited object? `bear` is meant by 'the teddy bear', and the other way round."""
    if word is None:
        return False
    parts = set(word.lower().split())
    return any(parts <= set(name.split()) or set(name.split()) <= parts for name in edited)


def _plain(words: tuple[str | None, ...]) -> tuple[str, ...]:
    return tuple(without_article(word).lower() for word in words if word and word.strip())
