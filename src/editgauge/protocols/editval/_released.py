"""EditVal as the authors' two scripts compute it, including their faults, so that published numbers compare.

Both scripts ask for object and class in one question and give each of the network's patches to the phrase that it fits
best. They keep the last box over the threshold, in the order of the patches, and read a box's corners as if they were
center and size: their "center" is the top left corner, their "area" the product of the lower right one's coordinates.
Whatever is not found gives 0. `EvaluateEdits` overrides where the second script differs from the first.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping
from typing import TYPE_CHECKING

from editgauge.protocols._objects import DetectedObjects, detect, detect_competing
from editgauge.protocols._rules import require, subject_of
from editgauge.protocols.editval._rules import score_detections
from editgauge.types import Edit, Item, Score

if TYPE_CHECKING:
    from editgauge.evidence import Side
    from editgauge.protocols.editval._rules import EditValScene, Rule

QUERY = "a photo of a {}"
MIN_MOVEMENT = 200
"""Pixels of the image's own file."""
GRID_SIDE = 24
"""Grid side of OWL-ViT base-patch32, which identifies the last box if a detector does not keep its order."""
BOX_DECIMALS = 2
"""The scripts round boxes, in pixels."""
DIRECTION_WORDS = {"below": 1, "top": 2, "left": 2, "right": 2}
"""Last word of a placed object's target, and how many words say where: 'below', 'on top', 'to left'."""

Corners = tuple[float, float, float, float]


class AutoEval:
    """Rules of `auto_eval.py`."""

    @property
    def rules(self) -> Mapping[str, Rule]:
        """The rules by edit type."""
        return {
            "object_addition": self.object_addition,
            "object_replacement": self.object_replacement,
            "positional_addition": self.positional_addition,
            "position_replacement": self.position_replacement,
            "size": self.size,
            "alter_parts": self.alter_parts,
        }

    async def object_addition(self, scene: EditValScene) -> Score:
        """Require object and class in the edited image."""
        added, class_objects = await self._in_edited(scene, require(scene.edit.to, "what to add"))
        return score_detections(added.found and class_objects.found, added, class_objects)

    async def object_replacement(self, scene: EditValScene) -> Score:
        """Require the object in the edited image, and the class to be gone."""
        added, class_objects = await self._in_edited(scene, require(scene.edit.to, "what to put in its place"))
        return score_detections(added.found and not class_objects.found, added, class_objects)

    async def positional_addition(self, scene: EditValScene) -> Score:
        """Compare top left corners in the edited image, with above and below swapped."""
        words = _raw_target(scene.edit).split(" ")
        added, anchor = await self._in_edited(scene, self.placed_object(words))
        if not (added.found and anchor.found):
            return score_detections(0, added, anchor)
        (x, y, *_), (anchor_x, anchor_y, *_) = last_box(added, scene.item), last_box(anchor, scene.item)
        done = {"below": y < anchor_y, "top": y > anchor_y, "left": x < anchor_x, "right": x > anchor_x}
        return score_detections(done.get(words[-1], False), added, anchor)

    async def position_replacement(self, scene: EditValScene) -> Score:
        """Require a movement in the requested direction."""
        before, after = await self._in_both(scene)
        if not (before.found and after.found):
            return score_detections(0, before, after)
        boxes = last_box(before, scene.item), last_box(after, scene.item)
        return score_detections(self.has_moved(*boxes, _raw_target(scene.edit)), before, after)

    async def size(self, scene: EditValScene) -> Score:
        """Compare the products of the lower right corners' coordinates."""
        before, after = await self._in_both(scene)
        if not (before.found and after.found):
            return score_detections(0, before, after)
        was, now = (box[2] * box[3] for box in (last_box(before, scene.item), last_box(after, scene.item)))
        done = {"large": now > was, "small": now < was}
        return score_detections(done.get(_raw_target(scene.edit), False), before, after)

    async def alter_parts(self, scene: EditValScene) -> Score:
        """Require the part's corner near the class's corner, within half of its lower right coordinates."""
        part, class_objects = await self._in_edited(scene, self.part_name(_raw_target(scene.edit)))
        if not (part.found and class_objects.found):
            return score_detections(0, part, class_objects)
        (x, y, *_), (left, top, right, bottom) = last_box(part, scene.item), last_box(class_objects, scene.item)
        return score_detections(abs(x - left) < right / 2 and abs(y - top) < bottom / 2, part, class_objects)

    def class_name(self, edit: Edit) -> str:
        """Return the class of the image as it is queried."""
        return subject_of(edit)

    def placed_object(self, words: list[str]) -> str:
        """Return the object to place: only the first word, 'wine' of 'wine glass to left'."""
        return words[0]

    def part_name(self, target: str) -> str:
        """Return the part to look for: the target as it is, 'add tie'."""
        return target

    def has_moved(self, was: Corners, now: Corners, direction: str) -> bool:
        """Return whether the left edge moved by more than 200 pixels; never to the center."""
        done = {"left": now[0] < was[0] - MIN_MOVEMENT, "right": now[0] > was[0] + MIN_MOVEMENT}
        return done.get(direction, False)

    async def _in_edited(self, scene: EditValScene, label: str) -> tuple[DetectedObjects, DetectedObjects]:
        """Detect an object and the class in the edited image, in one question."""
        labels = label, self.class_name(scene.edit)
        added, class_objects = await detect_competing(scene.perception, scene.item, "edited", labels, QUERY)
        return added, class_objects

    async def _in_both(self, scene: EditValScene) -> tuple[DetectedObjects, DetectedObjects]:
        label = self.class_name(scene.edit)
        before, after = await gather(
            detect(scene.perception, scene.item, "source", label, QUERY),
            detect(scene.perception, scene.item, "edited", label, QUERY),
        )
        return before, after


class EvaluateEdits(AutoEval):
    """Rules of `evaluate_edits.py`, which the authors' README recommends for a whole folder of edits."""

    def class_name(self, edit: Edit) -> str:
        """Return the class as the file spells it: 'stop_sign'."""
        return str(edit.extras.get("class") or subject_of(edit).replace(" ", "_"))

    def placed_object(self, words: list[str]) -> str:
        """Return the object to place, its words joined to one: 'wineglass' of 'wine glass to left'."""
        count = DIRECTION_WORDS.get(words[-1])
        return "".join(words[:-count]) if count else " ".join(words)

    def part_name(self, target: str) -> str:
        """Return the part to look for, without the first word: 'tie' of 'add tie'."""
        return " ".join(target.split(" ")[1:])

    def has_moved(self, was: Corners, now: Corners, direction: str) -> bool:
        """Return whether the top left corner moved left and up, or right and down, by any distance."""
        (x, y, *_), (new_x, new_y, *_) = was, now
        return {"left": new_x < x and new_y < y, "right": new_x > x and new_y > y}.get(direction, False)


def last_box(objects: DetectedObjects, item: Item) -> Corners:
    """Return the last box in the network's order, in pixels of the image's own file."""
    left, top, right, bottom = objects.detections.boxes[_last_index(objects, item)].tolist()
    scale_x, scale_y = _scale(item, objects.side)
    rounded = (round(side, BOX_DECIMALS) for side in (left * scale_x, top * scale_y, right * scale_x, bottom * scale_y))
    return next(rounded), next(rounded), next(rounded), next(rounded)


def _last_index(objects: DetectedObjects, item: Item) -> int:
    detections = objects.detections
    if detections.output_indices is not None:
        return int(detections.output_indices.argmax())
    height, width = item.source.shape[:2]
    centers = (detections.boxes[:, :2] + detections.boxes[:, 2:]) / 2 / (width, height) * GRID_SIDE
    rows = [(int(y), int(x)) for x, y in centers.tolist()]
    return max(range(len(rows)), key=rows.__getitem__)


def _scale(item: Item, side: Side) -> tuple[float, float]:
    """Return the factors from the source's frame, in which both images are processed, to the file's pixels."""
    if side == "source" or item.resized_from is None:
        return 1.0, 1.0
    height, width = item.source.shape[:2]
    return item.resized_from[0] / width, item.resized_from[1] / height


def _raw_target(edit: Edit) -> str:
    """Return the target field of EditVal's own file, such as 'wine glass to left'."""
    return str(edit.extras.get("to") or require(edit.to, "what it becomes"))
