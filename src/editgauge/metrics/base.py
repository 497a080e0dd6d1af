"""What every metric is: a pure function of two images in [0, 1] that knows its direction and its range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np

from editgauge.core.images import Unit
from editgauge.core.masks import BoolMask


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """What one must know to read a metric's number."""

    name: str
    higher_is_better: bool
    range: tuple[float, float]
    symmetric: bool
    formula: str
    about: str


class Metric(Protocol):
    """Compares two images of one size; with `where`, only pixels that are true there count."""

    info: MetricInfo

    def __call__(self, before: Unit, after: Unit, where: BoolMask | None = None) -> float:
        """One finite number in the metric's range."""
        ...


def metric(
    *, higher_is_better: bool, range: tuple[float, float], formula: str, symmetric: bool = True  # noqa: A002
) -> Callable[[Callable[[Unit, Unit, BoolMask | None], float]], Metric]:
    """Makes a function a metric: states its direction, range, formula, and whether the images may be swapped."""

    def named(function: Callable[[Unit, Unit, BoolMask | None], float]) -> Metric:
        first_line = (function.__doc__ or "").strip().partition("\n")[0]
        made = cast("Metric", function)
        made.info = MetricInfo(function.__name__, higher_is_better, range, symmetric, formula, first_line)
        return made

    return named


def check_pair(before: Unit, after: Unit, where: BoolMask | None) -> None:
    """Refuses what would give a wrong number silently: other sizes, bytes instead of [0, 1], nothing to compare."""
    if before.dtype.kind != "f" or after.dtype.kind != "f":
        raise TypeError(f"metrics take images in [0, 1], got {before.dtype} and {after.dtype}; use as_unit first")
    if before.shape != after.shape:
        raise ValueError(f"the images differ in size: {before.shape} and {after.shape}; resize one of them first")
    if where is not None and where.shape != before.shape[:2]:
        raise ValueError(f"the mask is {where.shape}, the images are {before.shape[:2]}")
    if before.size == 0 or (where is not None and not np.any(where)):
        raise ValueError("nothing to compare: the image or the mask is empty")
