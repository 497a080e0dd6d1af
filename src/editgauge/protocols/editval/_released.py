"""EditVal as its authors' script computes it, faults included, so that published numbers compare like with like.

The script asks for object and class in one question and gives each of the network's patches to the phrase that it fits
best. It keeps the last box over the threshold, in the order of the patches, and reads a box's corners as if they were
center and size: its "center" is the top left corner, its "area" the product of the lower right one's coordinates.
Whatever is not found gives 0.
"""

from __future__ import annotations

from asyncio import gather
from typing import TYPE_CHECKING

from editgauge.protocols._objects import Sighting, look_for, look_for_rivals
from editgauge.protocols._rules import RuleSet, require, score_with_evidence, subject_of
from editgauge.types import Item, Score

if TYPE_CHECKING:
    from editgauge.evidence import Side
    from editgauge.models.interfaces import Perception
    from editgauge.protocols.editval._rules import EditValOptions, Rule

QUERY = "a photo of a {}"
DELTA = 200
PATCHES = 24
"""A side of OWL-ViT base-patch32's grid, by which the last box is identified where a detector does not keep its
order."""
DECIMALS = 2
"""The script rounds boxes, in pixels."""

Corners = tuple[float, float, float, float]


RULES: RuleSet[Rule] = RuleSet()
rule = RULES.rule


@rule("object_addition")
async def object_addition(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Object and class are found in the edited image."""
    added, kept = await _in_edited(item, perception, require(item.edit.to, "what to add"), subject_of(item.edit))
    return _verdict(added.found and kept.found, added, kept)


@rule("object_replacement")
async def object_replacement(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """The object is found in the edited image, the class is not."""
    added, kept = await _in_edited(
        item, perception, require(item.edit.to, "what to put in its place"), subject_of(item.edit)
    )
    return _verdict(added.found and not kept.found, added, kept)


@rule("positional_addition")
async def positional_addition(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """Both are looked for in the edited image; above and below are swapped."""
    words = _raw(item).split(" ")
    added, anchor = await _in_edited(item, perception, words[0], subject_of(item.edit))
    if not (added.found and anchor.found):
        return _verdict(False, added, anchor)
    (x, y, *_), (anchor_x, anchor_y, *_) = last_box(added, item), last_box(anchor, item)
    done = {"below": y < anchor_y, "top": y > anchor_y, "left": x < anchor_x, "right": x > anchor_x}
    return _verdict(done.get(words[-1], False), added, anchor)


@rule("position_replacement")
async def position_replacement(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """The left edge moved by more than 200 pixels, each image in its own; to the center always fails."""
    before, after = await _in_both(item, perception)
    if not (before.found and after.found):
        return _verdict(False, before, after)
    was, now = last_box(before, item)[0], last_box(after, item)[0]
    done = {"left": now < was - DELTA, "right": now > was + DELTA}
    return _verdict(done.get(_raw(item), False), before, after)


@rule("size")
async def size(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """The product of the lower right corner's coordinates grew or shrank."""
    before, after = await _in_both(item, perception)
    if not (before.found and after.found):
        return _verdict(False, before, after)
    was, now = (box[2] * box[3] for box in (last_box(before, item), last_box(after, item)))
    return _verdict({"large": now > was, "small": now < was}.get(_raw(item), False), before, after)


@rule("alter_parts")
async def alter_parts(item: Item, perception: Perception, options: EditValOptions) -> Score:
    """The part's corner lies within a box centered at the class's corner and as large as its far corner says."""
    part, whole = await _in_edited(item, perception, _raw(item), subject_of(item.edit))
    if not (part.found and whole.found):
        return _verdict(False, part, whole)
    (x, y, *_), (left, top, right, bottom) = last_box(part, item), last_box(whole, item)
    return _verdict(abs(x - left) < right / 2 and abs(y - top) < bottom / 2, part, whole)


def last_box(sighting: Sighting, item: Item) -> Corners:
    """The box that comes last in the network's own order, in pixels of its own file."""
    left, top, right, bottom = sighting.seen.boxes[_last(sighting, item)].tolist()
    across, down = _scale(item, sighting.on)
    rounded = (round(side, DECIMALS) for side in (left * across, top * down, right * across, bottom * down))
    return next(rounded), next(rounded), next(rounded), next(rounded)


def _last(sighting: Sighting, item: Item) -> int:
    seen = sighting.seen
    if seen.places is not None:
        return int(seen.places.argmax())
    height, width = item.source.shape[:2]
    centers = (seen.boxes[:, :2] + seen.boxes[:, 2:]) / 2 / (width, height) * PATCHES
    rows = [(int(y), int(x)) for x, y in centers.tolist()]
    return max(range(len(rows)), key=rows.__getitem__)


def _scale(item: Item, on: Side) -> tuple[float, float]:
    """From the source's frame, in which both pictures are seen, to the pixels of the file."""
    if on == "source" or item.resized_from is None:
        return 1.0, 1.0
    height, width = item.source.shape[:2]
    return item.resized_from[0] / width, item.resized_from[1] / height


async def _in_edited(item: Item, perception: Perception, *things: str) -> tuple[Sighting, Sighting]:
    first, second = await look_for_rivals(perception, item, "edited", things, QUERY)
    return first, second


async def _in_both(item: Item, perception: Perception) -> tuple[Sighting, Sighting]:
    thing = subject_of(item.edit)
    before, after = await gather(
        look_for(perception, item, "source", thing, QUERY), look_for(perception, item, "edited", thing, QUERY)
    )
    return before, after


def _raw(item: Item) -> str:
    """The words of EditVal's own file, such as 'wine glass to left'."""
    return str(item.edit.extras.get("to") or require(item.edit.to, "what it becomes"))


def _verdict(done: bool, *sightings: Sighting) -> Score:
    said = ", ".join(f"{each.words} in the {each.on} image" for each in sightings)
    return score_with_evidence(done, *sightings, said=said)
