"""Rules of PixLens (supplement 7): one function per edit type, on outlines of objects."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import numpy as np

from editgauge._util.phrases import read_size
from editgauge._vision.colors import color_curves, color_score, rgb_of
from editgauge._vision.geometry import (
    DIRECTIONS,
    THIRDS,
    Third,
    centroid,
    containment,
    direction_score,
    third,
    third_score,
    way,
)
from editgauge.errors import UnscorableError
from editgauge.evidence import Arrow, Curves, Evidence
from editgauge.protocols._objects import DetectedObjects, require_found, segment
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
from editgauge.types import Score

if TYPE_CHECKING:
    from editgauge.evidence import Side
    from editgauge.models.perception import Perception
    from editgauge.types import Edit, Item


class PixLensScene:
    """An item with the detected objects that the rules compare."""

    def __init__(self, item: Item, perception: Perception) -> None:
        self.item = item
        self._perception = perception

    @property
    def diagonal(self) -> float:
        """Length of the images' diagonal in pixels."""
        height, width = self.item.source.shape[:2]
        return float(np.hypot(height, width))

    @property
    def width(self) -> int:
        """Width of the images in pixels."""
        return int(self.item.source.shape[1])

    async def objects(self, side: Side, name: str) -> DetectedObjects:
        """Detect the objects of a label in one image."""
        return await segment(self._perception, self.item, side, name)

    async def both(self, name: str) -> tuple[DetectedObjects, DetectedObjects]:
        """Detect the objects of a label in both images."""
        before, after = await gather(self.objects("source", name), self.objects("edited", name))
        return before, after


Rule = Callable[[PixLensScene], Awaitable[Score]]

MIN_SIZE_CHANGE = 0.1
MIN_CONTAINMENT = 0.9


RULES: RuleSet[Rule] = RuleSet()
rule = RULES.rule


@rule("object_addition")
async def object_addition(scene: PixLensScene) -> Score:
    """Algorithm 1: require the new object; nothing else is checked here."""
    before, added = await scene.both(_to(scene.item.edit))
    source_note = f"; {len(before)} seen in the source image already" if len(before) else ""
    enough, count_note = check_count(len(added), scene.item.edit.count)
    return score_with_evidence(enough, added, note=f"{added.count_summary}{count_note}{source_note}")


@rule("size")
async def size(scene: PixLensScene) -> Score:
    """Algorithm 2: require an area change of a tenth, and the smaller outline inside the larger one."""
    return await score_resized(scene, score_if_moved=0)


@rule("positional_addition")
async def positional_addition(scene: PixLensScene) -> Score:
    """Algorithm 3: score the direction from the category to the new object."""
    value, anchor, added = await score_placed(scene)
    return score_with_evidence(
        value, anchor, added, note=_position_note(scene, value, anchor, added), extra=arrow_between(anchor, added)
    )


@rule("position_replacement")
async def position_replacement(scene: PixLensScene) -> Score:
    """Algorithm 4, its inverted test corrected: score direction, and the requested third of the width."""
    before, after = await scene.both(subject_of(scene.item.edit))
    require_found(before)
    if not len(after):
        return score_with_evidence(0, before, after, note=f"{after.count_summary} in the edited image")
    start, end = centroid(before.largest), centroid(after.largest)
    target = requested_third(scene.item.edit)
    before_third, now = named_third(scene.item.edit.from_) or third(start[0], scene.width), third(end[0], scene.width)
    direction = way(before_third, target)
    relative = direction_score(start, end, direction, scene.diagonal) if direction else 0.0
    absolute = third_score(before_third, now, target)
    note = f"the {before.label} went from the {before_third} to the {now}, asked was the {target}"
    value = (relative + absolute) / 2 if relative > 0 else 0
    return score_with_evidence(value, before, after, note=note, extra=arrow_between(before, after))


@rule("object_replacement")
async def object_replacement(scene: PixLensScene) -> Score:
    """Algorithm 5: require the new object where the old one was; whether the old one is gone is a note."""
    if not (scene.item.edit.from_ or scene.item.edit.subject):
        return await _require_new_object(scene)
    name = _replaced_name(scene.item.edit)
    (value, old, new), remaining = await gather(score_replaced(scene), scene.objects("edited", name))
    enough, count_note = check_count(len(new), scene.item.edit.count)
    where = "" if not len(new) else f"{count_note} in its place" if value else f"{count_note} elsewhere"
    old_note = f"{old.label} {'still seen' if len(remaining) else 'gone'}"
    return score_with_evidence(value if enough else 0, old, new, note=f"{new.count_summary}{where}, {old_note}")


async def _require_new_object(scene: PixLensScene) -> Score:
    """Require that the new object is only in the edited image, if the edit names no old object."""
    target = _to(scene.item.edit)
    before, new = await scene.both(target)
    require_absent(target, detected_in_source=before.found)
    enough, count_note = check_count(len(new), scene.item.edit.count)
    novelty = ", none in the source image" if len(new) else ""
    return score_with_evidence(enough, new, note=f"{new.count_summary}{count_note}{novelty}")


@rule("object_removal")
async def object_removal(scene: PixLensScene) -> Score:
    """Algorithm 6: return the fraction of removed objects; if the edit names a count, score the count."""
    if scene.item.edit.count is not None:
        return await count_removed(scene)
    before, after = await scene.both(subject_of(scene.item.edit))
    require_found(before)
    note = f"{len(before)} {before.label} before, {len(after)} after"
    return score_with_evidence(max(0.0, 1 - len(after) / len(before)), before, after, note=note)


@rule("single_instance_removal")
async def count_removed(scene: PixLensScene) -> Score:
    """Return 1 if exactly the requested number is gone (one by default), 0.5 if more are, else 0."""
    before, after = await scene.both(subject_of(scene.item.edit))
    require_found(before)
    gone, target = len(before) - len(after), scene.item.edit.count or 1
    note = f"{len(before)} {before.label} before, {len(after)} after"
    return score_with_evidence(0 if gone < target else 1 if gone == target else 0.5, before, after, note=note)


@rule("alter_parts")
async def alter_parts(scene: PixLensScene) -> Score:
    """Algorithm 7: return the fraction of objects that meet their closest part."""
    subject, target = subject_of(scene.item.edit), _to(scene.item.edit)
    wholes, parts = await gather(scene.objects("source", subject), scene.objects("edited", target))
    require_found(wholes)
    if not len(parts):
        return score_with_evidence(0, wholes, parts, note=parts.count_summary)
    met = [bool((mask & parts.closest(centroid(mask))).any()) for mask in wholes.outlines]
    note = f"{sum(met)} of {len(met)} {wholes.label} have {parts.label}"
    return score_with_evidence(sum(met) / len(met), wholes, parts, note=note)


@rule("color")
async def color(scene: PixLensScene) -> Score:
    """Algorithm 8: compare the object's color histograms with those of the target color."""
    edit = scene.item.edit
    name = require(edit.to, "which color")
    target = rgb_of(name)
    before, after = await scene.both(subject_of(edit))
    require_found(before)
    require_found(after)
    where = after.closest(centroid(before.largest))
    value = color_score(scene.item.edited, where, target)
    histograms = Curves(
        f"red, green and blue of the {after.label}; dashed: of {name}",
        tuple(color_curves(scene.item.edited, where, target).items()),
    )
    note = f"the {after.label}'s colors fit {name} by {value:.2f}"
    return score_with_evidence(value, before, after, note=note, extra=(histograms,))


async def score_resized(scene: PixLensScene, score_if_moved: float) -> Score:
    """Return 1 if the object changed its size as requested in its position, `score_if_moved` if it moved."""
    before, after = await scene.both(subject_of(scene.item.edit))
    require_found(before)
    if not len(after):
        return score_with_evidence(0, before, after, note=f"{after.count_summary} in the edited image")
    before_third = before.largest
    now = after.closest(centroid(before_third))
    ratio, inside = float(now.sum() / before_third.sum()), containment(before_third, now)
    requested_size = read_size(require(scene.item.edit.to, "small or large"))
    done = ratio < 1 - MIN_SIZE_CHANGE if requested_size == "small" else ratio > 1 + MIN_SIZE_CHANGE
    note = f"the {before.label} has {ratio:.0%} of its former area, {inside:.0%} of the smaller outline is in the other"
    return score_with_evidence(
        (1 if inside > MIN_CONTAINMENT else score_if_moved) if done else 0, before, after, note=note
    )


async def score_replaced(scene: PixLensScene) -> tuple[float, DetectedObjects, DetectedObjects]:
    """Return whether the new object meets the old outline, with both objects."""
    gone, target = _replaced_name(scene.item.edit), _to(scene.item.edit)
    old, new = await gather(scene.objects("source", gone), scene.objects("edited", target))
    require_found(old)
    if not len(new):
        return 0.0, old, new
    before_third = old.largest
    return float((before_third & new.closest(centroid(before_third))).any()), old, new


async def score_placed(scene: PixLensScene) -> tuple[float, DetectedObjects, DetectedObjects]:
    """Return how well the new object lies on the requested side of the anchor in the source image, with both."""
    edit = scene.item.edit
    if edit.position is None or edit.position.relation not in DIRECTIONS:
        raise UnscorableError("not_applicable", "the edit does not say left, right, above or below what")
    beside, target = edit.position.anchor or subject_of(edit), _to(edit)
    anchor, added = await gather(scene.objects("source", beside), scene.objects("edited", target))
    require_found(anchor)
    if not len(added):
        return 0.0, anchor, added
    start, end = centroid(anchor.largest), centroid(added.largest)
    return direction_score(start, end, edit.position.relation, scene.diagonal), anchor, added


def arrow_between(before: DetectedObjects, after: DetectedObjects) -> tuple[Evidence, ...]:
    """Return an arrow from the center of one object to that of another."""
    if not (len(before) and len(after)):
        return ()
    start, end = centroid(before.largest), centroid(after.largest)
    return (Arrow("edited", *start, *end, label=f"from {before.label} to {after.label}"),)


def _position_note(scene: PixLensScene, value: float, anchor: DetectedObjects, added: DetectedObjects) -> str:
    position = scene.item.edit.position
    if not len(added) or position is None:
        return added.count_summary
    fit = "straight" if value > 0.9 else "roughly" if value > 0 else "not"
    return f"{added.count_summary}, {fit} {relation_phrase(position.relation)} the {anchor.label}"


def requested_third(edit: Edit) -> Third:
    """Return the third of the width that the edit requests."""
    relation = requested_position(edit).relation
    target = named_third(relation)
    if target is None:
        raise UnscorableError("no_rule", f"the rule knows left, right and center, not '{relation}'")
    return target


def named_third(word: str | None) -> Third | None:
    """Return the third of the width that a word names, or None."""
    return next((name for name in THIRDS if name == word), None)


def _replaced_name(edit: Edit) -> str:
    return edit.from_ or subject_of(edit)


def _to(edit: Edit) -> str:
    return require(edit.to, "what is to be there")
