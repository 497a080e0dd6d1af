"""EditVal as appendix C prints it: top left corners of boxes, and 0 where an object is not detected.

A third reading beside `_rules` (true geometry, unscored where the source lacks the object) and `_released` (the
authors' script), so that the effect of each reading can be compared.
"""

from __future__ import annotations

from asyncio import gather
from typing import TYPE_CHECKING

from editgauge._util.phrases import read_size
from editgauge._vision.geometry import box_area
from editgauge.protocols._objects import DetectedObjects, detect
from editgauge.protocols._rules import RuleSet, requested_position, require, score_with_evidence, subject_of
from editgauge.protocols.editval._rules import QUERY
from editgauge.types import Item, Score

if TYPE_CHECKING:
    from editgauge.evidence import Side
    from editgauge.models.perception import Perception
    from editgauge.protocols.editval._rules import EditValOptions, Rule

RULES: RuleSet[Rule] = RuleSet()
rule = RULES.rule


@rule("object_addition")
async def object_addition(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Algorithm 1: require the new object in the edited image."""
    added = await _detect(perception, item, "edited", require(item.edit.to, "what to add"))
    return _score(added.found, added)


@rule("positional_addition")
async def positional_addition(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Algorithm 2: compare the left edges of the object and of the class; other sides than left and right fail."""
    relation = requested_position(item.edit).relation
    anchor, added = await gather(
        _detect(perception, item, "source", _anchor(item)),
        _detect(perception, item, "edited", require(item.edit.to, "what to add")),
    )
    if not (anchor.found and added.found):
        return _score(0, anchor, added)
    done = {"left": added.box[0] < anchor.box[0], "right": added.box[0] > anchor.box[0]}
    return _score(done.get(relation, False), anchor, added)


@rule("object_replacement")
async def object_replacement(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Algorithm 3: require the new object, and not the class, in the edited image."""
    old, new = await gather(
        _detect(perception, item, "edited", item.edit.from_ or subject_of(item.edit)),
        _detect(perception, item, "edited", require(item.edit.to, "what to put in its place")),
    )
    return _score(new.found and not old.found, old, new)


@rule("alter_parts")
async def alter_parts(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Algorithm 4: require the part's top left corner inside the box of the class, detected at any confidence."""
    subject, part = await gather(
        detect(perception, item, "edited", subject_of(item.edit), QUERY, min_confidence=0.0),
        _detect(perception, item, "edited", require(item.edit.to, "which part")),
    )
    if not (subject.found and part.found):
        return _score(0, subject, part)
    (x, y, *_), (left, top, right, bottom) = part.box, subject.box
    return _score(left <= x <= right and top <= y <= bottom, subject, part)


@rule("position_replacement")
async def position_replacement(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Algorithm 5: require a left edge that moved by more than delta; other positions than left and right fail."""
    relation = requested_position(item.edit).relation
    before, after = await _detect_in_both(perception, item)
    if not (before.found and after.found):
        return _score(0, before, after)
    moved = after.box[0] - before.box[0]
    delta = options.delta if options.delta >= 1 else options.delta * item.source.shape[1]
    return _score({"left": moved < -delta, "right": moved > delta}.get(relation, False), before, after)


@rule("size")
async def size(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Algorithm 6: require a larger or smaller box; the paper does not state its minimum change, so there is none."""
    requested = read_size(require(item.edit.to, "small or large"))
    before, after = await _detect_in_both(perception, item)
    if not (before.found and after.found):
        return _score(0, before, after)
    change = box_area(after.box) - box_area(before.box)
    return _score(change > 0 if requested == "large" else change < 0, before, after)


def _anchor(item: Item) -> str:
    position = item.edit.position
    return (position.anchor if position else None) or subject_of(item.edit)


async def _detect(perception: Perception, item: Item, side: Side, label: str) -> DetectedObjects:
    return await detect(perception, item, side, label, QUERY)


async def _detect_in_both(perception: Perception, item: Item) -> tuple[DetectedObjects, DetectedObjects]:
    label = subject_of(item.edit)
    before, after = await gather(_detect(perception, item, "source", label), _detect(perception, item, "edited", label))
    return before, after


def _score(done: float, *detected: DetectedObjects) -> Score:
    note = ", ".join(f"{objects.summary} in the {objects.side} image" for objects in detected)
    return score_with_evidence(done, *detected, note=note)
