"""How far scores and people agree: pure functions of paired arrays, with intervals clustered by source image.

What has no answer (too few pairs, numbers that are all equal) is None with a reason, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import ndtri
from scipy.stats import rankdata
from scipy.stats import t as student

from editgauge._stats import resampling
from editgauge._stats.intervals import LEVEL, Labels, Numbers, clustered_mean
from editgauge._stats.resampling import Estimate, all_equal, as_estimate, estimate, no_estimate, resampled, safe_divide

FEWEST_PAIRS = 3
"""Two pairs always lie on a line."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of agreement, in the three forms in which it is asked for."""

    name: str
    of_pairs: Callable[[Numbers, Numbers], float]
    of_draws: Callable[[Numbers, Numbers, Numbers], Numbers]
    of_columns: Callable[[Numbers, Numbers], Numbers]
    centered: bool = True

    def undefined(self, scores: Numbers, ratings: Numbers) -> str:
        """Why there is no answer; empty when there is one."""
        if scores.size < FEWEST_PAIRS:
            return f"fewer than {FEWEST_PAIRS} pairs"
        for numbers, words in ((scores, "scores"), (ratings, "ratings")):
            if self.centered and all_equal(numbers):
                return f"all {words} are equal"
            if not numbers.any():
                return f"all {words} are zero"
        return ""


PEARSON = Measure(
    "pearson",
    lambda x, y: float(stats.pearsonr(x, y).statistic),
    resampling.pearson_of_draws,
    resampling.pearson_of_columns,
)
"""How nearly a straight line leads from one to the other, from -1 to 1."""
SPEARMAN = Measure(
    "spearman",
    lambda x, y: float(stats.spearmanr(x, y).statistic),
    resampling.spearman_of_draws,
    resampling.spearman_of_columns,
)
"""How nearly both put the pairs into one order, from -1 to 1; ties share their mean rank."""
KENDALL = Measure("kendall", resampling.kendall_of_pairs, resampling.kendall_of_draws, resampling.kendall_of_columns)
"""How much more often both prefer the same one of two pairs than not (tau-b, corrected for ties)."""
COSINE = Measure(
    "cosine",
    lambda x, y: float(resampling.cosine_of_columns(x[:, None], y[:, None])[0]),
    resampling.cosine_of_draws,
    resampling.cosine_of_columns,
    centered=False,
)
"""The cosine between the two lists (EditVal, section 3); near 1 for any two lists of similar positive numbers."""


def correlate(measure: Measure, scores: ArrayLike, ratings: ArrayLike, clusters: Labels | None = None) -> Estimate:
    """A measure of all pairs together; without clusters every pair is a source image of its own.

    >>> correlate(PEARSON, [1, 2, 3], [5, 5, 5]).reason
    'all ratings are equal'
    """
    x, y, labels = paired(scores, ratings, clusters)
    if reason := measure.undefined(x, y):
        return no_estimate(reason, labels)
    drawn = resampled(lambda weights: measure.of_draws(x, y, weights), labels)
    return estimate(measure.of_pairs(x, y), drawn, x.size, np.unique(labels).size)


def paired(scores: ArrayLike, ratings: ArrayLike, clusters: Labels | None) -> tuple[Numbers, Numbers, Labels]:
    """Both as numbers, and the source image of each pair."""
    x, y = np.asarray(scores, dtype=np.float64), np.asarray(ratings, dtype=np.float64)
    if x.shape != y.shape or x.ndim != 1:
        raise ValueError(f"scores and ratings must be lists of one length, got shapes {x.shape} and {y.shape}")
    return x, y, np.arange(x.size) if clusters is None else np.asarray(clusters)


def choice_agreement(
    first: ArrayLike, second: ArrayLike, chose_first: ArrayLike, clusters: Labels | None = None
) -> Estimate:
    """The share of people's choices between two outcomes that their scores agree with (s_2AFC).

    >>> choice_agreement([0.9, 0.2, 0.5], [0.1, 0.4, 0.5], [True, True, False]).value
    0.5
    """
    credit = choice_credit(first, second, chose_first)
    if credit.size == 0:
        return no_estimate("no choice has both scores")
    labels = np.arange(credit.size) if clusters is None else np.asarray(clusters)
    return as_estimate(clustered_mean(credit, labels, scale=(0.0, 1.0)))


def choice_credit(first: ArrayLike, second: ArrayLike, chose_first: ArrayLike) -> Numbers:
    """1 where the chosen one has the higher score, 0 where it has the lower; 0.5, as by chance, where they tie."""
    side = np.sign(np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64))
    chosen = np.where(np.asarray(chose_first, dtype=np.bool_), 1.0, -1.0)
    credit: Numbers = (side * chosen + 1) / 2
    return credit


@dataclass(frozen=True, slots=True)
class BinaryRates:
    """How often a yes or no agrees with that of people, asked from every side."""

    balanced_accuracy: Estimate
    """The mean of recall and specificity: 0.5 is chance, however rare a yes is."""
    precision: Estimate
    """Of those called good, the share that is."""
    recall: Estimate
    """Of the good ones, the share called good."""
    specificity: Estimate
    """Of the bad ones, the share called bad."""
    negative_predictive_value: Estimate
    """Of those called bad, the share that is."""


def binary_rates(called_good: ArrayLike, is_good: ArrayLike, clusters: Labels | None = None) -> BinaryRates:
    """Compares yes-or-no answers with those of people."""
    called, good, labels = paired(called_good, is_good, clusters)
    recall = _share(called, good > 0, labels, "people call none good")
    specificity = _share(1 - called, good <= 0, labels, "people call none bad")
    return BinaryRates(
        _balanced(recall, specificity, labels),
        _share(good, called > 0, labels, "none is called good"),
        recall,
        specificity,
        _share(1 - good, called <= 0, labels, "none is called bad"),
    )


BALANCED = "two intervals of shares (Wilson), combined (MOVER)"


def _share(right: Numbers, among: Labels, clusters: Labels, reason: str) -> Estimate:
    if not among.any():
        return no_estimate(reason, clusters)
    return as_estimate(clustered_mean(right[among], clusters[among]))


def _balanced(recall: Estimate, specificity: Estimate, clusters: Labels) -> Estimate:
    """The mean of both; each end is as far away as both parts' ends are together, as for independent errors."""
    if recall.value is None or specificity.value is None:
        return no_estimate("people call all alike", clusters)
    n, sources = clusters.size, np.unique(clusters).size
    value = (recall.value + specificity.value) / 2
    if recall.low is None or recall.high is None or specificity.low is None or specificity.high is None:
        return Estimate(value, None, None, n, sources)
    down = np.hypot(recall.value - recall.low, specificity.value - specificity.low) / 2
    up = np.hypot(recall.high - recall.value, specificity.high - specificity.value) / 2
    return Estimate(value, float(value - down), float(value + up), n, sources, method=BALANCED)


Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Parts:
    """A measure within each part (method, rater, edit type), and the average of those that have one."""

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
    """A measure within each group, then averaged: plainly, or by Fisher's z as some papers do."""
    x, y, labels = paired(scores, ratings, clusters)
    members = {str(group): np.flatnonzero(np.asarray(groups) == group) for group in np.unique(groups)}
    reasons = {group: measure.undefined(x[rows], y[rows]) for group, rows in members.items()}
    defined = {group: rows for group, rows in members.items() if not reasons[group]}
    parts = {group: no_estimate(reasons[group], labels[rows]) for group, rows in members.items()}
    if not defined:
        return Parts(no_estimate("; ".join(sorted(set(reasons.values()))) or "no pairs", labels), parts)
    drawn = resampled(lambda weights: _in_each(measure, x, y, weights, defined), labels)
    values = {group: measure.of_pairs(x[rows], y[rows]) for group, rows in defined.items()}
    for (group, rows), its_draws in zip(defined.items(), drawn, strict=True):
        parts[group] = estimate(values[group], its_draws, rows.size, np.unique(labels[rows]).size)
    average = fisher_average if fisher_z else _plain_average
    pairs = np.concatenate(list(defined.values()))
    value = average(np.array(list(values.values()))[:, None])[0]
    return Parts(estimate(float(value), average(drawn), pairs.size, np.unique(labels[pairs]).size), parts)


def between(
    measure: Measure, scores: ArrayLike, ratings: ArrayLike, groups: Labels, clusters: Labels | None = None
) -> Estimate:
    """A measure of the groups' means; n is the number of groups.

    The interval draws source images and keeps the groups: it says nothing of groups that are not there.
    """
    x, y, labels = paired(scores, ratings, clusters)
    belongs = (np.asarray(groups) == np.unique(groups)[:, None]).astype(np.float64)
    means = [safe_divide(belongs @ each, belongs.sum(axis=1)) for each in (x, y)]
    if reason := measure.undefined(*means):
        return Estimate(None, None, None, len(belongs), np.unique(labels).size, reason)
    drawn = resampled(lambda weights: _of_means(measure, belongs, x, y, weights), labels)
    return estimate(measure.of_pairs(*means), drawn, len(belongs), np.unique(labels).size)


def mean_of_clusters(values: Numbers, clusters: Labels, scale: tuple[float, float] | None = None) -> Estimate:
    """The mean in which every source image counts once."""
    _, index = np.unique(clusters, return_inverse=True)
    means = np.bincount(index, weights=values) / np.bincount(index)
    return as_estimate(clustered_mean(means, np.arange(means.size), scale=scale))


def nested_mean(
    values: ArrayLike, levels: Sequence[Labels], clusters: Labels, scale: tuple[float, float] | None = None
) -> Estimate:
    """The mean of means, level by level: `levels` from the outermost inward; without any, every value counts once.

    With the levels task and score: the mean of each score of each task, then over the scores of a task, then over
    tasks. In a draw of source images, what has no value there does not count. Where all values are equal, draws show
    nothing: the interval is then that of the plain mean.

    >>> task, score = np.array(["a", "a", "a", "b"]), np.array(["x", "x", "y", "x"])
    >>> nested_mean([1.0, 0.0, 1.0, 0.0], [task, score], np.arange(4)).value
    0.375
    """
    numbers = np.asarray(values, dtype=np.float64)
    if all_equal(numbers):
        return as_estimate(clustered_mean(numbers, clusters, scale=scale))
    paths = np.zeros((numbers.size, 0), dtype=np.int64)
    if levels:
        paths = np.stack([np.unique(np.asarray(each), return_inverse=True)[1] for each in levels], axis=1)
    cells, index = np.unique(paths, axis=0, return_inverse=True) if levels else (paths[:1], np.zeros(numbers.size, int))
    belongs = (index.reshape(-1) == np.arange(len(cells))[:, None]).astype(np.float64)

    def answer(weights: Numbers) -> Numbers:
        means = safe_divide(belongs @ (numbers[:, None] * weights), belongs @ weights)
        within = cells
        for depth in range(len(levels) - 1, -1, -1):
            within, above = np.unique(within[:, :depth], axis=0, return_inverse=True)
            means = np.stack([_plain_average(means[above.reshape(-1) == each]) for each in range(len(within))])
        return np.asarray(means[0])

    once = np.ones((numbers.size, 1))
    return estimate(
        float(answer(once)[0]), resampled(answer, clusters), numbers.size, np.unique(np.asarray(clusters)).size
    )


def fisher_average(correlations: Numbers) -> Numbers:
    """The average down each column by Fisher's z, the inverse hyperbolic tangent; what is NaN does not count.

    >>> fisher_average(np.array([[0.0], [0.8]])).round(3)
    array([0.5])
    """
    return np.tanh(_plain_average(np.arctanh(np.clip(correlations, -1 + 1e-12, 1 - 1e-12))))


def _plain_average(numbers: Numbers) -> Numbers:
    there = ~np.isnan(numbers)
    return safe_divide(np.where(there, numbers, 0).sum(axis=0), there.sum(axis=0))


def _in_each(measure: Measure, x: Numbers, y: Numbers, weights: Numbers, members: Mapping[str, Rows]) -> Numbers:
    return np.stack([measure.of_draws(x[rows], y[rows], weights[rows]) for rows in members.values()])


def _of_means(measure: Measure, belongs: Numbers, x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
    sizes = belongs @ weights
    x_means, y_means = (safe_divide(belongs @ (each[:, None] * weights), sizes) for each in (x, y))
    whole = (sizes > 0).all(axis=0)
    answers = np.full(whole.shape, np.nan)
    answers[whole] = measure.of_columns(x_means[:, whole], y_means[:, whole])
    return answers


AUROC = "score interval of the AUROC (Newcombe 2006) with the design effect of source images (Obuchowski 1997)"
BISECTIONS = 40
FEW = 0.75
"""How much of Student's t fully dependent values need; more would hold too often (benchmarks/coverage.py)."""
DOUBTED = 10
"""Source images from which a variance below that of the formula is believed more than not."""


def clustered_auroc(values: Numbers, good: Numbers, clusters: Labels, *, level: float = LEVEL) -> Estimate:
    """The chance that a good one has a higher value than a bad one, equal values counting half.

    >>> area = clustered_auroc(np.arange(20.0), (np.arange(20) >= 10) * 1.0, np.arange(20))
    >>> area.value, round(area.low, 2), area.high
    (1.0, 0.8, 1.0)
    """
    is_good = good > 0
    goods, bads = int(is_good.sum()), int((~is_good).sum())
    names, index = np.unique(clusters, return_inverse=True)
    if not goods or not bads:
        return no_estimate("good ones or bad ones are missing", clusters)
    below, above = _placements(values, is_good)
    area = float(below.mean())
    if names.size < 2:
        return Estimate(area, None, None, values.size, names.size)
    pulls = np.zeros(values.size)
    pulls[is_good], pulls[~is_good] = (below - area) / goods, (above - area) / bads
    by_cluster = np.bincount(index, weights=pulls, minlength=names.size)
    clustered = float((by_cluster**2).sum()) * names.size / (names.size - 1)
    alone = _variance(area, goods, bads)
    effect = clustered / alone if alone > 0 and clustered > 0 else values.size / names.size
    if effect < 1:  # the formula asks for more than the values show: many source images are believed, few are not
        effect = 1 + (effect - 1) * names.size / (names.size + DOUBTED)
    quantile, dependent = (1 + level) / 2, FEW * (1 - names.size / values.size)
    normal, few = float(ndtri(quantile)), float(student.ppf(quantile, names.size - 1))
    reach = (normal + dependent * (few - normal)) * np.sqrt(effect)
    low, high = (_end(area, reach, goods, bads, towards) for towards in (0.0, 1.0))
    return Estimate(area, low, high, values.size, names.size, method=AUROC)


def _placements(values: Numbers, is_good: Labels) -> tuple[Numbers, Numbers]:
    """For every good one the share of bad ones below it, for every bad one the share of good ones above it."""
    ranks = rankdata(values)
    goods, bads = int(is_good.sum()), int((~is_good).sum())
    below = (ranks[is_good] - rankdata(values[is_good])) / bads
    above = 1 - (ranks[~is_good] - rankdata(values[~is_good])) / goods
    return below, above


def _variance(area: float, goods: int, bads: int) -> float:
    """Of an AUROC of independent values (Hanley and McNeil 1982, in Newcombe's symmetric form)."""
    others = (goods + bads) / 2 - 1
    spread = 1 + others * ((1 - area) / (2 - area) + area / (1 + area))
    return area * (1 - area) * spread / (goods * bads)


def _end(area: float, reach: float, goods: int, bads: int, towards: float) -> float:
    """The AUROC furthest in this direction of which the measured one is not too far."""
    inside, outside = area, towards
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        if abs(middle - area) <= reach * np.sqrt(_variance(middle, goods, bads)):
            inside = middle
        else:
            outside = middle
    return towards if abs(inside - towards) < 1e-9 else inside
