"""The parts of an edit as words that a template can say."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import get_args

from editgauge.core.edit_types import EDIT_TYPES
from editgauge.core.text import article
from editgauge.core.types import Edit, Position, Relation
from editgauge.methods.prompts.english import determined, noun, spoken

RELATIONS: tuple[Relation, ...] = get_args(Relation)
Phrase = Callable[[Relation, str], str]
"""A relation and its anchor, which may be empty, as words; empty when the relation cannot do without an anchor."""


def parts_of(edit: Edit, phrase: Phrase, token: str | None = None) -> dict[str, str]:
    """The parts that the edit has, by name; with a token, it stands before the learned word."""
    subject, to, before = (spoken(words or "") for words in (edit.subject, edit.to, edit.from_))
    place = edit.position
    if edit.type == "position_replacement":
        place = place or _place(to)
        was = _place(before)
        before = phrase(was.relation, "") if was else ""
    anchor = spoken((place and place.anchor) or (subject if EDIT_TYPES[edit.type].effect == "adds" else ""))
    if token:
        anchor = _tokened(token, anchor) if noun(anchor).lower() == noun(subject).lower() else anchor
        if _lives_on(edit):
            to = _tokened(token, to)
        else:
            subject = _tokened(token, subject)
    position = phrase(place.relation, anchor) if place else ""
    parts = {"subject": subject, "from": before, "to": to, "anchor": anchor, "position": position}
    return {name: words for name, words in parts.items() if words}


def caption_with(token: str, edit: Edit) -> str | None:
    """The given target caption with the token before its class word; None when it does not name the class."""
    caption, word = edit.target_caption or "", noun(spoken((edit.to if _lives_on(edit) else edit.subject) or ""))
    if re.search(rf"(?<!\S){re.escape(token)}(?!\S)", caption):
        return caption
    mention = re.search(rf"(?:\b(an?)\s+)?(?<!\w)({re.escape(word)}(?:e?s)?)(?!\w)", caption, re.IGNORECASE)
    if not word or not mention:
        return None
    before = f"{article(token)} " if mention[1] else ""
    before = before.capitalize() if mention[0].startswith("A") else before
    return f"{caption[: mention.start()]}{before}{token} {mention[2]}{caption[mention.end() :]}"


def _lives_on(edit: Edit) -> bool:
    """Whether the new object takes over what was learned from the old one."""
    return EDIT_TYPES[edit.type].effect == "replaces"


def _tokened(token: str, phrase: str) -> str:
    bare = noun(phrase)
    first, _, rest = bare.partition(" ")
    if not bare:
        return ""
    return f"{first} {token} {rest}" if rest and determined(bare) else f"{token} {bare}"


def _place(word: str) -> Position | None:
    return next((Position(relation) for relation in RELATIONS if word.lower() == relation), None)
