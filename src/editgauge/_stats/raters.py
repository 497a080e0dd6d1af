"""Agreement among human raters: the ceiling for any score, and raters who deviate.

Answers are a matrix with a row per outcome and a column per rater; NaN where a rater gave none.

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
"""Measurement level of the answers."""


@dataclass(frozen=True, slots=True)
class Panel:
    """How often several raters give the same answer, over outcomes with at least two answers."""

    majority: Mean
    """The share of outcomes for which more than half of the raters give one answer."""
    full_agreement: Mean
    """The share of outcomes for which all raters give the same answer."""
    modal_share: Mean
    """Mean share of raters who give the most common answer."""
    without_majority: int
    """Outcomes without a majority."""


def answer_matrix(answers: Iterable[tuple[Hashable, str, float]], raters: Sequence[str]) -> Numbers:
    """Return a row per outcome in order of appearance and a column per rater.

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
    """Count how often raters agree; None when no outcome has two answers.

    >>> answers = panel([[1, 1, 2], [1, 2, 3], [2, 2, 2]])
    >>> round(answers.majority.value, 2), round(answers.full_agreement.value, 2), answers.without_majority
    (0.67, 0.33, 1)
    """
    matrix, labels = _rated_twice(answers, clusters)
    if not matrix.size:
        return None
    raters_per_item = (~np.isnan(matrix)).sum(axis=1)
    modal_share = _counts(matrix).max(axis=1) / raters_per_item
    has_majority, is_unanimous = (flags.astype(np.float64) for flags in (modal_share > 0.5, modal_share == 1))
    return Panel(
        majority=clustered_mean(has_majority, labels),
        full_agreement=clustered_mean(is_unanimous, labels),
        modal_share=clustered_mean(modal_share, labels, scale=(0.0, 1.0)),
        without_majority=int((has_majority == 0).sum()),
    )


@dataclass(frozen=True, slots=True)
class RaterBias:
    """One rater compared with the other raters."""

    rater: str
    answers: int
    deviation: Mean | None
    """The rater's answers minus the mean of the others' on the same outcomes; None if no one else rated them."""


def rater_bias(answers: ArrayLike, raters: Sequence[str], clusters: Labels) -> list[RaterBias]:
    """Return every rater's mean deviation from the others, largest deviation first.

    >>> biases = rater_bias([[2, 1, 1], [3, 2, 2]], ["generous", "b", "c"], np.array(["x", "y"]))
    >>> [(bias.rater, bias.deviation.value) for bias in biases]
    [('generous', 1.0), ('b', -0.5), ('c', -0.5)]
    """
    matrix = np.asarray(answers, dtype=np.float64)
    is_rated = ~np.isnan(matrix)
    sums, counts = np.where(is_rated, matrix, 0).sum(axis=1), is_rated.sum(axis=1)
    span = float(np.ptp(matrix[is_rated])) if is_rated.any() else 0.0
    scale = -span, span
    biases = []
    for column, rater in enumerate(raters):
        shared = is_rated[:, column] & (counts > 1)
        ratings = matrix[shared, column]
        deviations = ratings - (sums[shared] - ratings) / (counts[shared] - 1)
        deviation = clustered_mean(deviations, np.asarray(clusters)[shared], scale=scale) if deviations.size else None
        biases.append(RaterBias(rater, int(is_rated[:, column].sum()), deviation))
    return sorted(biases, key=lambda bias: -abs(bias.deviation.value) if bias.deviation else np.inf)


def human_ceiling(answers: ArrayLike, clusters: Labels | None = None) -> Estimate:
    """Correlate each rater with the mean of the others (Spearman), averaged over raters.

    A score compared with single raters can hardly exceed it.
    """
    matrix, labels = _rated_twice(answers, clusters)
    rows, raters = np.nonzero(~np.isnan(matrix))
    other_means = [np.nanmean(np.delete(matrix[row], rater)) for row, rater in zip(rows, raters, strict=True)]
    rounded_means = np.round(other_means, 12)  # equal means must tie, in whichever order they were summed
    return within(SPEARMAN, rounded_means, matrix[rows, raters], raters, labels[rows]).average


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The correlation with people that a perfect score would reach, given the reliability of their answers."""

    with_one_rater: Estimate
    with_their_mean: Estimate


def ceiling(answers: ArrayLike, clusters: Labels | None = None) -> Ceiling:
    """Return the square root of the reliability of one rater, and of the mean of all raters of an outcome.

    Each rater's mean is subtracted; the remainder varies between outcomes and among the raters of one (analysis of
    variance for unequal numbers of answers). The mean of several is more reliable than one (Spearman and Brown).

    >>> limits = ceiling([[1, 1, 2], [2, 2, 3], [3, 3, 4], [1, 2, 2]])
    >>> round(limits.with_one_rater.value, 2), round(limits.with_their_mean.value, 2)
    (0.96, 0.99)
    """
    matrix, labels = _rated_twice(answers, clusters)
    n, sources = len(matrix), np.unique(labels).size
    if n < MIN_OUTCOMES:
        reason = f"fewer than {MIN_OUTCOMES} outcomes have two answers"
        return Ceiling(*[no_estimate(reason, labels)] * 2)
    is_rated = ~np.isnan(matrix)
    rater_means = np.where(is_rated, matrix, 0).sum(axis=0) / np.maximum(is_rated.sum(axis=0), 1)
    deviations = np.where(is_rated, matrix - rater_means, 0)
    counts, sums, squares = is_rated.sum(axis=1).astype(np.float64), deviations.sum(axis=1), (deviations**2).sum(axis=1)
    values = _ceilings(counts, sums, squares, np.ones((n, 1)))[:, 0]
    if np.isnan(values).any():
        return Ceiling(*[no_estimate("raters do not agree more than by chance", labels)] * 2)
    drawn = resampled(lambda weights: _ceilings(counts, sums, squares, weights), labels)
    single, mean = (estimate(float(value), row, n, sources) for value, row in zip(values, drawn, strict=True))
    return Ceiling(single, mean)


MIN_OUTCOMES = 3


def _ceilings(counts: Numbers, sums: Numbers, squares: Numbers, weights: Numbers) -> Numbers:
    """Return both ceilings for every draw; NaN where outcomes do not differ more than raters do."""
    outcomes, answers = weights.sum(axis=0), counts @ weights
    within_variance = safe_divide((squares - sums**2 / counts) @ weights, (counts - 1) @ weights)
    grand_mean = safe_divide(sums @ weights, answers)
    between_squares = ((sums**2 / counts) @ weights - answers * grand_mean**2) / np.maximum(outcomes - 1, 1)
    typical_size = (answers - safe_divide((counts**2) @ weights, answers)) / np.maximum(outcomes - 1, 1)
    between_variance = safe_divide(between_squares - within_variance, typical_size)
    single = safe_divide(between_variance, between_variance + within_variance)
    single = np.where(single > 0, single, np.nan)
    raters = safe_divide(outcomes, (1 / counts) @ weights)
    return np.sqrt(np.stack([single, raters * single / (1 + (raters - 1) * single)]))


def krippendorff(answers: ArrayLike, scale: Scale = "ordinal", clusters: Labels | None = None) -> Estimate:
    """Return Krippendorff's alpha: 1 for perfect agreement, 0 for chance; answers may be missing.

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
    """Return alpha in each draw: one minus observed over expected disagreement."""
    pairs = weights / (counts.sum(axis=1) - 1)[:, None]
    totals = counts.T @ weights
    n = totals.sum(axis=0)
    if scale == "nominal":
        observed = ((counts.sum(axis=1) ** 2 - (counts**2).sum(axis=1)) @ pairs)[None]
        expected = (n**2 - (totals**2).sum(axis=0))[None]
        return np.asarray(1 - (n - 1) * safe_divide(observed, expected)[0], dtype=np.float64)
    # Squared differences of ranks in the middle of equal answers are Krippendorff's ordinal metric.
    positions = totals.cumsum(axis=0) - totals / 2 if scale == "ordinal" else np.repeat(values[:, None], n.size, axis=1)
    positions = positions - positions.mean(axis=0)
    expected = n * (totals * positions**2).sum(axis=0) - (totals * positions).sum(axis=0) ** 2
    squares, sums = counts @ positions**2, counts @ positions
    observed = (pairs * (counts.sum(axis=1)[:, None] * squares - sums**2)).sum(axis=0)
    return np.asarray(1 - (n - 1) * safe_divide(observed, expected), dtype=np.float64)


def _counts(matrix: Numbers) -> Numbers:
    """Count how often each outcome got each answer."""
    values = np.unique(matrix[~np.isnan(matrix)])
    return np.stack([(matrix == value).sum(axis=1) for value in values], axis=1).astype(np.float64)


def _rated_twice(answers: ArrayLike, clusters: Labels | None) -> tuple[Numbers, Labels]:
    matrix = np.asarray(answers, dtype=np.float64)
    labels = np.arange(len(matrix)) if clusters is None else np.asarray(clusters)
    is_rated_twice = (~np.isnan(matrix)).sum(axis=1) >= 2
    return matrix[is_rated_twice], labels[is_rated_twice]
