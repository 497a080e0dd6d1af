"""How sure a measure of pairs is: the same measure over many draws of whole source images.

A draw says how often each pair counts: a row per pair, a column per draw. NaN stands for no answer, in this room only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import ndtri

from editgauge._stats import intervals
from editgauge._stats.intervals import LEVEL, RESAMPLES, Labels, Mean, Numbers, reach

FEWEST_RESAMPLES = 500
PAIRS_DRAWN = 1_500_000
"""Bounds the time of an interval: from more pairs, whose intervals are narrow, fewer resamples are drawn."""
MOST_UNDEFINED = 0.1
"""When more draws than this have no answer, the others tell about another question: there is no interval."""
ROUNDING = 1e-12
HALF_SAMPLES = 40
HALVES = "Student's t with the spread over 40 random halves of the source images"
PERCENTILE = "percentile bootstrap over source images, widened for few of them (Hesterberg 2015)"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measure with its 95% interval, or the reason why there is none."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int
    reason: str = ""
    method: str = ""
    """How the interval was made; empty without one."""


def no_estimate(reason: str, clusters: ArrayLike = ()) -> Estimate:
    """A measure without a value, and why; `clusters` are the source images of what there is."""
    labels = np.asarray(clusters)
    return Estimate(None, None, None, labels.size, np.unique(labels).size, reason)


def as_estimate(mean: Mean) -> Estimate:
    """A mean among other measures."""
    return Estimate(mean.value, mean.low, mean.high, mean.n, mean.clusters, method=mean.method)


def estimate(value: float, drawn: Numbers, n: int, clusters: int) -> Estimate:
    """The value with the quantiles of its draws, stretched for few clusters; none when all is from one source image.

    Stretched by what `intervals.reach` adds, and never beyond the outermost draws, which know the measure's range.
    """
    answered = drawn[~np.isnan(drawn)]
    if clusters < 2 or answered.size < (1 - MOST_UNDEFINED) * drawn.size:
        return Estimate(value, None, None, n, clusters)
    ends = np.quantile(answered, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    stretched = value + (ends - value) * reach(clusters) / ndtri((1 + LEVEL) / 2)
    low, high = np.clip(stretched, answered.min(), answered.max())
    return Estimate(value, float(low), float(high), n, clusters, method=PERCENTILE)


def resampled(
    answer: Callable[[Numbers], Numbers], clusters: Labels, *, resamples: int = RESAMPLES, seed: int = 0
) -> Numbers:
    """The answers to draws of whole clusters; the last axis is that of the draws."""
    _, index = np.unique(clusters, return_inverse=True)
    many = min(resamples, max(FEWEST_RESAMPLES, PAIRS_DRAWN // index.size))
    at_once = max(1, intervals.NUMBERS_AT_ONCE // index.size)
    answers: list[Numbers] = []
    for portion in intervals.cluster_draws(int(index.max()) + 1, many, seed):
        drawn = portion.T.astype(np.float64)
        starts = range(0, drawn.shape[1], at_once)
        answers += [answer(drawn[:, start : start + at_once][index]) for start in starts]
    return np.concatenate(answers, axis=-1)


def half_sample_interval(
    answer: Callable[[NDArray[np.int64]], float], value: float, clusters: Labels, *, seed: int = 0
) -> tuple[float, float] | None:
    """The 95% interval of a measure of a whole set, by its spread over halves of the source images.

    For measures that know no weights, such as FID. The answer to a half of the source images, drawn without
    replacement, varies as much as the answer to all of them would from benchmark to benchmark. None with fewer than
    ten source images. A bias that depends on the number of pictures, as FID has, stays in value and interval alike.

    Args:
        answer: the measure of some of the rows.
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
    spread = float(np.std([answer(np.flatnonzero(rows)) for rows in drawn], ddof=1))
    few = np.sqrt(half / (sources - half))
    reached = float(stats.t.ppf((1 + LEVEL) / 2, min(sources, HALF_SAMPLES) - 1)) * spread * few
    return value - reached, value + reached


def all_equal(numbers: Numbers) -> bool:
    """Whether they differ by no more than rounding."""
    return bool(np.ptp(numbers) <= ROUNDING * np.abs(numbers).max())


def safe_divide(above: Numbers, below: Numbers) -> Numbers:
    """The quotient, and NaN where nothing is to be divided by."""
    quotient: Numbers = np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0)
    return quotient


def pearson_of_columns(x: Numbers, y: Numbers, weights: Numbers | None = None) -> Numbers:
    """The correlation of each column of `x` with that of `y`, every row counting as often as its weight says."""
    times = np.ones(x.shape) if weights is None else weights
    total = np.maximum(times.sum(axis=0), 1)
    x_apart, y_apart = (each - (times * each).sum(axis=0) / total for each in (x, y))
    x_spread, y_spread = (
        _unless_rounding((times * apart * apart).sum(axis=0), each, total)
        for apart, each in ((x_apart, x), (y_apart, y))
    )
    together = (times * x_apart * y_apart).sum(axis=0)
    return np.clip(safe_divide(together, np.sqrt(x_spread) * np.sqrt(y_spread)), -1, 1)


def _unless_rounding(spread: Numbers, numbers: Numbers, total: Numbers) -> Numbers:
    largest = np.abs(numbers).max(axis=0)
    return np.where(spread > total * (ROUNDING * largest) ** 2, spread, 0)


def pearson_of_draws(x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
    """The correlation in each draw."""
    return pearson_of_columns(x[:, None], y[:, None], weights)


def spearman_of_columns(x: Numbers, y: Numbers) -> Numbers:
    """The rank correlation of each column of `x` with that of `y`."""
    return pearson_of_columns(stats.rankdata(x, axis=0), stats.rankdata(y, axis=0))


def spearman_of_draws(x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
    """The rank correlation in each draw, ranked again among what was drawn."""
    return pearson_of_columns(_ranks_of_draws(x, weights), _ranks_of_draws(y, weights), weights)


def _ranks_of_draws(numbers: Numbers, weights: Numbers) -> Numbers:
    """The mean rank of every pair, as if each were listed as often as it was drawn."""
    _, level = np.unique(numbers, return_inverse=True)
    order = np.argsort(level, kind="stable")
    beginnings = np.flatnonzero(np.diff(level[order], prepend=-1))
    counts = np.add.reduceat(weights[order], beginnings, axis=0)
    ranks: Numbers = np.cumsum(counts, axis=0) - (counts - 1) / 2
    return ranks[level]


def kendall_of_pairs(x: Numbers, y: Numbers) -> float:
    """Kendall's tau-b."""
    return float(stats.kendalltau(x, y, method="asymptotic").statistic) if x.size > 1 else np.nan


def kendall_of_columns(x: Numbers, y: Numbers) -> Numbers:
    """Tau-b of each column of `x` with that of `y`, all columns at once: they are the draws of a few methods' means."""
    agreed, x_apart, y_apart = (np.zeros(x.shape[1]) for _ in range(3))
    for row in range(len(x) - 1):
        x_sides, y_sides = (np.sign(each[row + 1 :] - each[row]) for each in (x, y))
        agreed += (x_sides * y_sides).sum(axis=0)
        x_apart += np.abs(x_sides).sum(axis=0)
        y_apart += np.abs(y_sides).sum(axis=0)
    return safe_divide(agreed, np.sqrt(x_apart * y_apart))


def kendall_of_draws(x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
    """Tau-b in each draw, individually: the slowest of the measures."""
    times: NDArray[np.int64] = weights.astype(np.int64)
    return np.array([kendall_of_pairs(np.repeat(x, column), np.repeat(y, column)) for column in times.T])


def cosine_of_columns(x: Numbers, y: Numbers, weights: Numbers | None = None) -> Numbers:
    """The cosine of each column of `x` with that of `y`."""
    times = np.ones(x.shape) if weights is None else weights
    lengths = np.sqrt((times * x * x).sum(axis=0)) * np.sqrt((times * y * y).sum(axis=0))
    return np.clip(safe_divide((times * x * y).sum(axis=0), lengths), -1, 1)


def cosine_of_draws(x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
    """The cosine in each draw."""
    return cosine_of_columns(x[:, None], y[:, None], weights)
