"""How far scores and people agree: pure functions of paired arrays, with intervals clustered by source image.

What has no answer (too few pairs, numbers that are all equal) is None with a reason, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from editgauge._stats import resampling
from editgauge._stats.intervals import Labels, Numbers, clustered_mean
from editgauge._stats.resampling import Estimate, all_equal, as_estimate, estimate, no_estimate, resampled

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
class Verdicts:
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


def verdicts(called_good: ArrayLike, is_good: ArrayLike, clusters: Labels | None = None) -> Verdicts:
    """Compares yes-or-no answers with those of people."""
    called, good, labels = paired(called_good, is_good, clusters)
    recall = _share(called, good > 0, labels, "people call none good")
    specificity = _share(1 - called, good <= 0, labels, "people call none bad")
    return Verdicts(
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
