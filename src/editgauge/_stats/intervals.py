"""How precise a mean is, when scores of one source image are not independent (decision 15)."""

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
"""Bounds the memory of resampling: thirty megabytes, whatever the number of clusters."""

SYMMETRIC = 1e-6
"""A smaller skewness is none."""
UNSEEN_SKEW = 6.0
"""Few clusters seldom show the tail that makes a distribution skewed: their skewness counts 1 + 6 / clusters times."""
FEW_CLUSTERS = 0.25
"""The power of Student's quantile over the normal one that shortens a clustered sample; Korn and Graubard's is 2."""
MOST_MISSED = 0.07
"""A share's interval may miss to one side in that many of 100 runs, and no more, however coarse the counts are."""

Numbers = NDArray[np.float64]
Labels = NDArray[Any]


STUDENT = "Student's t over source images, corrected for skewness (Hall 1992)"
BINOMIAL = "Wilson's score interval with the effective number of source images"
NOTHING_VARIED = "all values equal: bound on the share of source images that could differ"
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its 95% confidence interval; no interval when everything comes from one source image."""

    value: float
    low: float | None
    high: float | None
    n: int
    clusters: int
    method: str = ""
    """How the interval was made; empty without one."""

    @property
    def few(self) -> bool:
        """Whether too few source images stand behind the interval."""
        return self.clusters < MIN_SOURCES


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """The mean of values in clusters, how far each cluster pulls it, and what follows for its precision."""

    mean: float
    pulls: Numbers
    """What each cluster adds to the error of the mean."""
    n: int

    @classmethod
    def of(cls, values: Numbers, clusters: Labels) -> ClusterSums:
        """Values whose errors within a cluster go together."""
        sums, counts = by_cluster(values, clusters)
        mean = float(sums.sum() / counts.sum())
        return cls(mean, (sums - mean * counts) / counts.sum(), values.size)

    @property
    def clusters(self) -> int:
        """How many there are."""
        return self.pulls.size

    @property
    def error(self) -> float:
        """The cluster-robust standard error."""
        return float(np.sqrt((self.pulls**2).sum() * self.clusters / (self.clusters - 1)))

    @property
    def skew(self) -> float:
        """The skewness of the mean's distribution, estimated from the pulls, with what few of them hide."""
        squares = float((self.pulls**2).sum())
        few = np.sqrt(self.clusters / (self.clusters - 1)) * (1 + UNSEEN_SKEW / self.clusters)
        return float((self.pulls**3).sum() / squares**1.5 * few) if squares > 0 else 0.0


def clustered_mean(
    values: Numbers, clusters: Labels, *, scale: tuple[float, float] | None = None, level: float = LEVEL
) -> Mean:
    """The mean with a confidence interval that takes the values of one cluster (source image) as dependent.

    Yes-or-no values (0 and 1) get Wilson's interval with the effective sample size, others one by Student's t, longer
    to the side of a skewed tail. Where all values are equal, what was not seen may lie anywhere on the scale; without a
    finite `scale` there is then no interval. No interval leaves the scale.

    >>> mean = clustered_mean(np.array([1.0, 3.0, 2.0]), np.array(["a", "b", "c"]))
    >>> mean.value, round(mean.low, 2), round(mean.high, 2)
    (2.0, -0.48, 4.48)
    >>> nothing = clustered_mean(np.zeros(20), np.arange(20))
    >>> nothing.low, round(nothing.high, 3), nothing.method == BINOMIAL
    (0.0, 0.161, True)
    """
    if values.size == 0:
        raise ValueError("there is no mean of nothing; check for n = 0 first")
    sums = ClusterSums.of(values, clusters)
    value = float(values.mean())
    if sums.clusters < 2:
        return Mean(value, None, None, values.size, sums.clusters)
    if is_binary(values):
        size = effective_size(sums, value * (1 - value), level)
        low, high = share_interval(value, size, level, independent=sums.clusters == sums.n)
        return Mean(value, low, high, values.size, sums.clusters, BINOMIAL)
    ends = scale if scale and np.isfinite(scale).all() else None
    if sums.error <= ROUNDING * np.abs(values).max():  # all source images say the same
        if ends is None:
            return Mean(value, None, None, values.size, sums.clusters)
        unseen = 1 - (1 - level) ** (1 / sums.clusters)
        low, high = value - unseen * (value - ends[0]), value + unseen * (ends[1] - value)
        return Mean(value, low, high, values.size, sums.clusters, NOTHING_VARIED)
    low, high = student_interval(value, sums.error, sums.skew, sums.clusters - 1, level, shorter=0.5)
    if scale:
        low, high = max(low, min(scale[0], value)), min(high, max(scale[1], value))
    return Mean(value, low, high, values.size, sums.clusters, STUDENT)


def is_binary(values: Numbers) -> bool:
    """Whether all are 0 or 1."""
    return bool(np.isin(values, (0.0, 1.0)).all())


def student_p(t: float, skew: float, freedom: int) -> float:
    """The two-sided p-value of a t statistic: the larger of Student's own and the skew-corrected one.

    Student's t rejects too often when values are skewed. Hall's correction (1992, J. R. Stat. Soc. B 54, 221-228)
    repairs that, and rejects too often when tails are heavy and the skewness is an accident. The larger is right in
    both.
    """
    corrected = ((1 + skew * t / 3) ** 3 - 1) / skew + skew / 6 if abs(skew) >= SYMMETRIC else t
    return float(2 * stdtr(freedom, -min(abs(t), abs(corrected))))


def student_interval(
    value: float, error: float, skew: float, freedom: int, level: float, *, shorter: float = 0.0
) -> tuple[float, float]:
    """The interval that inverts `student_p`: on each side the wider of both.

    With `shorter`, the side away from the tail gives up this share of what Hall's interval would: a mean's interval
    then holds as often as it says. A test keeps the whole, as many of them are looked at together.
    """
    reach = float(stdtrit(freedom, (1 + level) / 2))
    if abs(skew) < SYMMETRIC:
        return value - error * reach, value + error * reach
    up, down = (3 * (float(np.cbrt(1 + skew * (end - skew / 6))) - 1) / skew for end in (reach, -reach))
    below, above = (end if end > reach else reach + shorter * (end - reach) for end in (up, -down))
    return value - error * below, value + error * above


def effective_size(sums: ClusterSums, variance: float, level: float) -> float:
    """As how many independent values the clustered ones count; `variance` is that of a single value.

    The design effect is at least 1; where nothing varies it cannot be estimated, and every cluster counts once. That it
    is estimated from few clusters costs an eighth of what Student's t does: Korn and Graubard (1998) take all of it,
    which with a design effect of at least 1 is more than the coverage needs (benchmarks/coverage.py).
    """
    if sums.n == sums.clusters:
        return float(sums.n)
    effect = max(1.0, sums.error**2 * sums.n / variance) if variance > ROUNDING else sums.n / sums.clusters
    quantile = (1 + level) / 2
    few = float(ndtri(quantile) / stdtrit(sums.clusters - 1, quantile))
    return float(sums.n / effect * few**FEW_CLUSTERS)


def share_interval(share: float, n: float, level: float, *, independent: bool = True) -> tuple[float, float]:
    """Wilson's score interval of a share; `n` need not be whole.

    With few yes, or few no, his ends lie too far in for some truths. Of independent answers, whose chances are known,
    an end is moved out until it misses to its side in no more than 7% of runs.

    >>> [round(end, 3) for end in share_interval(0.15, 20, 0.95)]
    [0.048, 0.36]
    """
    z = float(ndtri((1 + level) / 2))
    middle, shrink = share + z**2 / (2 * n), 1 + z**2 / n
    half = z * float(np.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2))
    low, high = (middle - half) / shrink, (middle + half) / shrink
    if independent:
        tail, yes = MOST_MISSED * (1 - level) / (1 - LEVEL), share * n
        low = min(low, float(betaincinv(yes, n - yes + 1, tail))) if yes > 0 else low
        high = max(high, 1 - float(betaincinv(n - yes, yes + 1, tail))) if yes < n else high
    return (low if share > 0 else 0.0), (high if share < 1 else 1.0)


def reach(clusters: int) -> float:
    """How many standard errors of a bootstrap a 95% interval reaches to either side: 1.96, and more for few clusters.

    Draws of few clusters vary too little, by the factor under the root, and how much they vary is itself uncertain,
    which Student's t allows for (Hesterberg, 2015: the expanded percentile interval).

    >>> round(reach(10), 2), round(reach(1000), 2)
    (2.38, 1.96)
    """
    return float(stdtrit(clusters - 1, (1 + LEVEL) / 2) * np.sqrt(clusters / (clusters - 1)))


def holm(p_values: list[float | None]) -> list[float | None]:
    """P-values adjusted for having looked at many, by Holm's step-down method; None stays None.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    floor = 0.0
    for rank, (p, place) in enumerate(order):
        floor = max(floor, min(1.0, p * (len(order) - rank)))
        adjusted[place] = floor
    return adjusted


def by_cluster(values: Numbers, clusters: Labels) -> tuple[Numbers, Numbers]:
    """The sum and the number of the values of each cluster."""
    _, index = np.unique(clusters, return_inverse=True)
    return np.bincount(index, weights=values).astype(np.float64), np.bincount(index).astype(np.float64)


def cluster_draws(clusters: int, resamples: int, seed: int) -> Iterable[NDArray[np.int64]]:
    """How often each cluster is drawn in each resample, in portions."""
    if clusters * resamples <= NUMBERS_AT_ONCE:
        return (_one_portion(clusters, resamples, seed),)
    rng, even = np.random.default_rng(seed), np.full(clusters, 1 / clusters)
    return (rng.multinomial(clusters, even, size=size) for size in _chunks(resamples, clusters))


@lru_cache(maxsize=1)
def _one_portion(clusters: int, resamples: int, seed: int) -> NDArray[np.int64]:
    """Drawing takes ten times as long as the rest, and the cells of a table mostly have as many clusters."""
    return np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples)


def _chunks(total: int, width: int) -> list[int]:
    size = max(1, NUMBERS_AT_ONCE // width)
    return [min(size, total - start) for start in range(0, total, size)]


INAPPLICABLE_REASONS = frozenset({"not_applicable", "no_rule"})
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


def score_limits(spec: ScoreSpec, seen: Numbers) -> Limits | None:
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
    missing = sum(count for reason, count in unscored.items() if reason not in INAPPLICABLE_REASONS)
    n = scores.size + missing
    if not n:
        return None
    total = float(scores.sum())
    lowest, highest = (total + missing * limits.low) / n, (total + missing * limits.high) / n
    worst, best = (lowest, highest) if spec.higher_is_better else (highest, lowest)
    return Bounds(worst, best, scores.size, missing, limits)
