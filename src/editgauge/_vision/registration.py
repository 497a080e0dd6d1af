"""Is it the same picture, only shifted, cropped or scaled? Aligns an edited picture with its source.

`frame_proposals` tells how the frame may have moved, simplest first; the pixels decide. A proposal is taken only if it
explains clearly more of the picture than the simpler one before it, so that an object that was moved or enlarged never
carries the whole frame with it, and a frame that stayed stays. As soon as so little is left to explain that no proposal
could be taken, none is asked for: most edited pictures end there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask
from editgauge._vision.frame_proposals import Gray, Matrix, movements_of_points, whole_shifts

Image = TypeVar("Image", Pixels, Gray)
Likeness = NDArray[np.float64]
"""The correlation of each textured tile with what is overlaid on it; NaN where the other picture shows nothing."""

LONGER_SIDE = 640
"""Frames are compared at no more than that many pixels: a shift that cannot be seen there changes no comparison."""
TILE = 16
TEXTURED = 4.0
"""Standard deviation of brightness in a tile, out of 255, under which a frame's place cannot be read from it."""
FEWEST_TILES = 8
ALIKE = 0.7
"""Correlation of two tiles from which they show the same thing."""
BETTER = 0.01
"""How much more a tile must correlate to speak for a proposal."""
HIGHEST = 1 + 1e-6
"""No correlation is higher, rounding included."""
TIMES = 3
"""This many times more tiles must speak for a proposal than against it."""
ENOUGH = 0.1
"""The share of the tiles that must support it; a blurred picture has few tiles that tell a pixel's shift."""
CERTAIN = 0.3
"""The share of the tiles that must show the same thing; two unrelated photographs share far fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """How an edited picture lies over its source."""

    matrix: Matrix
    """2 x 3: where a point of the source is in the edited picture; the identity when nothing else is certain."""
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

    def in_own_size(self, original: Pixels) -> Pixels:
        """The edited picture as it was made, in a size of its own, brought into the source's frame."""
        height, width = self.valid.shape
        scale = np.array([original.shape[1] / width, original.shape[0] / height])
        centers = (scale - 1) / 2  # a pixel is named by its center
        matrix = np.empty((2, 3))
        matrix[:, :2] = self.matrix[:, :2] * scale[:, np.newaxis] / scale
        matrix[:, 2] = scale * self.matrix[:, 2] + centers - matrix[:, :2] @ centers
        return _warped(original, matrix)


def align(source: Pixels, edited: Pixels) -> Alignment:
    """Where the edited picture lies over its source: both are of one size, the frame moved or scaled a little."""
    if source.shape != edited.shape:
        raise ValueError(f"the pictures differ in size: {source.shape} and {edited.shape}; resize one of them first")
    if np.array_equal(source, edited):
        return Alignment(np.eye(2, 3), edited, np.ones(source.shape[:2], dtype=np.bool_), 1.0)
    scale = min(1.0, LONGER_SIDE / max(source.shape[:2]))
    champion, likeness = _champion(*(_gray(picture, scale) for picture in (source, edited)))
    confidence = _confidence(likeness)
    matrix = champion.copy() if confidence >= CERTAIN else np.eye(2, 3)
    matrix[:, 2] /= scale
    return Alignment(matrix, *_laid_back(edited, matrix), confidence)


def _confidence(likeness: Likeness) -> float:
    """The share of the tiles that show the same thing."""
    seen = likeness[np.isfinite(likeness)]
    return float((seen >= ALIKE).mean()) if len(seen) >= FEWEST_TILES else 0.0


def _champion(one: Gray, other: Gray) -> tuple[Matrix, Likeness]:
    """The movement that explains most of the picture, and how alike the textured tiles are with it."""
    tiles = _Tiles(one)
    champion = np.eye(2, 3)
    likeness = tiles.likeness(other, champion)
    for propose in (whole_shifts, movements_of_points):
        if not _may_be_beaten(likeness):
            break
        for proposal in propose(one, other, champion, _confidence(likeness) >= CERTAIN):
            proposed = tiles.likeness(other, proposal)
            if _is_better(proposed, likeness):
                champion, likeness = proposal, proposed
    return champion, likeness


def _is_better(proposed: Likeness, known: Likeness) -> bool:
    """Do clearly more tiles speak for the proposal than against it? Tiles that neither explains say nothing."""
    tells = np.isfinite(proposed) & np.isfinite(known) & (np.fmax(proposed, known) >= ALIKE)
    speaks_for = int((proposed[tells] > known[tells] + BETTER).sum())
    against = int((known[tells] > proposed[tells] + BETTER).sum())
    return _are_enough(speaks_for, proposed.size) and speaks_for >= TIMES * against


def _may_be_beaten(known: Likeness) -> bool:
    """Could any proposal at all be better? No tile correlates by more than 1."""
    return _are_enough(int((known + BETTER < HIGHEST).sum()), known.size)


def _are_enough(tiles: int, of: int) -> bool:
    return tiles >= FEWEST_TILES and tiles >= ENOUGH * of


class _Tiles:
    """The textured tiles of a picture; what does not fill a tile at the right and lower edge is left out."""

    def __init__(self, picture: Gray) -> None:
        self._picture, self._mean = picture, _means(picture)
        self._variance = np.maximum(_means(picture * picture) - self._mean**2, 1e-3)
        self._textured = self._variance >= TEXTURED**2

    def likeness(self, other: Gray, matrix: Matrix) -> Likeness:
        """How alike each tile is to what another picture, aligned, shows there."""
        laid = _warped(other, matrix)
        mean, both = _means(laid), _means(self._picture * laid)
        variance = np.maximum(_means(laid * laid) - mean**2, 1e-3)
        spread = np.maximum(np.sqrt(self._variance * variance), 1.0)
        seen = self._seen(matrix)
        return np.asarray(np.where(seen, (both - self._mean * mean) / spread, np.nan)[self._textured])

    def _seen(self, matrix: Matrix) -> BoolMask:
        """The tiles of which the other picture shows all: a frame is convex, so their corners can tell."""
        rows, columns = (TILE * np.arange(length) for length in self._mean.shape)
        last, size = TILE - 1, self._picture.shape
        corners = [_inside(matrix, columns + x, rows + y, size) for x in (0, last) for y in (0, last)]
        return np.asarray(np.logical_and.reduce(corners))


def _means(picture: Gray) -> NDArray[np.float64]:
    """The mean of each tile."""
    rows, columns = picture.shape[0] // TILE, picture.shape[1] // TILE
    lines = picture[: rows * TILE, : columns * TILE].reshape(-1, TILE)
    sums = np.asarray(cv2.reduce(lines, 1, cv2.REDUCE_SUM, dtype=cv2.CV_64F))  # a fifth of numpy's time
    return np.asarray(sums.reshape(rows, TILE, columns).sum(axis=1) / TILE**2)


def _gray(picture: Pixels, scale: float) -> Gray:
    gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    if scale < 1:
        gray = cv2.resize(gray, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return np.asarray(gray, dtype=np.float32)


def _laid_back(edited: Pixels, matrix: Matrix) -> tuple[Pixels, BoolMask]:
    """The edited picture in the source's frame, and where it shows something."""
    height, width = edited.shape[:2]
    return _warped(edited, matrix), _inside(matrix, np.arange(width), np.arange(height), (height, width))


def _warped(picture: Image, matrix: Matrix) -> Image:
    if np.array_equal(matrix, np.eye(2, 3)):
        return picture
    how = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    size = (picture.shape[1], picture.shape[0])
    return np.asarray(cv2.warpAffine(picture, matrix, size, flags=how, borderMode=cv2.BORDER_REPLICATE))


def _inside(matrix: Matrix, columns: NDArray[np.int_], rows: NDArray[np.int_], size: tuple[int, ...]) -> BoolMask:
    """Do the points in these columns and rows lie within the other picture, too?"""
    x, y = (along[0] * columns + (along[1] * rows + along[2])[:, np.newaxis] for along in matrix)
    return np.asarray((x >= 0) & (x <= size[1] - 1) & (y >= 0) & (y <= size[0] - 1))
