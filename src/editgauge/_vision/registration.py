"""Alignment of an edited image with its source: shifted, cropped or scaled.

`frame_proposals` tells how the frame may have moved, simplest first; the pixels decide. A proposal is taken only if it
explains clearly more of the picture than the simpler one before it, so that an object that was moved or enlarged never
carries the whole frame with it, and a frame that stayed stays. As soon as so little is left to explain that no proposal
could be taken, none is asked for: most edited pictures end there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels, cache_latest_images
from editgauge._util.masks import BoolMask

Likeness = NDArray[np.float64]
"""The correlation of each textured tile with what is overlaid on it; NaN where the other picture shows nothing."""

MAX_SIDE_PIXELS = 640
"""Frames are compared at no more than that many pixels: a shift that cannot be seen there changes no comparison."""
TILE_PIXELS = 16
MIN_TEXTURE_STD = 4.0
"""Standard deviation of brightness in a tile, out of 255, under which a frame's place cannot be read from it."""
MIN_TILES = 8
MIN_TILE_CORRELATION = 0.7
"""Correlation of two tiles from which they show the same thing."""
MIN_CORRELATION_GAIN = 0.01
"""How much more a tile must correlate to speak for a proposal."""
MAX_CORRELATION = 1 + 1e-6
"""No correlation is higher, rounding included."""
MIN_SUPPORT_RATIO = 3
"""This many times more tiles must speak for a proposal than against it."""
MIN_SUPPORT_FRACTION = 0.1
"""The share of the tiles that must support it; a blurred picture has few tiles that tell a pixel's shift."""
MIN_CONFIDENCE = 0.3
"""The share of the tiles that must show the same thing; two unrelated photographs share far fewer."""


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """Alignment of an edited image with its source."""

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
        """Whether it is the same frame; may be false for an image that was redrawn in another style."""
        return self.confidence >= MIN_CONFIDENCE

    @property
    def moved(self) -> bool:
        """Whether the frame differs from that of the source."""
        return not np.array_equal(self.matrix, np.eye(2, 3))

    def in_own_size(self, original: Pixels) -> Pixels:
        """Warp the edited image in its native size into the frame of the source."""
        height, width = self.valid.shape
        scale = np.array([original.shape[1] / width, original.shape[0] / height])
        centers = (scale - 1) / 2  # a pixel is named by its center
        matrix = np.empty((2, 3))
        matrix[:, :2] = self.matrix[:, :2] * scale[:, np.newaxis] / scale
        matrix[:, 2] = scale * self.matrix[:, 2] + centers - matrix[:, :2] @ centers
        return _warped(original, matrix)


def align(source: Pixels, edited: Pixels) -> Alignment:
    """Align an edited image with its source; both have one size, the frame moved or scaled a little."""
    if source.shape != edited.shape:
        raise ValueError(f"the pictures differ in size: {source.shape} and {edited.shape}; resize one of them first")
    if np.array_equal(source, edited):
        return Alignment(np.eye(2, 3), edited, np.ones(source.shape[:2], dtype=np.bool_), 1.0)
    scale = min(1.0, MAX_SIDE_PIXELS / max(source.shape[:2]))
    champion, likeness = _best_movement(*(_gray(picture, scale) for picture in (source, edited)))
    confidence = _confidence(likeness)
    matrix = champion.copy() if confidence >= MIN_CONFIDENCE else np.eye(2, 3)
    matrix[:, 2] /= scale
    return Alignment(matrix, *_warp_to_source(edited, matrix), confidence)


def _confidence(likeness: Likeness) -> float:
    """Return the share of the tiles that show the same content."""
    finite = likeness[np.isfinite(likeness)]
    return float((finite >= MIN_TILE_CORRELATION).mean()) if len(finite) >= MIN_TILES else 0.0


def _best_movement(one: Gray, other: Gray) -> tuple[Matrix, Likeness]:
    """Return the movement that explains most of the image, and the similarity of the textured tiles under it."""
    tiles = _Tiles(one)
    champion = np.eye(2, 3)
    likeness = tiles.likeness(other, champion)
    for propose in (_shift_proposals, _point_proposals):
        if not _can_improve(likeness):
            break
        for proposal in propose(one, other, champion, likeness):
            proposed = tiles.likeness(other, proposal)
            if _is_better(proposed, likeness):
                champion, likeness = proposal, proposed
    return champion, likeness


def _shift_proposals(one: Gray, other: Gray, _movement: Matrix, _likeness: Likeness) -> list[Matrix]:
    return whole_shifts(one, other)


def _point_proposals(one: Gray, other: Gray, movement: Matrix, likeness: Likeness) -> list[Matrix]:
    return movements_of_points(one, other, movement, near=_confidence(likeness) >= MIN_CONFIDENCE)


def _is_better(proposed: Likeness, current: Likeness) -> bool:
    """Return whether clearly more tiles support the proposal than the current movement."""
    tells = np.isfinite(proposed) & np.isfinite(current) & (np.fmax(proposed, current) >= MIN_TILE_CORRELATION)
    speaks_for = int((proposed[tells] > current[tells] + MIN_CORRELATION_GAIN).sum())
    against = int((current[tells] > proposed[tells] + MIN_CORRELATION_GAIN).sum())
    return _is_enough_support(speaks_for, proposed.size) and speaks_for >= MIN_SUPPORT_RATIO * against


def _can_improve(current: Likeness) -> bool:
    """Return whether any proposal could be better; no tile correlates by more than 1."""
    return _is_enough_support(int((current + MIN_CORRELATION_GAIN < MAX_CORRELATION).sum()), current.size)


def _is_enough_support(tiles: int, of: int) -> bool:
    return tiles >= MIN_TILES and tiles >= MIN_SUPPORT_FRACTION * of


class _Tiles:
    """The textured tiles of a picture; what does not fill a tile at the right and lower edge is left out."""

    def __init__(self, picture: Gray) -> None:
        self._picture, self._mean = picture, _means(picture)
        self._variance = np.maximum(_means(picture * picture) - self._mean**2, 1e-3)
        self._textured = self._variance >= MIN_TEXTURE_STD**2

    def likeness(self, other: Gray, matrix: Matrix) -> Likeness:
        """Return the correlation of each tile with the aligned other image."""
        laid = _warped(other, matrix)
        mean, both = _means(laid), _means(self._picture * laid)
        variance = np.maximum(_means(laid * laid) - mean**2, 1e-3)
        spread = np.maximum(np.sqrt(self._variance * variance), 1.0)
        visible = self._visible_tiles(matrix)
        return np.asarray(np.where(visible, (both - self._mean * mean) / spread, np.nan)[self._textured])

    def _visible_tiles(self, matrix: Matrix) -> BoolMask:
        """Return the tiles that are completely inside the other image; a frame is convex, so corners suffice."""
        rows, columns = (TILE_PIXELS * np.arange(length) for length in self._mean.shape)
        last, size = TILE_PIXELS - 1, self._picture.shape
        corners = [_inside(matrix, columns + x, rows + y, size) for x in (0, last) for y in (0, last)]
        return np.asarray(np.logical_and.reduce(corners))


def _means(picture: Gray) -> NDArray[np.float64]:
    """Return the mean of each tile."""
    rows, columns = picture.shape[0] // TILE_PIXELS, picture.shape[1] // TILE_PIXELS
    lines = picture[: rows * TILE_PIXELS, : columns * TILE_PIXELS].reshape(-1, TILE_PIXELS)
    sums = np.asarray(cv2.reduce(lines, 1, cv2.REDUCE_SUM, dtype=cv2.CV_64F))  # a fifth of numpy's time
    return np.asarray(sums.reshape(rows, TILE_PIXELS, columns).sum(axis=1) / TILE_PIXELS**2)


def _gray(picture: Pixels, scale: float) -> Gray:
    gray = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    if scale < 1:
        gray = cv2.resize(gray, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return np.asarray(gray, dtype=np.float32)


def _warp_to_source(edited: Pixels, matrix: Matrix) -> tuple[Pixels, BoolMask]:
    """Warp the edited image into the frame of the source; return it with a mask of valid pixels."""
    height, width = edited.shape[:2]
    return _warped(edited, matrix), _inside(matrix, np.arange(width), np.arange(height), (height, width))


def _warped(picture: Image, matrix: Matrix) -> Image:
    if np.array_equal(matrix, np.eye(2, 3)):
        return picture
    how = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    size = (picture.shape[1], picture.shape[0])
    return np.asarray(cv2.warpAffine(picture, matrix, size, flags=how, borderMode=cv2.BORDER_REPLICATE))


def _inside(matrix: Matrix, columns: NDArray[np.int_], rows: NDArray[np.int_], size: tuple[int, ...]) -> BoolMask:
    """Return which points of these columns and rows lie inside the other image."""
    x, y = (along[0] * columns + (along[1] * rows + along[2])[:, np.newaxis] for along in matrix)
    return np.asarray((x >= 0) & (x <= size[1] - 1) & (y >= 0) & (y <= size[0] - 1))


Matrix = NDArray[np.float64]
"""2 x 3: where a point of the source is in the edited picture."""
Gray = NDArray[np.float32]
Image = TypeVar("Image", Pixels, Gray)
Points = NDArray[np.float64]
"""n x 2: pixels from the left and from the top."""
KeyPoints = tuple[Sequence[cv2.KeyPoint], NDArray[np.float32] | None]
"""Points that are found again in another picture, and a row of numbers for each."""

MAX_SCALE = 1.3
MAX_SHIFT_FRACTION = 0.25
"""Of the longer side. Larger movements are another picture, not another frame."""
MIN_MOVE_PIXELS = 0.15
"""In pixels: less is the noise of the key points, and laying the picture back would only blur it."""
MAX_CORNERS = 250
MIN_CORNER_QUALITY = 0.002
"""Of the strongest: enough of them in every part of a photograph, none in its flat parts."""
MIN_CORNER_DISTANCE_PIXELS = 8
"""Pixels between corners, so that no finely drawn object outvotes the rest."""
TRACKING_CRITERIA = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 10, 0.03)
"""A corner is followed in at most 10 steps, until a step is shorter than 0.03 pixels."""
MAX_ROUND_TRIP_PIXELS = 0.3
"""In pixels: a corner that is followed there and back must return so close."""
MIN_AGREEING_FRACTION = 0.3
"""The share of all corners that must agree on one movement for key points to be needless."""
MAX_KEY_POINT_SIDE_PIXELS = 320
"""Of the longer side: with more, key points take four times as long, and find no further movement."""
MAX_KEY_POINTS = 600
LOWE_RATIO = 0.75
"""Lowe's ratio: the best match must be this much nearer than the second."""
MIN_MATCHES = 12
INLIER_PIXELS = 1.5
"""In pixels: so close to a movement a point agrees with it."""


def whole_shifts(one: Gray, other: Gray) -> list[Matrix]:
    """Propose the integer shift of phase correlation."""
    window = cv2.createHanningWindow(one.shape[::-1], cv2.CV_32F)
    # OpenCV would lay a window that it is given over the pictures themselves, in place.
    shift, _ = cv2.phaseCorrelate(one * window, other * window)
    return _plausible_movements([_shifted(np.rint(shift))], one.shape)


def movements_of_points(one: Gray, other: Gray, initial: Matrix, *, near: bool = False) -> list[Matrix]:
    """Propose a shift, a crop and an affine movement on which points agree.

    Args:
        one: the source.
        other: the edited image.
        initial: the movement near which corners are tracked.
        near: whether larger movements than corners can follow are impossible.

    """
    first, second = one.astype(np.uint8), other.astype(np.uint8)
    movements = _movements_of_corners(first, second, initial)
    if not movements and not near:
        movements = _movements(*_match_key_points(first, second), fewest=MIN_MATCHES)
        if movements:
            movements = _movements_of_corners(first, second, movements[-1]) or movements
    return _plausible_movements(movements, one.shape)


def _movements_of_corners(one: NDArray[np.uint8], other: NDArray[np.uint8], initial: Matrix) -> list[Matrix]:
    corners, followed, consistent = _track_corners(one, other, initial)
    return _movements(
        corners[consistent], followed[consistent], fewest=max(MIN_MATCHES, MIN_AGREEING_FRACTION * len(corners))
    )


def _plausible_movements(movements: list[Matrix], shape: tuple[int, ...]) -> list[Matrix]:
    return [matrix for matrix in movements if _is_small(matrix, shape) and _moves(matrix, shape)]


def _movements(source_points: Points, target_points: Points, fewest: float) -> list[Matrix]:
    """Fit a shift, a crop and an affine movement to matched points; return nothing if too few agree."""
    if len(source_points) < fewest:
        return []
    affine, inliers = cv2.estimateAffine2D(
        source_points, target_points, method=cv2.RANSAC, ransacReprojThreshold=INLIER_PIXELS, maxIters=2000
    )
    if affine is None or int(inliers.sum()) < fewest:
        return []
    agree = inliers.ravel() > 0
    source_points, target_points = source_points[agree], target_points[agree]
    shift = np.rint(np.median(target_points - source_points, axis=0))
    return [_shifted(shift), _scaled_and_shifted(source_points, target_points), np.asarray(affine, np.float64)]


def _track_corners(
    one: NDArray[np.uint8], other: NDArray[np.uint8], initial: Matrix
) -> tuple[Points, Points, NDArray[np.bool_]]:
    """Track corners from one image to the other; return both positions and which were tracked back consistently."""
    corners = _corners(one)
    if corners is None:
        return np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0, np.bool_)
    expected = np.asarray(cv2.transform(corners, initial), np.float32)
    how = {"criteria": TRACKING_CRITERIA, "flags": cv2.OPTFLOW_USE_INITIAL_FLOW}
    targets, went, _ = cv2.calcOpticalFlowPyrLK(one, other, corners, expected.copy(), **how)  # type: ignore[call-overload]
    back, returned, _ = cv2.calcOpticalFlowPyrLK(other, one, targets, corners.copy(), **how)  # type: ignore[call-overload]
    off = np.abs(back - corners).reshape(-1, 2).max(axis=1)
    consistent = (went.ravel() > 0) & (returned.ravel() > 0) & (off <= MAX_ROUND_TRIP_PIXELS)
    start, end = (np.asarray(points, np.float64).reshape(-1, 2) for points in (corners, targets))
    return start, end, consistent


@cache_latest_images
def _corners(picture: NDArray[np.uint8]) -> NDArray[np.float32] | None:
    corners = cv2.goodFeaturesToTrack(picture, MAX_CORNERS, MIN_CORNER_QUALITY, MIN_CORNER_DISTANCE_PIXELS)
    return None if corners is None else np.asarray(corners, np.float32)


def _match_key_points(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> tuple[Points, Points]:
    """Return matched key points of two images."""
    scale = min(1.0, MAX_KEY_POINT_SIDE_PIXELS / max(one.shape))
    one, other = _smaller(one, scale), _smaller(other, scale)
    (points, first), (other_points, second) = _key_points_of_source(one), _key_points(other)
    nothing = np.zeros((0, 2))
    if first is None or second is None or min(len(first), len(second)) < MIN_MATCHES:
        return nothing, nothing
    pairs = cv2.BFMatcher(cv2.NORM_L2).knnMatch(first, second, k=2)
    good = [best for best, next_best in pairs if best.distance < LOWE_RATIO * next_best.distance]
    source_points = np.array([points[match.queryIdx].pt for match in good], dtype=np.float64).reshape(-1, 2)
    target_points = np.array([other_points[match.trainIdx].pt for match in good], dtype=np.float64).reshape(-1, 2)
    return (source_points + 0.5) / scale - 0.5, (target_points + 0.5) / scale - 0.5  # a pixel is named by its center


def _smaller(picture: NDArray[np.uint8], scale: float) -> NDArray[np.uint8]:
    if scale == 1:
        return picture
    return np.asarray(cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)


def _key_points(picture: NDArray[np.uint8]) -> KeyPoints:
    points, descriptions = cv2.SIFT.create(nfeatures=MAX_KEY_POINTS).detectAndCompute(picture, None)
    return points, None if descriptions is None else np.asarray(descriptions, np.float32)


_key_points_of_source = cache_latest_images(_key_points)


def _shifted(by: NDArray[np.float64]) -> Matrix:
    return np.column_stack([np.eye(2), by])


def _scaled_and_shifted(source_points: Points, target_points: Points) -> Matrix:
    """Fit a scale and a shift per axis, as of a crop that was resized to the former size."""
    (across, right), (down, below) = (np.polyfit(source_points[:, axis], target_points[:, axis], 1) for axis in (0, 1))
    return np.array([[across, 0.0, right], [0.0, down, below]])


def _is_small(matrix: Matrix, shape: tuple[int, ...]) -> bool:
    scales = np.hypot(matrix[0, :2], matrix[1, :2])
    middle = np.array([shape[1] / 2, shape[0] / 2])
    moved = matrix[:, :2] @ middle + matrix[:, 2] - middle
    return bool(
        np.all(scales < MAX_SCALE)
        and np.all(scales > 1 / MAX_SCALE)
        and np.hypot(*moved) < MAX_SHIFT_FRACTION * max(shape)
    )


def _moves(matrix: Matrix, shape: tuple[int, ...]) -> bool:
    """Return whether any corner of the image moves farther than the accuracy of points."""
    corners = np.array([[0, shape[1], 0, shape[1]], [0, 0, shape[0], shape[0]]], dtype=np.float64)
    return bool(np.abs(matrix[:, :2] @ corners + matrix[:, 2:] - corners).max() >= MIN_MOVE_PIXELS)
