"""PixLens: is the subject still the same thing, and did the background stay? (section 3.1.2, 3.1.3, supplement 10)"""

from __future__ import annotations

import math
from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from editgauge._util.images import Pixels, Unit, as_unit, cache_latest_images
from editgauge._util.masks import BoolMask
from editgauge._vision.colors import color_likeness
from editgauge._vision.geometry import Point, aligned_overlap, centroid
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError
from editgauge.evidence import Arrow, Evidence, Note, Region
from editgauge.metrics.base import check_pair
from editgauge.metrics.ssim import ssim
from editgauge.protocols._rules import require, subject_of
from editgauge.protocols.pixlens._rules import PixLensScene, Things, must_be_seen
from editgauge.types import Score, Unscored

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Masks = Callable[[PixLensScene], Awaitable[BoolMask]]
    Similarity = Callable[[Unit, Unit], float]


SUBJECT = ("subject_sift", "subject_iou", "subject_ssim", "subject_color", "subject_position")
SUBJECT_TYPES = ("color", "size", "position_replacement", "object_addition")
"""The types whose subject is compared (tables 2 and 5 have no others, nor has the released code)."""
MEANT_TO_CHANGE = {"color": "subject_color", "size": "subject_iou", "position_replacement": "subject_position"}
"""Shown, but left out of the averages: the edit asks for that change (table 5 averages so)."""
MOST_ARROWS = 20


async def subject_scores(scene: PixLensScene, similarity: Similarity = ssim) -> dict[str, Score | Unscored]:
    """Five ways to ask whether the subject is still the same thing."""
    edit = scene.item.edit
    if edit.type not in SUBJECT_TYPES:
        why = f"PixLens compares the subject only for {', '.join(SUBJECT_TYPES)}"
        return dict.fromkeys(SUBJECT, Unscored("not_applicable", why))
    before, after = await scene.both(subject_of(edit))
    must_be_seen(before)
    must_be_seen(after)
    was = before.largest
    now = after.closest(centroid(was))
    scores = _compared(scene, was, now, similarity)
    meant = MEANT_TO_CHANGE.get(edit.type)
    if meant:
        value = scores[meant]
        measured = f"{value.value:.2f}" if isinstance(value, Score) else ""
        scores[meant] = Unscored("not_applicable", f"the edit asks for this to change; measured {measured}")
    return scores


def _compared(scene: PixLensScene, was: BoolMask, now: BoolMask, similarity: Similarity) -> dict[str, Score | Unscored]:
    source, edited = scene.item.source, scene.item.edited
    height, width = was.shape
    (x, y), (new_x, new_y) = centroid(was), centroid(now)
    alone = [np.where(mask[..., np.newaxis], picture, 0) for mask, picture in ((was, source), (now, edited))]
    matches = found_again(source, edited, was, now)
    outlines = (Region("edited", was, "the subject before"), Region("edited", now, "the subject now"))
    return {
        "subject_sift": Score(matches.score, _arrows(matches)),
        "subject_iou": Score(aligned_overlap(was, now), outlines),
        "subject_ssim": Score(similarity(as_unit(alone[0].astype(np.uint8)), as_unit(alone[1].astype(np.uint8)))),
        "subject_color": Score(color_likeness(source, was, edited, now)),
        "subject_position": Score(math.hypot((new_x - x) / width, (new_y - y) / height)),
    }


def _arrows(matches: KeypointMatches) -> tuple[Evidence, ...]:
    """The most confident points found again, each from where it lay to where it lies (PixLens, figures 3 and 4)."""
    shown = matches.points[:MOST_ARROWS]
    fewer = f"; drawn are the {len(shown)} most confident" if len(shown) < len(matches.points) else ""
    note = Note(f"Key points found again: {len(matches.points)}{fewer}.")
    return (*(Arrow("edited", *before, *after) for before, after in shown), note)


async def background(scene: PixLensScene, masks: Masks) -> Score:
    """What lies outside the objects that the edit is about, compared pixel by pixel."""
    inside = await masks(scene)
    if inside.all():
        raise UnscorableError("not_applicable", "the objects cover the whole picture: there is no background")
    value = background_score(as_unit(scene.item.source), as_unit(scene.item.edited), ~inside)
    evidence: list[Evidence] = [Region("edited", inside, "not background")] if inside.any() else []
    return Score(value, (*evidence, Note(f"The background is {(~inside).mean():.0%} of the picture.")))


async def in_both_pictures(scene: PixLensScene) -> BoolMask:
    """Everything that may change, wherever it is seen: what is added, what the edit is about, or both."""
    edit = scene.item.edit
    kind = EDIT_TYPES[edit.type]
    if kind.effect == "adds":
        names = [require(edit.to, "what to add")]
    elif kind.value != "thing":
        names = [subject_of(edit)]
    else:
        names = [name for name in (edit.subject, edit.from_, edit.to) if name]
    seen = await gather(*(scene.both(name) for name in dict.fromkeys(names)))
    return covered(scene, [things for pair in seen for things in pair])


def covered(scene: PixLensScene, seen: Sequence[Things]) -> BoolMask:
    """Every pixel that belongs to one of the objects."""
    mask = np.zeros(scene.item.source.shape[:2], np.bool_)
    for things in seen:
        mask |= things.seen.together
    return mask


def background_score(before: Unit, after: Unit, outside: BoolMask) -> float:
    """1 when nothing outside changed, 0 from a mean squared error of a tenth on.

    PixLens, section 3.1.3: the mean of the errors in color and in gray, stretched so that the last tenth counts.

    >>> background_score(np.zeros((4, 4, 3), np.float32), np.zeros((4, 4, 3), np.float32), np.ones((4, 4), bool))
    1.0
    """
    check_pair(before, after, outside)
    color = float(np.mean((before[outside] - after[outside]) ** 2))
    grays = [cv2.cvtColor(each.astype(np.float32), cv2.COLOR_RGB2GRAY) for each in (before, after)]
    gray = float(np.mean((grays[0][outside] - grays[1][outside]) ** 2))
    return max(0.0, 1 - 5 * (color + gray))  # 10 ((1 - (color + gray) / 2) - 0.9), without its rounding


KeyPoints = tuple[Sequence[cv2.KeyPoint], Any]
"""Points, and a row of numbers for each; None for the rows where there are no points."""
CLEARER = 0.75
"""Lowe's ratio: the best match must be this much nearer than the second."""
FEWEST = 5


@dataclass(frozen=True, slots=True)
class KeypointMatches:
    """Which key points were found again, most confident first, and of how many."""

    score: float
    """The share of key points that are found again; 0 when there are fewer than five."""
    points: tuple[tuple[Point, Point], ...]
    """Where each lay before, and where it lies now."""


def found_again(before: Pixels, after: Pixels, where_before: BoolMask, where_after: BoolMask) -> KeypointMatches:
    """Key points of a part of one picture, looked for in a part of the other.

    PixLens, supplement 10: good matches by Lowe's ratio over the larger of both counts. Matches are searched
    exhaustively, so that the score does not depend on an approximate index.
    """
    points, first = _key_points_of_source(before, where_before.tobytes())
    new_points, second = _key_points(after, where_after)
    if first is None or second is None or min(len(first), len(second)) < 3:
        return KeypointMatches(0.0, ())
    pairs = cv2.BFMatcher(cv2.NORM_L2).knnMatch(first, second, k=2)
    good = sorted(
        (best for best, next_best in pairs if best.distance < CLEARER * next_best.distance),
        key=lambda match: match.distance,
    )
    score = len(good) / max(len(first), len(second)) if len(good) >= FEWEST else 0.0
    return KeypointMatches(score, tuple((_at(points[one.queryIdx]), _at(new_points[one.trainIdx])) for one in good))


@cache_latest_images
def _key_points_of_source(picture: Pixels, where: bytes) -> KeyPoints:
    return _key_points(picture, np.frombuffer(where, np.bool_).reshape(picture.shape[:2]))


def _key_points(picture: Pixels, where: BoolMask) -> KeyPoints:
    gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    return cv2.SIFT.create().detectAndCompute(gray, where.astype(np.uint8) * 255)


def _at(point: cv2.KeyPoint) -> Point:
    return float(point.pt[0]), float(point.pt[1])
