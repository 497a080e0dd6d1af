"""Rules of EditVal (appendix C) with true geometry: centers and areas of boxes in the source's frame."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from editgauge._util.phrases import read_size
from editgauge._util.text import none_detected
from editgauge._vision.geometry import Third, box_area, middle, third, way
from editgauge.errors import UnscorableError
from editgauge.evidence import Arrow, Evidence
from editgauge.protocols._objects import DetectedObjects, detect
from editgauge.protocols._rules import (
    RuleSet,
    check_count,
    relation_phrase,
    requested_position,
    require,
    require_absent,
    score_with_evidence,
    subject_of,
)
from editgauge.types import Edit, Item, Score

if TYPE_CHECKING:
    from editgauge.evidence import Side
    from editgauge.models.perception import Perception
    from editgauge.types import Relation

QUERY = "a photo of {}"
"""Query of open-vocabulary detectors in the paper."""


@dataclass(frozen=True, slots=True)
class EditValOptions:
    """Options of an EditVal variant."""

    delta: float = 250
    """Minimum movement of an object: in pixels, or as a fraction of the width if below 1."""
    needs_class: bool = True
    """Whether an added object counts only if the image's class is still detected (section 3.2.2)."""


@dataclass(frozen=True, slots=True, eq=False)
class EditValScene:
    """An item with the detector that is queried about it."""

    item: Item
    perception: Perception
    options: EditValOptions

    @property
    def edit(self) -> Edit:
        """The request."""
        return self.item.edit

    @property
    def delta(self) -> float:
        """Minimum movement of an object in pixels."""
        delta = self.options.delta
        return delta if delta >= 1 else delta * self.item.source.shape[1]

    async def detect(self, side: Side, label: str, *, min_confidence: float | None = None) -> DetectedObjects:
        """Detect the objects of a label in one image."""
        return await detect(self.perception, self.item, side, label, QUERY, min_confidence=min_confidence)

    async def both(self, label: str) -> tuple[DetectedObjects, DetectedObjects]:
        """Detect the objects of a label in both images."""
        before, after = await gather(self.detect("source", label), self.detect("edited", label))
        return before, after


Rule = Callable[[EditValScene], Awaitable[Score]]
RULES: RuleSet[Rule] = RuleSet()
rule = RULES.rule


@rule("object_addition")
async def object_addition(scene: EditValScene) -> Score:
    """Require the new object and the old one in the edited image."""
    label, subject = require(scene.edit.to, "what to add"), scene.edit.subject
    if not (scene.options.needs_class and subject) or subject == label:
        added = await scene.detect("edited", label)
        enough, count_note = check_count(len(added), scene.edit.count)
        return score_with_evidence(enough, added, note=f"{added.summary}{count_note}")
    added, subject_objects = await gather(scene.detect("edited", label), scene.detect("edited", subject))
    enough, count_note = check_count(len(added), scene.edit.count)
    return score_with_evidence(
        enough and subject_objects.found,
        added,
        subject_objects,
        note=f"{added.summary}{count_note}, {subject_objects.summary}",
    )


@rule("object_replacement")
async def object_replacement(scene: EditValScene) -> Score:
    """Require the new object in the edited image, and the old one to be gone."""
    old = scene.edit.from_ or scene.edit.subject
    if old is None:
        return await _require_new_object(scene)
    new, gone = await gather(
        scene.detect("edited", require(scene.edit.to, "what to put in its place")),
        scene.detect("edited", old),
    )
    old_note = f"{gone.summary}: still there" if gone.found else f"no {old} seen"
    enough, count_note = check_count(len(new), scene.edit.count)
    done = enough and not gone.found
    return score_with_evidence(
        done, new, gone, note=f"{new.summary}{count_note}, {old_note}: {'replaced' if done else 'not replaced'}"
    )


async def _require_new_object(scene: EditValScene) -> Score:
    """Require that the new object is only in the edited image, if the edit names no old object."""
    label = require(scene.edit.to, "what to put in its place")
    before, new = await scene.both(label)
    require_absent(label, detected_in_source=before.found)
    enough, count_note = check_count(len(new), scene.edit.count)
    novelty = ", none in the source image" if new.found else ""
    return score_with_evidence(enough, before, new, note=f"{new.summary}{count_note}{novelty}")


@rule("positional_addition")
async def positional_addition(scene: EditValScene) -> Score:
    """Require the new object's center on the requested side of the anchor in the source image."""
    position = scene.edit.position
    if position is None:
        raise UnscorableError("not_applicable", "the edit does not say where to add it")
    beside, label = position.anchor or subject_of(scene.edit), require(scene.edit.to, "what to add")
    anchor, added = await gather(scene.detect("source", beside), scene.detect("edited", label))
    _require_in_source(anchor)
    if not added.found:
        return score_with_evidence(0, anchor, added, note=added.summary)
    right = on_side(middle(added.box), middle(anchor.box), position.relation)
    position_note = f"{'' if right else 'not '}{relation_phrase(position.relation)} the {anchor.label}"
    return score_with_evidence(
        right, anchor, added, note=f"{added.summary}, {position_note}", extra=_arrow(anchor, added)
    )


@rule("position_replacement")
async def position_replacement(scene: EditValScene) -> Score:
    """Require a horizontal movement of more than delta in the requested direction."""
    goal = requested_position(scene.edit)
    if goal.relation not in {"left", "right", "center"}:
        raise UnscorableError("no_rule", f"the rule knows left, right and center, not '{goal.relation}'")
    before, after = await _subject_in_both(scene)
    if not after.found:
        return score_with_evidence(0, before, after, note=f"{after.summary} in the edited image")
    width = scene.item.source.shape[1]
    start, end = middle(before.box)[0], middle(after.box)[0]
    direction = _direction(start, width, goal.relation)
    moved = (end - start) * (1 if direction == "right" else -1)
    distance = f"{moved:.0f} px ({moved / width:.0%} of the width)"
    note = f"the {before.label} moved {distance} {direction}; {scene.delta:.0f} are asked"
    return score_with_evidence(moved > scene.delta, before, after, note=note, extra=_arrow(before, after))


@rule("size")
async def size(scene: EditValScene) -> Score:
    """Require a larger or smaller box, as requested."""
    requested_size = read_size(require(scene.edit.to, "small or large"))
    before, after = await _subject_in_both(scene)
    if not after.found:
        return score_with_evidence(0, before, after, note=f"{after.summary} in the edited image")
    ratio = box_area(after.box) / max(box_area(before.box), 1.0)
    done = ratio > 1 if requested_size == "large" else ratio < 1
    return score_with_evidence(done, before, after, note=f"the {before.label}'s box has {ratio:.0%} of its former area")


@rule("alter_parts")
async def alter_parts(scene: EditValScene) -> Score:
    """Require the part, with its center in the box of the class."""
    label, subject = require(scene.edit.to, "which part"), subject_of(scene.edit)
    part, subject_objects = await gather(
        scene.detect("edited", label),
        scene.detect("edited", subject, min_confidence=0.0),
    )
    if not (part.found and subject_objects.found):
        return score_with_evidence(0, part, subject_objects, note=f"{part.summary}, {subject_objects.summary}")
    (x, y), (left, top, right, bottom) = middle(part.box), subject_objects.box
    inside = left <= x <= right and top <= y <= bottom
    return score_with_evidence(
        inside,
        part,
        subject_objects,
        note=f"{part.summary}, {'on' if inside else 'not on'} the {subject_objects.label}",
    )


def on_side(point: tuple[float, float], anchor: tuple[float, float], relation: Relation) -> bool:
    """Return whether a point lies left of, right of, above or below another; y grows downwards."""
    (x, y), (anchor_x, anchor_y) = point, anchor
    match relation:
        case "left":
            return x < anchor_x
        case "right":
            return x > anchor_x
        case "above" | "on":
            return y < anchor_y
        case "below":
            return y > anchor_y
    raise UnscorableError("no_rule", f"the rule knows left, right, above and below, not '{relation}'")


def _direction(start: float, width: float, relation: Relation) -> Relation:
    """Return left or right; for the center, the direction from the object's side to the middle."""
    if relation != "center":
        return relation
    center: Third = "center"
    return way(third(start, width), center) or ("right" if start < width / 2 else "left")


async def _subject_in_both(scene: EditValScene) -> tuple[DetectedObjects, DetectedObjects]:
    """Detect the class in both images; raise `UnscorableError` if it is not in the source image."""
    before, after = await scene.both(subject_of(scene.edit))
    _require_in_source(before)
    return before, after


def _require_in_source(objects: DetectedObjects) -> None:
    if not objects.found:
        raise UnscorableError(
            "not_detected", f"{none_detected(objects.label)} in the source image, where the rule starts"
        )


def score_detections(done: float, *detected: DetectedObjects) -> Score:
    """Return a score with what was detected in which image."""
    note = ", ".join(f"{objects.summary} in the {objects.side} image" for objects in detected)
    return score_with_evidence(done, *detected, note=note)


def _arrow(before: DetectedObjects, after: DetectedObjects) -> tuple[Evidence, ...]:
    label = f"from {before.label} to {after.label}"
    return (Arrow("edited", *middle(before.box), *middle(after.box), label=label),)


def _detects_phrase(phrase: str) -> Rule:
    async def detects_phrase(scene: EditValScene) -> Score:
        """Require the object as the edit describes it, in one phrase."""
        query = phrase.format(label=subject_of(scene.edit), to=require(scene.edit.to, "what it becomes"))
        objects = await scene.detect("edited", query)
        return score_with_evidence(objects.found, objects, note=objects.summary)

    return detects_phrase


PHRASES = {
    "action": "{label} {to}",
    "color": "{to} {label}",
    "shape": "{label} in the shape of {to}",
    "style": "{label} in {to} style",
    "texture": "{to} {label}",
    "viewpoint": "{label} from the {to}",
}
"""Queries for the types that the paper leaves to people, because detector scores correlate little with them
(appendix K). The paper does not say how the detector was queried."""
WITH_OTHER_TYPES: RuleSet[Rule] = RuleSet(RULES | {name: _detects_phrase(phrase) for name, phrase in PHRASES.items()})
