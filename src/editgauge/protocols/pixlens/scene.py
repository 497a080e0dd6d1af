"""What PixLens's rules look at: the objects of both pictures with their outlines, asked for when needed."""

from __future__ import annotations

from asyncio import gather
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge._util.text import none_seen
from editgauge._vision.geometry import Masks, Point, box_overlap, closest, largest
from editgauge.errors import UnscorableError
from editgauge.evidence import Evidence
from editgauge.protocols._shared.looking import picture

if TYPE_CHECKING:
    from editgauge._util.masks import BoolMask
    from editgauge.evidence import Side
    from editgauge.models.answers import Instances
    from editgauge.models.interfaces import Perception
    from editgauge.types import Item

SAME = 0.5
"""Two boxes that overlap more are one object (non-maximum suppression of the released code)."""


@dataclass(frozen=True, slots=True, eq=False)
class Things:
    """All objects of one kind in one picture."""

    name: str
    on: Side
    seen: Instances

    def __len__(self) -> int:
        return len(self.seen)

    @property
    def masks(self) -> Masks:
        """n x height x width; objects whose outline is empty are left out."""
        return self.seen.masks

    @property
    def largest(self) -> BoolMask:
        """The one with most pixels (`MultiplicityHandler.LARGEST`)."""
        return np.asarray(self.masks[largest(self.masks)])

    def closest(self, to: Point) -> BoolMask:
        """The one whose center is nearest (`MultiplicityHandler.CLOSEST`)."""
        return np.asarray(self.masks[closest(self.masks, to)])

    @property
    def words(self) -> str:
        """What a person would say."""
        if not len(self):
            return f"no {self.name} seen"
        best = f"{self.seen.detections.confidences[0]:.2f}".removeprefix("0")
        if len(self) == 1:
            return f"{self.name} {best} found"
        return f"{len(self)} times {self.name} found, most confident {best}"

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Boxes and outlines."""
        return self.seen.evidence(self.on)


class PixLensScene:
    """An item as the rules see it."""

    def __init__(self, item: Item, see: Perception) -> None:
        self.item = item
        self._see = see

    @property
    def diagonal(self) -> float:
        """Of the pictures, in pixels."""
        height, width = self.item.source.shape[:2]
        return float(np.hypot(height, width))

    @property
    def width(self) -> int:
        """Of the pictures, in pixels."""
        return int(self.item.source.shape[1])

    async def things(self, on: Side, name: str) -> Things:
        """The objects of that name in one of the pictures; asked twice, they are seen once."""
        return Things(name, on, _one_each(await self._see.instances(picture(self.item, on), name)))

    async def both(self, name: str) -> tuple[Things, Things]:
        """The objects of that name in the source image and in the edited one."""
        before, after = await gather(self.things("source", name), self.things("edited", name))
        return before, after


def must_be_seen(things: Things) -> Things:
    """The rule starts from them: without them nothing can be said about the edit."""
    if not len(things):
        raise UnscorableError("not_detected", f"{none_seen(things.name)} in the {things.on} image")
    return things


def _one_each(seen: Instances) -> Instances:
    """Without boxes that show the same object again, and without empty outlines."""
    outlined = with_outline(seen)
    return outlined.only(separate(outlined.detections.boxes))


def with_outline(seen: Instances) -> Instances:
    """Those of which the segmenter found any pixel."""
    return seen.only([place for place, mask in enumerate(seen.masks) if mask.any()])


def separate(boxes: NDArray[np.float32]) -> list[int]:
    """The indices of boxes that overlap no more confident box by more than `SAME`; boxes are sorted by confidence."""
    kept: list[int] = []
    corners = boxes.tolist()
    for place, box in enumerate(corners):
        if all(box_overlap(box, corners[other]) <= SAME for other in kept):
            kept.append(place)
    return kept
