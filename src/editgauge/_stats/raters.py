"""How far people agree with each other, and who deviates: the most that can be asked of a score.

Answers are a matrix, a row per outcome and a column per rater; NaN, within this room, where a rater gave none.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from editgauge._stats.agreement import SPEARMAN, within
from editgauge._stats.intervals import Labels, Mean, Numbers, clustered_mean
from editgauge._stats.resampling import Estimate, estimate, no_estimate, resampled, safe_divide

Scale = Literal["nominal", "ordinal", "interval"]
"""Whether answers are names, an order, or numbers whose differences count."""


@dataclass(frozen=True, slots=True)
class Panel:
    """How often several raters give the same answer, over the outcomes with at least two answers."""

    majority: Mean
    """The share of outcomes for which more than half of the raters give one answer."""
    full_agreement: Mean
    """The share for which all give the same."""
    modal_share: Mean
    """The mean share of raters who give the commonest answer."""
    without_majority: int
    """How many outcomes have none."""


def answer_matrix(answers: Iterable[tuple[Hashable, str, float]], raters: Sequence[str]) -> Numbers:
    """A row per outcome in order of appearance, a column per rater; answers are outcome, rater and value.

    >>> answer_matrix([("x", "ada", 1), ("y", "bob", 2), ("x", "bob", 3)], ["ada", "bob"])
    array([[ 1.,  3.],
           [nan,  2.]])
    """
    by_outcome: dict[Hashable, dict[str, float]] = {}
    for outcome, rater, value in answers:
        by_outcome.setdefault(outcome, {})[rater] = value
    rows = [[values.get(rater, np.nan) for rater in raters] for values in by_outcome.values()]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(raters))


def panel(answers: ArrayLike, clusters: Labels | None = None) -> Panel | None:
    """Counts agreement as papers do; None when no outcome has two answers.

    >>> answers = panel([[1, 1, 2], [1, 2, 3], [2, 2, 2]])
    >>> round(answers.majority.value, 2), round(answers.full_agreement.value, 2), answers.without_majority
    (0.67, 0.33, 1)
    """
    matrix, labels = _rated_twice(answers, clusters)
    if not matrix.size:
        return None
    raters_per_item = (~np.isnan(matrix)).sum(axis=1)
    commonest = _counts(matrix).max(axis=1) / raters_per_item
    has_one, all_alike = (each.astype(np.float64) for each in (commonest > 0.5, commonest == 1))
    return Panel(
        majority=clustered_mean(has_one, labels),
        full_agreement=clustered_mean(all_alike, labels),
        modal_share=clustered_mean(commonest, labels),
        without_majority=int((has_one == 0).sum()),
    )


@dataclass(frozen=True, slots=True)
class RaterBias:
    """One rater compared with the others."""

    rater: str
    answers: int
    deviation: Mean | None
    """The rater's answers minus the mean of the others' on the same outcomes; None if no one else rated them."""


def rater_bias(answers: ArrayLike, raters: Sequence[str], clusters: Labels) -> list[RaterBias]:
    """Every rater's mean deviation from the others, the one who deviates most first.

    >>> biases = rater_bias([[2, 1, 1], [3, 2, 2]], ["generous", "b", "c"], np.array(["x", "y"]))
    >>> [(one.rater, one.deviation.value) for one in biases]
    [('generous', 1.0), ('b', -0.5), ('c', -0.5)]
    """
    matrix = np.asarray(answers, dtype=np.float64)
    is_rated = ~np.isnan(matrix)
    sums, counts = np.where(is_rated, matrix, 0).sum(axis=1), is_rated.sum(axis=1)
    biases = []
    for column, rater in enumerate(raters):
        shared = is_rated[:, column] & (counts > 1)
        mine = matrix[shared, column]
        apart = mine - (sums[shared] - mine) / (counts[shared] - 1)
        deviation = clustered_mean(apart, np.asarray(clusters)[shared]) if apart.size else None
        biases.append(RaterBias(rater, int(is_rated[:, column].sum()), deviation))
    return sorted(biases, key=lambda one: -abs(one.deviation.value) if one.deviation else np.inf)


def human_ceiling(answers: ArrayLike, clusters: Labels | None = None) -> Estimate:
    """Spearman's correlation of each rater with the mean of the others, averaged over raters.

    A score that is compared with each rater alone can hardly do better than the raters do.
    """
    matrix, labels = _rated_twice(answers, clusters)
    rows, raters = np.nonzero(~np.isnan(matrix))
    others = [np.nanmean(np.delete(matrix[row], rater)) for row, rater in zip(rows, raters, strict=True)]
    without_noise = np.round(others, 12)  # equal means must tie, in whichever order they were summed
    return within(SPEARMAN, without_noise, matrix[rows, raters], raters, labels[rows]).average


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The correlation with people that a perfect score would reach, given how reliable their answers are."""

    with_one_rater: Estimate
    with_their_mean: Estimate


def ceiling(answers: ArrayLike, clusters: Labels | None = None) -> Ceiling:
    """The square root of the reliability of one rater, and of the mean of all raters of an outcome.

    Each rater's own level is taken out; what is left varies between outcomes and among the raters of one (analysis of
    variance for unequal numbers of answers). The mean of several is more reliable than one (Spearman and Brown).

    >>> limits = ceiling([[1, 1, 2], [2, 2, 3], [3, 3, 4], [1, 2, 2]])
    >>> round(limits.with_one_rater.value, 2), round(limits.with_their_mean.value, 2)
    (0.96, 0.99)
    """
    matrix, labels = _rated_twice(answers, clusters)
    n, sources = len(matrix), np.unique(labels).size
    if n < FEWEST_OUTCOMES:
        reason = f"fewer than {FEWEST_OUTCOMES} outcomes have two answers"
        return Ceiling(*[no_estimate(reason, labels)] * 2)
    is_rated = ~np.isnan(matrix)
    level = np.where(is_rated, matrix, 0).sum(axis=0) / np.maximum(is_rated.sum(axis=0), 1)
    apart = np.where(is_rated, matrix - level, 0)
    counts, sums, squares = is_rated.sum(axis=1).astype(np.float64), apart.sum(axis=1), (apart**2).sum(axis=1)
    values = _ceilings(counts, sums, squares, np.ones((n, 1)))[:, 0]
    if np.isnan(values).any():
        return Ceiling(*[no_estimate("raters do not agree more than by chance", labels)] * 2)
    drawn = resampled(lambda weights: _ceilings(counts, sums, squares, weights), labels)
    one, mean = (estimate(float(value), row, n, sources) for value, row in zip(values, drawn, strict=True))
    return Ceiling(one, mean)


FEWEST_OUTCOMES = 3


def _ceilings(counts: Numbers, sums: Numbers, squares: Numbers, weights: Numbers) -> Numbers:
    """For every draw, with one rater and with the mean; NaN where outcomes do not differ more than raters do."""
    outcomes, answers = weights.sum(axis=0), counts @ weights
    within = safe_divide((squares - sums**2 / counts) @ weights, (counts - 1) @ weights)
    middle = safe_divide(sums @ weights, answers)
    among = ((sums**2 / counts) @ weights - answers * middle**2) / np.maximum(outcomes - 1, 1)
    typical = (answers - safe_divide((counts**2) @ weights, answers)) / np.maximum(outcomes - 1, 1)
    between = safe_divide(among - within, typical)
    single = safe_divide(between, between + within)
    single = np.where(single > 0, single, np.nan)
    raters = safe_divide(outcomes, (1 / counts) @ weights)
    return np.sqrt(np.stack([single, raters * single / (1 + (raters - 1) * single)]))


def krippendorff(answers: ArrayLike, scale: Scale = "ordinal", clusters: Labels | None = None) -> Estimate:
    """Krippendorff's alpha: 1 when raters always agree, 0 when they agree as by chance; answers may be missing.

    Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability". The interval is clustered by source image.

    >>> round(krippendorff([[1, 1], [2, 2], [3, 3], [1, 2]], "nominal").value, 3)
    0.667
    """
    if scale not in get_args(Scale):
        raise ValueError(f"scale is one of {', '.join(get_args(Scale))}; got {scale!r}")
    matrix, labels = _rated_twice(answers, clusters)
    if not matrix.size:
        return no_estimate("no outcome has two answers")
    counts = _counts(matrix)
    if counts.shape[1] < 2:
        return no_estimate("all answers are equal", labels)
    values = np.unique(matrix[~np.isnan(matrix)])
    value = _alpha(counts, values, np.ones((len(matrix), 1)), scale)[0]
    drawn = resampled(lambda weights: _alpha(counts, values, weights, scale), labels)
    return estimate(float(value), drawn, len(matrix), np.unique(labels).size)


def _alpha(counts: Numbers, values: Numbers, weights: Numbers, scale: Scale) -> Numbers:
    """Alpha in each draw: one minus the disagreement within outcomes over that among all answers."""
    pairs = weights / (counts.sum(axis=1) - 1)[:, None]
    totals = counts.T @ weights
    n = totals.sum(axis=0)
    if scale == "nominal":
        observed = ((counts.sum(axis=1) ** 2 - (counts**2).sum(axis=1)) @ pairs)[None]
        expected = (n**2 - (totals**2).sum(axis=0))[None]
        return np.asarray(1 - (n - 1) * safe_divide(observed, expected)[0], dtype=np.float64)
    # Squared differences of ranks in the middle of equal answers are Krippendorff's ordinal metric.
    places = totals.cumsum(axis=0) - totals / 2 if scale == "ordinal" else np.repeat(values[:, None], n.size, axis=1)
    places = places - places.mean(axis=0)
    expected = n * (totals * places**2).sum(axis=0) - (totals * places).sum(axis=0) ** 2
    squares, sums = counts @ places**2, counts @ places
    observed = (pairs * (counts.sum(axis=1)[:, None] * squares - sums**2)).sum(axis=0)
    return np.asarray(1 - (n - 1) * safe_divide(observed, expected), dtype=np.float64)


def _counts(matrix: Numbers) -> Numbers:
    """How often each outcome got each answer."""
    values = np.unique(matrix[~np.isnan(matrix)])
    return np.stack([(matrix == value).sum(axis=1) for value in values], axis=1).astype(np.float64)


def _rated_twice(answers: ArrayLike, clusters: Labels | None) -> tuple[Numbers, Labels]:
    matrix = np.asarray(answers, dtype=np.float64)
    labels = np.arange(len(matrix)) if clusters is None else np.asarray(clusters)
    twice = (~np.isnan(matrix)).sum(axis=1) >= 2
    return matrix[twice], labels[twice]
