"""Confidence intervals of means whose values cluster by source image (decision 15)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri, stdtr, stdtrit

from editgauge.types import ScoreSpec

RESAMPLES = 2_000
LEVEL = 0.95
MIN_SOURCES = 10
"""With fewer source images intervals miss the truth too often (docs/explanation/intervals.md): tables mark them, and no
method is called better than another."""
NUMBERS_AT_ONCE = 4_000_000
"""Bounds the memory of resampling to about 30 MB for any number of clusters."""

MIN_SKEW = 1e-6
"""Smaller skewness counts as zero."""
SKEW_INFLATION = 6.0
"""Few clusters rarely contain the tail of a skewed distribution: their skewness is multiplied by 1 + 6 / clusters."""
CLUSTER_PENALTY = 0.25
"""Exponent of the ratio of normal to Student quantile that shrinks a clustered sample; Korn and Graubard use 2."""
MAX_ONE_SIDED_MISS = 0.07
"""Largest accepted chance that the interval of a share misses to one side, however coarse the counts are."""

Numbers = NDArray[np.float64]
Labels = NDArray[Any]


STUDENT = "Student's t over source images, corrected for skewness (Hall 1992)"
BINOMIAL = "Wilson's score interval with the effective number of source images"
COUNTS = "Student's t over source images on the logarithm of a mean count"
NOTHING_VARIED = "all values equal: bound on the share of source images that could differ"
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its 95% confidence interval; no interval when all values come from one source image."""

    value: float
    low: float | None
    high: float | None
    n: int
    clusters: int
    method: str = ""
    """How the interval was computed; empty without one."""

    @property
    def few(self) -> bool:
        """Tell whether too few source images back the interval."""
        return self.clusters < MIN_SOURCES


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """The mean of clustered values and each cluster's influence on it."""

    mean: float
    influences: Numbers
    """Contribution of each cluster to the error of the mean."""
    n: int

    @classmethod
    def of(cls, values: Numbers, clusters: Labels) -> ClusterSums:
        """Compute mean and influences of values that are dependent within a cluster."""
        sums, counts = by_cluster(values, clusters)
        mean = float(sums.sum() / counts.sum())
        return cls(mean, (sums - mean * counts) / counts.sum(), values.size)

    @property
    def clusters(self) -> int:
        """Return the number of clusters."""
        return self.influences.size

    @property
    def error(self) -> float:
        """Return the cluster-robust standard error."""
        return float(np.sqrt((self.influences**2).sum() * self.clusters / (self.clusters - 1)))

    @property
    def skew(self) -> float:
        """Return the skewness of the mean's distribution, inflated because few clusters hide a tail."""
        squares = float((self.influences**2).sum())
        correction = np.sqrt(self.clusters / (self.clusters - 1)) * (1 + SKEW_INFLATION / self.clusters)
        return float((self.influences**3).sum() / squares**1.5 * correction) if squares > 0 else 0.0


def clustered_mean(
    values: Numbers, clusters: Labels, *, scale: tuple[float, float] | None = None, level: float = LEVEL
) -> Mean:
    """Return the mean with an interval that treats values of one cluster (source image) as dependent.

    Yes-or-no values (0 and 1) get Wilson's interval with the effective sample size, counts (whole numbers on a scale
    from 0 without an upper end) one that is symmetric on the logarithm, others one by Student's t, longer to the side
    of a skewed tail. Where all values are equal, unobserved source images may lie anywhere on the scale;
    without a finite `scale` there is then no interval. No interval leaves the scale.

    >>> mean = clustered_mean(np.array([1.0, 3.0, 2.0]), np.array(["a", "b", "c"]))
    >>> mean.value, round(mean.low, 2), round(mean.high, 2)
    (2.0, -0.48, 4.48)
    >>> nothing = clustered_mean(np.zeros(20), np.arange(20))
    >>> nothing.low, round(nothing.high, 3), nothing.method == BINOMIAL
    (0.0, 0.161, True)
    """
    if values.size == 0:
        raise ValueError("cannot average an empty array")
    sums = ClusterSums.of(values, clusters)
    value = float(values.mean())
    if sums.clusters < 2:
        return Mean(value, None, None, values.size, sums.clusters)
    if is_count(values, scale):
        low, high = count_interval(sums, level)
        return Mean(value, low, high, values.size, sums.clusters, COUNTS)
    if is_binary(values):
        size = effective_size(sums, value * (1 - value), level)
        low, high = share_interval(value, size, level, independent=sums.clusters == sums.n)
        return Mean(value, low, high, values.size, sums.clusters, BINOMIAL)
    ends = scale if scale and np.isfinite(scale).all() else None
    if sums.error <= ROUNDING * np.abs(values).max():  # all source images agree
        if ends is None:
            return Mean(value, None, None, values.size, sums.clusters)
        share = 1 - (1 - level) ** (1 / sums.clusters)
        low, high = value - share * (value - ends[0]), value + share * (ends[1] - value)
        return Mean(value, low, high, values.size, sums.clusters, NOTHING_VARIED)
    low, high = student_interval(value, sums.error, sums.skew, sums.clusters - 1, level, shorter=0.5)
    if scale:
        low, high = max(low, min(scale[0], value)), min(high, max(scale[1], value))
    return Mean(value, low, high, values.size, sums.clusters, STUDENT)


def is_binary(values: Numbers) -> bool:
    """Tell whether all values are 0 or 1."""
    return bool(np.isin(values, (0.0, 1.0)).all())


def is_count(values: Numbers, scale: tuple[float, float] | None) -> bool:
    """Tell whether values are whole numbers on a scale from 0 without an upper end."""
    return scale == (0.0, np.inf) and bool((values == np.floor(values)).all())


def count_interval(sums: ClusterSums, level: float) -> tuple[float, float]:
    """Return the interval of a mean count by Student's t on its logarithm; exact Poisson where all counts are zero.

    Counts that are all equal get the standard error of a Poisson mean.

    >>> sums = ClusterSums.of(np.array([0.0, 1.0, 2.0, 9.0]), np.arange(4))
    >>> [round(end, 2) for end in count_interval(sums, 0.95)]
    [0.34, 26.15]
    """
    if sums.mean == 0:
        return 0.0, -float(np.log((1 - level) / 2)) / sums.clusters
    error = sums.error if sums.error > ROUNDING * sums.mean else float(np.sqrt(sums.mean / sums.clusters))
    factor = float(np.exp(stdtrit(sums.clusters - 1, (1 + level) / 2) * error / sums.mean))
    return sums.mean / factor, sums.mean * factor


def student_p(t: float, skew: float, freedom: int) -> float:
    """Return the two-sided p-value of a t statistic: the larger of Student's and the skew-corrected one.

    Student's t rejects too often when values are skewed. Hall's correction (1992, J. R. Stat. Soc. B 54, 221-228)
    repairs that, but rejects too often when tails are heavy and the sample skewness is accidental. The larger p-value
    is valid in both cases.
    """
    corrected = ((1 + skew * t / 3) ** 3 - 1) / skew + skew / 6 if abs(skew) >= MIN_SKEW else t
    return float(2 * stdtr(freedom, -min(abs(t), abs(corrected))))


def student_interval(
    value: float, error: float, skew: float, freedom: int, level: float, *, shorter: float = 0.0
) -> tuple[float, float]:
    """Return the interval that inverts `student_p`: on each side the wider of both.

    With `shorter`, the side away from the tail is shortened by this share of Hall's correction, which gives the
    interval of a single mean its nominal coverage. Tests keep the full width because many are read together.
    """
    quantile = float(stdtrit(freedom, (1 + level) / 2))
    if abs(skew) < MIN_SKEW:
        return value - error * quantile, value + error * quantile
    up, down = (3 * (float(np.cbrt(1 + skew * (end - skew / 6))) - 1) / skew for end in (quantile, -quantile))
    below, above = (end if end > quantile else quantile + shorter * (end - quantile) for end in (up, -down))
    return value - error * below, value + error * above


def effective_size(sums: ClusterSums, variance: float, level: float) -> float:
    """Return the number of independent values the clustered ones are worth.

    `variance` is that of a single value. The design effect is at least 1; where nothing varies it cannot be estimated,
    and every cluster counts once. The penalty for estimating it from few clusters is a fraction of that of Korn and
    Graubard (1998), which is more than coverage needs when the effect is at least 1 (benchmarks/coverage.py).
    """
    if sums.n == sums.clusters:
        return float(sums.n)
    effect = max(1.0, sums.error**2 * sums.n / variance) if variance > ROUNDING else sums.n / sums.clusters
    quantile = (1 + level) / 2
    ratio = float(ndtri(quantile) / stdtrit(sums.clusters - 1, quantile))
    return float(sums.n / effect * ratio**CLUSTER_PENALTY)


def share_interval(share: float, n: float, level: float, *, independent: bool = True) -> tuple[float, float]:
    """Return Wilson's score interval of a share; `n` may be fractional.

    With few successes or failures Wilson's ends are too narrow for some true shares. For independent values an end is
    moved out until it misses to its side in no more than 7% of runs.

    >>> [round(end, 3) for end in share_interval(0.15, 20, 0.95)]
    [0.048, 0.36]
    """
    z = float(ndtri((1 + level) / 2))
    middle, shrink = share + z**2 / (2 * n), 1 + z**2 / n
    half = z * float(np.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2))
    low, high = (middle - half) / shrink, (middle + half) / shrink
    if independent:
        tail, successes = MAX_ONE_SIDED_MISS * (1 - level) / (1 - LEVEL), share * n
        low = min(low, float(betaincinv(successes, n - successes + 1, tail))) if successes > 0 else low
        high = max(high, 1 - float(betaincinv(n - successes, successes + 1, tail))) if successes < n else high
    return (low if share > 0 else 0.0), (high if share < 1 else 1.0)


def interval_multiplier(clusters: int) -> float:
    """Return how many bootstrap standard errors a 95% interval extends to either side.

    That is 1.96, and more for few clusters, whose draws vary too little and whose spread is itself uncertain
    (Hesterberg 2015: the expanded percentile interval).

    >>> round(interval_multiplier(10), 2), round(interval_multiplier(1000), 2)
    (2.38, 1.96)
    """
    return float(stdtrit(clusters - 1, (1 + LEVEL) / 2) * np.sqrt(clusters / (clusters - 1)))


def holm(p_values: list[float | None]) -> list[float | None]:
    """Adjust p-values for multiple tests by Holm's step-down method; None stays None.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    order = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    floor = 0.0
    for rank, (p, index) in enumerate(order):
        floor = max(floor, min(1.0, p * (len(order) - rank)))
        adjusted[index] = floor
    return adjusted


def by_cluster(values: Numbers, clusters: Labels) -> tuple[Numbers, Numbers]:
    """Return the sum and the number of values of each cluster."""
    _, index = np.unique(clusters, return_inverse=True)
    return np.bincount(index, weights=values).astype(np.float64), np.bincount(index).astype(np.float64)


def cluster_draws(clusters: int, resamples: int, seed: int) -> Iterable[NDArray[np.int64]]:
    """Yield how often each cluster is drawn in each resample, in chunks of bounded size."""
    if clusters * resamples <= NUMBERS_AT_ONCE:
        return (_single_chunk(clusters, resamples, seed),)
    rng, probabilities = np.random.default_rng(seed), np.full(clusters, 1 / clusters)
    return (rng.multinomial(clusters, probabilities, size=size) for size in _chunks(resamples, clusters))


@lru_cache(maxsize=1)
def _single_chunk(clusters: int, resamples: int, seed: int) -> NDArray[np.int64]:
    """Draw and cache one chunk: drawing dominates, and cells of a table mostly share their number of clusters."""
    return np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples)


def _chunks(total: int, width: int) -> list[int]:
    size = max(1, NUMBERS_AT_ONCE // width)
    return [min(size, total - start) for start in range(0, total, size)]


INAPPLICABLE_REASONS = frozenset({"not_applicable", "no_rule"})
"""Reasons of edits that the score does not apply to: no better method or model would have a score."""


class Limits(NamedTuple):
    """The lowest and highest value assumed for an unscored outcome."""

    low: float
    high: float
    declared: bool
    """Whether both are the ends of the score's range; otherwise an end is the most extreme value in the run."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The mean if all unscored outcomes had the worst value, and if all had the best."""

    worst: float
    best: float
    scored: int
    missing: int
    """Unscored outcomes that the score applies to."""
    limits: Limits


def score_limits(spec: ScoreSpec, observed: Numbers) -> Limits | None:
    """Return the score's range where it is finite, else the observed extremes; NaN is ignored.

    >>> score_limits(ScoreSpec("gain", True, (0.0, math.inf)), np.array([0.5, np.nan, 7.0]))
    Limits(low=0.0, high=7.0, declared=False)
    """
    low, high = spec.range
    if math.isfinite(low) and math.isfinite(high):
        return Limits(low, high, declared=True)
    values = observed[~np.isnan(observed)]
    if not values.size:
        return None
    low = low if math.isfinite(low) else float(values.min())
    high = high if math.isfinite(high) else float(values.max())
    return Limits(low, high, declared=False)


def bounds(spec: ScoreSpec, scores: Numbers, unscored: Mapping[str, int], limits: Limits) -> Bounds | None:
    """Return both means; None when the score applies to no outcome.

    >>> means = bounds(ScoreSpec("loss", False, (0, 1)), np.array([0.5]), {"crashed": 1}, Limits(0.0, 1.0, True))
    >>> means.worst, means.best
    (0.75, 0.25)
    """
    missing = sum(count for reason, count in unscored.items() if reason not in INAPPLICABLE_REASONS)
    n = scores.size + missing
    if not n:
        return None
    total = float(scores.sum())
    lowest, highest = (total + missing * limits.low) / n, (total + missing * limits.high) / n
    worst, best = (lowest, highest) if spec.higher_is_better else (highest, lowest)
    return Bounds(worst, best, scores.size, missing, limits)
