"""Edge distance: the change of edges, whatever the colors on their two sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge.metrics.base import STRIP, check_pair, metric

if TYPE_CHECKING:
    from editgauge._util.images import Unit
    from editgauge._util.masks import BoolMask

LUMA = np.array([[0.299, 0.587, 0.114]])
"""Weights of red, green and blue in brightness, by ITU-R BT.601."""
STABLE_EDGES = 170 / 255**2
"""The paper's c = 170, which is for images in [0, 255]: edges much fainter than its root (0.05) hardly count."""


@metric(
    higher_is_better=False,
    range=(0.0, 1.0),
    formula="1 - mean((2 gx gy + c) / (gx^2 + gy^2 + c)), with g the Prewitt gradient magnitudes of brightness",
    reach=1,
)
def edge_distance(before: Unit, after: Unit, where: BoolMask | None = None) -> float:
    """How much the edges in the images changed: appeared, vanished, grew stronger or weaker.

    Lower is better: 0 means the same edges, near 1 that where one image has an edge, the other is flat. A change of
    color that leaves the steps of brightness alone does not count.
    One minus the mean of the gradient magnitude similarity (GMS) of Xue, Zhang, Mou and Bovik, Gradient Magnitude
    Similarity Deviation: A Highly Efficient Perceptual Image Quality Index, IEEE Transactions on Image Processing
    23(2), 2014, with its filter and constant. The paper halves the images first, which is left out here for masks to
    keep their outline, and prefers the deviation of GMS to its mean, which would call edges lost everywhere no loss.
    Images are mirrored at their edge.

    >>> flat, step = np.zeros((8, 8)), np.zeros((8, 8))
    >>> step[:, 4:] = 1
    >>> edge_distance(step, step)
    0.0
    >>> round(edge_distance(flat, step), 4)  # two columns of eight touch the edge
    0.2493
    """
    check_pair(before, after, where)
    total = 0.0
    for top in range(0, len(before), STRIP):
        rows = slice(top, min(top + STRIP, len(before)))
        distance = _distance(_edge_strength(before, rows), _edge_strength(after, rows))
        total += float(distance.sum() if where is None else np.vdot(distance, where[rows]))
    return total / (before.shape[0] * before.shape[1] if where is None else int(where.sum()))


def _distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """The formula's 1 - similarity at every pixel, simplified: exactly 0 where the edges are the same."""
    apart = first - second
    apart *= apart
    first *= first
    second *= second
    first += second
    first += STABLE_EDGES
    apart /= first
    return apart


def _edge_strength(image: Unit, rows: slice) -> NDArray[np.float64]:
    """The gradient's length at every pixel of some rows."""
    top = max(0, rows.start - 1)
    brightness = _brightness(image[top : rows.stop + 1])
    across = _filtered(brightness, _STEP, _SMOOTH)
    down = _filtered(brightness, _SMOOTH, _STEP)
    # Not cv2.magnitude: its last bit depends on where an array is in memory, and an image would differ from itself.
    across *= across
    down *= down
    across += down
    return np.sqrt(across, out=across)[rows.start - top : rows.stop - top]


def _brightness(image: Unit) -> NDArray[np.float64]:
    exact = image.astype(np.float64, order="C")
    if exact.ndim == 3 and exact.shape[2] == 3:
        exact = np.asarray(cv2.transform(exact, LUMA), dtype=np.float64)
    return exact.reshape(image.shape[:2])


_STEP = np.array([-1.0, 0.0, 1.0])
_SMOOTH = np.full(3, 1 / 3)


def _filtered(
    image: NDArray[np.float64], along_rows: NDArray[np.float64], along_columns: NDArray[np.float64]
) -> NDArray[np.float64]:
    filtered = cv2.sepFilter2D(image, cv2.CV_64F, along_rows, along_columns, borderType=cv2.BORDER_REFLECT)
    return np.asarray(filtered, dtype=np.float64)
