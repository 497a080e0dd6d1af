"""How far numbers tell good from bad, on plain arrays; NaN is no answer, and intervals are clustered by photograph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from editgauge._stats.agreement import binary_rates, clustered_auroc
from editgauge._stats.intervals import Labels, Numbers, clustered_mean
from editgauge._stats.resampling import Estimate, as_estimate, estimate, resampled, safe_divide

NOTHING = "nothing to compare"
ONE_SIDED = "good ones or bad ones are missing"


def nothing(reason: str = NOTHING) -> Estimate:
    """No answer, and why."""
    return Estimate(None, None, None, 0, 0, reason)


def share(earned: Numbers, photos: Labels, reason: str = NOTHING) -> Estimate:
    """Estimate a mean share."""
    is_valid = ~np.isnan(earned)
    if not is_valid.any():
        return nothing(reason)
    return as_estimate(clustered_mean(earned[is_valid], photos[is_valid], scale=(0.0, 1.0)))


def auroc(values: Numbers, good: Numbers, photos: Labels) -> Estimate:
    """Estimate the area under the ROC curve; ties count half.

    >>> auroc(np.array([3.0, 1.0, 2.0]), np.array([1.0, 0.0, 1.0]), np.arange(3)).value
    1.0
    """
    is_valid = ~np.isnan(values) & ~np.isnan(good)
    if _one_sided(good[is_valid]):
        return nothing(ONE_SIDED)
    return clustered_auroc(values[is_valid], good[is_valid], photos[is_valid])


def auroc_ahead(first: Numbers, second: Numbers, good: Numbers, photos: Labels) -> Estimate:
    """How far the AUROC of one is above that of another, over those that have both values."""
    is_valid = ~np.isnan(first) & ~np.isnan(second) & ~np.isnan(good)
    if _one_sided(good[is_valid]):
        return nothing(ONE_SIDED)
    one, two = (_auroc_of_draws(values[is_valid], good[is_valid]) for values in (first, second))
    return _resampled(lambda weights: one(weights) - two(weights), photos[is_valid])


def _one_sided(good: Numbers) -> bool:
    return not good.any() or bool(good.all())


def _resampled(of_draws: Callable[[Numbers], Numbers], photos: Labels) -> Estimate:
    value = float(of_draws(np.ones((photos.size, 1)))[0])
    return estimate(value, resampled(of_draws, photos), photos.size, np.unique(photos).size)


def _auroc_of_draws(values: Numbers, good: Numbers) -> Callable[[Numbers], Numbers]:
    """Return a function that computes the area for every bootstrap draw."""
    _, level = np.unique(values, return_inverse=True)
    order = np.argsort(level, kind="stable")
    beginnings = np.flatnonzero(np.diff(level[order], prepend=-1))
    good_in_order = good[order][:, None]

    def of_draws(weights: Numbers) -> Numbers:
        drawn = weights[order]
        goods = np.add.reduceat(drawn * good_in_order, beginnings, axis=0)
        bads = np.add.reduceat(drawn * (1 - good_in_order), beginnings, axis=0)
        below = np.cumsum(bads, axis=0) - bads / 2
        return safe_divide((goods * below).sum(axis=0), goods.sum(axis=0) * bads.sum(axis=0))

    return of_draws


def accuracy(values: Numbers, good: Numbers, mark: float, photos: Labels) -> tuple[Estimate, Estimate, Estimate]:
    """Balanced accuracy at a mark, the share of good ones that reach it, and the share of bad ones that do not."""
    is_valid = ~np.isnan(values) & ~np.isnan(good)
    if not is_valid.any():
        return nothing(), nothing(), nothing()
    balanced = binary_rates(values[is_valid] >= mark, good[is_valid], photos[is_valid])
    return balanced.balanced_accuracy, balanced.recall, balanced.specificity


def best_mark(values: Numbers, good: Numbers) -> float | None:
    """Return the threshold with the highest balanced accuracy, or None.

    >>> best_mark(np.array([0.1, 0.2, 0.8, 0.9]), np.array([0.0, 0.0, 1.0, 1.0]))
    0.5
    """
    is_valid = ~np.isnan(values) & ~np.isnan(good)
    levels, level = np.unique(values[is_valid], return_inverse=True)
    goods = np.bincount(level, weights=good[is_valid], minlength=levels.size)
    bads = np.bincount(level, weights=1 - good[is_valid], minlength=levels.size)
    if levels.size < 2 or not goods.any() or not bads.any():
        return None
    bads_below = np.cumsum(bads)[:-1] / bads.sum()
    goods_above = 1 - np.cumsum(goods)[:-1] / goods.sum()
    best = int(np.argmax(bads_below + goods_above))
    return float((levels[best] + levels[best + 1]) / 2)


def credit(better: Numbers, worse: Numbers) -> Numbers:
    """1 where the better one has the higher value, 0.5 where they are equal, 0 where it is lower; NaN without both."""
    earned: Numbers = (np.sign(better - worse) + 1) / 2
    return earned
