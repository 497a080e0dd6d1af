"""How the frame of a picture may have moved: proposals, cheap ones first. `registration` lets the pixels decide.

Phase correlation finds whole shifts. Corners that are followed from picture to picture tell small movements to a tenth
of a pixel. Only where they lose their way, and the picture is not already where it was, are key points described and
matched, which takes longer: on smaller copies, for the corners can then be followed from there.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import kept_for_latest

Matrix = NDArray[np.float64]
"""2 x 3: where a point of the source is in the edited picture."""
Gray = NDArray[np.float32]
Points = NDArray[np.float64]
"""n x 2: pixels from the left and from the top."""
KeyPoints = tuple[Sequence[cv2.KeyPoint], NDArray[np.float32] | None]
"""Points that are found again in another picture, and a row of numbers for each."""

MOST_SCALE = 1.3
MOST_SHIFT = 0.25
"""Of the longer side. Larger movements are another picture, not another frame."""
LEAST_MOVE = 0.15
"""In pixels: less is the noise of the key points, and laying the picture back would only blur it."""
MOST_CORNERS = 250
FAINTEST_CORNER = 0.002
"""Of the strongest: enough of them in every part of a photograph, none in its flat parts."""
APART = 8
"""Pixels between corners, so that no finely drawn object outvotes the rest."""
FOLLOWING = (cv2.TERM_CRITERIA_COUNT + cv2.TERM_CRITERIA_EPS, 10, 0.03)
"""A corner is followed in at most 10 steps, until a step is shorter than 0.03 pixels."""
WAY_BACK = 0.3
"""In pixels: a corner that is followed there and back must return so close."""
MOST_AGREE = 0.3
"""The share of all corners that must agree on one movement for key points to be needless."""
SIDE_FOR_KEY_POINTS = 320
"""Of the longer side: with more, key points take four times as long, and find no further movement."""
MOST_KEY_POINTS = 600
CLEARER = 0.75
"""Lowe's ratio: the best match must be this much nearer than the second."""
FEWEST_MATCHES = 12
NEAR = 1.5
"""In pixels: so close to a movement a point agrees with it."""


def whole_shifts(one: Gray, other: Gray, known: Matrix, near: bool = False) -> list[Matrix]:
    """The whole shift that phase correlation finds, whatever is known."""
    window = cv2.createHanningWindow(one.shape[::-1], cv2.CV_32F)
    # OpenCV would lay a window that it is given over the pictures themselves, in place.
    shift, _ = cv2.phaseCorrelate(one * window, other * window)
    return _worth_a_look([_shifted(np.rint(shift))], one.shape)


def movements_of_points(one: Gray, other: Gray, known: Matrix, near: bool = False) -> list[Matrix]:
    """The shift, the crop and the affine movement on which points agree.

    Args:
        one: the source
        other: the edited picture
        known: the movement near which corners are looked for
        near: no larger movement than corners can follow is possible
    """
    first, second = one.astype(np.uint8), other.astype(np.uint8)
    movements = _movements_of_corners(first, second, known)
    if not movements and not near:
        movements = _movements(*_matched(first, second), fewest=FEWEST_MATCHES)
        if movements:
            movements = _movements_of_corners(first, second, movements[-1]) or movements
    return _worth_a_look(movements, one.shape)


def _movements_of_corners(one: NDArray[np.uint8], other: NDArray[np.uint8], known: Matrix) -> list[Matrix]:
    corners, followed, kept = _followed(one, other, known)
    return _movements(corners[kept], followed[kept], fewest=max(FEWEST_MATCHES, MOST_AGREE * len(corners)))


def _worth_a_look(movements: list[Matrix], shape: tuple[int, ...]) -> list[Matrix]:
    return [matrix for matrix in movements if _is_small(matrix, shape) and _moves(matrix, shape)]


def _movements(here: Points, there: Points, fewest: float) -> list[Matrix]:
    """A shift, a crop and an affine movement on which points agree; nothing if too few do."""
    if len(here) < fewest:
        return []
    affine, inliers = cv2.estimateAffine2D(here, there, method=cv2.RANSAC, ransacReprojThreshold=NEAR, maxIters=2000)
    if affine is None or int(inliers.sum()) < fewest:
        return []
    agree = inliers.ravel() > 0
    here, there = here[agree], there[agree]
    shift = np.rint(np.median(there - here, axis=0))
    return [_shifted(shift), _scaled_and_shifted(here, there), np.asarray(affine, np.float64)]


def _followed(
    one: NDArray[np.uint8], other: NDArray[np.uint8], known: Matrix
) -> tuple[Points, Points, NDArray[np.bool_]]:
    """The corners of one picture, where they went in the other, and which of them found their way back."""
    corners = _corners(one)
    if corners is None:
        return np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0, np.bool_)
    expected = np.asarray(cv2.transform(corners, known), np.float32)
    how = {"criteria": FOLLOWING, "flags": cv2.OPTFLOW_USE_INITIAL_FLOW}
    there, went, _ = cv2.calcOpticalFlowPyrLK(one, other, corners, expected.copy(), **how)  # type: ignore[call-overload]
    back, returned, _ = cv2.calcOpticalFlowPyrLK(other, one, there, corners.copy(), **how)  # type: ignore[call-overload]
    off = np.abs(back - corners).reshape(-1, 2).max(axis=1)
    kept = (went.ravel() > 0) & (returned.ravel() > 0) & (off <= WAY_BACK)
    start, end = (np.asarray(points, np.float64).reshape(-1, 2) for points in (corners, there))
    return start, end, kept


@kept_for_latest
def _corners(picture: NDArray[np.uint8]) -> NDArray[np.float32] | None:
    corners = cv2.goodFeaturesToTrack(picture, MOST_CORNERS, FAINTEST_CORNER, APART)
    return None if corners is None else np.asarray(corners, np.float32)


def _matched(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> tuple[Points, Points]:
    """Key points of one picture, and the same points in the other."""
    scale = min(1.0, SIDE_FOR_KEY_POINTS / max(one.shape))
    one, other = _smaller(one, scale), _smaller(other, scale)
    (points, first), (others, second) = _key_points_of_source(one), _key_points(other)
    nothing = np.zeros((0, 2))
    if first is None or second is None or min(len(first), len(second)) < FEWEST_MATCHES:
        return nothing, nothing
    pairs = cv2.BFMatcher(cv2.NORM_L2).knnMatch(first, second, k=2)
    good = [best for best, next_best in pairs if best.distance < CLEARER * next_best.distance]
    here = np.array([points[match.queryIdx].pt for match in good], dtype=np.float64).reshape(-1, 2)
    there = np.array([others[match.trainIdx].pt for match in good], dtype=np.float64).reshape(-1, 2)
    return (here + 0.5) / scale - 0.5, (there + 0.5) / scale - 0.5  # a pixel is named by its center


def _smaller(picture: NDArray[np.uint8], scale: float) -> NDArray[np.uint8]:
    if scale == 1:
        return picture
    return np.asarray(cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA), np.uint8)


def _key_points(picture: NDArray[np.uint8]) -> KeyPoints:
    points, descriptions = cv2.SIFT.create(nfeatures=MOST_KEY_POINTS).detectAndCompute(picture, None)
    return points, None if descriptions is None else np.asarray(descriptions, np.float32)


_key_points_of_source = kept_for_latest(_key_points)


def _shifted(by: NDArray[np.float64]) -> Matrix:
    return np.column_stack([np.eye(2), by])


def _scaled_and_shifted(here: Points, there: Points) -> Matrix:
    """Each axis scaled and shifted by itself: what a crop that was resized to the old size looks like."""
    (across, right), (down, below) = (np.polyfit(here[:, axis], there[:, axis], 1) for axis in (0, 1))
    return np.array([[across, 0.0, right], [0.0, down, below]])


def _is_small(matrix: Matrix, shape: tuple[int, ...]) -> bool:
    scales = np.hypot(matrix[0, :2], matrix[1, :2])
    middle = np.array([shape[1] / 2, shape[0] / 2])
    moved = matrix[:, :2] @ middle + matrix[:, 2] - middle
    return bool(
        np.all(scales < MOST_SCALE) and np.all(scales > 1 / MOST_SCALE) and np.hypot(*moved) < MOST_SHIFT * max(shape)
    )


def _moves(matrix: Matrix, shape: tuple[int, ...]) -> bool:
    """Does any corner go farther than points are sure of?"""
    corners = np.array([[0, shape[1], 0, shape[1]], [0, 0, shape[0], shape[0]]], dtype=np.float64)
    return bool(np.abs(matrix[:, :2] @ corners + matrix[:, 2:] - corners).max() >= LEAST_MOVE)
