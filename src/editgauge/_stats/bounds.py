"""What a mean could be at worst and at best, had everything been scored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from editgauge._stats.intervals import Numbers
from editgauge.types import ScoreSpec

NOT_MEANT = frozenset({"not_applicable", "no_rule"})
"""Reasons of edits that the score was never meant for: no better method or model would have given them one."""


class Limits(NamedTuple):
    """The lowest and the highest value that an unscored outcome is thought to have."""

    low: float
    high: float
    declared: bool
    """Whether both are the ends of the score's range; if not, an end is the most extreme value seen in the run."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The mean if all unscored outcomes had the worst value, and if all had the best."""

    worst: float
    best: float
    scored: int
    missing: int
    """Unscored outcomes that the score was meant for."""
    limits: Limits


def extremes(spec: ScoreSpec, seen: Numbers) -> Limits | None:
    """The score's range where it is finite, else the extremes among what was seen (NaN is nothing seen).

    >>> extremes(ScoreSpec("gain", True, (0.0, math.inf)), np.array([0.5, np.nan, 7.0]))
    Limits(low=0.0, high=7.0, declared=False)
    """
    low, high = spec.range
    if math.isfinite(low) and math.isfinite(high):
        return Limits(low, high, declared=True)
    values = seen[~np.isnan(seen)]
    if not values.size:
        return None
    low = low if math.isfinite(low) else float(values.min())
    high = high if math.isfinite(high) else float(values.max())
    return Limits(low, high, declared=False)


def bounds(spec: ScoreSpec, scores: Numbers, unscored: Mapping[str, int], limits: Limits) -> Bounds | None:
    """Both means; None when there is no outcome that the score was meant for.

    >>> means = bounds(ScoreSpec("loss", False, (0, 1)), np.array([0.5]), {"crashed": 1}, Limits(0.0, 1.0, True))
    >>> means.worst, means.best
    (0.75, 0.25)
    """
    missing = sum(count for reason, count in unscored.items() if reason not in NOT_MEANT)
    n = scores.size + missing
    if not n:
        return None
    total = float(scores.sum())
    lowest, highest = (total + missing * limits.low) / n, (total + missing * limits.high) / n
    worst, best = (lowest, highest) if spec.higher_is_better else (highest, lowest)
    return Bounds(worst, best, scores.size, missing, limits)
