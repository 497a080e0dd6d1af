"""UniBench's tasks, located objects, CLIP similarities, sub-scores, and the totals of table 1."""

from __future__ import annotations

from asyncio import gather
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import cv2
import numpy as np
from scipy.special import softmax

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask, Rectangle, bounding_box
from editgauge._util.text import none_detected
from editgauge._vision.geometry import overlap
from editgauge.errors import UnscorableError
from editgauge.evidence import Evidence, Note, Region
from editgauge.protocols import SetPart
from editgauge.protocols._objects import crop
from editgauge.protocols._rules import sentence
from editgauge.types import Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.models.answers import Instances
    from editgauge.models.perception import Perception
    from editgauge.types import Item, Relation

EXTRA = "unibench"
Kind = Literal["change_class", "change_color", "move", "generate"]
KINDS: tuple[Kind, ...] = ("change_class", "change_color", "generate", "move")


@dataclass(frozen=True, slots=True)
class TargetPosition:
    """The requested position: words between target and anchor."""

    anchor: str
    """The anchor's class."""
    words: str

    def phrase(self, target: str) -> str:
        """Return the CLIP query, such as `cat in front of suitcase`."""
        return f"{target} {self.words} {self.anchor}"


class Task:
    """A UniBench task and the outlines of its objects in the source image."""

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
        """The requested appearance of the target."""
        return f"{self._fields['target']} {self.name}" if self.kind == "change_color" else self.name

    @property
    def alternatives(self) -> list[str]:
        """Annotated candidates for the appearance, and the original one."""
        if self.kind == "change_color":
            colors = [*self._fields["candidates"], *filter(None, [self._fields.get("color")])]
            return [f"{color} {self.name}" for color in dict.fromkeys(colors)]
        return list(dict.fromkeys([*self._fields.get("candidates", ()), *self._fields["classes"], self.name]))

    @property
    def color(self) -> str:
        """The requested color."""
        return str(self._fields["target"])

    @property
    def position(self) -> TargetPosition:
        """The requested position."""
        return TargetPosition(self._fields["anchor_class"], self._fields["words"])

    @property
    def positions(self) -> list[TargetPosition]:
        """All annotated positions."""
        return list(dict.fromkeys(TargetPosition(anchor, words) for anchor, words in self._fields["places"]))

    @property
    def relation(self) -> Relation | None:
        """Meaning of the position in the image plane, if it has one."""
        return cast("Relation | None", self._fields.get("relation"))

    @property
    def original(self) -> BoolMask | None:
        """The object to edit in the source image; None for generate tasks."""
        return self._rendered(self._fields["object"]) if "object" in self._fields else None

    @property
    def anchor(self) -> BoolMask:
        """The anchor in the source image."""
        return self._rendered(self._fields["anchor"])

    @property
    def others(self) -> list[BoolMask]:
        """Other objects of the target's class."""
        return [self._rendered(name) for name in self._fields["others"]]

    @property
    def other_anchors(self) -> list[BoolMask]:
        """Other objects of the anchor's class."""
        return [self._rendered(name) for name in self._fields["anchor_others"]]

    def _rendered(self, name: str) -> BoolMask:
        height, width = self._item.source.shape[:2]
        return self._item.edit.objects[name].render(width, height)


MIN_SAME_OVERLAP = 0.5
"""A detection that overlaps another annotated object by more is that object."""


@dataclass(frozen=True, slots=True, eq=False)
class Located:
    """An object in the edited image: where it is detected, or where the original object was."""

    name: str
    mask: BoolMask | None
    """None if it is not detected and its position cannot be inferred."""
    is_detected: bool
    evidence: tuple[Evidence, ...]

    @property
    def words(self) -> str:
        """Summary in words."""
        if self.is_detected:
            return f"{self.name} found"
        return f"no {self.name} seen" + ("" if self.mask is None else ", its original place is looked at")


async def locate_target(item: Item, task: Task, perception: Perception) -> Located:
    """Locate the target after the edit; moved and generated objects have no fallback position."""
    instances = _without_other_objects(await perception.instances(item.edited, task.name), task.others)
    original = task.original
    if task.kind in {"move", "generate"} or original is None:
        return _located(task.name, instances, 0 if len(instances) else None, None)
    return _located(task.name, instances, _index_at(instances, original), original)


async def locate_anchor(item: Item, task: Task, perception: Perception) -> Located:
    """Locate the anchor of the target's position."""
    name = task.position.anchor
    instances = _without_other_objects(await perception.instances(item.edited, name), task.other_anchors)
    return _located(name, instances, _index_at(instances, task.anchor), task.anchor)


def _located(name: str, instances: Instances, index: int | None, original: BoolMask | None) -> Located:
    if index is None:
        evidence = () if original is None else (Region("edited", original, f"{name}, original place"),)
        return Located(name, original, False, evidence)
    instance = instances.only([index])
    return Located(name, _outline(instance), True, instance.evidence("edited"))


def _outline(instance: Instances) -> BoolMask:
    """Return the outline, or the box where the segmenter finds nothing."""
    mask: BoolMask = instance.masks[0]
    if mask.any():
        return mask
    left, top, right, bottom = instance.detections.boxes[0].tolist()
    height, width = mask.shape
    return Rectangle(left, top, max(right, left + 1), max(bottom, top + 1)).render(width, height)


def _without_other_objects(instances: Instances, other_objects: Sequence[BoolMask]) -> Instances:
    """Drop detections of other annotated objects."""
    indices = [
        index
        for index in range(len(instances))
        if all(
            overlap(_outline(instances.only([index])), other_object) <= MIN_SAME_OVERLAP
            for other_object in other_objects
        )
    ]
    return instances.only(indices)


def _index_at(instances: Instances, original: BoolMask) -> int | None:
    """Return the index of the detection that overlaps the original most, or None."""
    shared = [int((_outline(instances.only([index])) & original).sum()) for index in range(len(instances))]
    return int(np.argmax(shared)) if any(shared) else None


Reading = Literal["cosine", "rescaled", "softmax"]
READINGS: tuple[Reading, ...] = get_args(Reading)
READING_DESCRIPTIONS: dict[Reading, str] = {
    "cosine": "the raw cosine of the embeddings",
    "rescaled": "the cosine rescaled from [-1, 1] to [0, 1]",
    "softmax": "the softmax over the annotated candidates at CLIP's temperature (cosine times 100)",
}
DEFAULT_READING: Reading = "softmax"
"""The only reading that reaches all values of table 1, see docs/parity/unibench.md."""
LOGIT_SCALE = 100.0
"""CLIP's learned logit scale, at its training bound."""


class ClipSimilarity:
    """CLIP similarity of images with texts and with images."""

    def __init__(self, reading: Reading, perception: Perception) -> None:
        self._reading = reading
        self._perception = perception

    def require_model(self) -> None:
        """Raise `UnscorableError` without a model; otherwise only failures, which need none, would be scored."""
        self._perception.card("joint_embedder")

    async def to_text(self, image: Pixels, text: str, alternatives: Sequence[str]) -> float:
        """Return the similarity of an image and a text; with softmax, relative to the alternatives."""
        if self._reading == "softmax":
            return await self._softmax_over(image, text, alternatives)
        image_vector, text_vector = await gather(self._perception.joint_image(image), self._perception.joint_text(text))
        return self._rescale(_cosine(image_vector, text_vector))

    async def between_images(self, first: Pixels, second: Pixels) -> float:
        """Return the similarity of two images; with softmax the cosine, at least 0."""
        first_vector, second_vector = await gather(
            self._perception.joint_image(first), self._perception.joint_image(second)
        )
        return self._rescale(_cosine(first_vector, second_vector))

    async def _softmax_over(self, image: Pixels, text: str, alternatives: Sequence[str]) -> float:
        texts = [text, *(alternative for alternative in alternatives if alternative != text)]
        if len(texts) < 2:
            raise UnscorableError("not_applicable", f"'{text}' is the only candidate, and a softmax needs others")
        image_vector, *text_vectors = await gather(
            self._perception.joint_image(image), *map(self._perception.joint_text, texts)
        )
        return float(
            softmax(LOGIT_SCALE * np.array([_cosine(image_vector, text_vector) for text_vector in text_vectors]))[0]
        )

    def _rescale(self, cosine: float) -> float:
        if self._reading == "rescaled":
            return (1 + cosine) / 2
        return max(0.0, cosine) if self._reading == "softmax" else cosine


def _cosine(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.clip(first @ second, -1, 1))  # of unit vectors; rounding may leave the range


@dataclass(frozen=True, slots=True)
class UniBenchScene:
    """An item with its task and located objects."""

    item: Item
    task: Task
    target: Located
    anchor: Located | None
    """None for tasks without one."""
    perception: Perception
    likeness: ClipSimilarity

    @property
    def original(self) -> BoolMask:
        """The object to edit in the source image."""
        mask = self.task.original
        if mask is None:
            raise UnscorableError("not_applicable", "nothing was there before")
        return mask


async def target_fidelity(scene: UniBenchScene) -> Score:
    """Score the target's appearance; 0 if it cannot be located."""
    scene.likeness.require_model()
    target = scene.target
    if target.mask is None:
        return Score(0.0, (sentence(target.words),))
    text = scene.task.text
    value = await scene.likeness.to_text(cut_out(scene.item.edited, target.mask), text, scene.task.alternatives)
    return Score(value, (*target.evidence, sentence(f"{target.words}; it fits '{text}' by {value:.2f}")))


async def position_fidelity(scene: UniBenchScene) -> Score:
    """Score whether the crop of target and anchor fits the position phrase."""
    if scene.anchor is None or scene.anchor.mask is None:
        raise UnscorableError("not_applicable", "the task has no anchor")
    scene.likeness.require_model()
    target, anchor = scene.target, scene.anchor
    if target.mask is None:
        return Score(0.0, (sentence(target.words),))
    position = scene.task.position
    phrase, alternatives = (
        position.phrase(scene.task.name),
        [alternative.phrase(scene.task.name) for alternative in scene.task.positions],
    )
    crop = crop_around(scene.item.edited, target.mask, scene.anchor.mask)
    value = await scene.likeness.to_text(crop, phrase, alternatives)
    note = sentence(f"{target.words}, {anchor.words}; both fit '{phrase}' by {value:.2f}")
    return Score(value, (*target.evidence, *anchor.evidence, note))


async def target_consistency(scene: UniBenchScene) -> Score:
    """Score whether the object is the same: without color for recoloring, by CLIP for moves."""
    if scene.task.kind not in {"change_color", "move"}:
        raise UnscorableError("not_applicable", f"{scene.task.kind} keeps no object")
    if scene.target.mask is None:
        scene.likeness.require_model()
        raise UnscorableError("not_detected", f"{none_detected(scene.target.name)} in the edited image")
    before, after = cut_out(scene.item.source, scene.original), cut_out(scene.item.edited, scene.target.mask)
    if scene.task.kind == "move":
        value = await scene.likeness.between_images(before, after)
        return Score(value, (sentence(f"{scene.target.words}; it is like the original by {value:.2f}"),))
    distance = await scene.perception.distance(*gray_pair(before, after))
    return Score(
        _to_similarity(distance), (sentence(f"without its colors the {scene.target.name} is {distance:.3f} away"),)
    )


async def background_consistency(scene: UniBenchScene) -> Score:
    """Score whether everything outside the object stayed."""
    empty = np.zeros(scene.item.source.shape[:2], np.bool_)
    masks = [mask for mask in (scene.task.original, scene.target.mask) if mask is not None]
    objects = np.logical_or.reduce([empty, *masks])
    distance = await scene.perception.distance(*cover_objects(scene.item.source, scene.item.edited, objects))
    return Score(_to_similarity(distance), (sentence(f"the rest of the picture is {distance:.3f} away"),))


def _to_similarity(distance: float) -> float:
    """Return 1 - LPIPS, clipped to [0, 1]."""
    return min(1.0, max(0.0, 1.0 - distance))


MIN_CROP_SIDE = 64
"""Smaller crops are enlarged before LPIPS, whose network downsamples several times."""


def mean_color(image: Pixels) -> Pixels:
    """Return the mean color of an image, which fills cut-outs and holes."""
    return np.asarray(np.rint(image.reshape(-1, 3).mean(axis=0)), np.uint8)


def cut_out(image: Pixels, mask: BoolMask) -> Pixels:
    """Return the object's box, with the image's mean color around the object."""
    left, top, right, bottom = bounding_box(mask)
    inside = mask[top:bottom, left:right, None]
    return np.where(inside, image[top:bottom, left:right], mean_color(image))


def crop_around(image: Pixels, *masks: BoolMask) -> Pixels:
    """Return the smallest crop with all objects."""
    return crop(image, bounding_box(np.logical_or.reduce(masks)))


def gray_pair(before: Pixels, after: Pixels) -> tuple[Pixels, Pixels]:
    """Return two cut-outs in gray, at the size of the first or enlarged to the minimum side."""
    height, width = before.shape[:2]
    scale = max(1.0, MIN_CROP_SIDE / min(height, width))
    size = round(width * scale), round(height * scale)
    return _gray(before, size), _gray(after, size)


def _gray(image: Pixels, size: tuple[int, int]) -> Pixels:
    shrinks = image.shape[0] > size[1]
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    scaled = cv2.resize(gray, size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
    return np.repeat(np.asarray(scaled, np.uint8)[..., None], 3, axis=2)


def cover_objects(before: Pixels, after: Pixels, objects: BoolMask) -> tuple[Pixels, Pixels]:
    """Return both images with the objects covered by the mean color of the source's background."""
    if objects.all():
        raise UnscorableError("not_applicable", "the objects cover the whole picture, so there is no background")
    color = mean_color(before[~objects][None])
    covered = objects[..., None]
    return np.where(covered, color, before), np.where(covered, color, after)


Means = Mapping[str, Mapping[str, float]]
"""Task type to kind of score to its mean over the tasks of that type."""

FIDELITY: Mapping[str, tuple[str, ...]] = {
    "change_class": ("target_fidelity",),
    "change_color": ("target_fidelity",),
    "generate": ("target_fidelity", "position_fidelity"),
    "move": ("target_fidelity", "position_fidelity"),
}
CONSISTENCY: Mapping[str, tuple[str, ...]] = {
    "change_class": ("background_consistency",),
    "change_color": ("target_consistency", "background_consistency"),
    "generate": ("background_consistency",),
    "move": ("target_consistency", "background_consistency"),
}
"""Kinds of scores of each task type (UniBench, section 3.3)."""
TOTAL_DESCRIPTION = "Total {}: mean per type and kind of score, then over kinds, then over types (table 1)."


def set_specs(*names: str) -> tuple[ScoreSpec, ...]:
    """Return the specifications of totals: `total_fidelity` for the score `fidelity`."""
    return tuple(ScoreSpec(f"total_{name}", True, (-1.0, 1.0), TOTAL_DESCRIPTION.format(name)) for name in names)


def as_part(kind: Kind, scores: Scores) -> SetPart:
    """Return the task type and the available sub-scores of one outcome."""
    values = {name: score.value for name, score in scores.items() if isinstance(score, Score)}
    return np.array([KINDS.index(kind)]), np.array(list(values), np.str_), np.array(list(values.values()), np.float64)


def set_scores(parts: Sequence[SetPart], required: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Scores:
    """Return the totals by name; unscored if a task type lacks a kind of score."""
    means = mean_scores(parts)
    return {f"total_{name}": _total(means, required_kinds) for name, required_kinds in required.items()}


def mean_scores(parts: Sequence[SetPart]) -> Means:
    """Return the mean of every kind of score, by task type."""
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for kind, names, numbers in parts:
        of_type = values[KINDS[int(kind[0])]]
        for name, number in zip(names.tolist(), numbers.tolist(), strict=True):
            of_type[name].append(number)
    return {kind: {name: fmean(its) for name, its in of_type.items()} for kind, of_type in values.items()}


def _total(means: Means, required_kinds: Mapping[str, tuple[str, ...]]) -> Score | Unscored:
    if not means:
        return Unscored("not_applicable", "no outcome of this set could be scored")
    value = total(means, required_kinds)
    if value is None:
        lacking = [f"{kind}: {name}" for kind in means for name in required_kinds[kind] if name not in means[kind]]
        return Unscored("not_applicable", f"no outcome has these scores: {', '.join(lacking)}")
    absent = [kind.replace("_", " ") for kind in KINDS if kind not in means]
    is_whole = len(means) == 1 or not absent  # a row of the table is about one type alone
    return Score(value, () if is_whole else (Note(f"Without {' and '.join(absent)}, of which there are none."),))


def average(kinds: Mapping[str, float], required: Sequence[str]) -> float | None:
    """Return the mean of a task type's kinds of scores; None if one is missing.

    >>> average({"target_fidelity": 0.385, "position_fidelity": 0.746}, FIDELITY["move"])
    0.5655
    """
    return fmean(kinds[kind] for kind in required) if all(kind in kinds for kind in required) else None


def total(means: Means, required_kinds: Mapping[str, tuple[str, ...]]) -> float | None:
    """Return the mean over task types; None if one of them lacks a kind of score.

    >>> total({"change_class": {"target_fidelity": 0.1}, "change_color": {"target_fidelity": 0.2}}, FIDELITY)
    0.15000000000000002
    """
    averages = [average(kinds, required_kinds[task]) for task, kinds in means.items()]
    values = [mean for mean in averages if mean is not None]
    return fmean(values) if values and len(values) == len(averages) else None
