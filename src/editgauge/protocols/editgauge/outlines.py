"""What lies along an outline: lines and steps that are on neither side, and the thing seen once more next to itself."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Lab, Pixels
from editgauge._util.masks import BoolMask, bounding_box

Means = NDArray[np.float64]
"""A color for each ring."""
FEW = 20
"""Pixels at one distance from an outline of which a mean says little."""
THIN = 3
"""Pixels: the width of a seam; a halo is as wide as the margin."""
SMALL = 40
"""Pixels of the longer side at which a thing is looked for next to itself."""
SMALLEST = 6
"""Pixels, at that size, of a thing that still can be distinguished from another."""
APART, REACH, LEVEL = 0.3, 1.5, 0.5
"""From how far aside on, how far at most, and how far up or down a double may lie, in widths or heights of it."""


def signed_distance(mask: BoolMask) -> NDArray[np.float32]:
    """How far every pixel's middle is from the outline: a half and more outside, minus a half and less inside."""
    inside = mask.astype(np.uint8)
    out, into = (cv2.distanceTransform(each, cv2.DIST_L2, 5) for each in (1 - inside, inside))
    return np.asarray(np.where(mask, 0.5 - into, out - 0.5), np.float32)


class Rings:
    """The pixels at every whole distance from an outline, from `first` to before `end`."""

    def __init__(self, away: NDArray[np.float32], first: int, end: int) -> None:
        self._count = end - first
        self._there = np.flatnonzero((away >= first) & (away < end))
        self._ring = np.floor(away.reshape(-1)[self._there]).astype(np.int64) - first
        self._pixels = np.bincount(self._ring, minlength=self._count)

    def means(self, lab: Lab) -> Means:
        """The mean color of each; not a number where few pixels have the distance."""
        colors = lab.reshape(-1, 3)[self._there]
        sums = [np.bincount(self._ring, colors[:, channel], minlength=self._count) for channel in range(3)]
        means = np.stack(sums, axis=1) / np.maximum(self._pixels, 1)[:, np.newaxis]
        return np.where(self._pixels[:, np.newaxis] >= FEW, means, np.nan)


def rings_of_rim(away: NDArray[np.float32], margin: int) -> Rings:
    """Where something along an outline is looked for."""
    return Rings(away, -3 * margin, 4 * margin)


def bump(means: Means, margin: int) -> float:
    """How far the mean color of a line along a rim is from the colors of both its sides, in tens of Lab."""
    highest = 0.0
    for width in (THIN, margin):
        lines = _running_means(means, width)
        one, line, other = lines[: -2 * width], lines[width:-width], lines[2 * width :]
        middles = np.arange(len(line)) + 1.5 * width - 3 * margin
        near = (middles >= -1.5 * margin) & (middles <= 2 * margin)
        beyond = (np.linalg.norm(line - (one + other) / 2, axis=1) - np.linalg.norm(one - other, axis=1) / 2)[near]
        highest = max(highest, float(beyond[np.isfinite(beyond)].max(initial=0.0)) / 10)
    return highest


def _running_means(rows: Means, width: int) -> Means:
    """Of every `width` rows that follow each other."""
    count = len(rows) - width + 1
    return np.asarray(sum(rows[start : start + count] for start in range(width)) / width)


def step(lab: Lab, away: NDArray[np.float32], margin: int) -> float | None:
    """How far the colors just inside the outline are from those just outside, in tens of Lab."""
    inner, outer = Rings(away, -margin, -1).means(lab), Rings(away, 1, margin).means(lab)
    known = [side[np.isfinite(side).all(axis=1)] for side in (inner, outer)]
    if not all(len(side) for side in known):
        return None
    return float(np.linalg.norm(known[0].mean(axis=0) - known[1].mean(axis=0))) / 10


def seen_again(source: Pixels, edited: Pixels, outline: BoolMask) -> float | None:
    """How much better than in the source a half of the outlined thing is found once more next to itself; None when the
    thing is too small to say.
    """
    left, top, right, bottom = bounding_box(outline)
    scale = min(1.0, SMALL / max(right - left, bottom - top))
    if scale * min(outline.shape) < SMALLEST:
        return None
    before, after = (_shrunk(picture, scale) for picture in (source, edited))
    mask = cv2.resize(outline.astype(np.uint8), after.shape[1::-1], interpolation=cv2.INTER_NEAREST) > 0
    if not mask.any():
        return None
    left, top, right, bottom = bounding_box(mask)
    half = (right - left) // 2
    if min(right - left, bottom - top) < SMALLEST:
        return None
    box = left, top, right, bottom
    starts = [start for start in (left, right - half) if mask[top:bottom, start : start + half].sum() > 2 * SMALLEST]
    gains = [_likest(after, after, mask, box, start) - _likest(before, after, mask, box, start) for start in starts]
    return max(gains, default=None)


def _likest(
    picture: NDArray[np.float32], shown: NDArray[np.float32], mask: BoolMask, box: tuple[int, int, int, int], start: int
) -> float:
    """How alike the half of the thing that starts at a column is to the likest place next to it, by correlation."""
    left, top, right, bottom = box
    half = (right - left) // 2
    template = shown[top:bottom, start : start + half]
    counts = np.repeat(mask[top:bottom, start : start + half, np.newaxis], 3, axis=2).astype(np.float32)
    alike = np.nan_to_num(
        np.asarray(cv2.matchTemplate(picture, template, cv2.TM_CCOEFF_NORMED, mask=counts)), posinf=0, neginf=0
    )
    down, across = np.ogrid[: alike.shape[0], : alike.shape[1]]
    aside, level = np.abs(across - start) / (right - left), np.abs(down - top) / (bottom - top)
    allowed = (level <= LEVEL) & (aside <= REACH) & ((aside >= APART) | (level >= APART))
    return float(alike[allowed].max(initial=0.0))


def _shrunk(picture: Pixels, scale: float) -> NDArray[np.float32]:
    small = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.float32)
