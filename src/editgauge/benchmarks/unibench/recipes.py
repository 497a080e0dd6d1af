"""How the right outcome of a drawn task is made from annotated photographs: by color, by moving, by pasting."""

from __future__ import annotations

from collections.abc import Mapping

from editgauge._util.images import ImageFile
from editgauge._util.masks import Polygons
from editgauge._vision.geometry import box_area
from editgauge.benchmarks.unibench.annotations import AnnotatedImage, Annotations, ChangeClass, ChangeColor, Instance
from editgauge.benchmarks.unibench.masks import mask_of
from editgauge.benchmarks.unibench.sampling import Drawn
from editgauge.recipes import Cutout, Move, Paste, Recipe, Recolor, Replace
from editgauge.types import PlaneRelation

Box = tuple[float, float, float, float]
GAP = 8.0
"""Pixels between an object and its anchor."""
LARGEST_SHARE = 0.45
"""Of the picture's height: how tall a new object is at most."""
SUNK = 0.2
"""Of the anchor's height: how far an object on top of it reaches down over it."""


class TaskRecipes:
    """Recipes for tasks whose target classes are seen in other photographs of the same annotations."""

    def __init__(self, annotations: Annotations, pictures: Mapping[str, ImageFile]) -> None:
        self._images = annotations.images
        self._pictures = pictures

    def recipe(self, task: Drawn) -> Recipe | None:
        """How the outcome is made; none where no photograph shows what is asked for, or there is no room for it."""
        outline = _outline(task.instance) if task.instance else None
        if isinstance(task.task, ChangeColor) and outline:
            return Recolor(outline, str(task.target))
        if isinstance(task.task, ChangeClass) and outline:
            cutout = self._cutout(str(task.target), task.image)
            return Replace(outline, cutout) if cutout else None
        relation = task.place.relation if task.place else None
        anchor = _outline(task.anchor) if task.anchor else None
        if relation is None or anchor is None:
            return None
        if task.instance is not None:
            return Move(outline, _moved_to(outline.box(), anchor.box(), relation)) if outline else None
        cutout = self._cutout(str(task.target), task.image)
        return _pasted(cutout, anchor.box(), relation, task.image) if cutout else None

    def _cutout(self, name: str, image: AnnotatedImage) -> Cutout | None:
        """The largest outlined object of that class in another photograph."""
        outlines = [
            (outline, other.file)
            for other in self._images
            for instance in other.instances
            if other.file != image.file and instance.class_ == name and (outline := _outline(instance))
        ]
        if not outlines:
            return None
        outline, file = max(outlines, key=lambda each: box_area(each[0].box()))
        return Cutout(self._pictures[file], outline)


def _outline(instance: Instance) -> Polygons | None:
    mask = mask_of(instance.mask)
    return mask if isinstance(mask, Polygons) else None


def _moved_to(box: Box, anchor: Box, relation: PlaneRelation) -> tuple[float, float]:
    """The new center of an object: straight next to, over or under its anchor."""
    half_width, half_height = (box[2] - box[0]) / 2, (box[3] - box[1]) / 2
    x, y = (anchor[0] + anchor[2]) / 2, (anchor[1] + anchor[3]) / 2
    match relation:
        case "left":
            return anchor[0] - GAP - half_width, y
        case "right":
            return anchor[2] + GAP + half_width, y
        case "above":
            return x, anchor[1] - GAP - half_height
        case "on":
            return x, anchor[1] + SUNK * (anchor[3] - anchor[1]) - half_height
        case "below":
            return x, anchor[3] + GAP + half_height
        case "center":
            return x, y


def _pasted(cutout: Cutout, anchor: Box, relation: PlaneRelation, image: AnnotatedImage) -> Paste | None:
    """The new object on the anchor's ground, as tall as the anchor unless there is less room for it."""
    left, top, right, bottom = cutout.outline.box()
    narrow = (right - left) / (bottom - top)
    room = _room(anchor, relation, image)
    height = min(anchor[3] - anchor[1], LARGEST_SHARE * image.height, room[1], room[0] / narrow)
    if height < GAP:
        return None
    half = height * narrow / 2
    x = (anchor[0] + anchor[2]) / 2
    foot = {
        "left": (anchor[0] - GAP - half, anchor[3]),
        "right": (anchor[2] + GAP + half, anchor[3]),
        "above": (x, anchor[1] - GAP),
        "on": (x, anchor[1] + SUNK * (anchor[3] - anchor[1])),
        "below": (x, anchor[3] + GAP + height),
        "center": (x, anchor[3]),
    }[relation]
    return Paste(cutout, (min(max(foot[0], half), image.width - half), foot[1]), height)


def _room(anchor: Box, relation: PlaneRelation, image: AnnotatedImage) -> tuple[float, float]:
    """Width and height of the picture's part on that side of the anchor, less a gap at both ends."""
    aside: dict[PlaneRelation, float] = {"left": anchor[0], "right": image.width - anchor[2]}
    along: dict[PlaneRelation, float] = {"above": anchor[1], "below": image.height - anchor[3]}
    return aside.get(relation, image.width) - 2 * GAP, along.get(relation, image.height) - 2 * GAP
