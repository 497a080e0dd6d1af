"""EditVal as appendix C prints it: top left corners of boxes, and 0 where an object is not detected.

A third reading beside `_rules` (true geometry, unscored where the source lacks the object) and `_released` (the
authors' script), so that the effect of each reading can be compared.
"""

from __future__ import annotations

from asyncio import gather
from typing import TYPE_CHECKING

from editgauge._util.phrases import read_size
from editgauge._vision.geometry import box_area
from editgauge.protocols._rules import RuleSet, requested_position, require, subject_of
from editgauge.protocols.editval._rules import score_detections
from editgauge.types import Score

if TYPE_CHECKING:
    from editgauge.protocols.editval._rules import EditValScene, Rule
    from editgauge.types import Edit

RULES: RuleSet[Rule] = RuleSet()
rule = RULES.rule


@rule("object_addition")
async def object_addition(scene: EditValScene) -> Score:
    """Algorithm 1: require the new object in the edited image."""
    added = await scene.detect("edited", require(scene.edit.to, "what to add"))
    return score_detections(added.found, added)


@rule("positional_addition")
async def positional_addition(scene: EditValScene) -> Score:
    """Algorithm 2: compare the left edges of the object and of the class; other sides than left and right fail."""
    relation = requested_position(scene.edit).relation
    anchor, added = await gather(
        scene.detect("source", _anchor(scene.edit)),
        scene.detect("edited", require(scene.edit.to, "what to add")),
    )
    if not (anchor.found and added.found):
        return score_detections(0, anchor, added)
    done = {"left": added.box[0] < anchor.box[0], "right": added.box[0] > anchor.box[0]}
    return score_detections(done.get(relation, False), anchor, added)


@rule("object_replacement")
async def object_replacement(scene: EditValScene) -> Score:
    """Algorithm 3: require the new object, and not the class, in the edited image."""
    old, new = await gather(
        scene.detect("edited", scene.edit.from_ or subject_of(scene.edit)),
        scene.detect("edited", require(scene.edit.to, "what to put in its place")),
    )
    return score_detections(new.found and not old.found, old, new)


@rule("alter_parts")
async def alter_parts(scene: EditValScene) -> Score:
    """Algorithm 4: require the part's top left corner inside the box of the class, detected at any confidence."""
    subject, part = await gather(
        scene.detect("edited", subject_of(scene.edit), min_confidence=0.0),
        scene.detect("edited", require(scene.edit.to, "which part")),
    )
    if not (subject.found and part.found):
        return score_detections(0, subject, part)
    (x, y, *_), (left, top, right, bottom) = part.box, subject.box
    return score_detections(left <= x <= right and top <= y <= bottom, subject, part)


@rule("position_replacement")
async def position_replacement(scene: EditValScene) -> Score:
    """Algorithm 5: require a left edge that moved by more than delta; other positions than left and right fail."""
    relation = requested_position(scene.edit).relation
    before, after = await scene.both(subject_of(scene.edit))
    if not (before.found and after.found):
        return score_detections(0, before, after)
    moved = after.box[0] - before.box[0]
    return score_detections(
        {"left": moved < -scene.delta, "right": moved > scene.delta}.get(relation, False), before, after
    )


@rule("size")
async def size(scene: EditValScene) -> Score:
    """Algorithm 6: require a larger or smaller box; the paper does not state its minimum change, so there is none."""
    requested = read_size(require(scene.edit.to, "small or large"))
    before, after = await scene.both(subject_of(scene.edit))
    if not (before.found and after.found):
        return score_detections(0, before, after)
    change = box_area(after.box) - box_area(before.box)
    return score_detections(change > 0 if requested == "large" else change < 0, before, after)


def _anchor(edit: Edit) -> str:
    position = edit.position
    return (position.anchor if position else None) or subject_of(edit)
