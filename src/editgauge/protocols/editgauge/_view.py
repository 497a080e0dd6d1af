"""Everything the features of the protocol are computed from: both images, where they differ, and what is detected."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import ImageArray, Lab, Pixels, as_lab, cache_latest_images
from editgauge._util.masks import BoolMask, Rectangle, dilate_mask
from editgauge._vision.changed_regions import Changes
from editgauge._vision.disturbances import Disturbance, measure_disturbance
from editgauge._vision.object_changes import LOW_CONFIDENCE_FACTOR, DetectedObject
from editgauge._vision.redrawn_changes import semantic_change
from editgauge.errors import UnscorableError
from editgauge.models.answers import SegmentPrompt
from editgauge.models.vocabulary import siblings
from editgauge.models.vocabulary.imagenet import classes_of
from editgauge.protocols._changes import changes_of
from editgauge.protocols._objects import operating_point
from editgauge.protocols.editgauge._appearance import Color, middle_color, style_fit
from editgauge.protocols.editgauge._further import FurtherEvidence, joint_evidence
from editgauge.protocols.editgauge._roles import EditableRegion, Roles, roles_of
from editgauge.protocols.editgauge._tokens import (
    BoxSides,
    ChangeMap,
    changed_boxes,
    changed_pixels,
    clipped_gain,
    region_crop,
    region_token,
    token_features,
)
from editgauge.protocols.preservation import in_frame

if TYPE_CHECKING:
    from editgauge.models.perception import Perception
    from editgauge.types import Edit, Item

OUTLINE_MARGIN = 0.012
"""Of the longer side: how far around its outline the edge of an object may reach."""
MIN_CLASS_PROBABILITY = 0.05
"""Probability of a class below which the other image is not checked for it."""
MAX_RELATIVES = 40
"""Classes that still say something about an object which is none of them."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectPair:
    """Detections of one label in both images, most confident first."""

    name: str
    before: tuple[DetectedObject, ...]
    after: tuple[DetectedObject, ...]


@dataclass(frozen=True, slots=True)
class ClassProbability:
    """Probability of a label in the image or in a changed region, by a classifier."""

    label: str
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class View:
    """One item with all measurements that the features need."""

    edit: Edit
    source: Pixels
    edited: Pixels
    """In the source's frame."""
    valid: BoolMask
    """Where the edited image shows something."""
    changes: Changes
    point: float
    """Minimum confidence at which the detector counts an object."""
    roles: Roles
    disturbance: Disturbance
    """What happened to the image as a whole, outside a given mask."""
    mask: BoolMask | None = None
    pairs: dict[str, ObjectPair] = field(default_factory=dict)
    """By role: `comes`, `goes`, `stays`, `anchor`; a role without a label, or whose label is unknown, is missing."""
    unknown: dict[str, str] = field(default_factory=dict)
    """Why the detector could not look for an object, by role."""
    classes: dict[str, ClassProbability] = field(default_factory=dict)
    """What a classifier calls the changed regions, for `comes` and `goes`."""
    related: ClassProbability | None = None
    """The same for the nearest relatives of a requested object that no model knows."""
    texts: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """Lines of text in both images, for edits of text; None without a text reader."""
    tokens: dict[str, float] = field(default_factory=dict)
    """How much was redrawn, by patch tokens; empty when no model gives patch tokens."""
    change: ChangeMap | None = None
    """Change of each patch; None when no model gives patch tokens."""
    region_token: NDArray[np.float32] | None = None
    """Mean token of the changed region at close range; None when nothing changed."""
    further: FurtherEvidence = field(default_factory=FurtherEvidence)
    """Answers of a joint embedder and a judge, where there are any."""

    @cached_property
    def labs(self) -> tuple[Lab, Lab]:
        """Both images in CIE Lab."""
        return _source_lab(self.source), as_lab(self.edited)

    @property
    def is_local(self) -> bool:
        """Should most of the image stay as it is?"""
        return not (self.roles.everywhere or self.roles.behind)

    @property
    def has_subject(self) -> bool:
        """Is the subject of the edit detected in the source?"""
        stays = self.pairs.get("stays")
        return bool(stays and stays.before and stays.before[0].confidence >= self.point)

    @cached_property
    def subject_colors(self) -> tuple[Color, Color] | None:
        """Median color of the subject before and after.

        The subject is where it is detected in the source, else where the image changed most; None without either.
        """
        if self.has_subject:
            inside = self.pairs["stays"].before[0].mask & self.valid
        elif self.change is not None and "stays" not in self.pairs:
            region = changed_pixels(self.change, self.changes.mask)
            inside = np.zeros(self.valid.shape, np.bool_) if region is None else region & self.valid
        else:
            return None
        before, after = self.labs
        return (middle_color(before, inside), middle_color(after, inside)) if inside.any() else None

    @cached_property
    def style_fits(self) -> tuple[float | None, float | None]:
        """How well the change fits the requested style, and how well the reverse change would."""
        before, after = self.labs
        forward, backward = (style_fit(self.edit.to, *pair, self.valid) for pair in ((before, after), (after, before)))
        return forward, backward

    @property
    def diagonal(self) -> float:
        """Of the images, in pixels."""
        return float(np.hypot(*self.source.shape[:2]))

    @property
    def margin(self) -> int:
        """Of outlines, in pixels."""
        return max(2, int(OUTLINE_MARGIN * max(self.source.shape[:2]) + 0.5))

    @cached_property
    def expected(self) -> EditableRegion:
        """Where the edit may change the image, and why."""
        if self.mask is not None and self.mask.any():
            return EditableRegion(self.mask, "the edit's mask")
        if self.roles.everywhere:
            return EditableRegion(None, "an edit of this type may change everything")
        if self.outlined is not None:
            return EditableRegion(self.outlined, "the objects that the edit names")
        if self.changes.regions and not self.roles.behind:
            return EditableRegion(
                dilate_mask(self.changes.regions[0].mask, self.margin), "the largest region that changed"
            )
        return EditableRegion(None, "unknown")

    @cached_property
    def outlined(self) -> BoolMask | None:
        """Where the objects that the edit names are detected in either image; None where none is."""
        roles = ("comes",) if self.roles.adds else ("comes", "goes", "stays")
        pairs = [self.pairs[role] for role in roles if role in self.pairs]
        detections = [detection for pair in pairs for detection in (*pair.before, *pair.after)]
        masks = [detection.mask for detection in detections if detection.confidence >= self.point]
        if not masks:
            return None
        union = np.logical_or.reduce(masks)
        return ~union if self.roles.behind else dilate_mask(union, self.margin)


class _TokenView(NamedTuple):
    """What patch tokens say about an item."""

    features: dict[str, float]
    change: ChangeMap | None
    boxes: list[BoxSides]
    region_token: NDArray[np.float32] | None


@cache_latest_images
def _source_lab(image: Pixels) -> Lab:
    lab = as_lab(image)
    lab.setflags(write=False)
    return lab


async def build_view(item: Item, perception: Perception) -> View:
    """Ask the models everything that the features of an item need."""
    changes = changes_of(item.source, item.edited)
    edited, valid = in_frame(changes.alignment, item.edited)
    if item.original is not None:
        edited = ImageArray(edited, changes.alignment.in_own_size(item.original))
    roles = roles_of(item.edit)
    point = operating_point(perception)
    labels = {role: label for role, label in roles.words().items() if label}
    changed = changes.mask if item.mask is None else changes.mask & item.mask
    outlines = {role: _required_outlines(item.edit, roles, role, changed) for role in labels}
    answers = await gather(
        *(
            _detect_pair(perception, (item.source, edited), label, point, outlines[role])
            for role, label in labels.items()
        )
    )
    tokens = await _token_view(item, perception)
    classified = {
        role: label for role, label in labels.items() if role in ("comes", "goes") and perception.knows(label)
    }
    classes = await gather(
        *(
            _classify(perception, item, role, label, classes=classes_of(label), boxes=tokens.boxes)
            for role, label in classified.items()
        )
    )
    by_role = dict(zip(classified, classes, strict=True))
    if roles.behind and roles.comes and (scene := await _classify_scene(perception, item, roles.comes)) is not None:
        by_role["comes"] = max(by_role.get("comes", scene), scene, key=lambda answer: answer.after - answer.before)
    is_unknown = isinstance(dict(zip(labels, answers, strict=True)).get("comes"), str) and "comes" not in by_role
    related = await _classify_relatives(perception, item, labels["comes"], tokens.boxes) if is_unknown else None
    return View(
        edit=item.edit,
        source=item.source,
        edited=edited,
        valid=valid,
        changes=changes,
        point=point,
        roles=roles,
        disturbance=measure_disturbance(item.source, item.edited, changes.alignment, item.mask),
        mask=item.mask,
        pairs={role: pair for role, pair in zip(labels, answers, strict=True) if isinstance(pair, ObjectPair)},
        unknown={role: reason for role, reason in zip(labels, answers, strict=True) if isinstance(reason, str)},
        classes=by_role,
        related=related,
        texts=await _read_texts(item, perception) if item.edit.type == "text" else None,
        tokens=tokens.features,
        change=tokens.change,
        region_token=tokens.region_token,
        further=await joint_evidence(item, perception),
    )


OutlineDemand = Literal["all", "none"] | BoolMask
"""Outline every confident detection, none, or one after another until an outline meets the mask."""


def _required_outlines(edit: Edit, roles: Roles, role: str, changed: BoolMask) -> tuple[OutlineDemand, OutlineDemand]:
    """Return whose outlines before and after a feature needs: outlines cost more than everything else."""
    if role == "anchor":  # a position relative to it is measured from its center in the source
        return ("all" if edit.type == "positional_addition" else "none"), "none"
    if role == "stays" and roles.adds:
        return "none", "none"
    if role == "stays" and roles.everywhere:
        return "none", changed
    return "all", "all"


async def _detect_pair(
    perception: Perception,
    images: tuple[Pixels, Pixels],
    label: str,
    point: float,
    outlines: tuple[OutlineDemand, OutlineDemand],
) -> ObjectPair | str:
    try:
        before, after = await gather(
            *(_detect(perception, image, label, point, demand) for image, demand in zip(images, outlines, strict=True))
        )
    except UnscorableError as error:
        return error.detail
    return ObjectPair(label, before, after)


async def _detect(
    perception: Perception, image: Pixels, label: str, point: float, outlines: OutlineDemand
) -> tuple[DetectedObject, ...]:
    """Detect a label; confident detections have outlines where needed, others their boxes."""
    detections = await perception.detect(image, label, least=LOW_CONFIDENCE_FACTOR * point)
    masks = await _outline(perception, image, detections.over(point).boxes, outlines)
    boxes = [(box[0], box[1], box[2], box[3]) for box in detections.boxes.tolist()]
    height, width = image.shape[:2]
    masks += [Rectangle(*box).render(width, height) for box in boxes[len(masks) :]]
    rows = zip(boxes, masks, detections.confidences.tolist(), strict=True)
    return tuple(DetectedObject(label, box, mask, confidence) for box, mask, confidence in rows if mask.any())


async def _outline(
    perception: Perception, image: Pixels, boxes: NDArray[np.float32], outlines: OutlineDemand
) -> list[BoolMask]:
    if isinstance(outlines, str):
        return list(await perception.segment(image, SegmentPrompt(boxes=boxes))) if outlines == "all" else []
    masks: list[BoolMask] = []
    for box in boxes:
        masks += list(await perception.segment(image, SegmentPrompt(boxes=box[np.newaxis])))
        if (masks[-1] & outlines).any():
            break
    return masks


async def _token_view(item: Item, perception: Perception) -> _TokenView:
    """Compare patch tokens, and look at the region that changed most once more at close range."""
    try:
        before, after = await gather(perception.patches(item.source), perception.patches(item.edited))
    except UnscorableError:
        return _TokenView({}, None, [], None)
    height, width = item.source.shape[:2]
    change = semantic_change(before.tokens, after.tokens)
    features = token_features(before, after, change) | {"clipped": clipped_gain(item.source, item.edited)}
    boxes = changed_boxes(change, width, height)
    token = None
    if boxes:
        crop, box = region_crop(item.edited, boxes[0])
        token = region_token(await perception.patches(crop), change, box, width, height)
    return _TokenView(features, change, boxes, token)


async def _read_texts(item: Item, perception: Perception) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    try:
        before, after = await gather(perception.read_text(item.source), perception.read_text(item.edited))
    except UnscorableError:
        return None
    return before.texts, after.texts


async def _classify(
    perception: Perception, item: Item, role: str, label: str, *, classes: frozenset[int], boxes: Sequence[BoxSides]
) -> ClassProbability:
    """Classify first the image where the object should be, then the other one at the regions where it may be."""
    first, second = (item.edited, item.source) if role == "comes" else (item.source, item.edited)
    regions: list[BoxSides | None] = [None, *boxes]
    present = await gather(*(_probability(perception, first, box, classes) for box in regions))
    likely = [box for box, value in zip(regions, present, strict=True) if value >= MIN_CLASS_PROBABILITY]
    opposite = await gather(*(_probability(perception, second, box, classes) for box in (likely or [None])))
    highest = max(present), max(opposite)
    return ClassProbability(label, *(reversed(highest) if role == "comes" else highest))


async def _classify_scene(perception: Perception, item: Item, label: str) -> ClassProbability | None:
    """Return the probability of a requested background; None where no model knows such a scene."""
    if not perception.knows_scene(label):
        return None
    before, after = await gather(perception.scenes(item.source), perception.scenes(item.edited))
    try:
        return ClassProbability(label, before.share(label), after.share(label))
    except UnscorableError:  # known as an attribute only
        return None


async def _classify_relatives(
    perception: Perception, item: Item, label: str, boxes: Sequence[BoxSides]
) -> ClassProbability | None:
    """Classify the nearest relatives of a requested object that no model knows."""
    relatives = _known_relatives(perception, label)
    classes = frozenset().union(*map(classes_of, relatives))
    if not classes or len(classes) > MAX_RELATIVES:
        return None
    return await _classify(perception, item, "comes", ", ".join(relatives), classes=classes, boxes=boxes)


async def _probability(perception: Perception, image: Pixels, box: BoxSides | None, classes: frozenset[int]) -> float:
    return float((await perception.classify(image, box)).probabilities[sorted(classes)].sum())


def _known_relatives(perception: Perception, label: str) -> list[str]:
    """Return the head noun of a label, or a relative in WordNet, if the classifier knows it."""
    words = label.split()
    for start in range(len(words)):
        noun = " ".join(words[start:])
        kin = [noun] if perception.knows(noun) else [word for word in _kin(noun) if perception.knows(word)]
        if kin:
            return kin
    return []


@lru_cache(maxsize=1024)
def _kin(noun: str) -> tuple[str, ...]:
    try:
        return siblings(noun)
    except UnscorableError:  # no such noun, or no WordNet
        return ()
