"""SSIM: the structural similarity of two images, window by window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge.metrics.base import STRIP_ROWS, check_pair, counted_pixels, metric

if TYPE_CHECKING:
    from editgauge._util.images import Unit
    from editgauge._util.masks import BoolMask

SIGMA = 1.5
RADIUS = 5
"""Radius of the window of 11 x 11 pixels, outside which a Gaussian of sigma 1.5 is negligible."""
C1 = 0.01**2
C2 = 0.03**2
"""The paper's (K1 L)^2 and (K2 L)^2 for images in [0, 1]."""


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    formula="mean over windows of (2 mx my + C1)(2 sxy + C2) / ((mx^2 + my^2 + C1)(sxx + syy + C2))",
    reach=RADIUS,
)
def ssim(source: Unit, edited: Unit, mask: BoolMask | None = None) -> float:
    """Structural similarity: brightness, contrast and structure, averaged over windows.

    The mean over windows of (2 mx my + C1)(2 sxy + C2) / ((mx^2 + my^2 + C1)(sxx + syy + C2)), with m the means and s
    the (co)variances in a window. Higher is better: 1 means identical images, 0 nothing in common, below 0 (down to -1)
    inverted structure.
    Wang, Bovik, Sheikh and Simoncelli, Image Quality Assessment: From Error Visibility to Structural Similarity, IEEE
    Transactions on Image Processing 13(4), 2004, equation 13 and the constants of section III-C: Gaussian window
    of 11 x 11 pixels and sigma 1.5, K1 = 0.01, K2 = 0.03; channels are compared separately and averaged. Equal to
    `skimage.metrics.structural_similarity` with `gaussian_weights=True, use_sample_covariance=False, data_range=1`.

    Windows that reach over the image's edge are left out, as there; with a mask, windows whose center is inside it
    count. If none is left (the image is smaller than a window, or the mask lies within 5 pixels of the edge), the
    images are mirrored at their edge and all windows count.

    Args:
        source: image of height x width x 3 (or gray), or a batch.
        edited: image or images of the same size.
        mask: pixels that count, height x width.

    Returns:
        One number, or an array with one number per pair of a batch.

    Example:
        >>> stripes = np.tile([0.0, 1.0], (32, 16))
        >>> ssim(stripes, stripes)
        1.0
        >>> round(ssim(stripes, 1 - stripes), 2)
        -1.0

    """
    check_pair(source, edited, mask)
    rows, columns = _counted_windows(source.shape[:2], mask)
    workspace = np.empty((5, min(len(source), STRIP_ROWS + 2 * RADIUS), *_squeeze_channel(source).shape[1:]))
    total, count = 0.0, 0
    for top in range(rows.start, rows.stop, STRIP_ROWS):
        strip = slice(top, min(top + STRIP_ROWS, rows.stop))
        similarity = _similarity(source, edited, strip, workspace)[:, columns]
        if mask is not None:
            similarity = counted_pixels(similarity, mask[strip, columns])
        total += float(similarity.sum())
        count += similarity.size
    return total / count


def _counted_windows(size: tuple[int, ...], mask: BoolMask | None) -> tuple[slice, slice]:
    """Return rows and columns of the centers of windows inside the image; all of them if none would count."""
    inner_rows, inner_columns = (slice(RADIUS, max(RADIUS, length - RADIUS)) for length in size)
    inside = np.ones(size, dtype=np.bool_) if mask is None else mask
    if inside[inner_rows, inner_columns].any():
        return inner_rows, inner_columns
    return slice(0, size[0]), slice(0, size[1])


def _similarity(source: Unit, edited: Unit, rows: slice, workspace: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return SSIM at every pixel of some rows, from the sum s and the difference d of the images.

    With ms, md their windowed means and vs, vd their variances, the formula becomes
    (ms^2 - md^2 + 2 C1)(vs - vd + 2 C2) / ((ms^2 + md^2 + 2 C1)(vs + vd + 2 C2)): four filters instead of five, and
    exactly 1 where the images are equal (equal rows need no filter at all). Float32 would be twice as fast, but off by
    up to 5e-6 where an image is flat: there the variance is the small difference of two large numbers. All steps use
    the five arrays of the workspace; fresh memory at every step would cost up to half as much time again.
    """
    top = max(0, rows.start - RADIUS)
    padded, inner = slice(top, rows.stop + RADIUS), slice(rows.start - top, rows.stop - top)
    one, two, three, four, five = workspace[:, : len(source[padded])]
    np.copyto(one, _squeeze_channel(source[padded]))
    np.copyto(two, _squeeze_channel(edited[padded]))
    difference: NDArray[np.float64] = np.subtract(one, two, out=three)
    if not difference.any():
        difference += 1
        return difference[inner]
    total = np.add(one, two, out=one)

    mean = _windowed(total, into=two)[inner]
    mean_change = _windowed(difference, into=four)[inner]
    # The filter adds the constants, which saves a pass over the array.
    variance = _windowed(np.square(total, out=total), into=five, plus=2 * (C1 + C2))[inner]
    variance_change = _windowed(np.square(difference, out=difference), into=one)[inner]
    mean **= 2
    mean += 2 * C1
    mean_change **= 2
    variance -= mean
    variance_change -= mean_change

    similarity: NDArray[np.float64] = np.subtract(mean, mean_change, out=three[inner])
    mean += mean_change
    similarity *= np.subtract(variance, variance_change, out=mean_change)
    variance += variance_change
    similarity /= np.multiply(mean, variance, out=mean)
    return similarity


def _squeeze_channel(image: Unit) -> Unit:
    """Drop the axis of a single channel, as OpenCV does."""
    return image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image


def _gaussian_window() -> NDArray[np.float64]:
    offsets = np.arange(-RADIUS, RADIUS + 1)
    weights = np.exp(-(offsets**2) / (2 * SIGMA**2))
    return np.asarray(weights / weights.sum())


_WINDOW = _gaussian_window()


def _windowed(image: NDArray[np.float64], into: NDArray[np.float64], plus: float = 0.0) -> NDArray[np.float64]:
    """Return the Gaussian-weighted mean around every pixel, the image mirrored at its edge."""
    filtered = cv2.sepFilter2D(image, cv2.CV_64F, _WINDOW, _WINDOW, dst=into, delta=plus, borderType=cv2.BORDER_REFLECT)
    return np.asarray(filtered, dtype=np.float64)
