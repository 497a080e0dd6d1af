"""Where an edit happened: its own mask, else the object that it names, else where the pictures differ most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np

from editgauge.core.edit_types import EDIT_TYPES
from editgauge.core.errors import CannotTell
from editgauge.protocols._shared.looking import look_for
from editgauge.vision.changed_regions import find_changes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from editgauge.core.evidence import Side
    from editgauge.core.masks import BoolMask
    from editgauge.core.types import Edit, Item
    from editgauge.protocols import Sight

TEMPLATE = "a photo of a {}"
"""How a detector for any phrase is asked."""
WIDE = 0.5
"""A region of more than this share of the picture tells no place: a generative editor redraws nearly everything."""
WINDOW = 1 / 3
"""The sides of the window around the strongest change within such a region, as a share of the picture's."""


@dataclass(frozen=True, slots=True, eq=False)
class EditedPlace:
    """A part of the picture, and how it was chosen."""

    mask: BoolMask
    how: str


async def edited_place(item: Item, see: Sight) -> EditedPlace:
    """Where to look; raises `CannotTell` where there is no mask, no named object is seen and nothing differs."""
    if item.mask is not None:
        if not item.mask.any():
            raise CannotTell("not_detected", "the edit's mask is empty")
        return EditedPlace(item.mask, "the edit's mask")
    return await _named_object(item, see) or _strongest_change(item)


async def _named_object(item: Item, see: Sight) -> EditedPlace | None:
    """The boxes of what the edit names, in both pictures together; None where no detector sees any of it."""
    mask = np.zeros(item.source.shape[:2], np.bool_)
    seen: list[str] = []
    for on, name in _names(item.edit):
        try:
            sighting = await look_for(see, item, on, name, TEMPLATE)
        except CannotTell:  # no detector, or one that does not know the word: the pictures themselves tell then
            continue
        if sighting.found:
            left, top, right, bottom = sighting.box
            mask[max(0, int(top)) : int(np.ceil(bottom)), max(0, int(left)) : int(np.ceil(right))] = True
            seen.append(f"{name} in the {'source' if on == 'source' else 'edited image'}")
    return EditedPlace(mask, f"the box of {' and of '.join(seen)}") if mask.any() else None


def _names(edit: Edit) -> Iterator[tuple[Side, str]]:
    """What the edit names, in the picture where it should be seen."""
    kind = EDIT_TYPES[edit.type]
    before = edit.from_ if kind.value == "thing" and edit.from_ else edit.subject
    if before and kind.effect != "adds":
        yield "source", before
    after = edit.to if kind.value == "thing" else edit.subject
    if after and kind.effect != "removes":
        yield "edited", after


def _strongest_change(item: Item) -> EditedPlace:
    changes = find_changes(item.source, item.edited)
    if not changes.regions:
        raise CannotTell("not_detected", "the edit has no mask, and the pictures do not differ anywhere")
    strongest = max(changes.regions, key=lambda region: region.strength * region.share)
    if strongest.share <= WIDE:
        return EditedPlace(strongest.mask, "the strongest change")
    height, width = strongest.mask.shape
    size = max(1, round(width * WINDOW)), max(1, round(height * WINDOW))
    around = cv2.boxFilter(np.where(strongest.mask, changes.difference, 0).astype(np.float32), -1, size)
    row, column = np.unravel_index(int(np.argmax(around)), around.shape)
    left = int(np.clip(int(column) - size[0] // 2, 0, width - size[0]))
    top = int(np.clip(int(row) - size[1] // 2, 0, height - size[1]))
    mask = np.zeros((height, width), np.bool_)
    mask[top : top + size[1], left : left + size[0]] = True
    return EditedPlace(mask, f"where most changed: {strongest.share:.0%} of the picture did")
