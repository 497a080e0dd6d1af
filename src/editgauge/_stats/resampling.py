"""Bootstrap intervals over source images, and correlations computed for all draws at once.

A draw says how often each pair counts: weights have a row per pair and a column per draw. NaN marks an undefined value.

A draw says how often each pair counts: a row per pair, a column per draw. NaN stands for no answer, in this room only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from editgauge._stats import intervals
from editgauge._stats.intervals import LEVEL, RESAMPLES, Labels, Mean, Numbers, interval_multiplier

MIN_RESAMPLES = 500
MAX_PAIRS_DRAWN = 1_500_000
"""Bounds the time of an interval: fewer resamples are drawn from more pairs, whose intervals are narrow."""
MAX_UNDEFINED_SHARE = 0.1
"""With a larger share of undefined draws there is no interval."""
ROUNDING = 1e-12
HALF_SAMPLES = 40
HALVES = "Student's t with the spread over 40 random halves of the source images"
PERCENTILE = "percentile bootstrap over source images, widened for few of them (Hesterberg 2015)"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measure with its 95% interval, or the reason why it is undefined."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    reason: str = ""
    method: str = ""
    """How the interval was computed; empty without one."""


def no_estimate(reason: str, clusters: ArrayLike = ()) -> Estimate:
    """Return an undefined measure with its reason; `clusters` are the source images of the data."""
    labels = np.asarray(clusters)
    return Estimate(None, None, None, labels.size, np.unique(labels).size, reason)


def as_estimate(mean: Mean) -> Estimate:
    """Convert a mean to an estimate."""
    return Estimate(mean.value, mean.low, mean.high, mean.n, mean.clusters, method=mean.method)


def estimate(value: float, drawn: Numbers, n: int, clusters: int) -> Estimate:
    """Return the value with the quantiles of its draws, widened for few clusters.

    No interval when all data come from one source image. Ends stay within the outermost draws, which respect the
    range of the measure.
    """
    answered = drawn[~np.isnan(drawn)]
    if clusters < 2 or answered.size < (1 - MAX_UNDEFINED_SHARE) * drawn.size:
        return Estimate(value, None, None, n, clusters)
    ends = np.quantile(answered, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    stretched = value + (ends - value) * interval_multiplier(clusters) / ndtri((1 + LEVEL) / 2)
    low, high = np.clip(stretched, answered.min(), answered.max())
    return Estimate(value, float(low), float(high), n, clusters, method=PERCENTILE)


def resampled(
    statistic: Callable[[Numbers], Numbers], clusters: Labels, *, resamples: int = RESAMPLES, seed: int = 0
) -> Numbers:
    """Return the statistic of bootstrap draws of clusters; the last axis is that of the draws."""
    _, index = np.unique(clusters, return_inverse=True)
    many = min(resamples, max(MIN_RESAMPLES, MAX_PAIRS_DRAWN // index.size))
    at_once = max(1, intervals.NUMBERS_AT_ONCE // index.size)
    values: list[Numbers] = []
    for portion in intervals.cluster_draws(int(index.max()) + 1, many, seed):
        drawn = portion.T.astype(np.float64)
        starts = range(0, drawn.shape[1], at_once)
        values += [statistic(drawn[:, start : start + at_once][index]) for start in starts]
    return np.concatenate(values, axis=-1)


def half_sample_interval(
    statistic: Callable[[NDArray[np.int64]], float], value: float, clusters: Labels, *, seed: int = 0
) -> tuple[float, float] | None:
    """Return the 95% interval of a set measure by its spread over halves of the source images.

    For measures without weights, such as FID. The measure of half of the source images, drawn without replacement,
    varies as much as that of all of them would from benchmark to benchmark. None with fewer than ten source images. A
    bias that depends on the number of images, as FID has, affects both value and interval.

    Args:
        statistic: the measure of some of the rows.
        value: the measure of all.
        clusters: the source image of every row.
        seed: of the draws.

    """
    _, index = np.unique(clusters, return_inverse=True)
    sources = int(index.max()) + 1
    if sources < intervals.MIN_SOURCES:
        return None
    random, half = np.random.default_rng(seed), sources // 2
    drawn = [np.isin(index, random.permutation(sources)[:half]) for _ in range(HALF_SAMPLES)]
    spread = float(np.std([statistic(np.flatnonzero(rows)) for rows in drawn], ddof=1))
    correction = np.sqrt(half / (sources - half))
    margin = float(stdtrit(min(sources, HALF_SAMPLES) - 1, (1 + LEVEL) / 2)) * spread * correction
    return value - margin, value + margin


def all_equal(numbers: Numbers) -> bool:
    """Tell whether values differ by no more than rounding."""
    return bool(np.ptp(numbers) <= ROUNDING * np.abs(numbers).max())


def safe_divide(numerator: Numbers, denominator: Numbers) -> Numbers:
    """Divide element-wise; NaN where the divisor is not positive."""
    quotient: Numbers = np.divide(numerator, denominator, out=np.full(numerator.shape, np.nan), where=denominator > 0)
    return quotient


def pearson_of_columns(x: Numbers, y: Numbers, weights: Numbers | None = None) -> Numbers:
    """Correlate each column of `x` with that of `y`, rows weighted by `weights`."""
    counts = np.ones(x.shape) if weights is None else weights
    total = np.maximum(counts.sum(axis=0), 1)
    x_deviation, y_deviation = (column - (counts * column).sum(axis=0) / total for column in (x, y))
    x_spread, y_spread = (
        _unless_rounding((counts * deviation * deviation).sum(axis=0), column, total)
        for deviation, column in ((x_deviation, x), (y_deviation, y))
    )
    covariance = (counts * x_deviation * y_deviation).sum(axis=0)
    return np.clip(safe_divide(covariance, np.sqrt(x_spread) * np.sqrt(y_spread)), -1, 1)


def _unless_rounding(spread: Numbers, numbers: Numbers, total: Numbers) -> Numbers:
    largest = np.abs(numbers).max(axis=0)
    return np.where(spread > total * (ROUNDING * largest) ** 2, spread, 0)


def pearson_of_draws(x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
    """Return Pearson's correlation in each draw."""
    return pearson_of_columns(x[:, None], y[:, None], weights)


def spearman_of_columns(x: Numbers, y: Numbers) -> Numbers:
    """Return the rank correlation of each column of `x` with that of `y`."""
    from scipy.stats import rankdata

    return pearson_of_columns(rankdata(x, axis=0), rankdata(y, axis=0))


def spearman_of_draws(x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
    """Return the rank correlation in each draw, with ranks recomputed for the draw."""
    return pearson_of_columns(_ranks_of_draws(x, weights), _ranks_of_draws(y, weights), weights)


def _ranks_of_draws(numbers: Numbers, weights: Numbers) -> Numbers:
    """Return the mean rank of every pair, as if it were listed as often as it was drawn."""
    _, level = np.unique(numbers, return_inverse=True)
    order = np.argsort(level, kind="stable")
    starts = np.flatnonzero(np.diff(level[order], prepend=-1))
    counts = np.add.reduceat(weights[order], starts, axis=0)
    ranks: Numbers = np.cumsum(counts, axis=0) - (counts - 1) / 2
    return ranks[level]


def kendall_of_pairs(x: Numbers, y: Numbers) -> float:
    """Return Kendall's tau-b."""
    from scipy.stats import kendalltau

    return float(kendalltau(x, y, method="asymptotic").statistic) if x.size > 1 else np.nan


def kendall_of_columns(x: Numbers, y: Numbers) -> Numbers:
    """Return tau-b of each column of `x` with that of `y`, vectorized over columns."""
    concordance, x_untied, y_untied = (np.zeros(x.shape[1]) for _ in range(3))
    for row in range(len(x) - 1):
        x_signs, y_signs = (np.sign(column[row + 1 :] - column[row]) for column in (x, y))
        concordance += (x_signs * y_signs).sum(axis=0)
        x_untied += np.abs(x_signs).sum(axis=0)
        y_untied += np.abs(y_signs).sum(axis=0)
    return safe_divide(concordance, np.sqrt(x_untied * y_untied))


def kendall_of_draws(x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
    """Return tau-b in each draw, computed individually: the slowest of the measures."""
    counts: NDArray[np.int64] = weights.astype(np.int64)
    return np.array([kendall_of_pairs(np.repeat(x, column), np.repeat(y, column)) for column in counts.T])


def cosine_of_columns(x: Numbers, y: Numbers, weights: Numbers | None = None) -> Numbers:
    """Return the cosine of each column of `x` with that of `y`."""
    counts = np.ones(x.shape) if weights is None else weights
    lengths = np.sqrt((counts * x * x).sum(axis=0)) * np.sqrt((counts * y * y).sum(axis=0))
    return np.clip(safe_divide((counts * x * y).sum(axis=0), lengths), -1, 1)


def cosine_of_draws(x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
    """Return the cosine in each draw."""
    return cosine_of_columns(x[:, None], y[:, None], weights)
