"""Texts with the fields of an edit in them: `Requested: {instruction}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

FIELD = re.compile(r"\{([^{}]*)\}")
EDIT_FIELDS = ("instruction", "type", "subject", "from", "to", "source_caption", "target_caption")
EXTRA = "extras."


def fields_of(template: str) -> list[str]:
    """The fields that a text names.

    >>> fields_of("{subject}: {extras.caption}")
    ['subject', 'extras.caption']
    """
    return FIELD.findall(template)


def is_field(name: str) -> bool:
    """Whether edits can have such a field."""
    return name in EDIT_FIELDS or (name.startswith(EXTRA) and len(name) > len(EXTRA))


def lookup(edit: Mapping[str, Any], name: str) -> str | None:
    """The field as text; None when the edit does not have it.

    >>> lookup({"type": "color", "extras": {"n": 3}}, "extras.n")
    '3'
    """
    owner, key = (edit.get("extras", {}), name[len(EXTRA) :]) if name.startswith(EXTRA) else (edit, name)
    value = owner.get(key)
    return None if value in (None, "") else str(value)


def fill(template: str, edit: Mapping[str, Any]) -> str:
    """The text for one edit; a field that the edit does not have is left out.

    >>> fill("Make the {subject} {to}.", {"subject": "cat", "to": "black"})
    'Make the cat black.'
    """
    return FIELD.sub(lambda match: lookup(edit, match[1]) or "", template)
