"""The words of an edit that a detector may be asked, and those that name the edited object itself."""

from __future__ import annotations

from dataclasses import dataclass

from editgauge._util.phrases import without_article
from editgauge.edit_types import EDIT_TYPES
from editgauge.protocols.difference.naming import things
from editgauge.types import Edit


@dataclass(frozen=True, slots=True)
class ArtifactWords:
    """What to look for."""

    all: tuple[str, ...]
    edited: tuple[str, ...]
    """Those that name the object which the edit itself changes."""


def words_of(edit: Edit) -> ArtifactWords:
    """The words of the edit; an addition changes the new object, any other edit its subject and what that becomes."""
    kind = EDIT_TYPES[edit.type]
    objects = () if kind.value in {"attribute", "place"} else (edit.from_, edit.to)
    changed = (edit.to,) if kind.effect == "adds" else (edit.subject, *objects)
    edited = _plain(changed)
    names = [name for caption in (edit.source_caption, edit.target_caption) if caption for name in things(caption)]
    further = _plain((edit.subject, *edit.objects, *names))
    return ArtifactWords(tuple(dict.fromkeys([*edited, *further])), edited)


def is_meant(word: str | None, edited: tuple[str, ...]) -> bool:
    """Does a detector's word name the edited object? `bear` is meant by 'the teddy bear', and the other way round."""
    if word is None:
        return False
    parts = set(word.lower().split())
    return any(parts <= set(name.split()) or set(name.split()) <= parts for name in edited)


def _plain(words: tuple[str | None, ...]) -> tuple[str, ...]:
    return tuple(without_article(word).lower() for word in words if word and word.strip())
