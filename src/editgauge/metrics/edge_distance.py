"""Edge distance: the change of edges, whatever the colors on both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge.metrics.base import STRIP_ROWS, check_pair, metric

if TYPE_CHECKING:
    from editgauge._util.images import Unit
    from editgauge._util.masks import BoolMask

LUMA_WEIGHTS = np.array([[0.299, 0.587, 0.114]])  # ITU-R BT.601
STABILITY = 170 / 255**2
"""The paper's c = 170 for images in [0, 255]: edges much fainter than its root (0.05) hardly count."""
_STEP = np.array([-1.0, 0.0, 1.0])
_SMOOTH = np.full(3, 1 / 3)


@metric(
    higher_is_better=False,
    range=(0.0, 1.0),
    formula="1 - mean((2 gx gy + c) / (gx^2 + gy^2 + c)), with g the Prewitt gradient magnitudes of brightness",
    reach=1,
)
def edge_distance(source: Unit, edited: Unit, mask: BoolMask | None = None) -> float:
    """Change of the edges in the images: appeared, vanished, stronger or weaker.

    1 - mean((2 gx gy + c) / (gx^2 + gy^2 + c)), with gx and gy the Prewitt gradient magnitudes of brightness: one minus
    the gradient magnitude similarity of Xue, Zhang, Mou and Bovik, Gradient Magnitude Similarity Deviation, IEEE
    Transactions on Image Processing 23(2), 2014. Lower is better: 0 means the same edges, near 1 that one image is flat
    where the other has an edge. The paper halves the images first, which is left out for masks to keep their outline,
    and takes the deviation instead of the mean, which is 0 when all edges are lost. Images are mirrored at their edge.

    Args:
        source: image of height x width x 3 (or gray), or a batch.
        edited: image or images of the same size.
        mask: pixels that count, height x width.

    Returns:
        One number, or an array with one number per pair of a batch.

    Example:
        >>> flat, step = np.zeros((8, 8)), np.zeros((8, 8))
        >>> step[:, 4:] = 1
        >>> edge_distance(step, step)
        0.0
        >>> round(edge_distance(flat, step), 4)  # two columns of eight touch the edge
        0.2493

    """
    check_pair(source, edited, mask)
    total = 0.0
    for top in range(0, len(source), STRIP_ROWS):
        rows = slice(top, min(top + STRIP_ROWS, len(source)))
        distance = _distance(_edge_strength(source, rows), _edge_strength(edited, rows))
        total += float(distance.sum() if mask is None else np.vdot(distance, mask[rows]))
    return total / (source.shape[0] * source.shape[1] if mask is None else int(mask.sum()))


def _distance(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 - similarity per pixel, in a form that is exactly 0 where the edges are the same; overwrites both."""
    distance = first - second
    distance *= distance
    first *= first
    second *= second
    first += second
    first += STABILITY
    distance /= first
    return distance


def _edge_strength(image: Unit, rows: slice) -> NDArray[np.float64]:
    """Return the gradient magnitude of each pixel in some rows."""
    top = max(0, rows.start - 1)
    brightness = _brightness(image[top : rows.stop + 1])
    across = _filtered(brightness, _STEP, _SMOOTH)
    down = _filtered(brightness, _SMOOTH, _STEP)
    # Not cv2.magnitude: its last bit depends on memory alignment, and an image would differ from itself.
    across *= across
    down *= down
    across += down
    return np.sqrt(across, out=across)[rows.start - top : rows.stop - top]


def _brightness(image: Unit) -> NDArray[np.float64]:
    exact = image.astype(np.float64, order="C")
    if exact.ndim == 3 and exact.shape[2] == 3:
        exact = np.asarray(cv2.transform(exact, LUMA_WEIGHTS), dtype=np.float64)
    return exact.reshape(image.shape[:2])


def _filtered(
    image: NDArray[np.float64], along_rows: NDArray[np.float64], along_columns: NDArray[np.float64]
) -> NDArray[np.float64]:
    filtered = cv2.sepFilter2D(image, cv2.CV_64F, along_rows, along_columns, borderType=cv2.BORDER_REFLECT)
    return np.asarray(filtered, dtype=np.float64)
