"""Agreement of scores with human answers, with intervals clustered by source image.

Correlations over all pairs, within groups or of group means; agreement with choices; rates of yes-or-no answers; AUROC.
Undefined results (too few pairs, constant values) are None with a reason, never NaN.

What has no answer (too few pairs, numbers that are all equal) is None with a reason, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from editgauge._stats import resampling
from editgauge._stats.intervals import LEVEL, Labels, Numbers, clustered_mean
from editgauge._stats.resampling import Estimate, all_equal, as_estimate, estimate, no_estimate, resampled, safe_divide

MIN_PAIRS = 3
"""Two pairs always lie on a line, so a correlation needs one more."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of agreement: for plain arrays, for weighted draws, and for columns."""

    name: str
    of_pairs: Callable[[Numbers, Numbers], float]
    of_draws: Callable[[Numbers, Numbers, Numbers], Numbers]
    of_columns: Callable[[Numbers, Numbers], Numbers]
    centered: bool = True

    def undefined(self, scores: Numbers, ratings: Numbers) -> str:
        """Return why the measure is undefined for these values; empty when it is defined."""
        if scores.size < MIN_PAIRS:
            return f"fewer than {MIN_PAIRS} pairs"
        for numbers, name in ((scores, "scores"), (ratings, "ratings")):
            if self.centered and all_equal(numbers):
                return f"all {name} are equal"
            if not numbers.any():
                return f"all {name} are zero"
        return ""


def _pearson(x: Numbers, y: Numbers) -> float:
    from scipy.stats import pearsonr  # loads in a second: only where it is needed

    return float(pearsonr(x, y).statistic)


def _spearman(x: Numbers, y: Numbers) -> float:
    from scipy.stats import spearmanr

    return float(spearmanr(x, y).statistic)


PEARSON = Measure(
    "pearson",
    _pearson,
    resampling.pearson_of_draws,
    resampling.pearson_of_columns,
)
"""Linear correlation, from -1 to 1."""
SPEARMAN = Measure(
    "spearman",
    _spearman,
    resampling.spearman_of_draws,
    resampling.spearman_of_columns,
)
"""Rank correlation, from -1 to 1; ties share their mean rank."""
KENDALL = Measure("kendall", resampling.kendall_of_pairs, resampling.kendall_of_draws, resampling.kendall_of_columns)
"""Excess of concordant over discordant pairs (tau-b, corrected for ties)."""
COSINE = Measure(
    "cosine",
    lambda x, y: float(resampling.cosine_of_columns(x[:, None], y[:, None])[0]),
    resampling.cosine_of_draws,
    resampling.cosine_of_columns,
    centered=False,
)
"""The cosine between the two lists (EditVal, section 3); near 1 for any two lists of similar positive numbers."""


def correlate(measure: Measure, scores: ArrayLike, ratings: ArrayLike, clusters: Labels | None = None) -> Estimate:
    """Return a measure over all pairs; without clusters every pair is its own cluster.

    >>> correlate(PEARSON, [1, 2, 3], [5, 5, 5]).reason
    'all ratings are equal'
    """
    x, y, labels = paired(scores, ratings, clusters)
    if reason := measure.undefined(x, y):
        return no_estimate(reason, labels)
    drawn = resampled(lambda weights: measure.of_draws(x, y, weights), labels)
    return estimate(measure.of_pairs(x, y), drawn, x.size, np.unique(labels).size)


def paired(scores: ArrayLike, ratings: ArrayLike, clusters: Labels | None) -> tuple[Numbers, Numbers, Labels]:
    """Return scores and ratings as arrays, and the source image of each pair."""
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"scores and ratings must be lists of one length, got shapes {x.shape} and {y.shape}")
    return x, y, np.arange(x.size) if clusters is None else np.asarray(clusters)


def choice_agreement(
    first: ArrayLike, second: ArrayLike, chose_first: ArrayLike, clusters: Labels | None = None
) -> Estimate:
    """Return the share of human choices between two outcomes that the scores agree with (s_2AFC).

    >>> choice_agreement([0.9, 0.2, 0.5], [0.1, 0.4, 0.5], [True, True, False]).value
    0.5
    """
    credit = choice_credit(first, second, chose_first)
    if credit.size == 0:
        return no_estimate("no choice has both scores")
    labels = np.arange(credit.size) if clusters is None else np.asarray(clusters)
    return as_estimate(clustered_mean(credit, labels, scale=(0.0, 1.0)))


def choice_credit(first: ArrayLike, second: ArrayLike, chose_first: ArrayLike) -> Numbers:
    """Return 1 where the preferred outcome has the higher score, 0 where the lower, 0.5 where they tie."""
    sign = np.sign(np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64))
    direction = np.where(np.asarray(chose_first, dtype=np.bool_), 1.0, -1.0)
    credit: Numbers = (sign * direction + 1) / 2
    return credit


@dataclass(frozen=True, slots=True)
class BinaryRates:
    """Rates at which yes-or-no answers agree with those of people."""

    balanced_accuracy: Estimate
    """Mean of recall and specificity; 0.5 is chance whatever the base rate."""
    precision: Estimate
    """Share of outcomes called good that are good."""
    recall: Estimate
    """Share of good outcomes called good."""
    specificity: Estimate
    """Share of bad outcomes called bad."""
    negative_predictive_value: Estimate
    """Share of outcomes called bad that are bad."""


def binary_rates(called_good: ArrayLike, is_good: ArrayLike, clusters: Labels | None = None) -> BinaryRates:
    """Compare yes-or-no answers with those of people."""
    predicted, actual, labels = paired(called_good, is_good, clusters)
    recall = _share(predicted, actual > 0, labels, "people call none good")
    specificity = _share(1 - predicted, actual <= 0, labels, "people call none bad")
    return BinaryRates(
        _balanced_accuracy(recall, specificity, labels),
        _share(actual, predicted > 0, labels, "none is called good"),
        recall,
        specificity,
        _share(1 - actual, predicted <= 0, labels, "none is called bad"),
    )


MOVER = "two intervals of shares (Wilson), combined (MOVER)"


def _share(values: Numbers, mask: Labels, clusters: Labels, reason: str) -> Estimate:
    if not mask.any():
        return no_estimate(reason, clusters)
    return as_estimate(clustered_mean(values[mask], clusters[mask]))


def _balanced_accuracy(recall: Estimate, specificity: Estimate, clusters: Labels) -> Estimate:
    """Return the mean of both, with ends combined as for independent errors (MOVER)."""
    if recall.value is None or specificity.value is None:
        return no_estimate("people rate all outcomes the same", clusters)
    n, sources = clusters.size, np.unique(clusters).size
    value = (recall.value + specificity.value) / 2
    if recall.low is None or recall.high is None or specificity.low is None or specificity.high is None:
        return Estimate(value, None, None, n, sources)
    lower_gap = np.hypot(recall.value - recall.low, specificity.value - specificity.low) / 2
    upper_gap = np.hypot(recall.high - recall.value, specificity.high - specificity.value) / 2
    return Estimate(value, float(value - lower_gap), float(value + upper_gap), n, sources, method=MOVER)


Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Parts:
    """A measure within each group (method, rater, edit type) and its average."""

    average: Estimate
    parts: Mapping[str, Estimate]


def within(
    measure: Measure,
    scores: ArrayLike,
    ratings: ArrayLike,
    groups: Labels,
    clusters: Labels | None = None,
    *,
    fisher_z: bool = False,
) -> Parts:
    """Compute a measure within each group, then average it, plainly or by Fisher's z."""
    x, y, labels = paired(scores, ratings, clusters)
    members = {str(group): np.flatnonzero(np.asarray(groups) == group) for group in np.unique(groups)}
    reasons = {group: measure.undefined(x[rows], y[rows]) for group, rows in members.items()}
    defined = {group: rows for group, rows in members.items() if not reasons[group]}
    parts = {group: no_estimate(reasons[group], labels[rows]) for group, rows in members.items()}
    if not defined:
        return Parts(no_estimate("; ".join(sorted(set(reasons.values()))) or "no pairs", labels), parts)
    drawn = resampled(lambda weights: _within_groups(measure, x, y, weights, defined), labels)
    values = {group: measure.of_pairs(x[rows], y[rows]) for group, rows in defined.items()}
    for (group, rows), group_draws in zip(defined.items(), drawn, strict=True):
        parts[group] = estimate(values[group], group_draws, rows.size, np.unique(labels[rows]).size)
    average = fisher_average if fisher_z else _plain_average
    pairs = np.concatenate(list(defined.values()))
    value = average(np.array(list(values.values()))[:, None])[0]
    return Parts(estimate(float(value), average(drawn), pairs.size, np.unique(labels[pairs]).size), parts)


def between(
    measure: Measure, scores: ArrayLike, ratings: ArrayLike, groups: Labels, clusters: Labels | None = None
) -> Estimate:
    """Compute a measure of the groups' means; `n` is the number of groups.

    The interval draws source images and keeps the groups: it does not extend to other groups.
    """
    x, y, labels = paired(scores, ratings, clusters)
    membership = (np.asarray(groups) == np.unique(groups)[:, None]).astype(np.float64)
    means = [safe_divide(membership @ values, membership.sum(axis=1)) for values in (x, y)]
    if reason := measure.undefined(*means):
        return Estimate(None, None, None, len(membership), np.unique(labels).size, reason)
    drawn = resampled(lambda weights: _between_groups(measure, membership, x, y, weights), labels)
    return estimate(measure.of_pairs(*means), drawn, len(membership), np.unique(labels).size)


def mean_of_clusters(values: Numbers, clusters: Labels, scale: tuple[float, float] | None = None) -> Estimate:
    """Return the mean in which every source image counts once."""
    _, index = np.unique(clusters, return_inverse=True)
    means = np.bincount(index, weights=values) / np.bincount(index)
    return as_estimate(clustered_mean(means, np.arange(means.size), scale=scale))


def nested_mean(
    values: ArrayLike, levels: Sequence[Labels], clusters: Labels, scale: tuple[float, float] | None = None
) -> Estimate:
    """Return the mean of means, level by level; `levels` go from the outermost inward.

    With the levels task and score: the mean of each score of each task, then over the scores of a task, then over
    tasks; without levels every value counts once. Cells without a value in a draw do not count. Where all values are
    equal, the interval is that of the plain mean.

    >>> task, score = np.array(["a", "a", "a", "b"]), np.array(["x", "x", "y", "x"])
    >>> nested_mean([1.0, 0.0, 1.0, 0.0], [task, score], np.arange(4)).value
    0.375
    """
    array = np.asarray(values, dtype=np.float64)
    if all_equal(array):
        return as_estimate(clustered_mean(array, clusters, scale=scale))
    paths = np.zeros((array.size, 0), dtype=np.int64)
    if levels:
        paths = np.stack([np.unique(np.asarray(labels), return_inverse=True)[1] for labels in levels], axis=1)
    cells, index = np.unique(paths, axis=0, return_inverse=True) if levels else (paths[:1], np.zeros(array.size, int))
    membership = (index.reshape(-1) == np.arange(len(cells))[:, None]).astype(np.float64)

    def statistic(weights: Numbers) -> Numbers:
        means = safe_divide(membership @ (array[:, None] * weights), membership @ weights)
        inner = cells
        for depth in range(len(levels) - 1, -1, -1):
            inner, parent = np.unique(inner[:, :depth], axis=0, return_inverse=True)
            means = np.stack([_plain_average(means[parent.reshape(-1) == labels]) for labels in range(len(inner))])
        return np.asarray(means[0])

    ones = np.ones((array.size, 1))
    return estimate(
        float(statistic(ones)[0]), resampled(statistic, clusters), array.size, np.unique(np.asarray(clusters)).size
    )


def fisher_average(correlations: Numbers) -> Numbers:
    """Average down each column by Fisher's z (inverse hyperbolic tangent), ignoring NaN.

    >>> fisher_average(np.array([[0.0], [0.8]])).round(3)
    array([0.5])
    """
    return np.tanh(_plain_average(np.arctanh(np.clip(correlations, -1 + 1e-12, 1 - 1e-12))))


def _plain_average(numbers: Numbers) -> Numbers:
    is_defined = ~np.isnan(numbers)
    return safe_divide(np.where(is_defined, numbers, 0).sum(axis=0), is_defined.sum(axis=0))


def _within_groups(measure: Measure, x: Numbers, y: Numbers, weights: Numbers, members: Mapping[str, Rows]) -> Numbers:
    return np.stack([measure.of_draws(x[rows], y[rows], weights[rows]) for rows in members.values()])


def _between_groups(measure: Measure, membership: Numbers, x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
    sizes = membership @ weights
    x_means, y_means = (safe_divide(membership @ (values[:, None] * weights), sizes) for values in (x, y))
    is_complete = (sizes > 0).all(axis=0)
    results = np.full(is_complete.shape, np.nan)
    results[is_complete] = measure.of_columns(x_means[:, is_complete], y_means[:, is_complete])
    return results


AUROC = "score interval of the AUROC (Newcombe 2006) with the design effect of source images (Obuchowski 1997)"
BISECTIONS = 40
STUDENT_SHARE = 0.75
"""Share of the Student correction for fully dependent values; more would over-cover (benchmarks/coverage.py)."""
VARIANCE_PRIOR_SOURCES = 10
"""Prior weight, in source images, of the formula's variance against a smaller observed one."""


def clustered_auroc(values: Numbers, good: Numbers, clusters: Labels, *, level: float = LEVEL) -> Estimate:
    """Return the probability that a good outcome has a higher value than a bad one; ties count half.

    >>> area = clustered_auroc(np.arange(20.0), (np.arange(20) >= 10) * 1.0, np.arange(20))
    >>> area.value, round(area.low, 2), area.high
    (1.0, 0.8, 1.0)
    """
    is_good = good > 0
    n_good, n_bad = int(is_good.sum()), int((~is_good).sum())
    names, index = np.unique(clusters, return_inverse=True)
    if not n_good or not n_bad:
        return no_estimate("only good or only bad outcomes", clusters)
    below, above = _placements(values, is_good)
    area = float(below.mean())
    if names.size < 2:
        return Estimate(area, None, None, values.size, names.size)
    influences = np.zeros(values.size)
    influences[is_good], influences[~is_good] = (below - area) / n_good, (above - area) / n_bad
    cluster_influence = np.bincount(index, weights=influences, minlength=names.size)
    clustered_variance = float((cluster_influence**2).sum()) * names.size / (names.size - 1)
    independent_variance = _variance(area, n_good, n_bad)
    effect = (
        clustered_variance / independent_variance
        if independent_variance > 0 and clustered_variance > 0
        else values.size / names.size
    )
    if (
        effect < 1
    ):  # shrink an estimate below the formula's variance towards it, the more the fewer source images there are
        effect = 1 + (effect - 1) * names.size / (names.size + VARIANCE_PRIOR_SOURCES)
    quantile, student_share = (1 + level) / 2, STUDENT_SHARE * (1 - names.size / values.size)
    normal_quantile, student_quantile = float(ndtri(quantile)), float(stdtrit(names.size - 1, quantile))
    width = (normal_quantile + student_share * (student_quantile - normal_quantile)) * np.sqrt(effect)
    low, high = (_end(area, width, n_good, n_bad, limit) for limit in (0.0, 1.0))
    return Estimate(area, low, high, values.size, names.size, method=AUROC)


def _placements(values: Numbers, is_good: Labels) -> tuple[Numbers, Numbers]:
    """Return for each good outcome the share of bad ones below it, and for each bad one that of good ones above."""
    from scipy.stats import rankdata

    ranks = rankdata(values)
    n_good, n_bad = int(is_good.sum()), int((~is_good).sum())
    below = (ranks[is_good] - rankdata(values[is_good])) / n_bad
    above = 1 - (ranks[~is_good] - rankdata(values[~is_good])) / n_good
    return below, above


def _variance(area: float, n_good: int, n_bad: int) -> float:
    """Return the variance of the AUROC of independent values (Hanley and McNeil 1982, Newcombe's symmetric form)."""
    half_size = (n_good + n_bad) / 2 - 1
    spread = 1 + half_size * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) * spread / (n_good * n_bad)


def _end(area: float, width: float, n_good: int, n_bad: int, limit: float) -> float:
    """Return the AUROC furthest towards `limit` that is compatible with the measured one."""
    inside, outside = area, limit
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        if abs(middle - area) <= width * np.sqrt(_variance(middle, n_good, n_bad)):
            inside = middle
        else:
            outside = middle
    return limit if abs(inside - limit) < 1e-9 else inside
