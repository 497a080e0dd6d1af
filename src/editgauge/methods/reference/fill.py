"""Filling a hole with patches of its surroundings, coarse to fine.

After Wexler, Shechtman and Irani, "Space-Time Completion of Video" (PAMI 2007), with the propagation of Barnes et al.,
"PatchMatch" (SIGGRAPH 2009): every patch that touches the hole looks for its likest known patch, and every pixel of the
hole becomes what the patches over it agree on. Where the picture is small the search is exhaustive; where it is larger,
neighbors only pass on what they found. Nothing is random.

Pixels are counted row by row, so that a place is one number, and so is the step to a neighbor.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.masks import bounding_box
from editgauge.errors import CannotEditError
from editgauge.methods.reference._appearance import to_pixels

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask

Floats = NDArray[np.float32]
IndexArray = NDArray[np.intp]

PATCH_RADIUS = 3
"""A patch reaches this far from its center: 7 x 7 pixels."""
PATCH_SIZE = 2 * PATCH_RADIUS + 1
MAX_PATCH_PAIRS = 3_000_000
"""The picture is halved until unknown and known patches make no more pairs than this; then every pair is compared."""
SEARCH_ITERATIONS = 6
MAX_REFINED_PIXELS = 40_000
"""Holes with more pixels than this keep the matches of the half-sized picture: refining them would take seconds."""
REFINEMENT_ITERATIONS = 2
CACHE_SIZE = 32
"""The latest fillings, which are kept: one editor after another removes the same things from the same pictures."""
DISTANCE_PENALTY = (1.25, 0.3)
"""Gray levels by which a match may be worse when it lies one row, or one column, nearer: what fits is rarely far."""


def fill_hole(source: Pixels, hole: BoolMask) -> Pixels:
    """Fill the hole from its surroundings."""
    if not hole.any():
        return source
    if hole.all():
        raise CannotEditError("The hole is the whole picture: nothing is left to fill it with.")
    left, top, right, bottom = bounding_box(hole)
    room = min(160, max(48, right - left, bottom - top))
    window = slice(max(0, top - room), bottom + room), slice(max(0, left - room), right + room)
    result = source.copy()
    result[window] = _filled_window(hole[window].shape, source[window].tobytes(), hole[window].tobytes())
    return result


@lru_cache(maxsize=CACHE_SIZE)
def _filled_window(shape: tuple[int, int], pixels_content: bytes, hole_content: bytes) -> Pixels:
    pixels = np.frombuffer(pixels_content, np.uint8).reshape(*shape, 3)
    hole = np.frombuffer(hole_content, np.bool_).reshape(shape)
    levels = [(pixels, hole)]
    while _pairs(levels[-1][1]) > MAX_PATCH_PAIRS:
        levels.append(_halved(*levels[-1]))
    small, small_hole = levels.pop()
    guess = _drawn_across(small, small_hole)
    if not _known(small_hole).any():
        smooth = cv2.resize(guess, hole.shape[::-1], interpolation=cv2.INTER_CUBIC)
        return np.where(hole[..., None], to_pixels(smooth), pixels)
    # The first guess is smooth, so it is compared with smoothed surroundings: sharp ones would match only where flat.
    matches = _searched(np.asarray(cv2.blur(guess, (15, 3)), dtype=np.float32), small_hole)
    picture = _agreed(small.astype(np.float32), small_hole, matches)
    for _ in range(SEARCH_ITERATIONS):
        matches = _searched(picture, small_hole)
        picture = _agreed(picture, small_hole, matches)
    for finer, finer_hole in reversed(levels):
        matches = _doubled(matches, finer_hole)
        picture = _agreed(finer.astype(np.float32), finer_hole, matches)
        for _ in range(REFINEMENT_ITERATIONS if finer_hole.sum() <= MAX_REFINED_PIXELS else 0):
            matches = _refined(picture, finer_hole, matches)
            picture = _agreed(picture, finer_hole, matches)
    return to_pixels(picture)


def _halved(pixels: Pixels, hole: BoolMask) -> tuple[Pixels, BoolMask]:
    """Both at half the size; a pixel belongs to the hole when any part of it did."""
    height, width = hole.shape
    odd, size = ((0, height % 2), (0, width % 2)), ((width + 1) // 2, (height + 1) // 2)
    even_pixels, even_hole = np.pad(pixels, (*odd, (0, 0)), mode="edge"), np.pad(hole, odd, mode="edge")
    share = cv2.resize(even_hole.astype(np.float32), size, interpolation=cv2.INTER_AREA)
    return np.asarray(cv2.resize(even_pixels, size, interpolation=cv2.INTER_AREA)), np.asarray(share > 0)


def _drawn_across(pixels: Pixels, hole: BoolMask) -> Floats:
    """Interpolate horizontally as a first guess: ground, horizon and sky of most photographs are continuous."""
    smeared = cv2.inpaint(pixels, hole.astype(np.uint8), 3, cv2.INPAINT_TELEA)
    guess, columns = np.asarray(smeared, dtype=np.float32), np.arange(hole.shape[1])
    for row, unknown in zip(guess, hole, strict=True):
        if unknown.any() and not unknown.all():
            for channel in range(3):
                row[unknown, channel] = np.interp(columns[unknown], columns[~unknown], row[~unknown, channel])
    return guess


def _touching(hole: BoolMask) -> BoolMask:
    return np.asarray(cv2.dilate(hole.astype(np.uint8), np.ones((PATCH_SIZE, PATCH_SIZE), np.uint8)), dtype=np.bool_)


def _whole_inside(centers: BoolMask) -> BoolMask:
    inner = np.zeros_like(centers)
    inner[PATCH_RADIUS:-PATCH_RADIUS, PATCH_RADIUS:-PATCH_RADIUS] = centers[
        PATCH_RADIUS:-PATCH_RADIUS, PATCH_RADIUS:-PATCH_RADIUS
    ]
    return inner


def _unknown(hole: BoolMask) -> BoolMask:
    """Centers of patches that touch the hole."""
    return _whole_inside(_touching(hole))


def _known(hole: BoolMask) -> BoolMask:
    """Centers of patches that are wholly known."""
    return _whole_inside(~_touching(hole))


def _pairs(hole: BoolMask) -> int:
    return int(_unknown(hole).sum()) * int(_known(hole).sum())


def _steps(width: int) -> IndexArray:
    """Return the index offsets from a patch's center to its pixels."""
    down, across = np.mgrid[-PATCH_RADIUS : PATCH_RADIUS + 1, -PATCH_RADIUS : PATCH_RADIUS + 1]
    return np.asarray((down * width + across).ravel(), dtype=np.intp)


def _votes() -> Floats:
    """Return the Gaussian weights of the pixels of a patch."""
    down, across = np.mgrid[-PATCH_RADIUS : PATCH_RADIUS + 1, -PATCH_RADIUS : PATCH_RADIUS + 1]
    return np.asarray(np.exp(-(down**2 + across**2) / (2 * 1.5**2)).ravel(), dtype=np.float32)


def _searched(picture: Floats, hole: BoolMask) -> IndexArray:
    """For every patch touching the hole the likest known patch of all; elsewhere each place itself."""
    width = hole.shape[1]
    unknown, candidates = np.flatnonzero(_unknown(hole)), np.flatnonzero(_known(hole))

    def described(indices: IndexArray) -> Floats:
        colors = picture.reshape(-1, 3)[indices[:, None] + _steps(width)].reshape(len(indices), -1)
        position = np.stack(np.divmod(indices, width), axis=1) * np.array(DISTANCE_PENALTY) * np.sqrt(3 * PATCH_SIZE**2)
        return np.hstack([colors, position.astype(np.float32)])

    questions, answers = described(unknown), described(candidates)
    half_lengths = (answers**2).sum(axis=1) / 2
    batches = np.array_split(questions, len(questions) // 256 + 1)
    likest = np.concatenate([np.argmin(half_lengths - batch @ answers.T, axis=1) for batch in batches])
    matches = np.arange(hole.size)
    matches[unknown] = candidates[likest]
    return matches


def _doubled(matches: IndexArray, hole: BoolMask) -> IndexArray:
    """Upsample the matches of the half-sized image to this image."""
    height, width = hole.shape
    half_height, half_width = (height + 1) // 2, (width + 1) // 2
    unknown = np.flatnonzero(_unknown(hole))
    row, column = np.divmod(unknown, width)
    half_row = np.clip(row // 2, PATCH_RADIUS, half_height - PATCH_RADIUS - 1)
    half_column = np.clip(column // 2, PATCH_RADIUS, half_width - PATCH_RADIUS - 1)
    found_row, found_column = np.divmod(matches[half_row * half_width + half_column], half_width)
    doubled = np.arange(hole.size)
    doubled[unknown] = (row + 2 * (found_row - half_row)) * width + column + 2 * (found_column - half_column)
    return doubled


def _refined(picture: Floats, hole: BoolMask, matches: IndexArray) -> IndexArray:
    """Improve matches by propagation from neighboring patches, compared on every other pixel."""
    width = hole.shape[1]
    unknown, is_valid = np.flatnonzero(_unknown(hole)), _known(hole).ravel()
    colors, steps = picture.reshape(-1, 3), _steps(width)[::2]
    targets = [colors[unknown + step] for step in steps]

    def cost(indices: IndexArray) -> Floats:
        total = np.zeros(len(indices), np.float32)
        for step, color in zip(steps, targets, strict=True):
            difference = colors[indices + step] - color
            total += np.einsum("ij,ij->i", difference, difference)
        return total

    matches = matches.copy()
    lowest = cost(matches[unknown])
    for step in (1, -1, width, -width, 2, -2, 2 * width, -2 * width):
        passed_on = matches[unknown + step] - step
        tried = np.where(is_valid[passed_on], passed_on, matches[unknown])
        costs = cost(tried)
        better = costs < lowest
        matches[unknown[better]], lowest[better] = tried[better], costs[better]
    return matches


def _agreed(picture: Floats, hole: BoolMask, matches: IndexArray) -> Floats:
    """Average, for each pixel of the hole, what the matches of the overlapping patches say."""
    colors, inside, voting = picture.reshape(-1, 3), np.flatnonzero(hole), _unknown(hole).ravel()
    total, weights = np.zeros((inside.size, 3), np.float32), np.zeros((inside.size, 1), np.float32)
    for step, vote in zip(_steps(hole.shape[1]), _votes(), strict=True):
        center = np.clip(inside - step, 0, hole.size - 1)
        weight = (vote * voting[center])[:, None]
        total += weight * colors[np.where(voting[center], matches[center] + step, 0)]
        weights += weight
    result = picture.copy()
    result[hole] = total / weights
    return result
