"""`pixlens@released` against the released code, on random scenes: `docs/parity/pixlens.md` states the counts.

The formulas below were written from reading `pixlens/evaluation` and `pixlens/detection` of thesstefan/pixlens.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data
import skimage.metrics
from numpy.typing import NDArray
from PIL import Image, ImageColor
from scipy.ndimage import gaussian_filter1d

from editgauge._util.images import Pixels
from editgauge.types import Position
from tests.parity.scenes import SCENES, THRESHOLD, Seen, Sees, item_of, table_on_page, values

TYPES = (
    "object_addition",
    "size",
    "positional_addition",
    "position_replacement",
    "object_replacement",
    "object_removal",
    "single_instance_removal",
    "alter_parts",
    "color",
)
WITH_SUBJECT = {"color", "size", "position_replacement", "object_addition"}
LEFT_OUT = {"color": "subject_color", "size": "subject_iou", "position_replacement": "subject_position"}
CATEGORY, OTHER = "apple", "pineapple"
DIRECTIONS = {"left": (-1, 0), "right": (1, 0), "above": (0, 1), "below": (0, -1)}
CLOSE = 0.02
"""Scores nearer than this agree: the released color target is drawn at random, its key points matched approximately."""
Mask = NDArray[np.bool_]
structural_similarity: Any = skimage.metrics.structural_similarity
astronaut: Any = skimage.data.astronaut


class Released:
    """What the released code sees of one picture: all phrases at once, boxes that suppress each other."""

    def __init__(self, seen: Seen, phrases: tuple[str, ...]) -> None:
        assert seen.masks is not None
        sure = np.max([seen.fits[phrase] for phrase in phrases], axis=0) if phrases else np.zeros(len(seen.boxes))
        kept: list[int] = []
        for place in np.argsort(-sure, kind="stable").tolist():
            if sure[place] >= THRESHOLD and all(iou(seen.boxes[place], seen.boxes[one]) <= 0.5 for one in kept):
                kept.append(place)
        self.masks = seen.masks[kept]
        self.phrases = [" ".join(each for each in phrases if seen.fits[each][place] >= THRESHOLD) for place in kept]

    def of(self, name: str) -> list[Mask]:
        """Substrings count."""
        return [mask for mask, phrase in zip(self.masks, self.phrases, strict=True) if name in phrase]

    def exactly(self, name: str) -> list[Mask]:
        return [mask for mask, phrase in zip(self.masks, self.phrases, strict=True) if phrase == name]


def iou(one: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    width, height = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    both = max(0.0, float(width)) * max(0.0, float(height))
    areas = sum(float((box[2] - box[0]) * (box[3] - box[1])) for box in (one, other))
    return both / (areas - both)


def center(mask: Mask) -> NDArray[np.float64]:
    """Row, column."""
    return np.asarray(np.argwhere(mask).mean(axis=0), np.float64)


def largest(masks: list[Mask]) -> Mask:
    return max(masks, key=lambda mask: int(mask.sum()))


def closest(masks: list[Mask], to: Mask) -> Mask:
    return min(masks, key=lambda mask: float(np.linalg.norm(center(mask) - center(to))))


def histograms(picture: Pixels, mask: Mask) -> list[NDArray[np.float64]]:
    found = []
    for channel in range(3):
        counts = cv2.calcHist([picture], [channel], mask.astype(np.uint8), [32], [0, 256]).ravel()
        smooth = gaussian_filter1d(counts / np.linalg.norm(counts), 5, mode="nearest")
        found.append(smooth / smooth.sum())
    return found


def correlation(one: list[NDArray[np.float64]], other: list[NDArray[np.float64]]) -> float:
    return float(np.mean([np.corrcoef(first, second)[0, 1] for first, second in zip(one, other, strict=True)]))


def angle_score(start: Mask, end: Mask, towards: tuple[int, int]) -> float:
    (y, x), (new_y, new_x) = center(start), center(end)
    moved = np.array([new_x - x, y - new_y])
    if np.linalg.norm(moved) < 0.05 * math.hypot(*start.shape):
        return 0.0
    cosine = np.clip(moved @ np.array(towards) / np.linalg.norm(moved), -1, 1)
    return max(0.0, (90 - math.degrees(math.acos(cosine))) / 90)


class Script:
    """The released scores; its generator of target colors remembers earlier draws."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(0)

    def scores(self, edit: dict[str, Any], pictures: tuple[Pixels, Pixels], seen: tuple[Seen, Seen]) -> dict[str, Any]:
        kind, to = edit["type"], edit.get("to", "")
        first = (edit["from_"],) if kind == "object_replacement" else (CATEGORY,)
        second: tuple[str, ...] = (CATEGORY,)
        if kind in {"object_addition", "positional_addition"}:
            second = (CATEGORY, to)
        elif kind in {"object_replacement", "alter_parts"}:
            second = (to,)
        before, after = Released(seen[0], first), Released(seen[1], second)
        given = {
            "edit": self._edit(edit, pictures, before, after),
            "background": background(kind, to, pictures, before, after),
        }
        if kind in WITH_SUBJECT:
            given |= subject(pictures, before.of(CATEGORY), after.of(CATEGORY))
            given[LEFT_OUT.get(kind, "")] = None
        return given

    def _edit(self, edit: dict[str, Any], pictures: tuple[Pixels, Pixels], before: Released, after: Released) -> Any:
        kind, to = edit["type"], edit.get("to", "")
        if kind == "object_addition":
            return float(len(after.of(to)) > 0)
        old, new = before.of(str(edit["from_"]) if kind == "object_replacement" else CATEGORY), after.of(CATEGORY)
        if not old:
            return None
        if kind == "object_removal":
            return max(1 - len(new) / len(old), 0)
        if kind == "single_instance_removal":
            gone = len(old) - len(new)
            return 0 if gone <= 0 else 1 if gone == 1 else 0.5
        if kind == "alter_parts":
            parts = after.of(to)
            return np.mean([(mask & closest(parts, mask)).any() for mask in old]) if parts else 0
        if kind == "object_replacement":
            wanted = after.of(to)
            return float((largest(old) & closest(wanted, largest(old))).any()) if wanted else 0
        if kind == "positional_addition":
            added = after.of(to)
            score = angle_score(largest(old), largest(added), DIRECTIONS[edit["position"].relation]) if added else 0
            return (score + float(len(new) > 0)) / 2 if score > 0 else 0
        if not new:
            return None if kind == "color" else 0
        if kind == "position_replacement":
            return moved_score(edit, largest(old), largest(new))
        now = closest(new, largest(old))
        if kind == "size":
            return size_score(to, largest(old), now)
        return max(0.0, self._color(pictures[1], now, to))

    def _color(self, picture: Pixels, mask: Mask, name: str) -> float:
        target = {"green": (0, 255, 0), "brown": (64, 30, 9)}.get(name) or ImageColor.getrgb(name)
        drawn = self._random.multivariate_normal(target, np.eye(3) * 75, picture.shape[:2])
        synthetic = np.clip(drawn, 0, 255).astype(np.uint8)
        return correlation(histograms(picture, mask), histograms(synthetic, mask))


def moved_score(edit: dict[str, Any], start: Mask, end: Mask) -> float:
    was, asked, width = edit["from_"], edit["to"], start.shape[1]
    towards = asked if asked != "center" else {"left": "right", "right": "left"}[was]
    relative = angle_score(start, end, DIRECTIONS[towards])
    x = center(end)[1]
    now = "left" if x < width / 3 else "right" if x > 2 * width / 3 else "center"
    if now == was:
        absolute = 0.0
    elif now == asked:
        absolute = 1.0
    else:
        partly = {("left", "right", "center"), ("right", "left", "center"), ("left", "center", "right")}
        absolute = 0.5 if (was, asked, now) in partly | {("right", "center", "left")} else 0.0
    return (relative + absolute) / 2 if relative > 0 else 0


def size_score(to: str, was: Mask, now: Mask) -> float:
    ratio = now.sum() / was.sum()
    if not (ratio < 0.9 if to == "small" else ratio > 1.1):
        return 0
    return (1 + float((was & now).sum() / min(was.sum(), now.sum()) > 0.9)) / 2


def background(kind: str, to: str, pictures: tuple[Pixels, Pixels], before: Released, after: Released) -> float | None:
    masks = [np.zeros(pictures[0].shape[:2], np.bool_)]
    if kind in {"object_addition", "positional_addition"}:
        masks += after.exactly(to)
    elif kind in {"object_replacement", "alter_parts", "single_instance_removal"}:
        masks += [*before.masks, *after.masks]
    else:
        masks += before.exactly(CATEGORY)
    outside = ~np.any(masks, axis=0)
    errors = []
    for mode in ("RGB", "L"):
        one, other = (np.asarray(Image.fromarray(each).convert(mode))[outside] / 255 for each in pictures)
        errors.append(np.mean((one - other) ** 2))
    return float(np.clip((1 - sum(errors) / 2 - 0.9) * 10, 0, 1))


def subject(pictures: tuple[Pixels, Pixels], old: list[Mask], new: list[Mask]) -> dict[str, Any]:
    if not old or not new:
        return {}
    was = largest(old)
    now = closest(new, was)
    corners = []
    for mask in (was, now):
        rows, columns = np.nonzero(mask)
        moved = np.zeros_like(mask)
        moved[rows - rows.min(), columns - columns.min()] = True
        corners.append(moved)
    alone = [np.where(mask[..., None], picture, 0) for picture, mask in zip(pictures, (was, now), strict=True)]
    shape = np.array(was.shape)
    return {
        "subject_sift": sift(pictures, (was, now)),
        "subject_color": correlation(histograms(pictures[0], was), histograms(pictures[1], now)),
        "subject_iou": float((corners[0] & corners[1]).sum() / (corners[0] | corners[1]).sum()),
        "subject_position": float(np.linalg.norm(center(was) / shape - center(now) / shape)),
        "subject_ssim": float(structural_similarity(alone[0], alone[1], channel_axis=2)),
    }


def sift(pictures: tuple[Pixels, Pixels], masks: tuple[Mask, Mask]) -> float:
    detector = cv2.SIFT.create()
    first, second = (
        detector.detectAndCompute(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), mask.astype(np.uint8) * 255)[1]
        for picture, mask in zip(pictures, masks, strict=True)
    )
    if first is None or second is None or min(len(first), len(second)) <= 2:
        return 0.0
    matcher = cv2.FlannBasedMatcher({"algorithm": 1, "trees": 5}, {"checks": 50})
    good = sum(best.distance < 0.75 * other.distance for best, other in matcher.knnMatch(first, second, k=2))
    return good / max(len(first), len(second)) if good >= 5 else 0.0


def random_seen(draw: np.random.Generator, width: int, height: int) -> Seen:
    """Boxes with outlines as ellipses; some boxes lie nearly on others, and some fit both names."""
    count = int(draw.integers(1, 6))
    middles = draw.uniform((15, 15), (width - 15, height - 15), (count, 2))
    if count > 2:
        middles[1] = middles[0] + draw.uniform(-3, 3, 2)
    halves = draw.uniform(5, 15, (count, 2))
    boxes = np.concatenate([middles - halves, middles + halves], axis=1).astype(np.float32)
    rows, columns = np.mgrid[:height, :width]
    masks = np.stack(
        [((columns - x) / a) ** 2 + ((rows - y) / b) ** 2 < 1 for (x, y), (a, b) in zip(middles, halves, strict=True)]
    )
    fits = {
        name: np.where(draw.random(count) < 0.6, draw.uniform(0.2, 0.9, count), 0.02).astype(np.float32)
        for name in (CATEGORY, OTHER)
    }
    return Seen(boxes, fits, masks)


def random_edit(draw: np.random.Generator, kind: str) -> dict[str, Any]:
    edit: dict[str, Any] = {"type": kind, "subject": CATEGORY}
    if kind == "size":
        edit["to"] = str(draw.choice(["small", "large"]))
    elif kind == "position_replacement":
        was, asked = draw.permutation(["left", "center", "right"])[:2].tolist()
        edit |= {"from_": was, "to": asked, "position": Position(asked)}
    elif kind == "positional_addition":
        edit |= {"to": OTHER, "position": Position(str(draw.choice(list(DIRECTIONS))), CATEGORY)}  # type: ignore[arg-type]
    elif kind == "object_replacement":
        edit |= {"from_": CATEGORY, "to": OTHER}
    elif kind == "color":
        edit["to"] = str(draw.choice(["red", "green", "brown", "blue", "white", "orange"]))
    elif kind in {"object_addition", "alter_parts"}:
        edit["to"] = OTHER
    return edit


def random_pictures(draw: np.random.Generator, width: int, height: int) -> tuple[Pixels, Pixels]:
    """Two crops of a photograph that overlap, the second in other colors."""
    photo = np.asarray(astronaut())
    top, left = (int(draw.integers(0, 512 - side - 8)) for side in (height, width))
    source = photo[top : top + height, left : left + width]
    shifted = photo[top + 4 : top + 4 + height, left + 4 : left + 4 + width]
    tinted = np.clip(shifted + draw.normal(0, 25, 3), 0, 255)
    return np.ascontiguousarray(source), tinted.astype(np.uint8)


def differs(given: float | None, expected: float | None) -> bool:
    if given is None or expected is None:
        return given is not expected
    return abs(given - expected) > CLOSE


@cache
def counts() -> dict[str, tuple[int, int, int]]:
    """For each score: scenes that the released code scores, and how often `pixlens@released` and `pixlens` differ."""
    draw, script = np.random.default_rng(0), Script()
    table: dict[str, list[int]] = {f"edit, {kind.replace('_', ' ')}": [0, 0, 0] for kind in TYPES}
    for number in range(SCENES):
        kind = TYPES[number % len(TYPES)]
        width, height = (int(side) for side in draw.integers(64, 128, 2))
        edit, pictures = random_edit(draw, kind), random_pictures(draw, width, height)
        seen = random_seen(draw, width, height), random_seen(draw, width, height)
        item = item_of(edit, *pictures)
        see = Sees(item, *seen)
        expected = script.scores(edit, pictures, seen)
        ours = [values(protocol, item, see) for protocol in ("pixlens@released", "pixlens")]
        for name in ours[0]:
            row = table.setdefault(f"edit, {kind.replace('_', ' ')}" if name == "edit" else name, [0, 0, 0])
            row[0] += expected.get(name) is not None
            row[1] += differs(ours[0][name], expected.get(name))
            row[2] += differs(ours[1][name], expected.get(name))
    return {name: (row[0], row[1], row[2]) for name, row in table.items()}


@pytest.mark.slow
def test_the_page_states_what_random_scenes_give() -> None:
    assert counts() == table_on_page("pixlens.md")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(f"edit, {kind.replace('_', ' ')}" for kind in TYPES))
def test_the_released_verdicts_never_differ_from_the_released_code(name: str) -> None:
    assert counts()[name][1] == 0
