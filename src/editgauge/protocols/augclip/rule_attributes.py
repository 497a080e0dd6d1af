"""Attributes without any service: phrases taken from an edit's captions, its parts and its instruction by rules.

They know no more than the edit says, where a language model would add what a zebra looks like: scores from them bear
the word `rules` in the protocol's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from editgauge._util.phrases import without_article
from editgauge.benchmarks.attributes import Attributes
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError, UnscorableError
from editgauge.instructions.readings import only_step
from editgauge.methods.prompts import render
from editgauge.types import Edit

BY = "rules.v1"
"""Raised whenever the same edit would get other attributes."""
_OPENING = re.compile(
    r"^(?:(?:an? |the |this )?(?:photo|photograph|picture|image|close-up|closeup|view)(?: of|(?: that)? shows)"
    r"|there (?:is|are)|we see) "
)
_CLAUSES = re.compile(r"[.,;:!?]+(?:\s+(?:and|while|but)\s|\s|$)|\s(?:and|while|but)\s")
_LINK = re.compile(
    r"\s(in front of|on top of|next to|close to|in the middle of|surrounded by|covered (?:with|in|by)|made (?:of|from)|"
    r"with|without|wearing|holding|carrying|in|into|on|onto|at|near|beside|behind|under|below|above|over|inside|against|"
    r"between|among|along|across|around|through|by)\s"
)
_DENIES = "without"
_NO_THING = {"her", "him", "it", "them", "left", "right", "middle", "center", "centre", "top", "bottom", "side"}


def extract(edit: Edit) -> Attributes:
    """The attributes that the edit's own words tell; raises `UnscorableError` when they tell nothing of one side.

    A phrase of both sides describes what stays: it is kept as a source attribute alone.
    """
    completed = _completed(edit)
    source = _distinct(
        [*_phrases(_source_caption(completed)), *_phrases(completed.subject), *_phrases(_named_before(completed))]
    )
    wanted = _distinct([*_phrases(_target_caption(completed)), *_phrases(_named_after(completed))])
    target = tuple(phrase for phrase in wanted if phrase not in source) or _distinct([_plain(edit.instruction)])
    if not source or not target:
        lacking = "source" if not source else "target"
        raise UnscorableError("not_applicable", f"the edit's words tell the rules no {lacking} attribute; ask a judge")
    return Attributes(source, target, BY)


def _completed(edit: Edit) -> Edit:
    """The edit with the parts that its instruction names, where it has none of its own."""
    if edit.subject or edit.to or not edit.instruction.strip():
        return edit
    with suppress(UnscorableError):
        parts = only_step(edit.instruction)
        return replace(
            edit, type=parts.type, subject=parts.subject, from_=parts.from_, to=parts.to, position=parts.position
        )
    return edit


def _source_caption(edit: Edit) -> str | None:
    with suppress(BadInputError):
        return render(edit, "captions").source
    return edit.source_caption


def _target_caption(edit: Edit) -> str | None:
    with suppress(BadInputError):
        return render(edit, "caption").text
    return edit.target_caption


def _named_before(edit: Edit) -> str | None:
    return edit.from_ if EDIT_TYPES[edit.type].effect == "replaces" else None


def _named_after(edit: Edit) -> str | None:
    """The thing itself; a color, a place or a size alone says nothing of a picture."""
    return edit.to if EDIT_TYPES[edit.type].value == "thing" else None


def _phrases(caption: str | None) -> Iterator[str]:
    """The things that a sentence tells, and how it links them.

    >>> list(_phrases("A photo of a brown horse standing in a grassy field, next to a fence"))
    ['brown horse standing', 'brown horse standing in grassy field', 'grassy field', 'fence']
    >>> list(_phrases("a scene without the dog"))
    ['scene', 'scene without dog']
    """
    text = _OPENING.sub("", " ".join((caption or "").lower().replace("_", " ").split()))
    for clause in _CLAUSES.split(text):
        head, *linked = _LINK.split(f" {clause.strip()}")
        subject = _plain(head)
        if subject:
            yield subject
        for link, thing in zip(linked[::2], map(_plain, linked[1::2]), strict=True):
            if thing and subject:
                yield f"{subject} {link} {thing}"
            if thing and thing not in _NO_THING and link != _DENIES:
                yield thing


def _plain(phrase: str) -> str:
    return without_article(phrase.strip(" .,;:!?\"'"))


def _distinct(phrases: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))
