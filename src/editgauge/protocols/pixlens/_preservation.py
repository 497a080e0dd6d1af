"""PixLens: is the subject the same, and did the background stay (sections 3.1.2 and 3.1.3, supplement 10)?"""

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
from editgauge.protocols._objects import DetectedObjects, require_found
from editgauge.protocols._rules import require, subject_of
from editgauge.protocols.pixlens._rules import PixLensScene
from editgauge.types import Score, Unscored

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Masks = Callable[[PixLensScene], Awaitable[BoolMask]]
    Similarity = Callable[[Unit, Unit], float]


SUBJECT = ("subject_sift", "subject_iou", "subject_ssim", "subject_color", "subject_position")
SUBJECT_TYPES = ("color", "size", "position_replacement", "object_addition")
"""Edit types whose subject is compared, as in tables 2 and 5 and in the released code."""
INTENDED_CHANGES = {"color": "subject_color", "size": "subject_iou", "position_replacement": "subject_position"}
"""Scores that the edit itself changes: shown, but left out of averages as in table 5."""
MAX_ARROWS = 20


async def subject_scores(scene: PixLensScene, similarity: Similarity = ssim) -> dict[str, Score | Unscored]:
    """Compare the subject before and after in five ways."""
    edit = scene.item.edit
    if edit.type not in SUBJECT_TYPES:
        reason = f"PixLens compares the subject only for {', '.join(SUBJECT_TYPES)}"
        return dict.fromkeys(SUBJECT, Unscored("not_applicable", reason))
    before, after = await scene.both(subject_of(edit))
    require_found(before)
    require_found(after)
    was = before.largest
    now = after.closest(centroid(was))
    scores = _subject_comparison(scene, was, now, similarity)
    intended = INTENDED_CHANGES.get(edit.type)
    if intended:
        score = scores[intended]
        measured = f"{score.value:.2f}" if isinstance(score, Score) else ""
        scores[intended] = Unscored("not_applicable", f"the edit asks for this to change; measured {measured}")
    return scores


def _subject_comparison(
    scene: PixLensScene, was: BoolMask, now: BoolMask, similarity: Similarity
) -> dict[str, Score | Unscored]:
    source, edited = scene.item.source, scene.item.edited
    height, width = was.shape
    (x, y), (new_x, new_y) = centroid(was), centroid(now)
    alone = [np.where(mask[..., np.newaxis], picture, 0) for mask, picture in ((was, source), (now, edited))]
    matches = match_keypoints(source, edited, was, now)
    outlines = (Region("edited", was, "the subject before"), Region("edited", now, "the subject now"))
    return {
        "subject_sift": Score(matches.score, _match_arrows(matches)),
        "subject_iou": Score(aligned_overlap(was, now), outlines),
        "subject_ssim": Score(similarity(as_unit(alone[0].astype(np.uint8)), as_unit(alone[1].astype(np.uint8)))),
        "subject_color": Score(color_likeness(source, was, edited, now)),
        "subject_position": Score(math.hypot((new_x - x) / width, (new_y - y) / height)),
    }


def _match_arrows(matches: KeypointMatches) -> tuple[Evidence, ...]:
    """Return arrows of the most confident matches, from before to after (PixLens, figures 3 and 4)."""
    drawn = matches.points[:MAX_ARROWS]
    fewer = f"; drawn are the {len(drawn)} most confident" if len(drawn) < len(matches.points) else ""
    note = Note(f"Key points found again: {len(matches.points)}{fewer}.")
    return (*(Arrow("edited", *before, *after) for before, after in drawn), note)


async def background(scene: PixLensScene, masks: Masks) -> Score:
    """Compare the images outside the objects of the edit."""
    inside = await masks(scene)
    if inside.all():
        raise UnscorableError("not_applicable", "the objects cover the whole picture: there is no background")
    value = background_score(as_unit(scene.item.source), as_unit(scene.item.edited), ~inside)
    evidence: list[Evidence] = [Region("edited", inside, "not background")] if inside.any() else []
    return Score(value, (*evidence, Note(f"The background is {(~inside).mean():.0%} of the picture.")))


async def objects_of_both(scene: PixLensScene) -> BoolMask:
    """Return all pixels that may change: what is added, what the edit is about, or both, in both images."""
    edit = scene.item.edit
    kind = EDIT_TYPES[edit.type]
    if kind.effect == "adds":
        names = [require(edit.to, "what to add")]
    elif kind.value != "thing":
        names = [subject_of(edit)]
    else:
        names = [name for name in (edit.subject, edit.from_, edit.to) if name]
    pairs = await gather(*(scene.both(name) for name in dict.fromkeys(names)))
    return union_of(scene, [objects for pair in pairs for objects in pair])


def union_of(scene: PixLensScene, detected: Sequence[DetectedObjects]) -> BoolMask:
    """Return every pixel that belongs to one of the objects."""
    mask = np.zeros(scene.item.source.shape[:2], np.bool_)
    for objects in detected:
        mask |= objects.union
    return mask


def background_score(before: Unit, after: Unit, outside: BoolMask) -> float:
    """Return 1 if nothing outside changed, and 0 from a mean squared error of a tenth on.

    PixLens, section 3.1.3: the mean of the errors in color and in gray, stretched so that the last tenth counts.

    >>> background_score(np.zeros((4, 4, 3), np.float32), np.zeros((4, 4, 3), np.float32), np.ones((4, 4), bool))
    1.0
    """
    check_pair(before, after, outside)
    color = float(np.mean((before[outside] - after[outside]) ** 2))
    grays = [cv2.cvtColor(image.astype(np.float32), cv2.COLOR_RGB2GRAY) for image in (before, after)]
    gray = float(np.mean((grays[0][outside] - grays[1][outside]) ** 2))
    return max(0.0, 1 - 5 * (color + gray))  # 10 ((1 - (color + gray) / 2) - 0.9), without its rounding


KeyPoints = tuple[Sequence[cv2.KeyPoint], Any]
"""Key points and one descriptor row each; None for the rows if there are no points."""
MAX_DISTANCE_RATIO = 0.75
"""Lowe's ratio of the distances to the best and the second match."""
MIN_MATCHES = 5


@dataclass(frozen=True, slots=True)
class KeypointMatches:
    """Matched key points, most confident first."""

    score: float
    """Fraction of key points that match; 0 with fewer than five matches."""
    points: tuple[tuple[Point, Point], ...]
    """Position before and after of each match."""


def match_keypoints(before: Pixels, after: Pixels, where_before: BoolMask, where_after: BoolMask) -> KeypointMatches:
    """Match SIFT key points of a region of one image with a region of another.

    PixLens, supplement 10: good matches by Lowe's ratio over the larger of both counts. Matches are searched
    exhaustively, so that the score does not depend on an approximate index.
    """
    points, first = _key_points_of_source(before, where_before.tobytes())
    new_points, second = _key_points(after, where_after)
    if first is None or second is None or min(len(first), len(second)) < 3:
        return KeypointMatches(0.0, ())
    pairs = cv2.BFMatcher(cv2.NORM_L2).knnMatch(first, second, k=2)
    good = sorted(
        (best for best, next_best in pairs if best.distance < MAX_DISTANCE_RATIO * next_best.distance),
        key=lambda match: match.distance,
    )
    score = len(good) / max(len(first), len(second)) if len(good) >= MIN_MATCHES else 0.0
    return KeypointMatches(
        score, tuple((_at(points[match.queryIdx]), _at(new_points[match.trainIdx])) for match in good)
    )


@cache_latest_images
def _key_points_of_source(picture: Pixels, where: bytes) -> KeyPoints:
    return _key_points(picture, np.frombuffer(where, np.bool_).reshape(picture.shape[:2]))


def _key_points(picture: Pixels, where: BoolMask) -> KeyPoints:
    gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    return cv2.SIFT.create().detectAndCompute(gray, where.astype(np.uint8) * 255)


def _at(point: cv2.KeyPoint) -> Point:
    return float(point.pt[0]), float(point.pt[1])
