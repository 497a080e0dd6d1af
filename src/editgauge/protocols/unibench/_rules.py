"""What a UniBench task asks for, read from the edit."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import cv2
import numpy as np
from scipy.special import softmax

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask, Rectangle, bounding_box
from editgauge._util.text import none_detected
from editgauge._vision.geometry import overlap
from editgauge.errors import UnscorableError
from editgauge.evidence import Evidence, Region
from editgauge.protocols._objects import crop
from editgauge.protocols._rules import sentence
from editgauge.types import Score

if TYPE_CHECKING:
    from editgauge.models.answers import Instances
    from editgauge.models.interfaces import Perception
    from editgauge.types import Item, Relation

EXTRA = "unibench"
Kind = Literal["change_class", "change_color", "move", "generate"]
KINDS: tuple[Kind, ...] = ("change_class", "change_color", "generate", "move")


@dataclass(frozen=True, slots=True)
class TargetPlace:
    """Where the target should be: words between it and its anchor."""

    anchor: str
    """The anchor's class."""
    words: str

    def phrase(self, target: str) -> str:
        """As CLIP is asked: `cat in front of suitcase`."""
        return f"{target} {self.words} {self.anchor}"


class Task:
    """A task and the outlines of its objects in the source image."""

    def __init__(self, item: Item) -> None:
        fields = item.edit.extras.get(EXTRA)
        if not isinstance(fields, dict) or fields.get("task") not in KINDS:
            raise UnscorableError("not_applicable", "this is no task of UniBench; use `editgauge list benchmarks`")
        self._fields: dict[str, Any] = fields
        self._item = item
        self.kind = cast(Kind, fields["task"])
        self.name: str = fields["name"]
        """The class of the object that should be seen after the edit."""

    @property
    def text(self) -> str:
        """What the target should look like, in words."""
        return f"{self._fields['target']} {self.name}" if self.kind == "change_color" else self.name

    @property
    def alternatives(self) -> list[str]:
        """What else it could look like: the annotated candidates, and what it was before."""
        if self.kind == "change_color":
            colors = [*self._fields["candidates"], *filter(None, [self._fields.get("color")])]
            return [f"{color} {self.name}" for color in dict.fromkeys(colors)]
        return list(dict.fromkeys([*self._fields.get("candidates", ()), *self._fields["classes"], self.name]))

    @property
    def color(self) -> str:
        """The color that is asked for."""
        return str(self._fields["target"])

    @property
    def place(self) -> TargetPlace:
        """Where the target is asked to be."""
        return TargetPlace(self._fields["anchor_class"], self._fields["words"])

    @property
    def places(self) -> list[TargetPlace]:
        """All places that it could have been asked to be at."""
        return list(dict.fromkeys(TargetPlace(anchor, words) for anchor, words in self._fields["places"]))

    @property
    def relation(self) -> Relation | None:
        """What the words of the place mean in the picture's plane, where they mean anything there."""
        return cast("Relation | None", self._fields.get("relation"))

    @property
    def original(self) -> BoolMask | None:
        """The object to edit as it is in the source image; none where one is to be generated."""
        return self._rendered(self._fields["object"]) if "object" in self._fields else None

    @property
    def anchor(self) -> BoolMask:
        """The anchor as it is in the source image."""
        return self._rendered(self._fields["anchor"])

    @property
    def others(self) -> list[BoolMask]:
        """Objects of the target's class that are not meant."""
        return [self._rendered(name) for name in self._fields["others"]]

    @property
    def other_anchors(self) -> list[BoolMask]:
        """Objects of the anchor's class that are not meant."""
        return [self._rendered(name) for name in self._fields["anchor_others"]]

    def _rendered(self, name: str) -> BoolMask:
        height, width = self._item.source.shape[:2]
        return self._item.edit.objects[name].render(width, height)


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


async def locate_target(item: Item, task: Task, perception: Perception) -> Located:
    """The object that should be seen after the edit. One that moves or is new has no other place to look at."""
    instances = _of_itself(await perception.instances(item.edited, task.name), task.others)
    original = task.original
    if task.kind in {"move", "generate"} or original is None:
        return _located(task.name, instances, 0 if len(instances) else None, None)
    return _located(task.name, instances, _where(instances, original), original)


async def locate_anchor(item: Item, task: Task, perception: Perception) -> Located:
    """What the target's place is relative to."""
    name = task.place.anchor
    instances = _of_itself(await perception.instances(item.edited, name), task.other_anchors)
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


Reading = Literal["cosine", "rescaled", "softmax"]
READINGS: tuple[Reading, ...] = get_args(Reading)
ABOUT: dict[Reading, str] = {
    "cosine": "the raw cosine of the embeddings",
    "rescaled": "the cosine rescaled from [-1, 1] to [0, 1]",
    "softmax": "the softmax over the annotated candidates at CLIP's temperature (cosine times 100)",
}
SHARPNESS = 100.0
"""CLIP's learned logit scale, where its training bounds it."""


class Likeness:
    """Pictures against texts, and against pictures."""

    def __init__(self, reading: Reading, perception: Perception) -> None:
        self._reading = reading
        self._perception = perception

    def must_be_there(self) -> None:
        """Raises `UnscorableError` without a model: else only the failures, which need none, would be scored."""
        self._perception.card("joint_embedder")

    async def of_text(self, picture: Pixels, text: str, alternatives: Sequence[str]) -> float:
        """How well the text fits the picture; the softmax says how much better than the alternatives."""
        if self._reading == "softmax":
            return await self._chosen(picture, text, alternatives)
        seen, said = await gather(self._perception.joint_image(picture), self._perception.joint_text(text))
        return self._rescaled(_cosine(seen, said))

    async def of_pictures(self, one: Pixels, other: Pixels) -> float:
        """How alike two pictures are. Pictures have no candidates: the softmax leaves the cosine as it is."""
        first, second = await gather(self._perception.joint_image(one), self._perception.joint_image(other))
        return self._rescaled(_cosine(first, second))

    async def _chosen(self, picture: Pixels, text: str, alternatives: Sequence[str]) -> float:
        texts = [text, *(other for other in alternatives if other != text)]
        if len(texts) < 2:
            raise UnscorableError("not_applicable", f"'{text}' is the only candidate, and a softmax needs others")
        seen, *said = await gather(self._perception.joint_image(picture), *map(self._perception.joint_text, texts))
        return float(softmax(SHARPNESS * np.array([_cosine(seen, each) for each in said]))[0])

    def _rescaled(self, cosine: float) -> float:
        return (1 + cosine) / 2 if self._reading == "rescaled" else cosine


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.clip(one @ other, -1, 1))  # of unit vectors; rounding may leave the range


@dataclass(frozen=True, slots=True)
class UniBenchScene:
    """An item with its task and what was found in the edited image."""

    item: Item
    task: Task
    target: Located
    anchor: Located | None
    """None for tasks without one."""
    perception: Perception
    likeness: Likeness

    @property
    def original(self) -> BoolMask:
        """The object to edit in the source image."""
        mask = self.task.original
        if mask is None:
            raise UnscorableError("not_applicable", "nothing was there before")
        return mask


async def target_fidelity(scene: UniBenchScene) -> Score:
    """Does the target look like what was asked for? 0 where its place cannot be inferred."""
    scene.likeness.must_be_there()
    target = scene.target
    if target.mask is None:
        return Score(0.0, (sentence(target.words),))
    text = scene.task.text
    value = await scene.likeness.of_text(alone(scene.item.edited, target.mask), text, scene.task.alternatives)
    return Score(value, (*target.evidence, sentence(f"{target.words}; it fits '{text}' by {value:.2f}")))


async def position_fidelity(scene: UniBenchScene) -> Score:
    """Does the part of the picture with target and anchor fit the words for both?"""
    if scene.anchor is None or scene.anchor.mask is None:
        raise UnscorableError("not_applicable", "the task has no anchor")
    scene.likeness.must_be_there()
    target, anchor = scene.target, scene.anchor
    if target.mask is None:
        return Score(0.0, (sentence(target.words),))
    place = scene.task.place
    phrase, others = place.phrase(scene.task.name), [each.phrase(scene.task.name) for each in scene.task.places]
    crop = together(scene.item.edited, target.mask, scene.anchor.mask)
    value = await scene.likeness.of_text(crop, phrase, others)
    said = sentence(f"{target.words}, {anchor.words}; both fit '{phrase}' by {value:.2f}")
    return Score(value, (*target.evidence, *anchor.evidence, said))


async def target_consistency(scene: UniBenchScene) -> Score:
    """Is it still the same object? By shades where it got another color, by CLIP where it was moved."""
    if scene.task.kind not in {"change_color", "move"}:
        raise UnscorableError("not_applicable", f"{scene.task.kind} keeps no object")
    if scene.target.mask is None:
        scene.likeness.must_be_there()
        raise UnscorableError("not_detected", f"{none_detected(scene.target.name)} in the edited image")
    before, after = alone(scene.item.source, scene.original), alone(scene.item.edited, scene.target.mask)
    if scene.task.kind == "move":
        value = await scene.likeness.of_pictures(before, after)
        return Score(value, (sentence(f"{scene.target.words}; it is like the original by {value:.2f}"),))
    distance = await scene.perception.distance(*gray_pair(before, after))
    return Score(_near(distance), (sentence(f"without its colors the {scene.target.name} is {distance:.3f} away"),))


async def background_consistency(scene: UniBenchScene) -> Score:
    """Did everything outside the object, as it was and as it is, stay?"""
    nothing = np.zeros(scene.item.source.shape[:2], np.bool_)
    masks = [mask for mask in (scene.task.original, scene.target.mask) if mask is not None]
    objects = np.logical_or.reduce([nothing, *masks])
    distance = await scene.perception.distance(*backgrounds(scene.item.source, scene.item.edited, objects))
    return Score(_near(distance), (sentence(f"the rest of the picture is {distance:.3f} away"),))


def _near(distance: float) -> float:
    """1 for the same picture; LPIPS can exceed 1, and UniBench's scores end at 0."""
    return min(1.0, max(0.0, 1.0 - distance))


LEAST_SIDE = 64
"""Pixels: smaller crops are enlarged before a perceptual distance is taken, whose network halves them several times."""


def mean_color(picture: Pixels) -> Pixels:
    """The mean color of a picture, with which cut-outs and holes are filled."""
    return np.asarray(np.rint(picture.reshape(-1, 3).mean(axis=0)), np.uint8)


def alone(picture: Pixels, mask: BoolMask) -> Pixels:
    """The object within its box, and around it nothing but the picture's mean color."""
    left, top, right, bottom = bounding_box(mask)
    inside = mask[top:bottom, left:right, None]
    return np.where(inside, picture[top:bottom, left:right], mean_color(picture))


def together(picture: Pixels, *masks: BoolMask) -> Pixels:
    """The part of the picture that just holds all objects."""
    return crop(picture, bounding_box(np.logical_or.reduce(masks)))


def gray_pair(before: Pixels, after: Pixels) -> tuple[Pixels, Pixels]:
    """Two cut-outs without their colors, in the size of the first, or larger where that is too small to compare."""
    height, width = before.shape[:2]
    scale = max(1.0, LEAST_SIDE / min(height, width))
    size = round(width * scale), round(height * scale)
    return _gray(before, size), _gray(after, size)


def _gray(picture: Pixels, size: tuple[int, int]) -> Pixels:
    shrinks = picture.shape[0] > size[1]
    gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    scaled = cv2.resize(gray, size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
    return np.repeat(np.asarray(scaled, np.uint8)[..., None], 3, axis=2)


def backgrounds(before: Pixels, after: Pixels, objects: BoolMask) -> tuple[Pixels, Pixels]:
    """Both pictures with the objects of either covered by the mean color of the source image's background."""
    if objects.all():
        raise UnscorableError("not_applicable", "the objects cover the whole picture, so there is no background")
    color = mean_color(before[~objects][None])
    covered = objects[..., None]
    return np.where(covered, color, before), np.where(covered, color, after)
