"""EditVal's rules (appendix C), read with true geometry: centers and areas of boxes, in the source picture's frame."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from editgauge._util.phrases import read_size
from editgauge._util.text import none_seen
from editgauge._vision.geometry import Third, box_area, middle, third, way
from editgauge.errors import UnscorableError
from editgauge.evidence import Arrow, Evidence
from editgauge.protocols._objects import Sighting, look_for
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
from editgauge.types import Item, Score

if TYPE_CHECKING:
    from editgauge.evidence import Side
    from editgauge.models.interfaces import Perception
    from editgauge.types import Relation

QUERY = "a photo of {}"
"""What a detector for any phrase is asked, by the paper."""


@dataclass(frozen=True, slots=True)
class EditValOptions:
    """What a variant may change."""

    delta: float = 250
    """How far an object must move: in pixels, or as a share of the width when below 1."""
    needs_class: bool = True
    """Whether an added object counts only while the image's class is still seen (section 3.2.2)."""


Rule = Callable[[Item, "Perception", EditValOptions], Awaitable[Score]]
RULES: RuleSet[Rule] = RuleSet()
rule = RULES.rule


@rule("object_addition")
async def object_addition(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """The new object is seen in the edited image, and the old one still is."""
    wanted, subject = require(item.edit.to, "what to add"), item.edit.subject
    if not (options.needs_class and subject) or subject == wanted:
        added = await _seen(perception, item, "edited", wanted)
        enough, counted = check_count(len(added.seen), item.edit.count)
        return score_with_evidence(enough, added, said=f"{added.words}{counted}")
    added, kept = await gather(_seen(perception, item, "edited", wanted), _seen(perception, item, "edited", subject))
    enough, counted = check_count(len(added.seen), item.edit.count)
    return score_with_evidence(enough and kept.found, added, kept, said=f"{added.words}{counted}, {kept.words}")


@rule("object_replacement")
async def object_replacement(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """The new object is seen in the edited image, and the old one is not."""
    old = item.edit.from_ or item.edit.subject
    if old is None:
        return await _appeared(item, perception)
    new, gone = await gather(
        _seen(perception, item, "edited", require(item.edit.to, "what to put in its place")),
        _seen(perception, item, "edited", old),
    )
    fate = f"{gone.words}: still there" if gone.found else f"{old} gone"
    enough, counted = check_count(len(new.seen), item.edit.count)
    done = enough and not gone.found
    return score_with_evidence(
        done, new, gone, said=f"{new.words}{counted}, {fate}: {'replaced' if done else 'not replaced'}"
    )


async def _appeared(item: Item, perception: Perception) -> Score:
    """A target caption alone ("a photo of a zebra") names no old object: the new one must not have been there."""
    wanted = require(item.edit.to, "what to put in its place")
    before, new = await gather(*(_seen(perception, item, side, wanted) for side in ("source", "edited")))
    require_absent(before.found, wanted)
    enough, counted = check_count(len(new.seen), item.edit.count)
    came = ", none in the source image" if new.found else ""
    return score_with_evidence(enough, before, new, said=f"{new.words}{counted}{came}")


@rule("positional_addition")
async def positional_addition(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """The new object's center lies on the asked side of where the class was in the source image."""
    position = item.edit.position
    if position is None:
        raise UnscorableError("not_applicable", "the edit does not say where to add it")
    beside, wanted = position.anchor or subject_of(item.edit), require(item.edit.to, "what to add")
    anchor, added = await gather(_seen(perception, item, "source", beside), _seen(perception, item, "edited", wanted))
    _must_be_seen(anchor)
    if not added.found:
        return score_with_evidence(False, anchor, added, said=added.words)
    right = on_side(middle(added.box), middle(anchor.box), position.relation)
    place = f"{'' if right else 'not '}{relation_phrase(position.relation)} the {anchor.thing}"
    return score_with_evidence(right, anchor, added, said=f"{added.words}, {place}", more=_way(anchor, added))


@rule("position_replacement")
async def position_replacement(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """The object moved sideways, by more than delta, to where it should be."""
    goal = requested_position(item.edit)
    if goal.relation not in {"left", "right", "center"}:
        raise UnscorableError("no_rule", f"the rule knows left, right and center, not '{goal.relation}'")
    before, after = await _both(perception, item)
    if not after.found:
        return score_with_evidence(False, before, after, said=f"{after.words} in the edited image")
    width = item.source.shape[1]
    start, end = middle(before.box)[0], middle(after.box)[0]
    direction = _direction(start, width, goal.relation)
    moved = (end - start) * (1 if direction == "right" else -1)
    delta = options.delta if options.delta >= 1 else options.delta * width
    said = (
        f"the {before.thing} moved {moved:.0f} px ({moved / width:.0%} of the width) {direction}; {delta:.0f} are asked"
    )
    return score_with_evidence(moved > delta, before, after, said=said, more=_way(before, after))


@rule("size")
async def size(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """The object's box is larger than it was, or smaller, as asked."""
    wish = read_size(require(item.edit.to, "small or large"))
    before, after = await _both(perception, item)
    if not after.found:
        return score_with_evidence(False, before, after, said=f"{after.words} in the edited image")
    ratio = box_area(after.box) / max(box_area(before.box), 1.0)
    done = ratio > 1 if wish == "large" else ratio < 1
    return score_with_evidence(done, before, after, said=f"the {before.thing}'s box has {ratio:.0%} of its former area")


@rule("alter_parts")
async def alter_parts(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """The part is seen, and its center is in the box of the class."""
    wanted, subject = require(item.edit.to, "which part"), subject_of(item.edit)
    part, whole = await gather(
        _seen(perception, item, "edited", wanted), look_for(perception, item, "edited", subject, QUERY, least=0.0)
    )
    if not (part.found and whole.found):
        return score_with_evidence(False, part, whole, said=f"{part.words}, {whole.words}")
    (x, y), (left, top, right, bottom) = middle(part.box), whole.box
    inside = left <= x <= right and top <= y <= bottom
    return score_with_evidence(
        inside, part, whole, said=f"{part.words}, {'on' if inside else 'not on'} the {whole.thing}"
    )


def on_side(point: tuple[float, float], anchor: tuple[float, float], relation: Relation) -> bool:
    """Does a point lie left of, right of, above or below another? y grows downwards."""
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
    """Left, right, or from the object's own side to the middle."""
    if relation != "center":
        return relation
    towards: Third = "center"
    return way(third(start, width), towards) or ("right" if start < width / 2 else "left")


async def _both(perception: Perception, item: Item) -> tuple[Sighting, Sighting]:
    """The class in the source image, without which nothing can be compared, and in the edited one."""
    before, after = await gather(
        *(_seen(perception, item, side, subject_of(item.edit)) for side in ("source", "edited"))
    )
    _must_be_seen(before)
    return before, after


async def _seen(perception: Perception, item: Item, on: Side, thing: str) -> Sighting:
    return await look_for(perception, item, on, thing, QUERY)


def _must_be_seen(sighting: Sighting) -> None:
    if not sighting.found:
        raise UnscorableError("not_detected", f"{none_seen(sighting.thing)} in the source image, where the rule starts")


def _way(before: Sighting, after: Sighting) -> tuple[Evidence, ...]:
    label = f"from {before.thing} to {after.thing}"
    return (Arrow("edited", *middle(before.box), *middle(after.box), label=label),)


def _seen_as(phrase: str) -> Rule:
    async def seen_as_asked(item: Item, perception: Perception, options: EditValOptions) -> Score:
        """The detector finds the object as the edit wants it."""
        query = phrase.format(thing=subject_of(item.edit), to=require(item.edit.to, "what it becomes"))
        seen = await _seen(perception, item, "edited", query)
        return score_with_evidence(seen.found, seen, said=seen.words)

    return seen_as_asked


PHRASES = {
    "action": "{thing} {to}",
    "color": "{to} {thing}",
    "shape": "{thing} in the shape of {to}",
    "style": "{thing} in {to} style",
    "texture": "{to} {thing}",
    "viewpoint": "{thing} from the {to}",
}
"""The types that the paper leaves to people, because detector scores correlate little with them (appendix K). It does
not say how the detector is asked: here, for the object as the edit wants it, in one phrase."""
WITH_OTHER_TYPES: RuleSet[Rule] = RuleSet(RULES | {name: _seen_as(phrase) for name, phrase in PHRASES.items()})
