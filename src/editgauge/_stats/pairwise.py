"""Test all pairs of methods by one score, with one procedure for p-value, interval and rank.

For every pair: the mean difference over the edits that both have, its p-value adjusted for all pairs, and the matching
confidence interval. A difference is significant exactly when its adjusted p-value is below 0.05, which is exactly when
its interval excludes zero; rank sets are counted from the same tests, so no two views can disagree.

The test of a pair is cluster-robust over source images: Student's t, corrected for skewness (Hall 1992); for yes-or-no
scores McNemar's exact test with the effective number of source images. The adjustment is single-step (max-t: Hothorn,
Bretz and Westfall 2008): the probability that the largest t statistic of all pairs is as large, given their
correlations. Two evaluators on the same questions are compared with the same test.


For every pair: the mean difference over the edits that both have, its p-value, adjusted for all pairs, and the
confidence interval that goes with it. The difference is significant exactly when its adjusted p-value is below 0.05,
exactly when its interval excludes zero; rank sets are counted from the same verdicts. So no two views can disagree.

The test of a pair is cluster-robust over source images: Student's t, corrected for skewness (Hall 1992); for yes-or-no
scores McNemar's exact test with the effective number of source images. The adjustment is single-step (max-t: Hothorn,
Bretz and Westfall 2008): the chance that the largest of all pairs' t statistics is as large, with their correlations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, stdtr, stdtrit

from editgauge._stats.intervals import (
    LEVEL,
    MIN_SOURCES,
    NOTHING_VARIED,
    ROUNDING,
    STUDENT,
    ClusterSums,
    Labels,
    Mean,
    Numbers,
    clustered_mean,
    effective_size,
    holm,
    is_binary,
    student_interval,
    student_p,
)

ALPHA = round(1 - LEVEL, 9)  # 0.05 itself, not 0.05000000000000004
MCNEMAR = "McNemar's exact test with the effective number of source images"
DRAWS = 10_000
MIN_P = 1e-300
MIN_EXCEEDING = 50
"""With fewer draws above a statistic its probability is bounded by Bonferroni instead."""
PSEUDO_COUNT = 0.5
"""Added to each cell of a table of two yes-or-no answers (Agresti and Min 2005): no interval has zero width."""

Better = Literal["first", "second", "neither"]


@dataclass(frozen=True, slots=True)
class PairDifference:
    """The mean of the first method minus that of the second, on the edits that both have."""

    first: int
    second: int
    """Row indices of the methods."""
    value: float | None
    """None when no edit has both scores."""
    low: float | None
    high: float | None
    """The simultaneous 95% confidence interval over all pairs; None without a test."""
    p: float | None
    """Two-sided p-value of this pair alone."""
    adjusted: float | None
    """P-value adjusted for all pairs: below 0.05 exactly when the interval excludes zero."""
    n: int
    """Edits that both have."""
    clusters: int
    """Their source images."""
    first_mean: float | None = None
    second_mean: float | None = None
    """On the edits that both have."""
    method: str = ""
    """The test, or why there is none."""
    alpha: float = ALPHA
    """The pair is significant when its unadjusted p-value is below this."""

    @property
    def significant(self) -> bool:
        """Tell whether the two differ, at 5% over all pairs."""
        return self.adjusted is not None and self.adjusted < ALPHA

    def better(self, *, higher_is_better: bool) -> Better:
        """Return which of the two is significantly better."""
        if not self.significant or self.value is None:
            return "neither"
        return "first" if (self.value > 0) == higher_is_better else "second"

    @property
    def reversed(self) -> PairDifference:
        """Return the second method compared with the first."""
        return replace(
            self,
            first=self.second,
            second=self.first,
            value=None if self.value is None else -self.value,
            low=None if self.high is None else -self.high,
            high=None if self.low is None else -self.low,
            first_mean=self.second_mean,
            second_mean=self.first_mean,
        )


def differences(values: Numbers, clusters: Labels, scale: tuple[float, float] | None = None) -> list[PairDifference]:
    """Test every two methods (first before second) together.

    Args:
        values: a row per method, a column per edit; NaN where a method has no score.
        clusters: the source image of each edit.
        scale: the lowest and the highest value that the score can take, where it has such.

    With fewer than ten source images no pair is tested.

    >>> never, sometimes = np.zeros(20), np.array([1.0] * 4 + [0.0] * 16)
    >>> (pair,) = differences(np.stack([never, sometimes]), np.arange(20), (0.0, 1.0))
    >>> round(pair.p, 3), pair.significant, pair.low < 0 < pair.high
    (0.125, False, True)

    """
    pairs = list(combinations(range(len(values)), 2))
    clusters = np.unique(clusters, return_inverse=True)[1]
    tests = [_test(values[first], values[second], clusters, scale) for first, second in pairs]
    adjustment = _Adjustment.of(tests, clusters)
    tested = []
    for (first, second), test in zip(pairs, tests, strict=True):
        low, high = _clip_to_span(test.interval(adjustment.alpha), scale) if test.p is not None else (None, None)
        tested.append(
            PairDifference(
                first,
                second,
                test.value,
                low,
                high,
                test.p,
                None if test.p is None else adjustment.adjusted(test.p),
                test.sums.n,
                test.sums.clusters,
                test.first_mean,
                test.second_mean,
                test.method,
                adjustment.alpha,
            )
        )
    return tested


def survives(
    result: PairDifference, first: Numbers, second: Numbers, clusters: Labels, scale: tuple[float, float] | None
) -> bool:
    """Tell whether a result holds, in the same direction, with other values of the two methods."""
    test = _test(first, second, np.unique(clusters, return_inverse=True)[1], scale)
    if test.p is None or test.value is None or result.value is None:
        return False
    return test.p < result.alpha and (test.value > 0) == (result.value > 0)


def _clip_to_span(ends: tuple[float, float], scale: tuple[float, float] | None) -> tuple[float, float]:
    """Clip a difference to the length of the scale."""
    span = scale[1] - scale[0] if scale else np.inf
    return max(ends[0], -span), min(ends[1], span)


@dataclass(frozen=True, slots=True)
class _Test:
    """The test of one pair, before adjustment."""

    sums: ClusterSums
    sources: Labels
    """The clusters of the pair, in the order of the influences."""
    first_mean: float | None
    second_mean: float | None
    p: float | None
    method: str
    only_first: float = 0.0
    only_second: float = 0.0
    size: float = 0.0
    """Of yes-or-no scores: effective numbers of edits that only one method passes, and of all."""
    span: float = 0.0
    """Of a constant difference: the largest difference that the scale allows."""

    @property
    def value(self) -> float | None:
        return self.sums.mean if self.sums.n else None

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the interval of level 1 - alpha; it excludes zero exactly when p is below alpha."""
        freedom = self.sums.clusters - 1
        if self.method == STUDENT:
            return student_interval(self.sums.mean, self.sums.error, self.sums.skew, freedom, 1 - alpha)
        if self.method == NOTHING_VARIED:
            share = 1 - alpha ** (1 / self.sums.clusters)
            return self.sums.mean - share * (self.sums.mean + self.span), self.sums.mean + share * (
                self.span - self.sums.mean
            )
        first, second, n = self.only_first + PSEUDO_COUNT, self.only_second + PSEUDO_COUNT, self.size + 4 * PSEUDO_COUNT
        center = (first - second) / n
        margin = -float(stdtrit(freedom, alpha / 2)) * np.sqrt((first + second - (first - second) ** 2 / n) / n**2)
        low, high = max(-1.0, float(center - margin)), min(1.0, float(center + margin))
        return _exact_at_zero(low, high, self.sums.mean, significant=self.p is not None and self.p < alpha)


def _exact_at_zero(low: float, high: float, value: float, *, significant: bool) -> tuple[float, float]:
    """Adjust the interval to include zero exactly when the exact test does not reject zero."""
    if not significant:
        return min(low, 0.0, value), max(high, 0.0, value)
    nearest = ROUNDING
    return (max(low, nearest), high) if value > 0 else (low, min(high, -nearest))


def _test(first: Numbers, second: Numbers, clusters: Labels, scale: tuple[float, float] | None) -> _Test:
    both = ~np.isnan(first) & ~np.isnan(second)
    sources = np.flatnonzero(np.bincount(clusters[both], minlength=1))
    if not both.any():
        return _Test(ClusterSums(0.0, np.zeros(0), 0), sources, None, None, None, "no edit has both scores")
    first_values, second_values = first[both], second[both]
    difference = first_values - second_values
    difference[np.abs(difference) <= ROUNDING * max(np.abs(first_values).max(), np.abs(second_values).max())] = 0
    sums = ClusterSums.of(difference, clusters[both])
    base = _Test(sums, sources, float(first_values.mean()), float(second_values.mean()), None, "")
    if sources.size < MIN_SOURCES:
        return replace(base, method=f"no test with fewer than {MIN_SOURCES} source images")
    if is_binary(first_values) and is_binary(second_values):
        return _mcnemar(base, difference)
    if sums.error <= ROUNDING * max(np.abs(first_values).max(), np.abs(second_values).max()):  # all source images agree
        return _constant(base, scale, float(np.ptp(np.concatenate([first_values, second_values]))))
    p = student_p(sums.mean / sums.error, sums.skew, sources.size - 1)
    return replace(base, p=p, method=STUDENT)


def _mcnemar(base: _Test, difference: Numbers) -> _Test:
    spread = float((difference**2).mean() - difference.mean() ** 2)
    size = effective_size(base.sums, spread, LEVEL)
    only_first, only_second = (float((difference == side).mean() * size) for side in (1, -1))
    more, fewer = max(only_first, only_second), min(only_first, only_second)
    p = 1.0 if more == fewer else min(1.0, 2 * float(betainc(more, fewer + 1, 0.5)))
    return replace(base, p=p, method=MCNEMAR, only_first=only_first, only_second=only_second, size=size)


def _constant(base: _Test, scale: tuple[float, float] | None, observed: float) -> _Test:
    """Test differences that are all equal.

    The interval bounds the share of source images that could differ unseen. They could differ by the length of the
    scale; where no outcome differs at all, by no more than the `observed` range of the scores.
    """
    span = scale[1] - scale[0] if scale else np.inf
    distance = abs(base.sums.mean)
    if distance == 0 and observed > 0:
        span = min(span, observed)
    if not np.isfinite(span):
        return replace(base, method="all differences are equal, and the score has no finite scale")
    p = 1.0 if distance == 0 else float((span / (distance + span)) ** base.sums.clusters)
    return replace(base, p=p, method=NOTHING_VARIED, span=span)


@dataclass(frozen=True, slots=True)
class _Adjustment:
    """Converts p-values of single pairs to p-values over all pairs."""

    tests: int
    freedom: int
    largest: Numbers
    """Sorted draws of the largest absolute t statistic of all pairs under the null hypothesis."""
    alpha: float
    """A pair is significant when its unadjusted p-value is below this."""

    @classmethod
    def of(cls, tests: Sequence[_Test], clusters: Labels) -> _Adjustment:
        tested = [test for test in tests if test.p is not None]
        if len(tested) < 2:
            return cls(len(tested), 1, np.zeros(0), ALPHA)
        sources = int(clusters.max()) + 1
        freedom = min(test.sums.clusters for test in tested) - 1
        largest = np.sort(_largest(_correlations(tested, sources), freedom))
        critical = largest[int(np.ceil(LEVEL * largest.size)) - 1]
        alpha = float(2 * stdtr(freedom, -critical))
        return cls(len(tested), freedom, largest, max(alpha, ALPHA / len(tested)))

    def adjusted(self, p: float) -> float:
        """Return the probability that any pair looks this different under the null hypothesis."""
        if self.tests < 2:
            return p
        bonferroni = min(1.0, self.tests * p)
        statistic = -float(stdtrit(self.freedom, max(p, MIN_P) / 2))
        exceeding = self.largest.size - int(np.searchsorted(self.largest, statistic, side="left"))
        if exceeding < MIN_EXCEEDING:
            return bonferroni
        adjusted = min(bonferroni, max(p, exceeding / self.largest.size))
        return min(adjusted, np.nextafter(ALPHA, 0)) if p < self.alpha else max(adjusted, ALPHA)


def _correlations(tests: Sequence[_Test], sources: int) -> Numbers:
    """Correlate the pairs' mean differences through the influence of each source image."""
    influences = np.zeros((len(tests), sources))
    for row, test in enumerate(tests):
        influences[row, test.sources] = test.sums.influences
    lengths = np.sqrt((influences**2).sum(axis=1))
    scaled = influences / np.where(lengths > 0, lengths, 1)[:, None]
    correlations: Numbers = scaled @ scaled.T
    np.fill_diagonal(correlations, 1.0)
    return correlations


def _largest(correlations: Numbers, freedom: int) -> Numbers:
    """Draw the largest absolute value of a multivariate t."""
    values, vectors = np.linalg.eigh(correlations)
    is_positive = values > ROUNDING
    mixing = (vectors[:, is_positive] * np.sqrt(values[is_positive])).T
    normals = _normals(int(is_positive.sum()))
    largest: Numbers = np.abs(normals @ mixing).max(axis=1)
    return largest / _spreads(freedom)


@lru_cache(maxsize=8)
def _normals(dimensions: int) -> Numbers:
    return np.random.default_rng(0).standard_normal((DRAWS, dimensions))


@lru_cache(maxsize=64)
def _spreads(freedom: int) -> Numbers:
    return np.asarray(np.sqrt(np.random.default_rng(1).chisquare(freedom, DRAWS) / freedom), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank among the methods, 1 for the best, with the range of ranks compatible with the tests."""

    value: int
    low: int
    high: int
    methods: int
    """How many methods have this score."""

    def __str__(self) -> str:
        return f"{self.value} [{self.low}-{self.high}]"


def rank_methods(
    values: Numbers,
    methods: Labels,
    edits: Labels,
    clusters: Labels,
    *,
    higher_is_better: bool = True,
    scale: tuple[float, float] | None = None,
) -> list[Rank]:
    """Rank methods, in the order of their sorted names, from a value per method and edit.

    Several values of one method and edit count with their mean.

    >>> values, edits = np.random.default_rng(0).normal(np.tile([0.9, 0.2], 12), 0.1), np.repeat(np.arange(12), 2)
    >>> [str(rank) for rank in rank_methods(values, np.tile(["a", "b"], 12), edits, edits)]
    ['1 [1-1]', '2 [2-2]']
    """
    if not values.size:
        return []
    table, _, first = edit_table(values, methods, edits)
    pairs = differences(table, np.asarray(clusters)[first], scale)
    return ranks(len(table), pairs, higher_is_better=higher_is_better)


def edit_table(values: Numbers, methods: Labels, edits: Labels) -> tuple[Numbers, Labels, NDArray[np.int64]]:
    """Return the mean value of every method (row) and edit (column), the edits, and an input row of each edit.

    Seeds of different methods are unrelated, so edits are paired and seeds averaged.
    """
    _, row = np.unique(methods, return_inverse=True)
    names, first, column = np.unique(edits, return_index=True, return_inverse=True)
    shape = int(row.max()) + 1, names.size
    is_scored = ~np.isnan(values)
    cell = row[is_scored] * shape[1] + column[is_scored]
    sums, counts = (np.bincount(cell, weights=w, minlength=shape[0] * shape[1]) for w in (values[is_scored], None))
    means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means.reshape(shape), names, first


def ranks(methods: int, pairs: Sequence[PairDifference], *, higher_is_better: bool = True) -> list[Rank]:
    """Return the rank of every method and the range of ranks compatible with the tests.

    A method ranks behind those with a better mean on the edits that both have; its best possible rank is behind those
    that are significantly better. Simultaneously for all methods, ranges contain the true ranks in 95% of runs.
    """
    ahead, significantly_ahead = (np.zeros((methods, methods), dtype=np.bool_) for _ in range(2))
    for pair in pairs:
        if not pair.value:
            continue
        winner, loser = (pair.first, pair.second) if (pair.value > 0) == higher_is_better else (pair.second, pair.first)
        ahead[winner, loser] = True
        significantly_ahead[winner, loser] = pair.significant
    return [_rank(method, ahead, significantly_ahead) for method in range(methods)]


def _rank(method: int, ahead: NDArray[np.bool_], significantly_ahead: NDArray[np.bool_]) -> Rank:
    better, worse = int(significantly_ahead[:, method].sum()), int(significantly_ahead[method].sum())
    return Rank(1 + int(ahead[:, method].sum()), 1 + better, len(ahead) - worse, len(ahead))


@dataclass(frozen=True, slots=True)
class Paired:
    """Two evaluators on the questions that both can answer."""

    first: str
    second: str
    difference: Mean
    """Mean credit of the first minus that of the second."""
    only_first: int
    """Questions on which the first does better."""
    only_second: int
    p: float | None
    """Two-sided; None with too few source images for a test."""
    adjusted: float | None = None
    """P-value after Holm; optimistic, because the leader was chosen on the same questions."""


def paired_difference(
    first: Numbers, second: Numbers, clusters: Labels, names: tuple[str, str] = ("first", "second")
) -> Paired | None:
    """Compare the credit of two evaluators, NaN for no answer; None when no question has both.

    >>> pair = paired_difference(np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.5]), np.arange(3))
    >>> pair.only_first, pair.only_second, round(pair.difference.value, 3)
    (1, 1, 0.167)
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    if not both.any():
        return None
    difference = (first - second)[both]
    (pair,) = differences(np.stack([first[both], second[both]]), clusters[both], (0.0, 1.0))
    return Paired(
        *names,
        Mean(float(difference.mean()), pair.low, pair.high, pair.n, pair.clusters, pair.method),
        only_first=int((difference > 0).sum()),
        only_second=int((difference < 0).sum()),
        p=pair.p,
    )


def compare_with_first(earned: Sequence[tuple[str, Numbers]], clusters: Labels) -> tuple[Paired, ...]:
    """Compare the first evaluator with every other one, on the questions that both can answer."""
    if not earned:
        return ()
    (name, credit), *following = earned
    compared = [paired_difference(credit, other_credit, clusters, (name, other)) for other, other_credit in following]
    answered = [pair for pair in compared if pair is not None]
    adjusted = holm([pair.p for pair in answered])
    return tuple(replace(pair, adjusted=p) for pair, p in zip(answered, adjusted, strict=True))


@dataclass(frozen=True, slots=True)
class Complementarity:
    """How often two evaluators agree with people, individually and together.

    If they err on different edits, a combination could do better than either.
    """

    first: str
    second: str
    both: Mean
    only_first: Mean
    only_second: Mean
    neither: Mean
    oracle: Mean
    """Share that a perfect combination of the two could reach."""
    average: Mean | None
    """Their average, each scaled by its spread; None when not requested."""


def complementarity(
    first: ArrayLike,
    second: ArrayLike,
    clusters: Labels | None = None,
    *,
    average: ArrayLike | None = None,
    names: tuple[str, str] = ("first", "second"),
) -> Complementarity:
    """Return how often both, one or neither of two evaluators agree with people.

    >>> shares = complementarity([1, 1, 0, 0], [1, 0, 1, 0])
    >>> shares.both.value, shares.only_first.value, shares.only_second.value, shares.neither.value, shares.oracle.value
    (0.25, 0.25, 0.25, 0.25, 0.75)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or not a.size:
        raise ValueError(f"both must be lists of one length, and not empty; got shapes {a.shape} and {b.shape}")
    labels = np.arange(a.size) if clusters is None else np.asarray(clusters)

    def share(credit: Numbers) -> Mean:
        return clustered_mean(credit, labels, scale=(0.0, 1.0))

    return Complementarity(
        *names,
        both=share(np.minimum(a, b)),
        only_first=share(np.maximum(a - b, 0)),
        only_second=share(np.maximum(b - a, 0)),
        neither=share(1 - np.maximum(a, b)),
        oracle=share(np.maximum(a, b)),
        average=None if average is None else share(np.asarray(average, dtype=np.float64)),
    )
