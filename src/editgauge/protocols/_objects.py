"""Detect objects in the images of an item, with boxes and outlines, and match them between two images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from editgauge._util.masks import BoolMask, Rectangle
from editgauge._util.text import none_detected
from editgauge._vision.geometry import Masks, Point, box_overlap, closest, largest
from editgauge._vision.object_changes import BoxSides, DetectedObject
from editgauge.errors import UnscorableError
from editgauge.evidence import Box, Evidence
from editgauge.models.answers import Instances, SegmentPrompt
from editgauge.models.vocabulary._words import coco_words
from editgauge.types import Item

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.evidence import Side
    from editgauge.models.answers import Detections
    from editgauge.models.perception import Perception

MAX_DISTANCE = 1.0
"""Largest distance of the centers of two matching boxes, in sides of the smaller box."""
MAX_SIDE_RATIO = 3.0
"""Largest ratio of the sides of two matching boxes."""
MAX_BOX_TO_OUTLINE = 10
"""Largest ratio of the areas of a box and its outline; beyond it, the outline missed the object."""
DUPLICATE_OVERLAP = 0.5
"""Boxes that overlap more than this are one object (non-maximum suppression of PixLens's released code)."""


@dataclass(frozen=True, slots=True, eq=False)
class DetectedObjects:
    """All objects of one label that were detected in one image, most confident first."""

    label: str
    side: Side
    detections: Detections
    masks: Masks | None = None
    """Outlines, n x height x width; None where only boxes were requested."""

    def __len__(self) -> int:
        return len(self.detections)

    @property
    def found(self) -> bool:
        """Whether there is at least one object."""
        return len(self) > 0

    @property
    def box(self) -> BoxSides:
        """The most confident box: left, top, right, bottom."""
        left, top, right, bottom = self.detections.boxes[0].tolist()
        return left, top, right, bottom

    @property
    def outlines(self) -> Masks:
        """The outlines; raises `ValueError` if only boxes were requested."""
        if self.masks is None:
            raise ValueError(f"the outlines of '{self.label}' were not requested")
        return self.masks

    @property
    def union(self) -> BoolMask:
        """Every pixel that belongs to one of the objects."""
        return np.asarray(self.outlines.any(axis=0))

    @property
    def largest(self) -> BoolMask:
        """The outline with most pixels (`MultiplicityHandler.LARGEST` of PixLens)."""
        return np.asarray(self.outlines[largest(self.outlines)])

    def closest(self, to: Point) -> BoolMask:
        """Return the outline whose center is nearest to a point (`MultiplicityHandler.CLOSEST` of PixLens)."""
        return np.asarray(self.outlines[closest(self.outlines, to)])

    @property
    def summary(self) -> str:
        """The most confident object in words: 'zebra .96 found' or 'no horse seen'."""
        return f"{self.label} {self._confidence} found" if self.found else f"no {self.label} seen"

    @property
    def count_summary(self) -> str:
        """The number of objects in words: '2 times zebra found, most confident .96'."""
        if len(self) <= 1:
            return self.summary
        return f"{len(self)} times {self.label} found, most confident {self._confidence}"

    @property
    def _confidence(self) -> str:
        return f"{self.detections.confidences[0]:.2f}".removeprefix("0")

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Boxes, and outlines where there are any."""
        if self.masks is not None:
            return Instances(self.detections, self.masks).evidence(self.side)
        boxes = self.detections.evidence(self.side)
        return tuple(replace(box, label=self._relabel(box.label)) for box in boxes if isinstance(box, Box))

    def _relabel(self, label: str) -> str:
        """Replace the query by the label; a synonym that the detector used stays."""
        _, separator, synonym = label.partition(" (seen as ")
        return f"{self.label} (seen as {synonym}" if separator else self.label


async def detect(
    perception: Perception,
    item: Item,
    side: Side,
    label: str,
    template: str = "{}",
    *,
    min_confidence: float | None = None,
) -> DetectedObjects:
    """Detect the objects of a label in one image; open-vocabulary detectors are queried by the template."""
    query = _query(perception, label, template)
    detections = await perception.detect(image_of(item, side), query, least=min_confidence)
    return DetectedObjects(label, side, detections)


async def detect_competing(
    perception: Perception, item: Item, side: Side, labels: Sequence[str], template: str = "{}"
) -> tuple[DetectedObjects, ...]:
    """Detect several labels in one image, where each box counts only for the label that it fits best.

    If a label occurs twice, its first occurrence gets all boxes, as with a network's own box labels.
    """
    queries = [_query(perception, label, template) for label in labels]
    detections = await perception.detect(image_of(item, side), *queries, compete=True)
    return tuple(
        DetectedObjects(label, side, detections.of(query) if query not in queries[:index] else detections.only([]))
        for index, (label, query) in enumerate(zip(labels, queries, strict=True))
    )


def _query(perception: Perception, label: str, template: str) -> str:
    return label if perception.vocabulary() is not None else template.format(label)


async def segment(perception: Perception, item: Item, side: Side, label: str) -> DetectedObjects:
    """Detect the objects of a label with their outlines, without duplicate boxes and empty outlines."""
    outlined = with_outline(await perception.instances(image_of(item, side), label))
    return from_instances(label, side, outlined.only(suppress_duplicates(outlined.detections.boxes)))


def from_instances(label: str, side: Side, instances: Instances) -> DetectedObjects:
    """Return instances as detected objects."""
    return DetectedObjects(label, side, instances.detections, instances.masks)


def require_found(objects: DetectedObjects) -> DetectedObjects:
    """Return the objects; raise `UnscorableError` if none was detected, because the rule starts from them."""
    if not objects.found:
        raise UnscorableError("not_detected", f"{none_detected(objects.label)} in the {objects.side} image")
    return objects


def with_outline(instances: Instances) -> Instances:
    """Return the instances whose outline has at least one pixel."""
    return instances.only([index for index, mask in enumerate(instances.masks) if mask.any()])


def suppress_duplicates(boxes: NDArray[np.float32]) -> list[int]:
    """Return the indices of boxes that overlap no more confident box; boxes are sorted by confidence."""
    indices: list[int] = []
    corners = boxes.tolist()
    for index, box in enumerate(corners):
        if all(box_overlap(box, corners[earlier]) <= DUPLICATE_OVERLAP for earlier in indices):
            indices.append(index)
    return indices


def match_boxes(before: NDArray[Any], after: NDArray[Any]) -> list[tuple[int, int]]:
    """Match boxes of two images one to one, with the least total distance.

    Args:
        before: n x 4, left, top, right, bottom
        after: m x 4, the same

    Returns:
        pairs of indices; a box without a match is left out

    >>> match_boxes(np.array([[0, 0, 10, 10], [90, 0, 99, 10]]), np.array([[91, 0, 99, 9], [2, 0, 12, 10]]))
    [(0, 1), (1, 0)]

    """
    if not len(before) or not len(after):
        return []
    centers = [(boxes[:, :2] + boxes[:, 2:]) / 2 for boxes in (before, after)]
    sides = [np.sqrt(np.maximum(np.prod(boxes[:, 2:] - boxes[:, :2], axis=1), 1.0)) for boxes in (before, after)]
    smaller = np.minimum(sides[0][:, np.newaxis], sides[1][np.newaxis])
    larger = np.maximum(sides[0][:, np.newaxis], sides[1][np.newaxis])
    distance = np.linalg.norm(centers[0][:, np.newaxis] - centers[1][np.newaxis], axis=2) / smaller
    allowed = (distance <= MAX_DISTANCE) & (larger / smaller <= MAX_SIDE_RATIO)
    rows, columns = linear_sum_assignment(np.where(allowed, distance, 1e3))
    return [(int(row), int(column)) for row, column in zip(rows, columns, strict=True) if allowed[row, column]]


async def detect_everything(
    perception: Perception, image: Pixels, labels: Sequence[str], min_confidence: float | None
) -> Detections:
    """Detect all classes of a closed vocabulary; COCO's classes and the labels with an open-vocabulary detector."""
    if perception.vocabulary() is not None:
        return await perception.detect_all(image, min_confidence)
    return await perception.detect(image, *dict.fromkeys([*labels, *coco_words().values()]), least=min_confidence)


async def detect_objects(
    perception: Perception, image: Pixels, labels: Sequence[str], min_confidence: float | None
) -> list[DetectedObject]:
    """Detect everything in an image; each object has its box as mask."""
    detections = await detect_everything(perception, image, labels, min_confidence)
    height, width = image.shape[:2]
    rows = zip(detections.phrases, detections.boxes.tolist(), detections.confidences.tolist(), strict=True)
    return [
        DetectedObject(label, (left, top, right, bottom), Rectangle(*box).render(width, height), confidence)
        for label, box, confidence in rows
        for left, top, right, bottom in [box]
    ]


async def outline_objects(
    perception: Perception,
    image: Pixels,
    objects: Sequence[DetectedObject],
    is_needed: Callable[[DetectedObject], bool],
) -> list[DetectedObject]:
    """Replace box masks by outlines where they are needed and a segmenter is available; outlines cost most time."""
    indices = [index for index, detected in enumerate(objects) if is_needed(detected)]
    if not indices or not has_model(perception, "segmenter"):
        return list(objects)
    boxes = np.array([objects[index].box for index in indices], np.float32)
    outlined = list(objects)
    for index, mask in zip(indices, await perception.segment(image, SegmentPrompt(boxes=boxes)), strict=True):
        if MAX_BOX_TO_OUTLINE * mask.sum() >= objects[index].mask.sum():
            outlined[index] = replace(objects[index], mask=mask)
    return outlined


def operating_point(perception: Perception) -> float:
    """Return the detector's minimum confidence for a detection."""
    return float(perception.card("detector").settings["operating_point"])


def has_model(perception: Perception, role: str) -> bool:
    """Return whether the run has a model for a role."""
    try:
        perception.card(role)
    except UnscorableError:
        return False
    return True


def image_of(item: Item, side: Side) -> Pixels:
    """Return the source image or the edited image of an item."""
    return item.source if side == "source" else item.edited


def crop(image: Pixels, box: tuple[int, int, int, int]) -> Pixels:
    """Return the part of an image in a box of left, top, right and bottom, the last two exclusive."""
    left, top, right, bottom = box
    return np.ascontiguousarray(image[top:bottom, left:right])
