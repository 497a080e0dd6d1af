"""PixLens: is the subject still the same thing, and did the background stay? (section 3.1.2, 3.1.3, supplement 10)"""

from __future__ import annotations

import math
from asyncio import gather
from typing import TYPE_CHECKING

import numpy as np

from editgauge.core.edit_types import EDIT_TYPES
from editgauge.core.errors import CannotTell
from editgauge.core.evidence import Arrow, Evidence, Note, Region
from editgauge.core.images import as_unit
from editgauge.core.types import Score, Unscored
from editgauge.metrics.pixels import ssim
from editgauge.protocols._shared.looking import needed
from editgauge.protocols.pixlens.background import background_score
from editgauge.protocols.pixlens.scene import Scene, Things, must_be_seen
from editgauge.vision.color_names import colour_likeness
from editgauge.vision.keypoints import Found, found_again
from editgauge.vision.positions import centroid
from editgauge.vision.regions import aligned_overlap

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from editgauge.core.masks import BoolMask

    Masks = Callable[[Scene], Awaitable[BoolMask]]

SUBJECT = ("subject_sift", "subject_iou", "subject_ssim", "subject_color", "subject_position")
MEANT_TO_CHANGE = {"color": "subject_color", "size": "subject_iou", "position_replacement": "subject_position"}
"""Shown, but left out of the averages: the edit asks for that very change (table 5 averages so)."""
ONE_OF_SEVERAL = "single_instance_removal"
"""The removal after which the subject is still seen."""
MOST_ARROWS = 20


async def subject_scores(scene: Scene) -> dict[str, Score | Unscored]:
    """Five ways to ask whether the subject is still the same thing."""
    edit = scene.item.edit
    if EDIT_TYPES[edit.type].effect in {"removes", "replaces"} and edit.type != ONE_OF_SEVERAL:
        why = "the edit asks for the subject to be gone"
        return dict.fromkeys(SUBJECT, Unscored("not_applicable", why))
    before, after = await scene.both(needed(edit.subject, "which object it is about"))
    must_be_seen(before)
    must_be_seen(after)
    was = before.largest
    now = after.closest(centroid(was))
    scores = _compared(scene, was, now)
    meant = MEANT_TO_CHANGE.get(edit.type)
    if meant:
        value = scores[meant]
        measured = f"{value.value:.2f}" if isinstance(value, Score) else ""
        scores[meant] = Unscored("not_applicable", f"the edit asks for this to change; measured {measured}")
    return scores


def _compared(scene: Scene, was: BoolMask, now: BoolMask) -> dict[str, Score | Unscored]:
    source, edited = scene.item.source, scene.item.edited
    height, width = was.shape
    (x, y), (new_x, new_y) = centroid(was), centroid(now)
    alone = [np.where(mask[..., np.newaxis], picture, 0) for mask, picture in ((was, source), (now, edited))]
    found = found_again(source, edited, was, now)
    outlines = (Region("edited", was, "the subject before"), Region("edited", now, "the subject now"))
    return {
        "subject_sift": Score(found.score, _arrows(found)),
        "subject_iou": Score(aligned_overlap(was, now), outlines),
        "subject_ssim": Score(ssim(as_unit(alone[0].astype(np.uint8)), as_unit(alone[1].astype(np.uint8)))),
        "subject_color": Score(colour_likeness(source, was, edited, now)),
        "subject_position": Score(math.hypot((new_x - x) / width, (new_y - y) / height)),
    }


def _arrows(found: Found) -> tuple[Evidence, ...]:
    """The surest points found again, each from where it lay to where it lies (PixLens, figures 3 and 4)."""
    shown = found.points[:MOST_ARROWS]
    fewer = f"; drawn are the {len(shown)} surest" if len(shown) < len(found.points) else ""
    told = Note(f"Key points found again: {len(found.points)}{fewer}.")
    return (*(Arrow("edited", *before, *after) for before, after in shown), told)


async def background(scene: Scene, masks: Masks) -> Score:
    """What lies outside the objects that the edit is about, compared pixel by pixel."""
    inside = await masks(scene)
    if inside.all():
        raise CannotTell("not_applicable", "the objects cover the whole picture: there is no background")
    value = background_score(as_unit(scene.item.source), as_unit(scene.item.edited), ~inside)
    evidence: list[Evidence] = [Region("edited", inside, "not background")] if inside.any() else []
    return Score(value, (*evidence, Note(f"The background is {(~inside).mean():.0%} of the picture.")))


async def in_both_pictures(scene: Scene) -> BoolMask:
    """Everything that may change, wherever it is seen: what is added, what the edit is about, or both."""
    edit = scene.item.edit
    kind = EDIT_TYPES[edit.type]
    if kind.effect == "adds":
        names = [needed(edit.to, "what to add")]
    elif kind.value != "thing":
        names = [needed(edit.subject, "which object it is about")]
    else:
        names = [name for name in (edit.subject, edit.from_, edit.to) if name]
    seen = await gather(*(scene.both(name) for name in dict.fromkeys(names)))
    return _together(scene, [things for pair in seen for things in pair])


async def as_released(scene: Scene) -> BoolMask:
    """The released code's choice: a moved object's new place counts as background."""
    edit = scene.item.edit
    kind = EDIT_TYPES[edit.type]
    if kind.effect == "adds":
        return _together(scene, [await scene.things("edited", needed(edit.to, "what to add"))])
    if kind.value != "thing" and edit.type != ONE_OF_SEVERAL:
        return _together(scene, [await scene.things("source", needed(edit.subject, "which object it is about"))])
    return await in_both_pictures(scene)


def _together(scene: Scene, seen: list[Things]) -> BoolMask:
    mask = np.zeros(scene.item.source.shape[:2], np.bool_)
    for things in seen:
        mask |= things.seen.together
    return mask
