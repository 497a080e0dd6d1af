"""What there is to go by: both pictures in one frame, where they differ, and the things that the edit speaks of."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import ImageArray, Lab, Pixels, as_lab, cache_latest_images
from editgauge._util.masks import BoolMask, Rectangle, dilate_mask
from editgauge._vision.changed_regions import Changes, lengths
from editgauge._vision.object_changes import HALF_SURE, DetectedObject
from editgauge._vision.redrawn_changes import semantic_change
from editgauge.errors import UnscorableError
from editgauge.models.answers import SegmentPrompt
from editgauge.protocols._changes import changes_of
from editgauge.protocols._objects import operating_point
from editgauge.protocols.editgauge.appearance import (
    Color,
    Lightness,
    fine_structure,
    lightness,
    middle_color,
    style_fit,
)
from editgauge.protocols.editgauge.further import FurtherEvidence, joint_evidence
from editgauge.protocols.editgauge.redrawn import BoxSides, changed_places, pixel_features, token_features
from editgauge.protocols.editgauge.roles import EditableRegion, Roles, roles_of
from editgauge.protocols.preservation_aligned import in_frame

if TYPE_CHECKING:
    from editgauge.models.interfaces import Perception
    from editgauge.types import Edit, Item

AROUND = 0.012
"""Of the longer side: so far around its outline a thing's edge, and what is smoothed across it, may reach."""
HARDLY_LIKELY = 0.05
"""Probability of a class below which the other picture is not checked for it."""


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The things of one name in both pictures, most confident first."""

    name: str
    before: tuple[DetectedObject, ...]
    after: tuple[DetectedObject, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """How likely a classifier calls the picture, or one of its changed places, by a word."""

    word: str
    before: float
    after: float


@dataclass(frozen=True, eq=False)
class View:
    """An item as the features see it."""

    edit: Edit
    source: Pixels
    edited: Pixels
    """In the source's frame."""
    shown: BoolMask
    """Where the edited picture shows something."""
    changes: Changes
    point: float
    """Minimum confidence at which the detector calls something seen."""
    roles: Roles
    mask: BoolMask | None = None
    pairs: dict[str, Pair] = field(default_factory=dict)
    """By role: `comes`, `goes`, `stays`, `anchor`; a role that the edit or the detector has no word for is missing."""
    unknown: dict[str, str] = field(default_factory=dict)
    """Why the detector could not look for a thing, by role."""
    named: dict[str, Named] = field(default_factory=dict)
    """What a classifier calls the changed places, for `comes` and `goes`."""
    read: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    """The lines of text in both pictures, for edits of text; None if there is no text reader."""
    redrawn: dict[str, float] = field(default_factory=dict)
    """How much was redrawn, by patch tokens and pixels; empty when no model gives patch tokens."""
    change: NDArray[np.float64] | None = None
    """How much each patch changed; None when no model gives patch tokens."""
    further: FurtherEvidence = field(default_factory=FurtherEvidence)
    """What a joint embedder and a judge say, where there are any."""

    @cached_property
    def labs(self) -> tuple[Lab, Lab]:
        """Both pictures in CIE Lab."""
        return _looks_of_source(self.source).lab, as_lab(self.edited)

    @cached_property
    def lights(self) -> tuple[Lightness, Lightness]:
        """The lightness of both pictures."""
        return _looks_of_source(self.source).light, lightness(self.labs[1])

    @cached_property
    def fine(self) -> tuple[Lightness, Lightness]:
        """The fine structure of both pictures."""
        return _looks_of_source(self.source).fine, fine_structure(self.lights[1])

    @cached_property
    def shift(self) -> Lab:
        """How the color of each pixel changed."""
        before, after = self.labs
        return np.asarray(after - before)

    @cached_property
    def away(self) -> Lightness:
        """How far each pixel's color is from what it was."""
        return lengths(self.shift)

    @cached_property
    def subject_colors(self) -> tuple[Color, Color] | None:
        """The middle color of the subject before and after, within its outline in the source; None where it is not
        surely seen.
        """
        stays = self.pairs.get("stays")
        if stays is None or not stays.before or stays.before[0].confidence < self.point:
            return None
        inside = stays.before[0].mask & self.shown
        before, after = self.labs
        return (middle_color(before, inside), middle_color(after, inside)) if inside.any() else None

    @cached_property
    def style_fits(self) -> tuple[float | None, float | None]:
        """How well what became of the picture fits the style that was asked for, and how well the way back would."""
        before, after = self.labs
        there, back = (style_fit(self.edit.to, *pair, self.shown) for pair in ((before, after), (after, before)))
        return there, back

    @property
    def diagonal(self) -> float:
        """Of the pictures, in pixels."""
        return float(np.hypot(*self.source.shape[:2]))

    @property
    def margin(self) -> int:
        """In pixels."""
        return max(2, int(AROUND * max(self.source.shape[:2]) + 0.5))

    @cached_property
    def expected(self) -> EditableRegion:
        """Where the edit may change something, and how that is known."""
        if self.mask is not None and self.mask.any():
            return EditableRegion(self.mask, "the edit's mask")
        if self.roles.everywhere:
            return EditableRegion(None, "an edit of this type may change everything")
        outlined = self._outlined()
        if outlined is not None:
            return EditableRegion(outlined, "the things that the edit names")
        if self.changes.regions and not self.roles.behind:
            return EditableRegion(
                dilate_mask(self.changes.regions[0].mask, self.margin), "the largest region that changed"
            )
        return EditableRegion(None, "not known")

    def _outlined(self) -> BoolMask | None:
        things = [thing for pair in self._moving() for thing in (*pair.before, *pair.after)]
        sure = [thing.mask for thing in things if thing.confidence >= self.point]
        if not sure:
            return None
        together = np.logical_or.reduce(sure)
        return ~together if self.roles.behind else dilate_mask(together, self.margin)

    def _moving(self) -> list[Pair]:
        """The things that the edit itself is about; what an addition leaves alone is not among them."""
        names = ("comes",) if self.roles.adds else ("comes", "goes", "stays")
        return [self.pairs[role] for role in names if role in self.pairs]


class _Looks(NamedTuple):
    lab: Lab
    light: Lightness
    fine: Lightness


@cache_latest_images
def _looks_of_source(picture: Pixels) -> _Looks:
    lab = as_lab(picture)
    light = lightness(lab)
    looks = _Looks(lab, light, fine_structure(light))
    for each in looks:
        each.setflags(write=False)
    return looks


async def look(item: Item, perception: Perception) -> View:
    """Everything that the features are made of."""
    changes = changes_of(item.source, item.edited)
    edited, shown = in_frame(changes.alignment, item.edited)
    if item.original is not None:
        edited = ImageArray(edited, changes.alignment.in_own_size(item.original))
    roles = roles_of(item.edit)
    point = operating_point(perception)
    words = {role: word for role, word in roles.words().items() if word}
    changed = changes.mask if item.mask is None else changes.mask & item.mask
    needed = {role: _outlines_needed(item.edit, roles, role, changed) for role in words}
    answers = await gather(
        *(_pair(perception, (item.source, edited), word, point, needed[role]) for role, word in words.items())
    )
    redrawn, change, places = await _redrawn(item, perception)
    judged = {role: word for role, word in words.items() if role in ("comes", "goes") and perception.knows(word)}
    named = await gather(*(_named(perception, item, role, word, places) for role, word in judged.items()))
    return View(
        edit=item.edit,
        source=item.source,
        edited=edited,
        shown=shown,
        changes=changes,
        point=point,
        roles=roles,
        mask=item.mask,
        pairs={role: pair for role, pair in zip(words, answers, strict=True) if isinstance(pair, Pair)},
        unknown={role: why for role, why in zip(words, answers, strict=True) if isinstance(why, str)},
        named=dict(zip(judged, named, strict=True)),
        read=await _read(item, perception) if item.edit.type == "text" else None,
        redrawn=redrawn,
        change=change,
        further=await joint_evidence(item, perception),
    )


OutlinesNeeded = Literal["all", "none"] | BoolMask
"""Of all sure things, of none, or in turn until one meets the mask."""


def _outlines_needed(edit: Edit, roles: Roles, role: str, changed: BoolMask) -> tuple[OutlinesNeeded, OutlinesNeeded]:
    """Whose outlines before and after any feature looks at: they cost more than all else."""
    if role == "anchor":  # a place relative to it is measured from its middle in the source
        return ("all" if edit.type == "positional_addition" else "none"), "none"
    if role == "stays" and roles.adds:
        return "none", "none"
    if role == "stays" and roles.everywhere:  # only what stands there now may be seen again next to itself
        return "none", changed
    return "all", "all"


async def _pair(
    perception: Perception,
    pictures: tuple[Pixels, Pixels],
    word: str,
    point: float,
    needed: tuple[OutlinesNeeded, OutlinesNeeded],
) -> Pair | str:
    try:
        before, after = await gather(
            *(_things(perception, picture, word, point, which) for picture, which in zip(pictures, needed, strict=True))
        )
    except UnscorableError as unable:
        return unable.detail
    return Pair(word, before, after)


async def _things(
    perception: Perception, picture: Pixels, word: str, point: float, needed: OutlinesNeeded
) -> tuple[DetectedObject, ...]:
    """Outlined where the detector is sure and an outline is needed; the others are their boxes."""
    seen = await perception.detect(picture, word, least=HALF_SURE * point)
    outlines = await _outlines(perception, picture, seen.over(point).boxes, needed)
    boxes = [(box[0], box[1], box[2], box[3]) for box in seen.boxes.tolist()]
    height, width = picture.shape[:2]
    masks = [*outlines, *(Rectangle(*box).render(width, height) for box in boxes[len(outlines) :])]
    rows = zip(boxes, masks, seen.confidences.tolist(), strict=True)
    return tuple(DetectedObject(word, box, mask, confidence) for box, mask, confidence in rows if mask.any())


async def _outlines(
    perception: Perception, picture: Pixels, boxes: NDArray[np.float32], needed: OutlinesNeeded
) -> list[BoolMask]:
    if isinstance(needed, str):
        return list(await perception.segment(picture, SegmentPrompt(boxes=boxes))) if needed == "all" else []
    outlines: list[BoolMask] = []
    for box in boxes:
        outlines += list(await perception.segment(picture, SegmentPrompt(boxes=box[np.newaxis])))
        if (outlines[-1] & needed).any():
            break
    return outlines


async def _redrawn(
    item: Item, perception: Perception
) -> tuple[dict[str, float], NDArray[np.float64] | None, list[BoxSides]]:
    """How much was redrawn, the change of every patch, and the places that changed most."""
    try:
        before, after = await gather(perception.patches(item.source), perception.patches(item.edited))
    except UnscorableError:
        return {}, None, []
    height, width = item.source.shape[:2]
    change = semantic_change(before.tokens, after.tokens)
    values = token_features(before, after, change) | pixel_features(item.source, item.edited)
    return values, change, changed_places(change, width, height)


async def _read(item: Item, perception: Perception) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    try:
        before, after = await gather(perception.read_text(item.source), perception.read_text(item.edited))
    except UnscorableError:
        return None
    return before.texts, after.texts


async def _named(perception: Perception, item: Item, role: str, word: str, places: Sequence[BoxSides]) -> Named:
    """Asks first in the picture where the thing should be, and in the other one only about places where it may be."""
    first, second = (item.edited, item.source) if role == "comes" else (item.source, item.edited)
    boxes: list[BoxSides | None] = [None, *places]
    there = await gather(*(_share(perception, first, box, word) for box in boxes))
    likely = [box for box, share in zip(boxes, there, strict=True) if share >= HARDLY_LIKELY]
    other = await gather(*(_share(perception, second, box, word) for box in (likely or [None])))
    return Named(word, max(other), max(there)) if role == "comes" else Named(word, max(there), max(other))


async def _share(perception: Perception, picture: Pixels, box: BoxSides | None, word: str) -> float:
    return (await perception.classify(picture, box)).share(word)
