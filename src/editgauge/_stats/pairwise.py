"""Which methods differ significantly? All pairs of methods by one score, from one procedure.

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
SMALLEST = 1e-300
FEWEST_EXCEEDING = 50
"""With fewer draws beyond a statistic its chance is bounded by Bonferroni instead."""
PSEUDO = 0.5
"""Added to each cell of a table of two yes-or-no answers (Agresti and Min 2005): no interval has zero width."""

Better = Literal["first", "second", "neither"]


@dataclass(frozen=True, slots=True)
class PairDifference:
    """The mean of the first method minus that of the second, on the edits that both have."""

    first: int
    second: int
    """Places of the methods among the rows of the values."""
    value: float | None
    """None when no edit has both."""
    low: float | None
    high: float | None
    """The simultaneous 95% confidence interval over all pairs; None without a test."""
    p: float | None
    """Two-sided, of this pair alone."""
    adjusted: float | None
    """P adjusted for all pairs: below 0.05 exactly when the interval excludes zero."""
    n: int
    """Edits that both have."""
    clusters: int
    """Their source images."""
    first_mean: float | None = None
    second_mean: float | None = None
    """On the edits that both have."""
    method: str = ""
    """How it was tested; or why not."""
    alpha: float = ALPHA
    """The pair is significant when its own p-value is below this: 0.05 shared out over all pairs."""

    @property
    def significant(self) -> bool:
        """Whether the two differ, at 5% over all pairs."""
        return self.adjusted is not None and self.adjusted < ALPHA

    def better(self, *, higher_is_better: bool) -> Better:
        """Which of the two is better, if they differ significantly."""
        if not self.significant or self.value is None:
            return "neither"
        return "first" if (self.value > 0) == higher_is_better else "second"

    @property
    def reversed(self) -> PairDifference:
        """The second against the first."""
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
    """Every two methods (first before second), tested together.

    Args:
        values: a row per method, a column per edit; NaN where a method has no score.
        clusters: the source image of each edit.
        scale: the lowest and the highest value that the score can take, where it has such.

    With fewer than ten source images no pair is tested.

    >>> nobody, someone = np.zeros(20), np.array([1.0] * 4 + [0.0] * 16)
    >>> (pair,) = differences(np.stack([nobody, someone]), np.arange(20), (0.0, 1.0))
    >>> round(pair.p, 3), pair.significant, pair.low < 0 < pair.high
    (0.125, False, True)
    """
    pairs = list(combinations(range(len(values)), 2))
    clusters = np.unique(clusters, return_inverse=True)[1]
    tests = [_test(values[first], values[second], clusters, scale) for first, second in pairs]
    adjustment = _Adjustment.of(tests, clusters)
    tested = []
    for (first, second), test in zip(pairs, tests, strict=True):
        low, high = _inside(test.interval(adjustment.alpha), scale) if test.p is not None else (None, None)
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
    verdict: PairDifference, first: Numbers, second: Numbers, clusters: Labels, scale: tuple[float, float] | None
) -> bool:
    """Whether a verdict still holds, in the same direction, with these values of the two methods instead."""
    test = _test(first, second, np.unique(clusters, return_inverse=True)[1], scale)
    if test.p is None or test.value is None or verdict.value is None:
        return False
    return test.p < verdict.alpha and (test.value > 0) == (verdict.value > 0)


def _inside(ends: tuple[float, float], scale: tuple[float, float] | None) -> tuple[float, float]:
    """No difference is larger than the scale is long."""
    span = scale[1] - scale[0] if scale else np.inf
    return max(ends[0], -span), min(ends[1], span)


@dataclass(frozen=True, slots=True)
class _Test:
    """One pair, before it is known how many others there are."""

    sums: ClusterSums
    sources: Labels
    """The clusters of the pair, in the order of the pulls."""
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
        """The interval of level 1 - alpha: it excludes zero exactly when p is below alpha."""
        freedom = self.sums.clusters - 1
        if self.method == STUDENT:
            return student_interval(self.sums.mean, self.sums.error, self.sums.skew, freedom, 1 - alpha)
        if self.method == NOTHING_VARIED:
            unseen = 1 - alpha ** (1 / self.sums.clusters)
            return self.sums.mean - unseen * (self.sums.mean + self.span), self.sums.mean + unseen * (
                self.span - self.sums.mean
            )
        one, two, n = self.only_first + PSEUDO, self.only_second + PSEUDO, self.size + 4 * PSEUDO
        middle = (one - two) / n
        half = -float(stdtrit(freedom, alpha / 2)) * np.sqrt((one + two - (one - two) ** 2 / n) / n**2)
        low, high = max(-1.0, float(middle - half)), min(1.0, float(middle + half))
        return _exact_at_zero(low, high, self.sums.mean, significant=self.p is not None and self.p < alpha)


def _exact_at_zero(low: float, high: float, value: float, *, significant: bool) -> tuple[float, float]:
    """The interval with zero in it exactly when the exact test does not reject zero."""
    if not significant:
        return min(low, 0.0, value), max(high, 0.0, value)
    nearest = ROUNDING
    return (max(low, nearest), high) if value > 0 else (low, min(high, -nearest))


def _test(first: Numbers, second: Numbers, clusters: Labels, scale: tuple[float, float] | None) -> _Test:
    both = ~np.isnan(first) & ~np.isnan(second)
    sources = np.flatnonzero(np.bincount(clusters[both], minlength=1))
    if not both.any():
        return _Test(ClusterSums(0.0, np.zeros(0), 0), sources, None, None, None, "no edit has both scores")
    one, two = first[both], second[both]
    ahead = one - two
    ahead[np.abs(ahead) <= ROUNDING * max(np.abs(one).max(), np.abs(two).max())] = 0
    sums = ClusterSums.of(ahead, clusters[both])
    base = _Test(sums, sources, float(one.mean()), float(two.mean()), None, "")
    if sources.size < MIN_SOURCES:
        return replace(base, method=f"no test with fewer than {MIN_SOURCES} source images")
    if is_binary(one) and is_binary(two):
        return _mcnemar(base, ahead)
    if sums.error <= ROUNDING * max(np.abs(one).max(), np.abs(two).max()):  # all source images say the same
        return _constant(base, scale)
    p = student_p(sums.mean / sums.error, sums.skew, sources.size - 1)
    return replace(base, p=p, method=STUDENT)


def _mcnemar(base: _Test, ahead: Numbers) -> _Test:
    spread = float((ahead**2).mean() - ahead.mean() ** 2)
    size = effective_size(base.sums, spread, LEVEL)
    one, two = (float((ahead == side).mean() * size) for side in (1, -1))
    more, fewer = max(one, two), min(one, two)
    p = 1.0 if more == fewer else min(1.0, 2 * float(betainc(more, fewer + 1, 0.5)))
    return replace(base, p=p, method=MCNEMAR, only_first=one, only_second=two, size=size)


def _constant(base: _Test, scale: tuple[float, float] | None) -> _Test:
    """All differences are equal: as many source images as could have gone unseen may differ by all that can be."""
    if scale is None or not np.isfinite(scale).all():
        return replace(base, method="all differences are equal, and the score has no finite scale")
    span = scale[1] - scale[0]
    away = abs(base.sums.mean)
    p = 1.0 if away == 0 else float((span / (away + span)) ** base.sums.clusters)
    return replace(base, p=p, method=NOTHING_VARIED, span=span)


@dataclass(frozen=True, slots=True)
class _Adjustment:
    """What p-values of single pairs mean when all pairs are looked at."""

    tests: int
    freedom: int
    largest: Numbers
    """Draws of the largest absolute t statistic of all pairs, were no two methods different; sorted."""
    alpha: float
    """A pair is significant when its own p-value is below this."""

    @classmethod
    def of(cls, tests: Sequence[_Test], clusters: Labels) -> _Adjustment:
        tested = [each for each in tests if each.p is not None]
        if len(tested) < 2:
            return cls(len(tested), 1, np.zeros(0), ALPHA)
        sources = int(clusters.max()) + 1
        freedom = min(each.sums.clusters for each in tested) - 1
        largest = np.sort(_largest(_correlations(tested, sources), freedom))
        critical = largest[int(np.ceil(LEVEL * largest.size)) - 1]
        alpha = float(2 * stdtr(freedom, -critical))
        return cls(len(tested), freedom, largest, max(alpha, ALPHA / len(tested)))

    def adjusted(self, p: float) -> float:
        """The chance that any pair looks this different, were no two methods different."""
        if self.tests < 2:
            return p
        bonferroni = min(1.0, self.tests * p)
        statistic = -float(stdtrit(self.freedom, max(p, SMALLEST) / 2))
        exceeding = self.largest.size - int(np.searchsorted(self.largest, statistic, side="left"))
        if exceeding < FEWEST_EXCEEDING:
            return bonferroni
        adjusted = min(bonferroni, max(p, exceeding / self.largest.size))
        return min(adjusted, np.nextafter(ALPHA, 0)) if p < self.alpha else max(adjusted, ALPHA)


def _correlations(tests: Sequence[_Test], sources: int) -> Numbers:
    """Of the pairs' mean differences, by what each source image adds to them; a pair that never varies has none."""
    pulls = np.zeros((len(tests), sources))
    for row, each in enumerate(tests):
        pulls[row, each.sources] = each.sums.pulls
    lengths = np.sqrt((pulls**2).sum(axis=1))
    scaled = pulls / np.where(lengths > 0, lengths, 1)[:, None]
    correlations: Numbers = scaled @ scaled.T
    np.fill_diagonal(correlations, 1.0)
    return correlations


def _largest(correlations: Numbers, freedom: int) -> Numbers:
    """Draws of the largest absolute value of a multivariate t."""
    values, vectors = np.linalg.eigh(correlations)
    kept = values > ROUNDING
    mixing = (vectors[:, kept] * np.sqrt(values[kept])).T
    normals = _normals(int(kept.sum()))
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
    """A place among the methods, 1 for the best, with the places it may have instead."""

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
    """The place of each method, in the order of their sorted names, from a value per method and edit.

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
    """The mean value of every method (row) and edit (column), NaN without any; the edits; a row of each in the input.

    A seed of one method has nothing to do with the same seed of another, so edits are paired and seeds are averaged.
    """
    _, row = np.unique(methods, return_inverse=True)
    names, first, column = np.unique(edits, return_index=True, return_inverse=True)
    shape = int(row.max()) + 1, names.size
    known = ~np.isnan(values)
    cell = row[known] * shape[1] + column[known]
    sums, counts = (np.bincount(cell, weights=w, minlength=shape[0] * shape[1]) for w in (values[known], None))
    means = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means.reshape(shape), names, first


def ranks(methods: int, pairs: Sequence[PairDifference], *, higher_is_better: bool = True) -> list[Rank]:
    """The place of every method, and the places that the verdicts over all pairs leave to it.

    A method is behind those that do better than it on the edits that both have; its best possible place is behind those
    that do significantly better. Over all methods at once, every true place is within its set in 95% of runs.
    """
    ahead, surely = (np.zeros((methods, methods), dtype=np.bool_) for _ in range(2))
    for each in pairs:
        if not each.value:
            continue
        winner, loser = (each.first, each.second) if (each.value > 0) == higher_is_better else (each.second, each.first)
        ahead[winner, loser] = True
        surely[winner, loser] = each.significant
    return [_rank(place, ahead, surely) for place in range(methods)]


def _rank(place: int, ahead: NDArray[np.bool_], surely: NDArray[np.bool_]) -> Rank:
    better, worse = int(surely[:, place].sum()), int(surely[place].sum())
    return Rank(1 + int(ahead[:, place].sum()), 1 + better, len(ahead) - worse, len(ahead))


@dataclass(frozen=True, slots=True)
class Paired:
    """Two evaluators on the questions that both can answer."""

    first: str
    second: str
    difference: Mean
    """What the first earns on average, minus the second."""
    only_first: int
    """Questions on which the first does better."""
    only_second: int
    p: float | None
    """Two-sided; None with too few source images for a test."""
    adjusted: float | None = None
    """P after Holm, for having looked at several; the one ahead was picked on the same questions: optimistic."""


def paired_difference(
    first: Numbers, second: Numbers, clusters: Labels, names: tuple[str, str] = ("first", "second")
) -> Paired | None:
    """Compares what two evaluators earn on every question, NaN for no answer; None when no question has both.

    >>> pair = paired_difference(np.array([1.0, 1.0, 0.0]), np.array([0.0, 1.0, 0.5]), np.arange(3))
    >>> pair.only_first, pair.only_second, round(pair.difference.value, 3)
    (1, 1, 0.167)
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    if not both.any():
        return None
    ahead = (first - second)[both]
    (pair,) = differences(np.stack([first[both], second[both]]), clusters[both], (0.0, 1.0))
    return Paired(
        *names,
        Mean(float(ahead.mean()), pair.low, pair.high, pair.n, pair.clusters, pair.method),
        only_first=int((ahead > 0).sum()),
        only_second=int((ahead < 0).sum()),
        p=pair.p,
    )


def compare_with_first(earned: Sequence[tuple[str, Numbers]], clusters: Labels) -> tuple[Paired, ...]:
    """The first evaluator against every other one, each on the questions that both can answer."""
    if not earned:
        return ()
    (name, credit), *others = earned
    compared = [paired_difference(credit, theirs, clusters, (name, other)) for other, theirs in others]
    there = [each for each in compared if each is not None]
    adjusted = holm([each.p for each in there])
    return tuple(replace(each, adjusted=p) for each, p in zip(there, adjusted, strict=True))


@dataclass(frozen=True, slots=True)
class Complementarity:
    """How often two evaluators agree with people, apart and together; each share with its interval.

    If they do not err on the same edits, both together could know more than either.
    """

    first: str
    second: str
    both: Mean
    only_first: Mean
    only_second: Mean
    neither: Mean
    oracle: Mean
    """As if someone knew each time which of the two is right: what a perfect combination could reach."""
    average: Mean | None
    """Their plain average, each in units of its own spread; None when it was not asked for."""


def complementarity(
    first: ArrayLike,
    second: ArrayLike,
    clusters: Labels | None = None,
    *,
    average: ArrayLike | None = None,
    names: tuple[str, str] = ("first", "second"),
) -> Complementarity:
    """Takes what each evaluator earns on every answer of people: 1 for agreeing, 0 for not, 0.5 for a guess.

    >>> shares = complementarity([1, 1, 0, 0], [1, 0, 1, 0])
    >>> shares.both.value, shares.only_first.value, shares.only_second.value, shares.neither.value, shares.oracle.value
    (0.25, 0.25, 0.25, 0.25, 0.75)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or not a.size:
        raise ValueError(f"both must be lists of one length, and not empty; got shapes {a.shape} and {b.shape}")
    labels = np.arange(a.size) if clusters is None else np.asarray(clusters)

    def share(credit: Numbers) -> Mean:
        return clustered_mean(credit, labels)

    return Complementarity(
        *names,
        both=share(np.minimum(a, b)),
        only_first=share(np.maximum(a - b, 0)),
        only_second=share(np.maximum(b - a, 0)),
        neither=share(1 - np.maximum(a, b)),
        oracle=share(np.maximum(a, b)),
        average=None if average is None else share(np.asarray(average, dtype=np.float64)),
    )
