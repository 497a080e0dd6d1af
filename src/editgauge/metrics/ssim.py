"""SSIM: the structural similarity of two images, window by window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge.metrics.base import STRIP, check_pair, counted_pixels, metric

if TYPE_CHECKING:
    from editgauge._util.images import Unit
    from editgauge._util.masks import BoolMask

SIGMA = 1.5
RADIUS = 5
"""Of the SSIM window: 11 x 11 pixels, beyond which a Gaussian of sigma 1.5 is negligible."""
STABLE_MEANS = 0.01**2
STABLE_VARIANCES = 0.03**2
"""The paper's C1 = (K1 L)^2 and C2 = (K2 L)^2 for images in [0, 1]."""


@metric(
    higher_is_better=True,
    range=(-1.0, 1.0),
    formula="mean over windows of (2 mx my + C1)(2 sxy + C2) / ((mx^2 + my^2 + C1)(sxx + syy + C2))",
    reach=RADIUS,
)
def ssim(before: Unit, after: Unit, where: BoolMask | None = None) -> float:
    """Structural similarity: brightness, contrast and structure, averaged over windows.

    Higher is better: 1 means identical images, 0 nothing in common, and below 0 (down to -1) structure turned into
    its negative.
    Wang, Bovik, Sheikh and Simoncelli, Image Quality Assessment: From Error Visibility to Structural Similarity, IEEE
    Transactions on Image Processing 13(4), 2004, equation 13 and the constants of section III-C: Gaussian window
    of 11 x 11 pixels and sigma 1.5, K1 = 0.01, K2 = 0.03; channels are compared apart and averaged. The same number as
    `skimage.metrics.structural_similarity` with `gaussian_weights=True, use_sample_covariance=False, data_range=1`.

    Windows that reach over the image's edge are left out, as there; with `where`, the windows whose center is true
    count. If none is left by that (the image is smaller than a window, or `where` lies within 5 pixels of the edge),
    the images are continued by their mirror image, and all windows that `where` asks for count.

    >>> stripes = np.tile([0.0, 1.0], (32, 16))
    >>> ssim(stripes, stripes)
    1.0
    >>> round(ssim(stripes, 1 - stripes), 2)
    -1.0
    """
    check_pair(before, after, where)
    rows, columns = _counted_windows(before.shape[:2], where)
    workspace = np.empty((5, min(len(before), STRIP + 2 * RADIUS), *_without_lone_channel(before).shape[1:]))
    total, count = 0.0, 0
    for top in range(rows.start, rows.stop, STRIP):
        strip = slice(top, min(top + STRIP, rows.stop))
        similarity = _similarity(before, after, strip, workspace)[:, columns]
        if where is not None:
            similarity = counted_pixels(similarity, where[strip, columns])
        total += float(similarity.sum())
        count += similarity.size
    return total / count


def _counted_windows(size: tuple[int, ...], where: BoolMask | None) -> tuple[slice, slice]:
    """Rows and columns of the centers of windows that lie within the image; all of them if none would count."""
    inner_rows, inner_columns = (slice(RADIUS, max(RADIUS, length - RADIUS)) for length in size)
    inside = np.ones(size, dtype=np.bool_) if where is None else where
    if inside[inner_rows, inner_columns].any():
        return inner_rows, inner_columns
    return slice(0, size[0]), slice(0, size[1])


def _similarity(before: Unit, after: Unit, rows: slice, workspace: NDArray[np.float64]) -> NDArray[np.float64]:
    """SSIM at every pixel of some rows, from the sum s and the difference d of the images instead of themselves.

    With ms, md their windowed means and vs, vd their variances, the formula becomes
    (ms^2 - md^2 + 2 C1)(vs - vd + 2 C2) / ((ms^2 + md^2 + 2 C1)(vs + vd + 2 C2)): four filters instead of five, and
    exactly 1 where the images are equal: rows that are need no filter at all. Float32 would be twice as fast, but off
    by up to 5e-6 where an image is flat: there the variance is the small difference of two large numbers. All is done
    in the five arrays of the workspace, for fresh memory at every step would cost up to half as much time again.
    """
    top = max(0, rows.start - RADIUS)
    seen, kept = slice(top, rows.stop + RADIUS), slice(rows.start - top, rows.stop - top)
    one, two, three, four, five = workspace[:, : len(before[seen])]
    np.copyto(one, _without_lone_channel(before[seen]))
    np.copyto(two, _without_lone_channel(after[seen]))
    difference: NDArray[np.float64] = np.subtract(one, two, out=three)
    if not difference.any():
        difference += 1
        return difference[kept]
    total = np.add(one, two, out=one)

    mean = _windowed(total, into=two)[kept]
    mean_change = _windowed(difference, into=four)[kept]
    # The constants ride along with the filter, which saves a pass over the array.
    variance = _windowed(np.square(total, out=total), into=five, plus=2 * (STABLE_MEANS + STABLE_VARIANCES))[kept]
    variance_change = _windowed(np.square(difference, out=difference), into=one)[kept]
    mean **= 2
    mean += 2 * STABLE_MEANS
    mean_change **= 2
    variance -= mean
    variance_change -= mean_change

    similarity: NDArray[np.float64] = np.subtract(mean, mean_change, out=three[kept])
    mean += mean_change
    similarity *= np.subtract(variance, variance_change, out=mean_change)
    variance += variance_change
    similarity /= np.multiply(mean, variance, out=mean)
    return similarity


def _without_lone_channel(image: Unit) -> Unit:
    """Height x width for a gray image of height x width x 1, which is what OpenCV makes of it."""
    return image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image


def _gaussian_window() -> NDArray[np.float64]:
    offsets = np.arange(-RADIUS, RADIUS + 1)
    weights = np.exp(-(offsets**2) / (2 * SIGMA**2))
    return np.asarray(weights / weights.sum())


_WINDOW = _gaussian_window()


def _windowed(image: NDArray[np.float64], into: NDArray[np.float64], plus: float = 0.0) -> NDArray[np.float64]:
    """The Gaussian-weighted mean around every pixel, the image mirrored at its edge."""
    filtered = cv2.sepFilter2D(image, cv2.CV_64F, _WINDOW, _WINDOW, dst=into, delta=plus, borderType=cv2.BORDER_REFLECT)
    return np.asarray(filtered, dtype=np.float64)
