"""Where the target and its anchor are in the edited image, by instance segmentation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from editgauge._util.masks import BoolMask, Rectangle
from editgauge._vision.geometry import overlap
from editgauge.evidence import Evidence, Region

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge.models.answers import Instances
    from editgauge.models.interfaces import Perception
    from editgauge.protocols.unibench.tasks import Task
    from editgauge.types import Item

SAME = 0.5
"""What overlaps an object that is not meant by more is that object."""


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """An object in the edited image: where it is seen, or else where the original object was."""

    name: str
    mask: BoolMask | None
    """None where it is not seen and its place cannot be inferred."""
    seen: bool
    evidence: tuple[Evidence, ...]

    @property
    def words(self) -> str:
        """What a person would say."""
        if self.seen:
            return f"{self.name} found"
        return f"no {self.name} seen" + ("" if self.mask is None else ", its original place is looked at")


async def locate_target(item: Item, task: Task, see: Perception) -> Located:
    """The object that should be seen after the edit. One that moves or is new has no other place to look at."""
    instances = _of_itself(await see.instances(item.edited, task.name), task.others)
    original = task.original
    if task.kind in {"move", "generate"} or original is None:
        return _located(task.name, instances, 0 if len(instances) else None, None)
    return _located(task.name, instances, _where(instances, original), original)


async def locate_anchor(item: Item, task: Task, see: Perception) -> Located:
    """What the target's place is relative to."""
    name = task.place.anchor
    instances = _of_itself(await see.instances(item.edited, name), task.other_anchors)
    return _located(name, instances, _where(instances, task.anchor), task.anchor)


def _located(name: str, instances: Instances, place: int | None, original: BoolMask | None) -> Located:
    if place is None:
        shown = () if original is None else (Region("edited", original, f"{name}, original place"),)
        return Located(name, original, False, shown)
    one = instances.only([place])
    return Located(name, _outline(one), True, one.evidence("edited"))


def _outline(one: Instances) -> BoolMask:
    """The object's outline; its box where the segmenter sees nothing standing out in it."""
    mask: BoolMask = one.masks[0]
    if mask.any():
        return mask
    left, top, right, bottom = one.detections.boxes[0].tolist()
    height, width = mask.shape
    return Rectangle(left, top, max(right, left + 1), max(bottom, top + 1)).render(width, height)


def _of_itself(instances: Instances, others: Sequence[BoolMask]) -> Instances:
    """Without what is one of the objects that are not meant; most confident first."""
    kept = [
        place
        for place in range(len(instances))
        if all(overlap(_outline(instances.only([place])), other) <= SAME for other in others)
    ]
    return instances.only(kept)


def _where(instances: Instances, original: BoolMask) -> int | None:
    """The place among those found of the one that lies most over the original; none when nothing touches it."""
    shared = [int((_outline(instances.only([place])) & original).sum()) for place in range(len(instances))]
    return int(np.argmax(shared)) if any(shared) else None
