"""What every metric is: a pure function of two images in [0, 1] that knows its direction and its range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Unit
from editgauge._util.masks import BoolMask

ROUNDING = 1e-5
"""How far over [0, 1] a pixel may be: gray made of white by float32 weights is sometimes 1.0000001."""
STRIP = 64
"""Rows that are worked through at once: few enough for the arrays in between to stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """What one must know to read a metric's number."""

    name: str
    higher_is_better: bool
    range: tuple[float, float]
    symmetric: bool
    formula: str
    about: str
    reach: int = 0
    """How many pixels beyond `where` the metric looks: 0 for a metric of single pixels, its radius for a window."""

    @property
    def best(self) -> float:
        """What an image gets against itself."""
        return self.range[1] if self.higher_is_better else self.range[0]


class Metric(Protocol):
    """Compares two images of one size; with `where`, only pixels that are true there count."""

    info: MetricInfo

    def __call__(self, before: Unit, after: Unit, where: BoolMask | None = None) -> float:
        """One finite number in the metric's range."""
        ...


Comparison = Callable[[Unit, Unit, BoolMask | None], float]
"""The plain function that `metric` makes a metric of."""


def metric(
    *,
    higher_is_better: bool,
    range: tuple[float, float],  # noqa: A002
    formula: str,
    symmetric: bool = True,
    reach: int = 0,
) -> Callable[[Comparison], Metric]:
    """Makes a function a metric: states its direction, range, formula, and whether the images may be swapped."""

    def named(function: Comparison) -> Metric:
        # The function itself is returned, not a wrapper: doctest collects only what was defined in its module.
        about = (function.__doc__ or "").strip().partition("\n")[0]
        made = cast("Metric", function)
        made.info = MetricInfo(function.__name__, higher_is_better, range, symmetric, formula, about, reach)
        return made

    return named


def check_pair(before: Unit, after: Unit, where: BoolMask | None = None) -> None:
    """Raise an error for input that would silently give a wrong number: other sizes, values outside [0, 1], no pixels.

    Any float type is accepted; images are height x width x 3, or height x width if gray.

    >>> check_pair(np.zeros((4, 6, 3)), np.full((4, 6, 3), 255.0))
    Traceback (most recent call last):
    ...
    ValueError: metrics take images in [0, 1], got values from 255 to 255; divide bytes by 255 (as_unit) or clip first
    """
    if before.dtype.kind != "f" or after.dtype.kind != "f":
        raise TypeError(f"metrics take images in [0, 1], got {before.dtype} and {after.dtype}; use as_unit first")
    if before.shape != after.shape:
        raise ValueError(f"the images differ in size: {before.shape} and {after.shape}; resize one of them first")
    if before.ndim != 2 and not (before.ndim == 3 and before.shape[2] in {1, 3}):
        raise ValueError(f"metrics take images of height x width x 3, or height x width, got the shape {before.shape}")
    if where is not None:
        _check_mask(where, before.shape[:2])
    if before.size == 0 or (where is not None and not where.any()):
        raise ValueError("nothing to compare: the image or the mask is empty")
    for image in (before, after):
        _check_values(float(image.min()), float(image.max()))


def counted_pixels(image: NDArray[Any], where: BoolMask | None) -> NDArray[Any]:
    """The pixels that count, one row each, one column per channel."""
    pixels = image.reshape(image.shape[0] * image.shape[1], -1)
    return pixels if where is None else np.compress(where.reshape(-1), pixels, axis=0)


def mean_difference(before: Unit, after: Unit, where: BoolMask | None, norm: int) -> float:
    """The mean over pixels and channels of what `norm` (`cv2.NORM_L1` or `cv2.NORM_L2SQR`) sums."""
    single = before.itemsize <= 4 and after.itemsize <= 4
    exact: np.dtype[np.floating[Any]] = np.dtype(np.float32 if single else np.float64)
    first, second = (np.ascontiguousarray(image, exact) for image in (before, after))
    # Sums are made in float64, which OpenCV's norm with a mask of its own would not do.
    if where is None:
        mean = cv2.norm(first.reshape(-1), second.reshape(-1), norm) / first.size
    else:
        mean = _masked_sum(first, second, where, norm) / (int(where.sum()) * (first.size // where.size))
    return min(mean, 1.0)  # pixels may exceed [0, 1] by a rounding error


def _masked_sum(first: Unit, second: Unit, where: BoolMask, norm: int) -> float:
    """What both images have black is no difference. To pick out the pixels that count would take ten times as long."""
    mask = np.ascontiguousarray(where).view(np.uint8)
    total = 0.0
    for top in range(0, len(mask), STRIP):
        rows = slice(top, top + STRIP)
        one, two = (cv2.copyTo(image[rows], mask[rows]).reshape(-1) for image in (first, second))
        total += cv2.norm(one, two, norm)
    return total


def _check_mask(where: BoolMask, size: tuple[int, ...]) -> None:
    if where.dtype != np.bool_:
        # Numbers would be taken for pixel positions, and select others than the ones meant.
        raise TypeError(f"the mask is {where.dtype}, not bool; use mask > 0 or mask >= 128")
    if where.shape != size:
        raise ValueError(f"the mask is {where.shape}, the images are {size}")


def _check_values(lowest: float, highest: float) -> None:
    # Written so that a NaN, which compares false with everything, is refused too.
    if not (lowest >= -ROUNDING and highest <= 1 + ROUNDING):
        raise ValueError(
            f"metrics take images in [0, 1], got values from {lowest:g} to {highest:g}; "
            "divide bytes by 255 (as_unit) or clip first"
        )
