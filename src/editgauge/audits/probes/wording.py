"""Edits in other words: as in a mirror, or another edit's; and which two edits one outcome could fulfil at once."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from editgauge.core.edit_types import EDIT_TYPES
from editgauge.core.types import Position

if TYPE_CHECKING:
    from editgauge.core.types import Edit, Relation

SIDES = re.compile(r"\b(left|right)(most)?\b", re.IGNORECASE)
OTHER_SIDE: dict[Relation, Relation] = {"left": "right", "right": "left"}
OF_THE_SURFACE = {"color", "texture", "style", "background"}


def in_a_mirror(text: str | None) -> str | None:
    """The text with left and right exchanged.

    >>> in_a_mirror("Remove the leftmost cup, right of the plate.")
    'Remove the rightmost cup, left of the plate.'
    """
    return SIDES.sub(lambda found: _other(found[1]) + (found[2] or ""), text) if text else text


def mirrored(edit: Edit) -> Edit:
    """The edit as it is asked for a mirrored photograph; without mask and recipe, which do not know of mirrors."""
    position = edit.position
    return replace(
        edit,
        instruction=in_a_mirror(edit.instruction) or "",
        from_=in_a_mirror(edit.from_),
        to=in_a_mirror(edit.to),
        source_caption=in_a_mirror(edit.source_caption),
        target_caption=in_a_mirror(edit.target_caption),
        position=Position(OTHER_SIDE.get(position.relation, position.relation), position.anchor) if position else None,
        mask=None,
        recipe=None,
        objects={},
    )


def may_coincide(done: Edit, asked: Edit) -> bool:
    """Could an outcome that is right for one edit be taken for the other? When in doubt, yes."""
    if done.type == asked.type or (done.to is not None and done.to == asked.to):
        return True
    if done.type == "background":  # what was not kept is gone
        return EDIT_TYPES[asked.type].effect != "adds"
    if done.type in OF_THE_SURFACE:
        return asked.type in OF_THE_SURFACE
    return EDIT_TYPES[asked.type].region == "object" and done.subject == asked.subject


def _other(side: str) -> str:
    exchanged = {"left": "right", "right": "left"}[side.lower()]
    return exchanged.capitalize() if side[0].isupper() else exchanged
