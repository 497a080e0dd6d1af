"""Alignment of an edited image that is shifted, cropped or scaled with its source.

Candidate transforms are tried from the simplest on, and compared by the correlation of image tiles. A candidate is
accepted only if it explains clearly more of the image than the current transform, so that a moved or enlarged object
does not change the frame. The search stops as soon as no candidate could be accepted, which is the usual case.
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

Matrix = NDArray[np.float64]
"""2 x 3 affine transform from source to edited coordinates."""
Gray = NDArray[np.float32]
ImageT = TypeVar("ImageT", Pixels, Gray)
Points = NDArray[np.float64]
"""n x 2: x and y in pixels."""
KeyPoints = tuple[Sequence[cv2.KeyPoint], NDArray[np.float32] | None]
"""Key points and their descriptors, one row per point; None without points."""
Likeness = NDArray[np.float64]
"""Correlation of each textured tile of the source with the edited image; NaN for tiles outside of it."""

MAX_SIDE_PIXELS = 640
"""Longer side at which images are compared; a smaller shift does not affect later comparisons."""
TILE_PIXELS = 16
MIN_TEXTURE_STD = 4.0
"""Standard deviation of brightness, out of 255, below which a tile is too flat to locate."""
MIN_TILES = 8
MIN_TILE_CORRELATION = 0.7
"""Correlation from which two tiles count as the same content."""
MIN_CORRELATION_GAIN = 0.01
"""Gain in correlation from which a tile supports a candidate."""
MAX_CORRELATION = 1 + 1e-6
"""Upper bound of a correlation, including rounding errors."""
MIN_SUPPORT_RATIO = 3
"""Minimum ratio of tiles that support a candidate to tiles that oppose it."""
MIN_SUPPORT_FRACTION = 0.1
"""Minimum fraction of tiles that support a candidate; low, as few tiles of a blurred image reveal a small shift."""
MIN_CONFIDENCE = 0.3
"""Minimum fraction of tiles with the same content; unrelated photographs have far fewer."""
MAX_SCALE = 1.3
MAX_SHIFT_FRACTION = 0.25
"""Fraction of the longer side; beyond this or `MAX_SCALE` it is another image, not another frame."""
MIN_MOVE_PIXELS = 0.15
"""Less is within the noise of the points, and warping would only blur the image."""
MAX_CORNERS = 250
MIN_CORNER_QUALITY = 0.002
"""Relative to the strongest corner; finds corners everywhere except in flat parts of a photograph."""
MIN_CORNER_DISTANCE_PIXELS = 8
"""Distance between corners, so that no richly textured object dominates."""
TRACKING_CRITERIA = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 10, 0.03)
"""At most 10 iterations, until a step is shorter than 0.03 pixels."""
MAX_ROUND_TRIP_PIXELS = 0.3
"""Maximum error of a corner that is tracked forward and back."""
MIN_AGREEING_FRACTION = 0.3
"""Fraction of corners that must agree on a transform; otherwise key points are matched."""
MAX_KEY_POINT_SIDE_PIXELS = 320
"""Longer side at which key points are detected; full size takes four times as long and finds no more transforms."""
MAX_KEY_POINTS = 600
LOWE_RATIO = 0.75
"""Maximum ratio of the distances of the best and the second-best match."""
MIN_MATCHES = 12
INLIER_PIXELS = 1.5
"""Maximum error of a point that agrees with a transform."""


@dataclass(frozen=True, slots=True, eq=False)
class Alignment:
    """Alignment of an edited image with its source."""

    matrix: Matrix
    """2 x 3 affine transform from source to edited coordinates; the identity if no other is certain."""
    aligned: Pixels
    """The edited image in the frame of the source."""
    valid: BoolMask
    """Pixels of the source that are inside the edited image."""
    confidence: float
    """Fraction of the textured source, from 0 to 1, that matches the aligned image."""

    @property
    def found(self) -> bool:
        """Whether the frames match; may be false for an image that was redrawn in another style."""
        return self.confidence >= MIN_CONFIDENCE

    @property
    def moved(self) -> bool:
        """Whether the frame differs from that of the source."""
        return not np.array_equal(self.matrix, np.eye(2, 3))

    def in_own_size(self, original: Pixels) -> Pixels:
        """Warp the edited image in its native size into the frame of the source."""
        height, width = self.valid.shape
        scale = np.array([original.shape[1] / width, original.shape[0] / height])
        centers = (scale - 1) / 2  # coordinates refer to pixel centers
        matrix = np.empty((2, 3))
        matrix[:, :2] = self.matrix[:, :2] * scale[:, np.newaxis] / scale
        matrix[:, 2] = scale * self.matrix[:, 2] + centers - matrix[:, :2] @ centers
        return _warp(original, matrix)


def align(source: Pixels, edited: Pixels) -> Alignment:
    """Align an edited image with a source of the same size, for small shifts and changes of scale."""
    if source.shape != edited.shape:
        raise ValueError(f"the pictures differ in size: {source.shape} and {edited.shape}; resize one of them first")
    if np.array_equal(source, edited):
        return Alignment(np.eye(2, 3), edited, np.ones(source.shape[:2], dtype=np.bool_), 1.0)
    scale = min(1.0, MAX_SIDE_PIXELS / max(source.shape[:2]))
    transform, likeness = _estimate_transform(_gray(source, scale), _gray(edited, scale))
    confidence = _confidence(likeness)
    matrix = transform.copy() if confidence >= MIN_CONFIDENCE else np.eye(2, 3)
    matrix[:, 2] /= scale
    return Alignment(matrix, *_warp_to_source(edited, matrix), confidence)


def _confidence(likeness: Likeness) -> float:
    """Return the fraction of tiles that show the same content."""
    finite = likeness[np.isfinite(likeness)]
    return float((finite >= MIN_TILE_CORRELATION).mean()) if len(finite) >= MIN_TILES else 0.0


def _estimate_transform(source: Gray, edited: Gray) -> tuple[Matrix, Likeness]:
    """Return the transform that explains most of the image, and the correlation of the textured tiles under it."""
    tiles = _Tiles(source)
    identity = np.eye(2, 3)
    best = identity, tiles.likeness(edited, identity)
    if _can_improve(best[1]):
        best = _choose_transform(tiles, edited, best, whole_shifts(source, edited))
    if _can_improve(best[1]):
        near = _confidence(best[1]) >= MIN_CONFIDENCE
        best = _choose_transform(tiles, edited, best, point_transforms(source, edited, best[0], near=near))
    return best


def _choose_transform(
    tiles: _Tiles, edited: Gray, current: tuple[Matrix, Likeness], candidates: list[Matrix]
) -> tuple[Matrix, Likeness]:
    """Return the last candidate that is better than all accepted before it, or the current transform."""
    matrix, likeness = current
    for candidate in candidates:
        candidate_likeness = tiles.likeness(edited, candidate)
        if _is_better(candidate_likeness, likeness):
            matrix, likeness = candidate, candidate_likeness
    return matrix, likeness


def _is_better(proposed: Likeness, current: Likeness) -> bool:
    """Return whether clearly more tiles support the proposed transform than the current one."""
    comparable = np.isfinite(proposed) & np.isfinite(current) & (np.fmax(proposed, current) >= MIN_TILE_CORRELATION)
    proposed_values, current_values = proposed[comparable], current[comparable]
    supporting = int((proposed_values > current_values + MIN_CORRELATION_GAIN).sum())
    opposing = int((current_values > proposed_values + MIN_CORRELATION_GAIN).sum())
    return _is_enough(supporting, total=proposed.size) and supporting >= MIN_SUPPORT_RATIO * opposing


def _can_improve(current: Likeness) -> bool:
    """Return whether any transform could be better, as no tile correlates by more than 1."""
    improvable = int((current + MIN_CORRELATION_GAIN < MAX_CORRELATION).sum())
    return _is_enough(improvable, total=current.size)


def _is_enough(tiles: int, *, total: int) -> bool:
    return tiles >= MIN_TILES and tiles >= MIN_SUPPORT_FRACTION * total


class _Tiles:
    """The textured tiles of an image; incomplete tiles at the right and bottom edges are ignored."""

    def __init__(self, image: Gray) -> None:
        self._image = image
        self._mean = _tile_means(image)
        self._variance = np.maximum(_tile_means(image * image) - self._mean**2, 1e-3)
        self._textured = self._variance >= MIN_TEXTURE_STD**2

    def likeness(self, edited: Gray, matrix: Matrix) -> Likeness:
        """Return the correlation of each textured tile with the aligned edited image."""
        aligned = _warp(edited, matrix)
        mean = _tile_means(aligned)
        variance = np.maximum(_tile_means(aligned * aligned) - mean**2, 1e-3)
        covariance = _tile_means(self._image * aligned) - self._mean * mean
        correlation = covariance / np.maximum(np.sqrt(self._variance * variance), 1.0)
        return np.asarray(np.where(self._visible_tiles(matrix), correlation, np.nan)[self._textured])

    def _visible_tiles(self, matrix: Matrix) -> BoolMask:
        """Return which tiles are completely inside the edited image; it is convex, so their corners suffice."""
        rows, columns = (TILE_PIXELS * np.arange(length) for length in self._mean.shape)
        last, size = TILE_PIXELS - 1, self._image.shape
        corners = [_is_inside(matrix, columns + x, rows + y, size) for x in (0, last) for y in (0, last)]
        return np.asarray(np.logical_and.reduce(corners))


def _tile_means(image: Gray) -> NDArray[np.float64]:
    """Return the mean of each tile."""
    rows, columns = image.shape[0] // TILE_PIXELS, image.shape[1] // TILE_PIXELS
    lines = image[: rows * TILE_PIXELS, : columns * TILE_PIXELS].reshape(-1, TILE_PIXELS)
    sums = np.asarray(cv2.reduce(lines, 1, cv2.REDUCE_SUM, dtype=cv2.CV_64F))  # five times as fast as NumPy
    return np.asarray(sums.reshape(rows, TILE_PIXELS, columns).sum(axis=1) / TILE_PIXELS**2)


def _gray(image: Pixels, scale: float) -> Gray:
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    if scale < 1:
        gray = cv2.resize(gray, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    return np.asarray(gray, dtype=np.float32)


def _warp_to_source(edited: Pixels, matrix: Matrix) -> tuple[Pixels, BoolMask]:
    """Warp the edited image into the frame of the source; return it with a mask of valid pixels."""
    height, width = edited.shape[:2]
    return _warp(edited, matrix), _is_inside(matrix, np.arange(width), np.arange(height), (height, width))


def _warp(image: ImageT, matrix: Matrix) -> ImageT:
    if np.array_equal(matrix, np.eye(2, 3)):
        return image
    flags = cv2.INTER_CUBIC | cv2.WARP_INVERSE_MAP
    size = (image.shape[1], image.shape[0])
    return np.asarray(cv2.warpAffine(image, matrix, size, flags=flags, borderMode=cv2.BORDER_REPLICATE))


def _is_inside(matrix: Matrix, columns: NDArray[np.int_], rows: NDArray[np.int_], size: tuple[int, ...]) -> BoolMask:
    """Return which points of a grid of columns and rows are inside an image of this size after the transform."""
    x, y = (axis[0] * columns + (axis[1] * rows + axis[2])[:, np.newaxis] for axis in matrix)
    return np.asarray((x >= 0) & (x <= size[1] - 1) & (y >= 0) & (y <= size[0] - 1))


def whole_shifts(source: Gray, edited: Gray) -> list[Matrix]:
    """Propose the shift of phase correlation, rounded to whole pixels."""
    window = cv2.createHanningWindow(source.shape[::-1], cv2.CV_32F)
    # Apply the window here: `phaseCorrelate` would apply it to its inputs in place.
    shift, _ = cv2.phaseCorrelate(source * window, edited * window)
    return _filter_transforms([_shift_matrix(np.rint(shift))], source.shape)


def point_transforms(source: Gray, edited: Gray, initial: Matrix, *, near: bool = False) -> list[Matrix]:
    """Propose a shift, a crop and an affine transform on which points agree.

    Args:
        source: The source image.
        edited: The edited image.
        initial: Transform from which corner tracking starts.
        near: Whether `initial` is so close that key points need not be matched.

    """
    images = source.astype(np.uint8), edited.astype(np.uint8)
    transforms = _corner_transforms(*images, initial)
    if not transforms and not near:
        transforms = _fit_transforms(*_match_key_points(*images), min_inliers=MIN_MATCHES)
        if transforms:
            transforms = _corner_transforms(*images, transforms[-1]) or transforms
    return _filter_transforms(transforms, source.shape)


def _corner_transforms(source: NDArray[np.uint8], edited: NDArray[np.uint8], initial: Matrix) -> list[Matrix]:
    corners, tracked, consistent = _track_corners(source, edited, initial)
    min_inliers = max(MIN_MATCHES, MIN_AGREEING_FRACTION * len(corners))
    return _fit_transforms(corners[consistent], tracked[consistent], min_inliers)


def _filter_transforms(transforms: list[Matrix], shape: tuple[int, ...]) -> list[Matrix]:
    return [matrix for matrix in transforms if _is_plausible(matrix, shape) and _is_noticeable(matrix, shape)]


def _fit_transforms(source_points: Points, target_points: Points, min_inliers: float) -> list[Matrix]:
    """Fit a shift, a crop and an affine transform to matched points; return nothing if too few agree."""
    if len(source_points) < min_inliers:
        return []
    affine, inliers = cv2.estimateAffine2D(
        source_points, target_points, method=cv2.RANSAC, ransacReprojThreshold=INLIER_PIXELS, maxIters=2000
    )
    if affine is None or int(inliers.sum()) < min_inliers:
        return []
    is_inlier = inliers.ravel() > 0
    source_points, target_points = source_points[is_inlier], target_points[is_inlier]
    shift = np.rint(np.median(target_points - source_points, axis=0))
    return [_shift_matrix(shift), _fit_scale_and_shift(source_points, target_points), np.asarray(affine, np.float64)]


def _track_corners(
    source: NDArray[np.uint8], edited: NDArray[np.uint8], initial: Matrix
) -> tuple[Points, Points, NDArray[np.bool_]]:
    """Track corners of the source; return them, their positions in the edited image, and which track back."""
    corners = _find_corners(source)
    if corners is None:
        return np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0, np.bool_)
    expected = np.asarray(cv2.transform(corners, initial), np.float32)
    options = {"criteria": TRACKING_CRITERIA, "flags": cv2.OPTFLOW_USE_INITIAL_FLOW}
    track = cv2.calcOpticalFlowPyrLK
    targets, forward, _ = track(source, edited, corners, expected.copy(), **options)  # type: ignore[call-overload]
    returned, backward, _ = track(edited, source, targets, corners.copy(), **options)  # type: ignore[call-overload]
    error = np.abs(returned - corners).reshape(-1, 2).max(axis=1)
    consistent = (forward.ravel() > 0) & (backward.ravel() > 0) & (error <= MAX_ROUND_TRIP_PIXELS)
    source_points, target_points = (np.asarray(points, np.float64).reshape(-1, 2) for points in (corners, targets))
    return source_points, target_points, consistent


@cache_latest_images
def _find_corners(image: NDArray[np.uint8]) -> NDArray[np.float32] | None:
    corners = cv2.goodFeaturesToTrack(image, MAX_CORNERS, MIN_CORNER_QUALITY, MIN_CORNER_DISTANCE_PIXELS)
    return None if corners is None else np.asarray(corners, np.float32)


def _match_key_points(source: NDArray[np.uint8], edited: NDArray[np.uint8]) -> tuple[Points, Points]:
    """Return matched key points of two images."""
    scale = min(1.0, MAX_KEY_POINT_SIDE_PIXELS / max(source.shape))
    source, edited = _shrink(source, scale), _shrink(edited, scale)
    source_key_points, source_descriptors = _find_source_key_points(source)
    edited_key_points, edited_descriptors = _find_key_points(edited)
    if (
        source_descriptors is None
        or edited_descriptors is None
        or min(len(source_descriptors), len(edited_descriptors)) < MIN_MATCHES
    ):
        return np.zeros((0, 2)), np.zeros((0, 2))
    pairs = cv2.BFMatcher(cv2.NORM_L2).knnMatch(source_descriptors, edited_descriptors, k=2)
    matches = [best for best, next_best in pairs if best.distance < LOWE_RATIO * next_best.distance]
    source_points = np.array([source_key_points[match.queryIdx].pt for match in matches], np.float64).reshape(-1, 2)
    target_points = np.array([edited_key_points[match.trainIdx].pt for match in matches], np.float64).reshape(-1, 2)
    # Coordinates refer to pixel centers.
    return (source_points + 0.5) / scale - 0.5, (target_points + 0.5) / scale - 0.5


def _shrink(image: NDArray[np.uint8], scale: float) -> NDArray[np.uint8]:
    if scale == 1:
        return image
    return np.asarray(cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)


def _find_key_points(image: NDArray[np.uint8]) -> KeyPoints:
    points, descriptors = cv2.SIFT.create(nfeatures=MAX_KEY_POINTS).detectAndCompute(image, None)
    return points, None if descriptors is None else np.asarray(descriptors, np.float32)


_find_source_key_points = cache_latest_images(_find_key_points)


def _shift_matrix(shift: NDArray[np.float64]) -> Matrix:
    return np.column_stack([np.eye(2), shift])


def _fit_scale_and_shift(source_points: Points, target_points: Points) -> Matrix:
    """Fit a scale and a shift per axis, as for a crop that was resized to the original size."""
    scale_x, shift_x = np.polyfit(source_points[:, 0], target_points[:, 0], 1)
    scale_y, shift_y = np.polyfit(source_points[:, 1], target_points[:, 1], 1)
    return np.array([[scale_x, 0.0, shift_x], [0.0, scale_y, shift_y]])


def _is_plausible(matrix: Matrix, shape: tuple[int, ...]) -> bool:
    """Return whether scale and shift are small enough for the same image."""
    scales = np.hypot(matrix[0, :2], matrix[1, :2])
    center = np.array([shape[1] / 2, shape[0] / 2])
    shift = matrix[:, :2] @ center + matrix[:, 2] - center
    return bool(
        np.all(scales < MAX_SCALE)
        and np.all(scales > 1 / MAX_SCALE)
        and np.hypot(*shift) < MAX_SHIFT_FRACTION * max(shape)
    )


def _is_noticeable(matrix: Matrix, shape: tuple[int, ...]) -> bool:
    """Return whether any corner of the image moves by more than the noise of the points."""
    corners = np.array([[0, shape[1], 0, shape[1]], [0, 0, shape[0], shape[0]]], dtype=np.float64)
    return bool(np.abs(matrix[:, :2] @ corners + matrix[:, 2:] - corners).max() >= MIN_MOVE_PIXELS)
