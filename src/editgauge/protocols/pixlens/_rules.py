"""What PixLens's rules look at: the objects of both pictures with their outlines, asked for when needed."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge._util.phrases import read_size
from editgauge._util.text import none_seen
from editgauge._vision.colors import color_curves, color_score, rgb_of
from editgauge._vision.geometry import (
    DIRECTIONS,
    THIRDS,
    Masks,
    Point,
    Third,
    box_overlap,
    centroid,
    closest,
    containment,
    direction_score,
    largest,
    third,
    third_score,
    way,
)
from editgauge.errors import UnscorableError
from editgauge.evidence import Arrow, Curves, Evidence
from editgauge.protocols._objects import picture
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
    from editgauge._util.masks import BoolMask
    from editgauge.evidence import Side
    from editgauge.models.answers import Instances
    from editgauge.models.interfaces import Perception
    from editgauge.types import Edit, Item

SAME = 0.5
"""Two boxes that overlap more are one object (non-maximum suppression of the released code)."""


@dataclass(frozen=True, slots=True, eq=False)
class Things:
    """All objects of one kind in one picture."""

    name: str
    on: Side
    seen: Instances

    def __len__(self) -> int:
        return len(self.seen)

    @property
    def masks(self) -> Masks:
        """n x height x width; objects whose outline is empty are left out."""
        return self.seen.masks

    @property
    def largest(self) -> BoolMask:
        """The one with most pixels (`MultiplicityHandler.LARGEST`)."""
        return np.asarray(self.masks[largest(self.masks)])

    def closest(self, to: Point) -> BoolMask:
        """The one whose center is nearest (`MultiplicityHandler.CLOSEST`)."""
        return np.asarray(self.masks[closest(self.masks, to)])

    @property
    def words(self) -> str:
        """What a person would say."""
        if not len(self):
            return f"no {self.name} seen"
        best = f"{self.seen.detections.confidences[0]:.2f}".removeprefix("0")
        if len(self) == 1:
            return f"{self.name} {best} found"
        return f"{len(self)} times {self.name} found, most confident {best}"

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Boxes and outlines."""
        return self.seen.evidence(self.on)


class PixLensScene:
    """An item as the rules see it."""

    def __init__(self, item: Item, perception: Perception) -> None:
        self.item = item
        self._perception = perception

    @property
    def diagonal(self) -> float:
        """Of the pictures, in pixels."""
        height, width = self.item.source.shape[:2]
        return float(np.hypot(height, width))

    @property
    def width(self) -> int:
        """Of the pictures, in pixels."""
        return int(self.item.source.shape[1])

    async def things(self, on: Side, name: str) -> Things:
        """The objects of that name in one of the pictures; asked twice, they are seen once."""
        return Things(name, on, _one_each(await self._perception.instances(picture(self.item, on), name)))

    async def both(self, name: str) -> tuple[Things, Things]:
        """The objects of that name in the source image and in the edited one."""
        before, after = await gather(self.things("source", name), self.things("edited", name))
        return before, after


def must_be_seen(things: Things) -> Things:
    """The rule starts from them: without them nothing can be said about the edit."""
    if not len(things):
        raise UnscorableError("not_detected", f"{none_seen(things.name)} in the {things.on} image")
    return things


def _one_each(seen: Instances) -> Instances:
    """Without boxes that show the same object again, and without empty outlines."""
    outlined = with_outline(seen)
    return outlined.only(separate(outlined.detections.boxes))


def with_outline(seen: Instances) -> Instances:
    """Those of which the segmenter found any pixel."""
    return seen.only([place for place, mask in enumerate(seen.masks) if mask.any()])


def separate(boxes: NDArray[np.float32]) -> list[int]:
    """The indices of boxes that overlap no more confident box by more than `SAME`; boxes are sorted by confidence."""
    kept: list[int] = []
    corners = boxes.tolist()
    for place, box in enumerate(corners):
        if all(box_overlap(box, corners[other]) <= SAME for other in kept):
            kept.append(place)
    return kept


Rule = Callable[[PixLensScene], Awaitable[Score]]

LEAST_CHANGE = 0.1
STAYED = 0.9


RULES: RuleSet[Rule] = RuleSet()
rule = RULES.rule


@rule("object_addition")
async def object_addition(scene: PixLensScene) -> Score:
    """Algorithm 1: the new object is seen; nothing else is asked here."""
    before, added = await scene.both(_to(scene.item.edit))
    already = f"; {len(before)} seen in the source image already" if len(before) else ""
    enough, counted = check_count(len(added), scene.item.edit.count)
    return score_with_evidence(enough, added, said=f"{added.words}{counted}{already}")


@rule("size")
async def size(scene: PixLensScene) -> Score:
    """Algorithm 2: the outline grew or shrank by a tenth at least, and the smaller one is in the larger."""
    return await resized(scene, worth_elsewhere=0)


@rule("positional_addition")
async def positional_addition(scene: PixLensScene) -> Score:
    """Algorithm 3: the way from the category to the new object goes in the asked direction."""
    value, anchor, added = await placed(scene)
    return score_with_evidence(
        value, anchor, added, said=_place_note(scene, value, anchor, added), more=way_between(anchor, added)
    )


@rule("position_replacement")
async def position_replacement(scene: PixLensScene) -> Score:
    """Algorithm 4, its inverted test corrected: moved in the asked direction, and into the asked third of the width."""
    before, after = await scene.both(subject_of(scene.item.edit))
    must_be_seen(before)
    if not len(after):
        return score_with_evidence(0, before, after, said=f"{after.words} in the edited image")
    start, end = centroid(before.largest), centroid(after.largest)
    wanted = asked_third(scene.item.edit)
    was, now = named_third(scene.item.edit.from_) or third(start[0], scene.width), third(end[0], scene.width)
    towards = way(was, wanted)
    relative = direction_score(start, end, towards, scene.diagonal) if towards else 0.0
    absolute = third_score(was, now, wanted)
    said = f"the {before.name} went from the {was} to the {now}, asked was the {wanted}"
    value = (relative + absolute) / 2 if relative > 0 else 0
    return score_with_evidence(value, before, after, said=said, more=way_between(before, after))


@rule("object_replacement")
async def object_replacement(scene: PixLensScene) -> Score:
    """Algorithm 5: the new object lies where the old one was. Whether the old one is gone is reported, not scored."""
    if not (scene.item.edit.from_ or scene.item.edit.subject):
        return await _appeared(scene)
    name = _replaced_name(scene.item.edit)
    (value, old, new), still = await gather(replaced(scene), scene.things("edited", name))
    enough, counted = check_count(len(new), scene.item.edit.count)
    where = "" if not len(new) else f"{counted} in its place" if value else f"{counted} elsewhere"
    fate = f"{old.name} {'still seen' if len(still) else 'gone'}"
    return score_with_evidence(value if enough else 0, old, new, said=f"{new.words}{where}, {fate}")


async def _appeared(scene: PixLensScene) -> Score:
    """A target caption alone ("a photo of a zebra") names no old object: the new one must not have been there."""
    wanted = _to(scene.item.edit)
    before, new = await scene.both(wanted)
    require_absent(bool(len(before)), wanted)
    enough, counted = check_count(len(new), scene.item.edit.count)
    came = ", none in the source image" if len(new) else ""
    return score_with_evidence(enough, new, said=f"{new.words}{counted}{came}")


@rule("object_removal")
async def object_removal(scene: PixLensScene) -> Score:
    """Algorithm 6: the share of objects that are gone; some of them where the instruction says how many."""
    if scene.item.edit.count is not None:
        return await some_removed(scene)
    before, after = await scene.both(subject_of(scene.item.edit))
    must_be_seen(before)
    said = f"{len(before)} {before.name} before, {len(after)} after"
    return score_with_evidence(max(0.0, 1 - len(after) / len(before)), before, after, said=said)


@rule("single_instance_removal")
async def some_removed(scene: PixLensScene) -> Score:
    """Exactly one is gone, or as many as the instruction says: 1; more went: a half; else 0."""
    before, after = await scene.both(subject_of(scene.item.edit))
    must_be_seen(before)
    gone, wanted = len(before) - len(after), scene.item.edit.count or 1
    said = f"{len(before)} {before.name} before, {len(after)} after"
    return score_with_evidence(0 if gone < wanted else 1 if gone == wanted else 0.5, before, after, said=said)


@rule("alter_parts")
async def alter_parts(scene: PixLensScene) -> Score:
    """Algorithm 7: the share of objects that meet their closest part."""
    subject, wanted = subject_of(scene.item.edit), _to(scene.item.edit)
    wholes, parts = await gather(scene.things("source", subject), scene.things("edited", wanted))
    must_be_seen(wholes)
    if not len(parts):
        return score_with_evidence(0, wholes, parts, said=parts.words)
    met = [bool((mask & parts.closest(centroid(mask))).any()) for mask in wholes.masks]
    said = f"{sum(met)} of {len(met)} {wholes.name} have {parts.name}"
    return score_with_evidence(sum(met) / len(met), wholes, parts, said=said)


@rule("color")
async def color(scene: PixLensScene) -> Score:
    """Algorithm 8: how well the object's histograms fit those of the color."""
    edit = scene.item.edit
    name = require(edit.to, "which color")
    target = rgb_of(name)
    before, after = await scene.both(subject_of(edit))
    must_be_seen(before)
    must_be_seen(after)
    where = after.closest(centroid(before.largest))
    value = color_score(scene.item.edited, where, target)
    histograms = Curves(
        f"red, green and blue of the {after.name}; dashed: of {name}",
        tuple(color_curves(scene.item.edited, where, target).items()),
    )
    said = f"the {after.name}'s colors fit {name} by {value:.2f}"
    return score_with_evidence(value, before, after, said=said, more=(histograms,))


async def resized(scene: PixLensScene, worth_elsewhere: float) -> Score:
    """1 where the object changed its size as asked and stayed in its place; `worth_elsewhere` where it did not stay."""
    before, after = await scene.both(subject_of(scene.item.edit))
    must_be_seen(before)
    if not len(after):
        return score_with_evidence(0, before, after, said=f"{after.words} in the edited image")
    was = before.largest
    now = after.closest(centroid(was))
    ratio, inside = float(now.sum() / was.sum()), containment(was, now)
    wish = read_size(require(scene.item.edit.to, "small or large"))
    done = ratio < 1 - LEAST_CHANGE if wish == "small" else ratio > 1 + LEAST_CHANGE
    said = f"the {before.name} has {ratio:.0%} of its former area, {inside:.0%} of the smaller outline is in the other"
    return score_with_evidence((1 if inside > STAYED else worth_elsewhere) if done else 0, before, after, said=said)


async def replaced(scene: PixLensScene) -> tuple[float, Things, Things]:
    """Does the new object meet the old one's outline? With the old object as it was, and the new one as it is."""
    gone, wanted = _replaced_name(scene.item.edit), _to(scene.item.edit)
    old, new = await gather(scene.things("source", gone), scene.things("edited", wanted))
    must_be_seen(old)
    if not len(new):
        return 0.0, old, new
    was = old.largest
    return float((was & new.closest(centroid(was))).any()), old, new


async def placed(scene: PixLensScene) -> tuple[float, Things, Things]:
    """How well the new object lies on the asked side of the anchor, as it was in the source image."""
    edit = scene.item.edit
    if edit.position is None or edit.position.relation not in DIRECTIONS:
        raise UnscorableError("not_applicable", "the edit does not say left, right, above or below what")
    beside, wanted = edit.position.anchor or subject_of(edit), _to(edit)
    anchor, added = await gather(scene.things("source", beside), scene.things("edited", wanted))
    must_be_seen(anchor)
    if not len(added):
        return 0.0, anchor, added
    start, end = centroid(anchor.largest), centroid(added.largest)
    return direction_score(start, end, edit.position.relation, scene.diagonal), anchor, added


def way_between(before: Things, after: Things) -> tuple[Evidence, ...]:
    """An arrow from the center of one object, as it was, to that of the other, as it is."""
    if not (len(before) and len(after)):
        return ()
    start, end = centroid(before.largest), centroid(after.largest)
    return (Arrow("edited", *start, *end, label=f"from {before.name} to {after.name}"),)


def _place_note(scene: PixLensScene, value: float, anchor: Things, added: Things) -> str:
    position = scene.item.edit.position
    if not len(added) or position is None:
        return added.words
    fit = "straight" if value > 0.9 else "roughly" if value > 0 else "not"
    return f"{added.words}, {fit} {relation_phrase(position.relation)} the {anchor.name}"


def asked_third(edit: Edit) -> Third:
    """Left, center or right, as the edit asks."""
    relation = requested_position(edit).relation
    wanted = named_third(relation)
    if wanted is None:
        raise UnscorableError("no_rule", f"the rule knows left, right and center, not '{relation}'")
    return wanted


def named_third(word: str | None) -> Third | None:
    """The third of the width that a word names, if it names one."""
    return next((name for name in THIRDS if name == word), None)


def _replaced_name(edit: Edit) -> str:
    return edit.from_ or subject_of(edit)


def _to(edit: Edit) -> str:
    return require(edit.to, "what is to be there")
