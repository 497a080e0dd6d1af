"""Base of the pixel metrics: functions of two images in [0, 1] with a direction and a range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Protocol, cast, overload

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import ImageLike, Unit
from editgauge._util.masks import BoolMask
from editgauge.metrics._inputs import Images, Masks, Values, broadcast, split_batch, split_masks, to_mask, to_unit

ROUNDING_TOLERANCE = 1e-5
"""How far a pixel may exceed [0, 1]: gray made of white by float32 weights is sometimes 1.0000001."""
STRIP_ROWS = 64
"""Rows processed at once: few enough for intermediate arrays to stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """Direction, range and definition of a metric."""

    name: str
    higher_is_better: bool
    range: tuple[float, float]
    symmetric: bool
    formula: str
    about: str
    reach: int = 0
    """How many pixels outside the mask influence the value: 0 for single pixels, the radius for a window."""

    @property
    def best(self) -> float:
        """Value of an image compared with itself."""
        return self.range[1] if self.higher_is_better else self.range[0]


class Metric(Protocol):
    """A metric of two images of one size; with a mask, only pixels inside it count."""

    info: MetricInfo

    @overload
    def __call__(self, source: ImageLike, edited: ImageLike, mask: Masks | None = None) -> float: ...
    @overload
    def __call__(self, source: Images, edited: list[Any], mask: Masks | None = None) -> NDArray[np.float64]: ...
    @overload
    def __call__(self, source: Images, edited: Images, mask: Masks | None = None) -> Values: ...
    def __call__(self, source: Images, edited: Images, mask: Masks | None = None) -> Values:
        """Return one finite number in the metric's range, or one per pair of a batch."""
        ...


Comparison = Callable[[Unit, Unit, BoolMask | None], float]
"""The function that `metric` decorates: floating-point images of height x width x 3 or height x width, and a mask."""


def metric(
    *,
    higher_is_better: bool,
    range: tuple[float, float],  # noqa: A002
    formula: str,
    symmetric: bool = True,
    reach: int = 0,
) -> Callable[[Comparison], Metric]:
    """Make a function of two arrays a metric that accepts paths, PIL images, arrays, tensors and batches.

    Args:
        higher_is_better: direction of the value.
        range: smallest and largest value.
        formula: definition in one line.
        symmetric: whether the images may be swapped.
        reach: how many pixels outside the mask influence the value.

    """

    def decorate(function: Comparison) -> Metric:
        @wraps(function)
        def compare(source: Images, edited: Images, mask: Masks | None = None) -> Values:
            (sources, many_sources), (outcomes, many_outcomes) = split_batch(source), split_batch(edited)
            pairs = broadcast(sources, outcomes)
            triples = broadcast(pairs, split_masks(mask, len(pairs))) if pairs else []
            values = [function(to_unit(one), to_unit(other), to_mask(area)) for (one, other), area in triples]
            return np.array(values) if many_sources or many_outcomes else values[0]

        about = (function.__doc__ or "").strip().partition("\n")[0]
        decorated = cast("Metric", compare)
        decorated.info = MetricInfo(function.__name__, higher_is_better, range, symmetric, formula, about, reach)
        return decorated

    return decorate


def check_pair(source: Unit, edited: Unit, mask: BoolMask | None = None) -> None:
    """Raise an error for input that would give a wrong number: different sizes, values outside [0, 1], no pixels.

    Any float type is accepted; images are height x width x 3, or height x width if gray.

    >>> check_pair(np.zeros((4, 6, 3)), np.full((4, 6, 3), 255.0))
    Traceback (most recent call last):
    ...
    ValueError: metrics take images in [0, 1], got values from 255 to 255; divide by 255, or pass uint8
    """
    if source.dtype.kind != "f" or edited.dtype.kind != "f":
        raise TypeError(
            f"metrics take uint8 images or floating-point images in [0, 1], got {source.dtype} and {edited.dtype}"
        )
    if source.shape != edited.shape:
        raise ValueError(f"the images differ in size: {source.shape} and {edited.shape}; resize one of them first")
    if source.ndim != 2 and not (source.ndim == 3 and source.shape[2] in {1, 3}):
        raise ValueError(f"metrics take images of height x width x 3, or height x width, got the shape {source.shape}")
    if mask is not None:
        check_mask(mask, source.shape[:2])
    if source.size == 0 or (mask is not None and not mask.any()):
        raise ValueError("nothing to compare: the image or the mask is empty")
    for image in (source, edited):
        _check_values(float(image.min()), float(image.max()))


def check_mask(mask: BoolMask, size: tuple[int, ...]) -> None:
    """Raise an error for a mask that is not boolean or differs in size from the images."""
    if mask.dtype != np.bool_:
        # Numbers would be taken for pixel positions and select the wrong pixels.
        raise TypeError(f"the mask is {mask.dtype}, not bool; use mask > 0 or mask >= 128")
    if mask.shape != size:
        raise ValueError(f"the mask is {mask.shape}, the images are {size}")


def counted_pixels(image: NDArray[Any], mask: BoolMask | None) -> NDArray[Any]:
    """Return the pixels inside the mask, one row each, one column per channel."""
    pixels = image.reshape(image.shape[0] * image.shape[1], -1)
    return pixels if mask is None else np.compress(mask.reshape(-1), pixels, axis=0)


def mean_difference(source: Unit, edited: Unit, mask: BoolMask | None, norm: int) -> float:
    """Return the mean over pixels and channels of what `norm` (`cv2.NORM_L1` or `cv2.NORM_L2SQR`) sums."""
    single = source.itemsize <= 4 and edited.itemsize <= 4
    exact: np.dtype[np.floating[Any]] = np.dtype(np.float32 if single else np.float64)
    first, second = (np.ascontiguousarray(image, exact) for image in (source, edited))
    # Sums are made in float64, which OpenCV's norm with a mask of its own would not do.
    if mask is None:
        mean = cv2.norm(first.reshape(-1), second.reshape(-1), norm) / first.size
    else:
        mean = _masked_sum(first, second, mask, norm) / (int(mask.sum()) * (first.size // mask.size))
    return min(mean, 1.0)  # pixels may exceed [0, 1] by a rounding error


def _masked_sum(first: Unit, second: Unit, mask: BoolMask, norm: int) -> float:
    """Sum differences with pixels outside the mask set to 0 in both images, ten times as fast as selecting pixels."""
    inside = np.ascontiguousarray(mask).view(np.uint8)
    total = 0.0
    for top in range(0, len(inside), STRIP_ROWS):
        rows = slice(top, top + STRIP_ROWS)
        one, two = (cv2.copyTo(image[rows], inside[rows]).reshape(-1) for image in (first, second))
        total += cv2.norm(one, two, norm)
    return total


def _check_values(lowest: float, highest: float) -> None:
    # Written so that a NaN, which compares false with everything, is refused too.
    if not (lowest >= -ROUNDING_TOLERANCE and highest <= 1 + ROUNDING_TOLERANCE):
        raise ValueError(
            f"metrics take images in [0, 1], got values from {lowest:g} to {highest:g}; divide by 255, or pass uint8"
        )
