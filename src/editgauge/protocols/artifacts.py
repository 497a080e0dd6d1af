"""EditInspector's artifact detection (section 4.2): objects around the edit that lost detector confidence."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from editgauge._util.masks import BoolMask
from editgauge._util.phrases import without_article
from editgauge._vision.geometry import box_overlap
from editgauge._vision.object_changes import LOW_CONFIDENCE_FACTOR, BoxSides, DetectedObject
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError
from editgauge.evidence import Box, Evidence, Note, Region, Side
from editgauge.protocols import Protocol, format_variant
from editgauge.protocols._changes import changes_of
from editgauge.protocols._objects import detect_objects, operating_point, outline_objects
from editgauge.protocols.difference._triplets import object_names
from editgauge.types import Edit, Item, Score, Scores, ScoreSpec

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.models.perception import Perception


@dataclass(frozen=True, slots=True)
class ArtifactLabels:
    """Labels to query."""

    all: tuple[str, ...]
    edited: tuple[str, ...]
    """Labels of the object that the edit itself changes."""


def artifact_labels(edit: Edit) -> ArtifactLabels:
    """Return the labels of an edit: all, and those of the edited object."""
    kind = EDIT_TYPES[edit.type]
    objects = () if kind.value in {"attribute", "place"} else (edit.from_, edit.to)
    edited_fields = (edit.to,) if kind.effect == "adds" else (edit.subject, *objects)
    edited = _plain(edited_fields)
    names = [
        name for caption in (edit.source_caption, edit.target_caption) if caption for name in object_names(caption)
    ]
    other_labels = _plain((edit.subject, *edit.objects, *names))
    return ArtifactLabels(tuple(dict.fromkeys([*edited, *other_labels])), edited)


def names_edited_object(word: str | None, edited: tuple[str, ...]) -> bool:
    """Return whether a label names the edited object; `bear` matches 'teddy bear' and vice versa."""
    if word is None:
        return False
    parts = set(word.lower().split())
    return any(parts <= set(name.split()) or set(name.split()) <= parts for name in edited)


def _plain(words: tuple[str | None, ...]) -> tuple[str, ...]:
    return tuple(without_article(word).lower() for word in words if word and word.strip())


MIN_MATCH_OVERLAP = 0.3
"""Minimum overlap of two boxes of one label that are the same object before and after."""


@dataclass(frozen=True, slots=True, eq=False)
class AffectedObject:
    """An object that overlaps the edit's mask, before and after the edit."""

    before: DetectedObject
    after: DetectedObject | None
    """None if it vanished."""

    @property
    def drop(self) -> float:
        """Loss of confidence; all of it for a vanished object."""
        return self.before.confidence - (self.after.confidence if self.after else 0.0)


def touches_mask(detected: DetectedObject, mask: BoolMask) -> bool:
    """Return whether the object overlaps the mask."""
    return bool((detected.mask & mask).any())


def affected_objects(
    before: Sequence[DetectedObject], after: Sequence[DetectedObject], mask: BoolMask
) -> list[AffectedObject]:
    """Return the source objects that overlap the mask, each with its match in the edited image.

    Args:
        before: objects of the source image
        after: objects of the edited image, including weak detections
        mask: edited region

    """
    affected: list[AffectedObject] = []
    unmatched = list(after)
    for detected in sorted(before, key=lambda candidate: -candidate.confidence):
        candidates = [
            candidate
            for candidate in unmatched
            if candidate.label == detected.label and _overlap(detected, candidate) >= MIN_MATCH_OVERLAP
        ]
        match = max(candidates, key=lambda candidate: _overlap(detected, candidate), default=None)
        # An object outside the mask also keeps its match, so that no other object takes it.
        unmatched = [candidate for candidate in unmatched if candidate is not match]
        if touches_mask(detected, mask):
            affected.append(AffectedObject(detected, match))
    return affected


def boxes_overlap(detected: DetectedObject, box: BoxSides) -> bool:
    """Return whether the object's box overlaps another box."""
    return _overlap(detected, DetectedObject(None, box, detected.mask)) > 0


def _overlap(first: DetectedObject, second: DetectedObject) -> float:
    return box_overlap(first.box, second.box)


DEFAULT_DROP = 0.04
"""Minimum loss of confidence of a damaged object."""


@dataclass(frozen=True, slots=True, eq=False)
class ArtifactScene:
    """The detected objects of both images, and what decides which of them are damaged."""

    edit: Edit
    edited: tuple[str, ...]
    """Labels of the object that the edit itself changes."""
    before: Sequence[DetectedObject]
    """Objects of the source image, from half the operating point on."""
    after: Sequence[DetectedObject]
    mask: BoolMask
    """The edited region."""
    point: float
    """Minimum confidence of a detection."""
    drop: float

    @property
    def edited_objects(self) -> list[DetectedObject]:
        """Detections of the edited object in both images."""
        return [detected for detected in (*self.before, *self.after) if self.is_edited(detected)]

    @property
    def certain(self) -> list[DetectedObject]:
        """Certain objects of the source image, without the edited one."""
        return [item for item in self.before if item.confidence >= self.point and not self.is_edited(item)]

    def is_edited(self, detected: DetectedObject) -> bool:
        """Return whether a detection is the edited object."""
        return names_edited_object(detected.label, self.edited)


@dataclass(frozen=True, slots=True)
class ArtifactFindings:
    """Damaged objects."""

    faded: tuple[AffectedObject, ...]
    """Method 1: objects with lower confidence."""
    vanished: tuple[tuple[DetectedObject, Side], ...]
    """Method 2: objects in only one of the images, and in which."""
    largest: float
    """Largest loss of confidence; 0 if there is none."""


def paper_rule(scene: ArtifactScene) -> ArtifactFindings:
    """Return objects on the mask that lost confidence, and those that vanished away from the edited object."""
    edited_boxes = [detected.box for detected in scene.edited_objects if touches_mask(detected, scene.mask)]
    candidates = affected_objects(scene.certain, scene.after, scene.mask)
    faded = [affected for affected in candidates if affected.after is not None and affected.drop > scene.drop]
    vanished = [
        affected
        for affected in candidates
        if affected.after is None and not any(boxes_overlap(affected.before, box) for box in edited_boxes)
    ]
    losses = [affected.drop for affected in candidates if affected.after is not None or affected in vanished]
    return ArtifactFindings(
        tuple(faded), tuple((affected.before, "source") for affected in vanished), max(0.0, *losses, 0.0)
    )


MAX_MASK_FRACTION = 0.4
"""Objects that cover this fraction of the mask are what was edited."""
MIN_OVERLAP_FRACTION = 0.024
"""Smaller overlaps, as a fraction of the mask or of the object, cannot be seen."""
MIN_INSIDE_FRACTION = 0.97
"""Objects inside the mask by this fraction were edited with it."""


def released_rule(scene: ArtifactScene) -> ArtifactFindings:
    """Return objects whose confidence changed either way, filtered by size, and isolated ones."""
    before, after = (
        [detected for detected in objects if detected.confidence >= scene.point]
        for objects in (scene.before, scene.after)
    )
    pairs = [
        AffectedObject(first, second)
        for first in _partly_inside(before, scene.mask)
        for second in _partly_inside(after, scene.mask)
        if first.label == second.label and boxes_overlap(first, second.box)
    ]
    candidates = [pair for pair in pairs if not _barely_overlaps(pair, scene.mask) and not _is_inside(pair, scene.mask)]
    faded = [pair for pair in candidates if abs(pair.drop) >= scene.drop]
    vanished: list[tuple[DetectedObject, Side]] = []
    effect = EDIT_TYPES[scene.edit.type].effect
    if effect == "adds":
        vanished = [(detected, "source") for detected in _isolated(before, after, scene)]
    elif effect == "removes":
        vanished = [(detected, "edited") for detected in _isolated(after, before, scene)]
    losses = [*(abs(pair.drop) for pair in candidates), *(detected.confidence for detected, _ in vanished)]
    return ArtifactFindings(tuple(faded), tuple(vanished), max(0.0, *losses, 0.0))


def _isolated(
    objects: Sequence[DetectedObject], other_objects: Sequence[DetectedObject], scene: ArtifactScene
) -> list[DetectedObject]:
    """Return objects that overlap the mask and no box of the other image, without the edited object."""
    return [
        detected
        for detected in objects
        if touches_mask(detected, scene.mask)
        and not scene.is_edited(detected)
        and not any(boxes_overlap(detected, candidate.box) for candidate in other_objects)
    ]


def _partly_inside(objects: Sequence[DetectedObject], mask: BoolMask) -> list[DetectedObject]:
    return [detected for detected in objects if 0 < _mask_fraction(detected, mask) < MAX_MASK_FRACTION]


def _barely_overlaps(pair: AffectedObject, mask: BoolMask) -> bool:
    both = _objects_of(pair)
    return all(_mask_fraction(detected, mask) <= MIN_OVERLAP_FRACTION for detected in both) and any(
        _object_fraction(detected, mask) < MIN_OVERLAP_FRACTION for detected in both
    )


def _is_inside(pair: AffectedObject, mask: BoolMask) -> bool:
    return all(_object_fraction(detected, mask) >= MIN_INSIDE_FRACTION for detected in _objects_of(pair))


def _objects_of(pair: AffectedObject) -> list[DetectedObject]:
    return [detected for detected in (pair.before, pair.after) if detected is not None]


def _mask_fraction(detected: DetectedObject, mask: BoolMask) -> float:
    return float((detected.mask & mask).sum() / mask.sum())


def _object_fraction(detected: DetectedObject, mask: BoolMask) -> float:
    return float((detected.mask & mask).sum() / max(1, detected.mask.sum()))


Rule = Callable[[ArtifactScene], ArtifactFindings]

PAPER = (
    "Yosef et al. 2025, EditInspector: A Benchmark for Evaluation of Text-Guided Image Edits, arXiv 2506.09988, "
    "section 4.2"
)
COMMON_DEVIATIONS = (
    "Any detector, at its own operating point; the paper uses Detic at 0.5 with the classes of LVIS.",
    "If the edit has no mask, or a black one, the detected change is used.",
    "Without a segmenter, boxes are used instead of outlines.",
)
PAPER_DEVIATIONS = (
    *COMMON_DEVIATIONS,
    "Boxes of one class with an overlap of 0.3 are the same object before and after; the paper does not specify this.",
    "The edited object, identified by the edit's words, is never an artifact.",
    "The largest drop is reported too; an object that is gone counts with all of its confidence.",
)
RELEASED_DEVIATIONS = (
    *COMMON_DEVIATIONS,
    "Follows the authors' notebook: a rise of confidence counts like a drop; objects that cover 40% of the mask or "
    "more, hardly overlap it, or are inside it are ignored; touching boxes of one class are the same object.",
    "Lost objects count for additions only, and new ones for removals, if they touch no box of any class in the other "
    "picture; the box of the edited object is not used, because the notebook discards it.",
    "One size of the pictures instead of two, and the whole mask instead of each of its parts.",
)
SPECS = (
    ScoreSpec(
        "artifact", False, (0.0, 1.0), "Was an object around the edit damaged? 1 if `faded` or `gone` is.", "artifacts"
    ),
    ScoreSpec("artifact_score", False, (0.0, 1.0), "The largest loss of confidence of an object around the edit."),
    ScoreSpec("faded", False, (0.0, 1.0), "Did an object that overlaps the mask lose confidence? 1 or 0."),
    ScoreSpec("gone", False, (0.0, 1.0), "Did an object that overlapped the mask vanish without being edited? 1 or 0."),
)


class Artifacts(Protocol):
    """Both methods of section 4.2, whether either fires, and the largest loss of confidence."""

    about = "Did the edit leave artifacts? Objects around it that lost detector confidence or vanished."
    paper = PAPER
    version = "3"
    needs = ("detector",)
    uses = ("segmenter",)
    scores = SPECS

    def __init__(self, name: str, rule: Rule, deviations: tuple[str, ...], drop: float = DEFAULT_DROP) -> None:
        self.name = name
        self.deviations = deviations
        self._rule = rule
        self._drop = drop

    def variant(self, options: Mapping[str, str]) -> Artifacts:
        """Return `artifacts[drop=0.1]`, with the smallest loss of confidence that counts."""
        if set(options) != {"drop"}:
            raise BadInputError(
                f"The protocol '{self.name}' takes the option drop=CONFIDENCE, got [{', '.join(options)}]."
            )
        try:
            drop = float(options["drop"])
        except ValueError as error:
            raise BadInputError(f"{self.name}[drop=…] takes a number, got '{options['drop']}'.") from error
        if not 0 <= drop <= 1:
            raise BadInputError(f"{self.name}[drop=…] must be between 0 and 1, got {drop:g}.")
        return Artifacts(format_variant(self.name, options), self._rule, self.deviations, drop)

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Score each method, both together, and the largest loss."""
        has_region = item.mask is not None and bool(item.mask.any())  # a black mask means that nothing may change
        mask = item.mask if item.mask is not None and has_region else changes_of(item.source, item.edited).mask
        if not mask.any():
            unchanged = Score(0.0, (Note("Nothing changed, so nothing was damaged."),))
            return {spec.name: unchanged for spec in SPECS}
        words, point, images = artifact_labels(item.edit), operating_point(perception), (item.source, item.edited)

        async def detect_scene(outlined: set[BoxSides]) -> ArtifactScene:
            before, after = await gather(*(_detect(perception, image, words, point, outlined) for image in images))
            return ArtifactScene(item.edit, words.edited, before, after, mask, point, self._drop)

        needed_outlines, optional_outlines = self._outlines_to_segment(await detect_scene(set()))
        artifacts = self._rule(await detect_scene(needed_outlines))
        if optional_outlines and artifacts.largest <= self._drop:
            artifacts = self._rule(await detect_scene(needed_outlines | optional_outlines))
        return {
            "artifact": Score(float(bool(artifacts.faded or artifacts.vanished)), _evidence(artifacts, mask)),
            "artifact_score": Score(artifacts.largest),
            "faded": Score(float(bool(artifacts.faded))),
            "gone": Score(float(bool(artifacts.vanished))),
        }

    def _outlines_to_segment(self, scene: ArtifactScene) -> tuple[set[BoxSides], set[BoxSides]]:
        """Return boxes whose outline decides about the mask, and those that matter only without artifacts."""
        if self._rule is not paper_rule:
            return {
                detected.box
                for detected in (*scene.before, *scene.after)
                if detected.confidence >= scene.point and touches_mask(detected, scene.mask)
            }, set()
        everywhere = np.ones_like(scene.mask)
        lost = [affected for affected in affected_objects(scene.certain, scene.after, everywhere) if affected.drop > 0]
        vanished = [affected.before for affected in lost if affected.after is None]
        adjacent = [
            detected
            for detected in scene.edited_objects
            if any(boxes_overlap(missing, detected.box) for missing in vanished)
        ]
        faded = [affected for affected in lost if affected.after is not None]
        clear_losses = [*vanished, *(affected.before for affected in faded if affected.drop > self._drop)]
        slight_losses = [affected.before for affected in faded if affected.drop <= self._drop]
        needed, optional = (
            {
                detected.box
                for detected in objects
                if touches_mask(detected, scene.mask) and not scene.mask[detected.mask].all()
            }
            for objects in ((*clear_losses, *adjacent), slight_losses)
        )
        return needed, optional


async def _detect(
    perception: Perception, image: Pixels, words: ArtifactLabels, point: float, outlined: set[BoxSides]
) -> list[DetectedObject]:
    """Detect everything from half the operating point on, with outlines for some of the boxes."""
    objects = await detect_objects(perception, image, words.all, LOW_CONFIDENCE_FACTOR * point)
    return await outline_objects(perception, image, objects, lambda detected: detected.box in outlined)


def _evidence(artifacts: ArtifactFindings, mask: BoolMask) -> tuple[Evidence, ...]:
    pieces: list[Evidence] = [Region("source", mask, "the edit")]
    for affected in artifacts.faded:
        pieces += [Box("source", *affected.before.box, f"{affected.before.label}: before", affected.before.confidence)]
        if affected.after is not None:
            pieces += [Box("edited", *affected.after.box, f"{affected.before.label}: after", affected.after.confidence)]
            certain = f"from {affected.before.confidence:.2f} to {affected.after.confidence:.2f}"
            pieces += [Note(f"The detector's confidence in the {affected.before.label} went {certain}.")]
    for detected, side in artifacts.vanished:
        pieces += [
            Box(side, *detected.box, f"{detected.label}: {'gone' if side == 'source' else 'new'}", detected.confidence)
        ]
        pieces += [
            Note(f"The {detected.label} {'is gone' if side == 'source' else 'is new'}, which was not requested.")
        ]
    return tuple(pieces) if len(pieces) > 1 else (*pieces, Note("No object around the edit was damaged."))


artifacts = Artifacts("artifacts", paper_rule, PAPER_DEVIATIONS)
artifacts_as_released = Artifacts("artifacts@released", released_rule, RELEASED_DEVIATIONS)
