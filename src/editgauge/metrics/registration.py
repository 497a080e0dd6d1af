"""Is it the same picture, only shifted, cropped or scaled? Lays an edited picture back over its source.

Matched key points and phase correlation propose how the frame may have moved, simplest first; the pixels decide. A
proposal is taken only if it explains clearly more of the picture than the simpler one before it, so that an object
that was moved or enlarged never carries the whole frame with it, and a frame that stayed stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge.core.images import Pixels
from editgauge.core.masks import BoolMask

Matrix = NDArray[np.float64]
"""2 x 3: where a point of the source lies in the edited picture."""
Gray = NDArray[np.float32]
Image = TypeVar("Image", Pixels, Gray)

LONGER_SIDE = 640
"""Frames are compared at no more than so many pixels: a shift that cannot be seen there changes no comparison."""
MOST_SCALE = 1.3
MOST_SHIFT = 0.25
"""Of the longer side. Larger movements are another picture, not another frame."""
LEAST_MOVE = 0.15
"""In pixels: less is the noise of the key points, and laying the picture back would only blur it."""
CLEARER = 0.75
"""Lowe's ratio: the best match must be so much nearer than the second."""
FEWEST_MATCHES = 12
TILE = 16
TEXTURED = 4.0
"""Standard deviation of brightness in a tile, out of 255, under which a frame's place cannot be read from it."""
FEWEST_TILES = 8
ALIKE = 0.7
"""Correlation of two tiles from which on they show the same thing."""
BETTER = 0.01
"""How much more a tile must correlate to speak for a proposal."""
TIMES = 3
"""So many times more tiles must speak for a proposal than against it."""
ENOUGH = 0.1
"""The share of the tiles that must speak for it; a blurred picture has few tiles that tell a pixel's shift."""
CERTAIN = 0.3
"""The share of the tiles that must show the same thing; two unrelated photographs share far fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """How an edited picture lies over its source."""

    matrix: Matrix
    """2 x 3: where a point of the source lies in the edited picture; the identity when nothing else is certain."""
    aligned: Pixels
    """The edited picture in the source's frame."""
    valid: BoolMask
    """The source's pixels that the edited picture still shows."""
    confidence: float
    """The share of the textured source, from 0 to 1, that is found again at its place."""

    @property
    def found(self) -> bool:
        """Is it the same frame at all? A picture redrawn in another style may deny it, too."""
        return self.confidence >= CERTAIN

    @property
    def moved(self) -> bool:
        """Is the frame another than the source's?"""
        return not np.array_equal(self.matrix, np.eye(2, 3))


def align(source: Pixels, edited: Pixels) -> Alignment:
    """Where the edited picture lies over its source: both are of one size, the frame moved or scaled a little."""
    if source.shape != edited.shape:
        raise ValueError(f"the pictures differ in size: {source.shape} and {edited.shape}; resize one of them first")
    scale = min(1.0, LONGER_SIDE / max(source.shape[:2]))
    one, other = (_gray(picture, scale) for picture in (source, edited))
    textured = _texture(one) >= TEXTURED
    champion = np.eye(2, 3)
    likeness = _likeness(one, other, champion)
    if textured.sum() >= FEWEST_TILES and not np.array_equal(source, edited):
        for proposal in _proposals(one, other):
            proposed = _likeness(one, other, proposal)
            if _is_better(proposed[textured], likeness[textured]):
                champion, likeness = proposal, proposed
    confidence = _confidence(source, edited, likeness[textured])
    matrix = champion.copy() if confidence >= CERTAIN else np.eye(2, 3)
    matrix[:, 2] /= scale
    aligned, valid = _laid_back(edited, matrix)
    return Alignment(matrix, aligned, valid, confidence)


def _confidence(source: Pixels, edited: Pixels, likeness: NDArray[np.float64]) -> float:
    if np.array_equal(source, edited):
        return 1.0
    seen = likeness[np.isfinite(likeness)]
    return float((seen >= ALIKE).mean()) if len(seen) >= FEWEST_TILES else 0.0


def _is_better(proposed: NDArray[np.float64], known: NDArray[np.float64]) -> bool:
    """Do clearly more tiles speak for the proposal than against it? Tiles that neither explains say nothing."""
    tells = np.isfinite(proposed) & np.isfinite(known) & (np.fmax(proposed, known) >= ALIKE)
    speaks_for = int((proposed[tells] > known[tells] + BETTER).sum())
    against = int((known[tells] > proposed[tells] + BETTER).sum())
    return speaks_for >= FEWEST_TILES and speaks_for >= TIMES * against and speaks_for >= ENOUGH * proposed.size


def _proposals(one: Gray, other: Gray) -> Iterator[Matrix]:
    """Ways in which the frame may have moved, simplest first."""
    shift, _ = cv2.phaseCorrelate(one, other, cv2.createHanningWindow(one.shape[::-1], cv2.CV_32F))
    proposals = [_shifted(np.rint(shift))]
    here, there = _matched(one, other)
    if len(here) >= FEWEST_MATCHES:
        affine, inliers = cv2.estimateAffine2D(here, there, method=cv2.RANSAC, ransacReprojThreshold=1.5, maxIters=2000)
        if affine is not None and int(inliers.sum()) >= FEWEST_MATCHES:
            kept = inliers.ravel() > 0
            fitted = _scaled_and_shifted(here[kept], there[kept])
            proposals += [
                _shifted(np.rint(np.median(there[kept] - here[kept], axis=0))),
                fitted,
                np.asarray(affine, np.float64),
            ]
    return (each for each in proposals if _is_small(each, one.shape) and _moves(each, one.shape))


def _is_small(matrix: Matrix, shape: tuple[int, ...]) -> bool:
    scales = np.hypot(matrix[0, :2], matrix[1, :2])
    middle = np.array([shape[1] / 2, shape[0] / 2])
    moved = matrix[:, :2] @ middle + matrix[:, 2] - middle
    return bool(
        np.all(scales < MOST_SCALE) and np.all(scales > 1 / MOST_SCALE) and np.hypot(*moved) < MOST_SHIFT * max(shape)
    )


def _moves(matrix: Matrix, shape: tuple[int, ...]) -> bool:
    """Does any corner go farther than key points are sure of?"""
    corners = np.array([[0, shape[1], 0, shape[1]], [0, 0, shape[0], shape[0]]], dtype=np.float64)
    return bool(np.abs(matrix[:, :2] @ corners + matrix[:, 2:] - corners).max() >= LEAST_MOVE)


def _shifted(by: NDArray[np.float64]) -> Matrix:
    return np.column_stack([np.eye(2), by])


def _scaled_and_shifted(here: NDArray[np.float64], there: NDArray[np.float64]) -> Matrix:
    """Each axis scaled and shifted by itself: what a crop that was resized to the old size looks like."""
    (across, right), (down, below) = (np.polyfit(here[:, axis], there[:, axis], 1) for axis in (0, 1))
    return np.array([[across, 0.0, right], [0.0, down, below]])


def _matched(one: Gray, other: Gray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points of one picture, and the same points in the other."""
    sift = cv2.SIFT.create(nfeatures=1500)
    (points, first), (others, second) = (sift.detectAndCompute(each.astype(np.uint8), None) for each in (one, other))
    nothing = np.zeros((0, 2))
    if first is None or second is None or min(len(first), len(second)) < FEWEST_MATCHES:
        return nothing, nothing
    pairs = cv2.BFMatcher(cv2.NORM_L2).knnMatch(first, second, k=2)
    good = [best for best, next_best in pairs if best.distance < CLEARER * next_best.distance]
    here = np.array([points[match.queryIdx].pt for match in good], dtype=np.float64).reshape(-1, 2)
    there = np.array([others[match.trainIdx].pt for match in good], dtype=np.float64).reshape(-1, 2)
    return here, there


def _likeness(one: Gray, other: Gray, matrix: Matrix) -> NDArray[np.float64]:
    """The correlation of each tile with the tile laid over it; NaN where the other picture shows nothing."""
    laid, valid = _laid_back(other, matrix)
    mean_one, mean_other, both, square_one, square_other, seen = (
        _tiles(each) for each in (one, laid, one * laid, one * one, laid * laid, valid.astype(np.float32))
    )
    spread = np.sqrt(np.maximum(square_one - mean_one**2, 1e-3) * np.maximum(square_other - mean_other**2, 1e-3))
    return np.where(seen >= 1, (both - mean_one * mean_other) / np.maximum(spread, 1.0), np.nan)


def _texture(picture: Gray) -> NDArray[np.float64]:
    return np.sqrt(np.maximum(_tiles(picture * picture) - _tiles(picture) ** 2, 0))


def _tiles(picture: Gray) -> NDArray[np.float64]:
    """The mean of each tile; what does not fill a tile at the right and lower edge is left out."""
    rows, columns = picture.shape[0] // TILE, picture.shape[1] // TILE
    cut = picture[: rows * TILE, : columns * TILE].astype(np.float64)
    return np.asarray(cut.reshape(rows, TILE, columns, TILE).mean(axis=(1, 3)))


def _gray(picture: Pixels, scale: float) -> Gray:
    gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    if scale < 1:
        gray = cv2.resize(gray, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return np.asarray(gray, dtype=np.float32)


def _laid_back(edited: Image, matrix: Matrix) -> tuple[Image, BoolMask]:
    """The edited picture in the source's frame, and where it shows something."""
    height, width = edited.shape[:2]
    if np.array_equal(matrix, np.eye(2, 3)):
        return edited, np.ones((height, width), dtype=np.bool_)
    how = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    laid = cv2.warpAffine(edited, matrix, (width, height), flags=how, borderMode=cv2.BORDER_REPLICATE)
    across, down = np.meshgrid(np.arange(width), np.arange(height))
    x = matrix[0, 0] * across + matrix[0, 1] * down + matrix[0, 2]
    y = matrix[1, 0] * across + matrix[1, 1] * down + matrix[1, 2]
    return np.asarray(laid), (x >= 0) & (x <= width - 1) & (y >= 0) & (y <= height - 1)
