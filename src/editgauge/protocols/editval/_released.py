"""EditVal as the authors' script computes it, including its faults, so that published numbers compare.

The script asks for object and class in one question and gives each of the network's patches to the phrase that it fits
best. It keeps the last box over the threshold, in the order of the patches, and reads a box's corners as if they were
center and size: its "center" is the top left corner, its "area" the product of the lower right one's coordinates.
Whatever is not found gives 0.
"""

from __future__ import annotations

from asyncio import gather
from typing import TYPE_CHECKING

from editgauge.protocols._objects import DetectedObjects, detect, detect_competing
from editgauge.protocols._rules import RuleSet, require, score_with_evidence, subject_of
from editgauge.types import Item, Score

if TYPE_CHECKING:
    from editgauge.evidence import Side
    from editgauge.models.perception import Perception
    from editgauge.protocols.editval._rules import EditValOptions, Rule

QUERY = "a photo of a {}"
MIN_MOVEMENT = 200
GRID_SIDE = 24
"""Grid side of OWL-ViT base-patch32, which identifies the last box if a detector does not keep its order."""
BOX_DECIMALS = 2
"""The script rounds boxes, in pixels."""

Corners = tuple[float, float, float, float]


RULES: RuleSet[Rule] = RuleSet()
rule = RULES.rule


@rule("object_addition")
async def object_addition(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Require object and class in the edited image."""
    added, class_objects = await _in_edited(
        item, perception, require(item.edit.to, "what to add"), subject_of(item.edit)
    )
    return _score(added.found and class_objects.found, added, class_objects)


@rule("object_replacement")
async def object_replacement(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Require the object in the edited image, and the class to be gone."""
    added, class_objects = await _in_edited(
        item, perception, require(item.edit.to, "what to put in its place"), subject_of(item.edit)
    )
    return _score(added.found and not class_objects.found, added, class_objects)


@rule("positional_addition")
async def positional_addition(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Compare top left corners in the edited image, with above and below swapped."""
    words = _raw_target(item).split(" ")
    added, anchor = await _in_edited(item, perception, words[0], subject_of(item.edit))
    if not (added.found and anchor.found):
        return _score(False, added, anchor)
    (x, y, *_), (anchor_x, anchor_y, *_) = last_box(added, item), last_box(anchor, item)
    done = {"below": y < anchor_y, "top": y > anchor_y, "left": x < anchor_x, "right": x > anchor_x}
    return _score(done.get(words[-1], False), added, anchor)


@rule("position_replacement")
async def position_replacement(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Require a left edge that moved by more than 200 pixels; a move to the center always fails."""
    before, after = await _in_both(item, perception)
    if not (before.found and after.found):
        return _score(False, before, after)
    was, now = last_box(before, item)[0], last_box(after, item)[0]
    done = {"left": now < was - MIN_MOVEMENT, "right": now > was + MIN_MOVEMENT}
    return _score(done.get(_raw_target(item), False), before, after)


@rule("size")
async def size(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Compare the products of the lower right corners' coordinates."""
    before, after = await _in_both(item, perception)
    if not (before.found and after.found):
        return _score(False, before, after)
    was, now = (box[2] * box[3] for box in (last_box(before, item), last_box(after, item)))
    return _score({"large": now > was, "small": now < was}.get(_raw_target(item), False), before, after)


@rule("alter_parts")
async def alter_parts(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Require the part's corner near the class's corner, within half of its lower right coordinates."""
    part, class_objects = await _in_edited(item, perception, _raw_target(item), subject_of(item.edit))
    if not (part.found and class_objects.found):
        return _score(False, part, class_objects)
    (x, y, *_), (left, top, right, bottom) = last_box(part, item), last_box(class_objects, item)
    return _score(abs(x - left) < right / 2 and abs(y - top) < bottom / 2, part, class_objects)


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


async def _in_edited(item: Item, perception: Perception, *labels: str) -> tuple[DetectedObjects, DetectedObjects]:
    first, second = await detect_competing(perception, item, "edited", labels, QUERY)
    return first, second


async def _in_both(item: Item, perception: Perception) -> tuple[DetectedObjects, DetectedObjects]:
    label = subject_of(item.edit)
    before, after = await gather(
        detect(perception, item, "source", label, QUERY), detect(perception, item, "edited", label, QUERY)
    )
    return before, after


def _raw_target(item: Item) -> str:
    """Return the target field of EditVal's own file, such as 'wine glass to left'."""
    return str(item.edit.extras.get("to") or require(item.edit.to, "what it becomes"))


def _score(done: float, *detected: DetectedObjects) -> Score:
    note = ", ".join(f"{objects.summary} in the {objects.side} image" for objects in detected)
    return score_with_evidence(done, *detected, note=note)
