"""PixLens as its released code computes it, where that differs from the paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import skimage.metrics

from editgauge._vision.geometry import Third, centroid, direction_score, third, third_score
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.protocols._objects import (
    DetectedObjects,
    from_instances,
    image_of,
    require_found,
    suppress_duplicates,
    with_outline,
)
from editgauge.protocols._rules import RuleSet, require, score_with_evidence, subject_of
from editgauge.protocols.pixlens import _rules
from editgauge.protocols.pixlens._preservation import union_of
from editgauge.protocols.pixlens._rules import PixLensScene, Rule
from editgauge.types import Score

if TYPE_CHECKING:
    from editgauge._util.images import Unit
    from editgauge._util.masks import BoolMask
    from editgauge.evidence import Side
    from editgauge.models.answers import Instances
    from editgauge.types import Edit, Relation

_structural_similarity: Any = skimage.metrics.structural_similarity  # says no types
RULES: RuleSet[Rule] = RuleSet(_rules.RULES)
rule = RULES.rule
DIRECTIONS: dict[Third, Relation] = {"left": "left", "right": "right"}
DIRECTIONS_TO_CENTER: dict[str, Relation] = {"left": "right", "right": "left"}
"""Direction from a side to the center."""


class ReleasedScene(PixLensScene):
    """Objects as the released code detects them: one query per image, whose boxes suppress each other.

    A label matches every phrase that contains it, so 'apple' matches 'pineapple'.
    """

    async def objects(self, side: Side, name: str) -> DetectedObjects:
        """Return the objects whose phrase contains the label."""
        return await self._matching(side, name, lambda phrases: any(name in phrase for phrase in phrases))

    async def named_exactly(self, side: Side, name: str) -> DetectedObjects:
        """Return the objects that match this label and no other; for the background score."""
        return await self._matching(side, name, lambda phrases: phrases == {name})

    async def everything(self, side: Side) -> DetectedObjects:
        """Return all objects of one image's query."""
        instances, _ = await self._all(side)
        return from_instances("any object of the edit", side, with_outline(instances))

    async def _matching(self, side: Side, name: str, matches: Callable[[set[str]], bool]) -> DetectedObjects:
        instances, phrases = await self._all(side)
        indices = [index for index, matched in enumerate(phrases) if matches(matched)]
        return from_instances(name, side, with_outline(instances.only(indices)))

    async def _all(self, side: Side) -> tuple[Instances, list[set[str]]]:
        """Return the objects of one image, and the phrases that each of them matches."""
        instances = await self._perception.instances(image_of(self.item, side), *queried_phrases(self.item.edit, side))
        answers: dict[tuple[float, ...], set[str]] = {}
        first: dict[tuple[float, ...], int] = {}
        for index, box in enumerate(map(tuple, instances.detections.boxes.tolist())):
            answers.setdefault(box, set()).add(instances.detections.phrases[index])
            first.setdefault(box, index)
        boxes = instances.only(list(first.values()))
        unique = suppress_duplicates(boxes.detections.boxes)
        phrases = list(answers.values())
        return boxes.only(unique), [phrases[index] for index in unique]


def queried_phrases(edit: Edit, side: Side) -> tuple[str, ...]:
    """Return what the released code queries for one of the images."""
    kind = EDIT_TYPES[edit.type]
    if edit.type == "object_replacement":
        names = [edit.from_ if side == "source" else edit.to]
    elif side == "edited" and edit.type == "alter_parts":
        names = [edit.to]
    elif side == "edited" and kind.effect == "adds":
        names = [edit.subject, edit.to]
    else:
        names = [edit.subject]
    return tuple(dict.fromkeys(name for name in names if name))


@rule("size")
async def size(scene: PixLensScene) -> Score:
    """Score a resized object that moved by a half."""
    return await _rules.score_resized(scene, score_if_moved=0.5)


@rule("positional_addition")
async def positional_addition(scene: PixLensScene) -> Score:
    """Average the direction with whether the category is still detected."""
    value, anchor, added = await _rules.score_placed(scene)
    remaining = await scene.objects("edited", subject_of(scene.item.edit))
    final = (value + (len(remaining) > 0)) / 2 if value > 0 else 0
    return score_with_evidence(
        final, anchor, added, note=f"{added.count_summary}, direction {value:.2f}, {remaining.count_summary}"
    )


@rule("position_replacement")
async def position_replacement(scene: PixLensScene) -> Score:
    """Take the object's former position from the edit, not from the image."""
    edit = scene.item.edit
    before, after = await scene.both(subject_of(edit))
    require_found(before)
    if not len(after):
        return score_with_evidence(0, before, after, note=f"{after.count_summary} in the edited image")
    target = _rules.requested_third(edit)
    direction = DIRECTIONS.get(target) or DIRECTIONS_TO_CENTER.get(edit.from_ or "")
    if direction is None:
        raise UnscorableError("no_rule", "the released code fails for a move to the center from neither left nor right")
    start, end = centroid(before.largest), centroid(after.largest)
    now = third(end[0] - 0.5, scene.width)  # it counts pixels from 0, not from their centers
    relative = direction_score(start, end, direction, scene.diagonal)
    was = _rules.named_third(edit.from_)
    absolute = third_score(was, now, target) if was else float(now == target)
    value = (relative + absolute) / 2 if relative > 0 else 0
    note = f"the {before.label} is now in the {now}, asked was the {target}"
    return score_with_evidence(value, before, after, note=note, extra=_rules.arrow_between(before, after))


@rule("object_replacement")
async def object_replacement(scene: PixLensScene) -> Score:
    """Ignore whether the old object is gone."""
    value, old, new = await _rules.score_replaced(scene)
    where = "" if not len(new) else " in its place" if value else " elsewhere"
    return score_with_evidence(value, old, new, note=f"{new.count_summary}{where}")


async def background_masks(scene: PixLensScene) -> BoolMask:
    """Return the pixels that are no background; a moved object's new position is background."""
    if not isinstance(scene, ReleasedScene):
        raise TypeError("the released background score needs what the released code sees")
    edit = scene.item.edit
    if edit.type in {"object_addition", "positional_addition"}:
        return union_of(scene, [await scene.named_exactly("edited", require(edit.to, "what to add"))])
    if edit.type in {"object_replacement", "alter_parts", "single_instance_removal"}:
        return union_of(scene, [await scene.everything("source"), await scene.everything("edited")])
    return union_of(scene, [await scene.named_exactly("source", subject_of(edit))])


def similarity(before: Unit, after: Unit) -> float:
    """Return SSIM with scikit-image's defaults, a uniform window of 7 x 7 pixels."""
    return float(_structural_similarity(before, after, channel_axis=2, data_range=1.0))
