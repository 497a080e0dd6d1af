"""Captions with named slots: `A {target} sitting {position} a {anchor}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter

from editgauge._util.text import with_article
from editgauge.benchmarks.unibench.annotations import TaskType

NEEDED: Mapping[TaskType, tuple[str, ...]] = {
    "change_class": ("target",),
    "change_color": ("color",),
    "move": ("position", "anchor"),
    "generate": ("target", "position", "anchor"),
}
"""The slots that say what was asked; a caption without one of them would fit several tasks."""
ALLOWED: Mapping[TaskType, tuple[str, ...]] = {
    **NEEDED,
    "change_color": ("color", "target"),
    "move": ("target", "position", "anchor"),
}
"""Where the object keeps its class, {target} is that class."""
_ARTICLE = re.compile(r"\b(an?) \{(\w+)\}", re.IGNORECASE)


def template_problem(template: str, kind: TaskType) -> str | None:
    """Why a text cannot be a caption template of a type of task, or None when it can.

    >>> template_problem("A {target} on a mat", "change_class") is None
    True
    >>> template_problem("A {} on a mat", "change_class")
    'has a slot without a name; its slots are {target}'
    """
    allowed = _slot_names(ALLOWED[kind])
    try:
        parts = [part for part in Formatter().parse(template) if part[1] is not None]
    except ValueError:
        return "has a brace that is not closed"
    slots = [str(name) for _, name, _, _ in parts]
    if "" in slots:
        return f"has a slot without a name; its slots are {allowed}"
    unknown = [name for name in slots if name not in ALLOWED[kind]]
    if unknown or any(form or conversion for _, _, form, conversion in parts):
        return f"has the slot {{{(unknown or slots)[0]}}}; its slots are {allowed}"
    missing = [name for name in NEEDED[kind] if name not in slots]
    return f"lacks {_slot_names(missing)}" if missing else None


def filled(template: str, words: Mapping[str, str]) -> str:
    """The caption; an article before a slot follows the word that comes to stand there.

    >>> filled("A {target} on a mat", {"target": "owl"}), filled("A {target} on a mat", {"target": "books"})
    ('An owl on a mat', 'Books on a mat')
    """

    def spoken(match: re.Match[str]) -> str:
        article, slot = match.groups()
        said = with_article(words[slot]) if slot in words else match.group()
        return said[0].upper() + said[1:] if article[0].isupper() else said

    return _ARTICLE.sub(spoken, template).format(**words)


def _slot_names(slots: tuple[str, ...] | list[str]) -> str:
    return ", ".join(f"{{{slot}}}" for slot in slots)
