"""How much a picture's local contrast is distributed as in natural photographs: the 36 features of BRISQUE.

Mittal, Moorthy and Bovik, "No-reference image quality assessment in the spatial domain", IEEE TIP 2012. Each pixel is
normalized by the mean and the deviation around it; in photographs the outcome is close to a bell curve, and blur, noise
and blocks bend it. The features are the fitted curves, at full and at half size; there is no score here, because the
published one was trained on camera damage, not on edits.
"""

from __future__ import annotations

from functools import cache
from math import gamma

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Unit

WINDOW_PIXELS, WINDOW_SIGMA = 7, 7 / 6
NEIGHBOR_SHIFTS = ((0, 1), (1, 0), (1, 1), (1, -1))
FEATURE_COUNT = 36
MIN_SIDE_PIXELS = 16

Plane = NDArray[np.float64]


def natural_statistics(image: Unit) -> NDArray[np.float64]:
    """Return 36 features of an image in [0, 1]; the first is near 2 for natural contrast.

    Raises ValueError for a picture whose shorter side has less than 16 pixels.
    """
    if min(image.shape[:2]) < MIN_SIDE_PIXELS:
        raise ValueError(f"the shorter side needs at least {MIN_SIDE_PIXELS} pixels, got {image.shape[:2]}")
    if image.dtype.kind != "f":
        raise TypeError(f"images in [0, 1] are taken, got {image.dtype}; use as_unit first")
    plane = np.asarray(image, np.float64) if image.ndim == 2 else image @ np.array([0.299, 0.587, 0.114])
    half = cv2.resize(plane, None, fx=0.5, fy=0.5, interpolation=cv2.INTER_CUBIC)
    return np.concatenate([_features(255 * np.asarray(image, np.float64)) for image in (plane, half)])


def _features(plane: Plane) -> Plane:
    """Return 18 features at one size: a symmetric fit to the pixels, asymmetric fits to products in four directions."""
    normal = _normalized(plane)
    shape, _, left, right = _fitted(normal)
    products = [normal * np.roll(normal, shift, axis=(0, 1)) for shift in NEIGHBOR_SHIFTS]
    return np.array([shape, (left + right) / 2, *(parameter for product in products for parameter in _fitted(product))])


def _normalized(plane: Plane) -> Plane:
    mean = cv2.GaussianBlur(plane, (WINDOW_PIXELS, WINDOW_PIXELS), WINDOW_SIGMA)
    variance = cv2.GaussianBlur(plane * plane, (WINDOW_PIXELS, WINDOW_PIXELS), WINDOW_SIGMA) - mean * mean
    return np.asarray((plane - mean) / (np.sqrt(np.abs(variance)) + 1), np.float64)


def _fitted(values: Plane) -> tuple[float, float, float, float]:
    """Fit an asymmetric generalized Gaussian by moments; return shape, mean, and left and right variance."""
    below, above = values[values < 0], values[values > 0]
    left, right = (float((side**2).mean()) if side.size else 0.0 for side in (below, above))
    squares = float((values**2).mean())
    if squares < 1e-10:  # one flat color has no contrast to fit
        return 10.0, 0.0, left, right
    ratio = np.sqrt(left / right) if right > 0 else 1e3
    target_ratio = float(np.abs(values).mean()) ** 2 / squares * (ratio**3 + 1) * (ratio + 1) / (ratio**2 + 1) ** 2
    shapes, ratios = _ratios()
    shape = float(shapes[np.argmin(np.abs(ratios - target_ratio))])
    scale = np.sqrt(gamma(1 / shape) / gamma(3 / shape)) * gamma(2 / shape) / gamma(1 / shape)
    return shape, float((np.sqrt(right) - np.sqrt(left)) * scale), left, right


@cache
def _ratios() -> tuple[Plane, Plane]:
    shapes = np.arange(0.2, 10.001, 0.001)
    logs = np.array([gamma(2 / shape) ** 2 / (gamma(1 / shape) * gamma(3 / shape)) for shape in shapes.tolist()])
    return shapes, logs
