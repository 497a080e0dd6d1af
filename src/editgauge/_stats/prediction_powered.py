"""Sharpen the mean of few human labels with many automatic scores: PPI++, clustered by source image.

Angelopoulos, Duchi and Zrnic, "PPI++: Efficient Prediction-Powered Inference" (arXiv 2311.01453): the mean of the
labels is corrected by the difference between the scores of labeled and unlabeled edits,

    mean(labels) + weight * (mean(scores without label) - mean(scores with label)),

which is unbiased for any scores; the weight (the paper's lambda) minimizes the variance. Variances are cluster-robust:
contributions of one source image, from labeled and unlabeled edits, are summed before they are squared. Intervals are
Student's t over source images.

In a sample with unequal probabilities every labeled edit is weighted by the inverse of its probability, and the scores
of all edits replace those of the unlabeled ones, which are then no random sample.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr, stdtrit

from editgauge._stats.intervals import LEVEL, MIN_SOURCES, Labels, Mean, Numbers

STUDENT_T = "Student's t over source images"


@dataclass(frozen=True, slots=True)
class PoweredMean:
    """The mean rating estimated from labels and scores together, and from the labels alone."""

    value: float
    low: float | None
    high: float | None
    labels_alone: Mean
    weight: float
    """Weight of the scores, from 0 to 1; the paper's lambda."""
    n_unlabeled: int
    note: str = ""
    """Why there is no interval, or why the scores do not count; else empty."""

    def inside(self, scale: tuple[float, float]) -> PoweredMean:
        """Return a copy with value and intervals clipped to the scale of the labels."""
        alone = self.labels_alone
        low, high, alone_low, alone_high = (
            None if end is None else min(max(end, scale[0]), scale[1])
            for end in (self.low, self.high, alone.low, alone.high)
        )
        value = min(max(self.value, scale[0]), scale[1])
        return replace(
            self, value=value, low=low, high=high, labels_alone=replace(alone, low=alone_low, high=alone_high)
        )

    @property
    def width_ratio(self) -> float | None:
        """Return the interval's width relative to that of the labels alone; None without intervals."""
        alone = self.labels_alone
        if self.low is None or self.high is None or alone.low is None or alone.high is None:
            return None
        return (self.high - self.low) / (alone.high - alone.low)


def prediction_powered_mean(
    labels: Numbers,
    predictions: Numbers,
    clusters: Labels,
    more_predictions: Numbers,
    more_clusters: Labels,
    *,
    weight: float | None = None,
    probabilities: Numbers | None = None,
) -> PoweredMean:
    """Return the mean of the labels with a 95% interval, using predictions for unlabeled edits.

    `labels`, `predictions` and `clusters` belong to the labeled edits, `more_predictions` and `more_clusters` to the
    unlabeled ones; a source image may have edits of both kinds. The labeled edits must be a random sample: with equal
    probability, or with `probabilities`. Without `weight` the best one is estimated. With few source images, labeled
    or not, a tuned weight fits noise, so labels alone are used.
    """
    counts = None if probabilities is None else 1 / probabilities
    alone = mean_by_clusters(labels, clusters, counts)
    obstacle = _obstacle(alone, labels, predictions, more_predictions, more_clusters)
    unlabeled = more_predictions.size
    if obstacle:
        return PoweredMean(alone.value, alone.low, alone.high, alone, 0.0, unlabeled, obstacle)
    more_predictions, more_clusters = _population(predictions, clusters, more_predictions, more_clusters, counts)
    labeled_index, unlabeled_index, sources = _joint_index(clusters, more_clusters)
    label_influence = _influence(labels, labeled_index, sources, counts)
    score_influence = _influence(predictions, labeled_index, sources, counts) - _influence(
        more_predictions, unlabeled_index, sources
    )
    applied = _best_weight(label_influence, score_influence) if weight is None else weight
    value = float(alone.value + applied * (more_predictions.mean() - np.average(predictions, weights=counts)))
    tuned_parameters = int(weight is None and applied > 0)  # tuning fits one number, like a slope
    low, high = _interval(value, label_influence - applied * score_influence, alone.clusters - 1, tuned_parameters)
    note = "" if applied > 0 else "the score does not rise with the ratings, so it does not count"
    return PoweredMean(value, low, high, alone, applied, unlabeled, note)


def _population(
    scores: Numbers, clusters: Labels, more_scores: Numbers, more_clusters: Labels, counts: Numbers | None
) -> tuple[Numbers, Labels]:
    """Return the scores that stand for all edits: the unlabeled ones, or all when labels were sampled unequally."""
    if counts is None:
        return more_scores, more_clusters
    return np.concatenate([scores, more_scores]), np.concatenate([clusters, more_clusters])


SELECTION_ALPHA = 0.01
"""Below this p-value the labeled edits were probably not a random sample."""


def selection_p(
    scores: Numbers,
    clusters: Labels,
    more_scores: Numbers,
    more_clusters: Labels,
    *,
    probabilities: Numbers | None = None,
) -> float | None:
    """Return the p-value that the labeled edits were picked at random, judged by their scores.

    With `probabilities`, of the hypothesis that they were sampled accordingly. None with too few source images.

    >>> top = selection_p(np.arange(20.0) + 20, np.arange(20), np.arange(20.0), np.arange(20, 40))
    >>> top < SELECTION_ALPHA
    True
    """
    if not scores.size or not more_scores.size:
        return None
    labeled_index, unlabeled_index, sources = _joint_index(clusters, more_clusters)
    if min(np.unique(labeled_index).size, np.unique(unlabeled_index).size) < MIN_SOURCES:
        return None
    counts = None if probabilities is None else 1 / probabilities
    more_scores, unlabeled_index = _population(scores, labeled_index, more_scores, unlabeled_index, counts)
    influences = _influence(scores, labeled_index, sources, counts) - _influence(more_scores, unlabeled_index, sources)
    error = float(np.sqrt(influences @ influences))
    difference = float(np.average(scores, weights=counts) - more_scores.mean())
    return float(2 * stdtr(sources - 1, -abs(difference) / error)) if error > 0 else None


def mean_by_clusters(
    values: Numbers, clusters: Labels, counts: Numbers | None = None, *, scale: tuple[float, float] | None = None
) -> Mean:
    """Return the mean with a 95% Student interval over clusters; `counts` weight the values.

    No interval for one cluster or equal values.

    >>> mean_by_clusters(np.array([3.0, 3.0, 5.0]), np.array(["a", "a", "a"]))
    Mean(value=3.6666666666666665, low=None, high=None, n=3, clusters=1, method='')
    """
    value = float(np.average(values, weights=counts))
    names, index = np.unique(clusters, return_inverse=True)
    if names.size < 2 or not np.ptp(values):
        return Mean(value, None, None, values.size, names.size)
    low, high = _interval(value, _influence(values, index, names.size, counts), names.size - 1, 0)
    if scale:
        low, high = max(low, scale[0]), min(high, scale[1])
    return Mean(value, low, high, values.size, names.size, STUDENT_T)


def in_units_of(labels: Numbers, predictions: Numbers, more_predictions: Numbers) -> tuple[Numbers, Numbers]:
    """Scale both predictions to the spread of the labels, so that a weight in [0, 1] is comparable."""
    spread = float(np.concatenate([predictions, more_predictions]).std())
    unit = float(labels.std()) / spread if spread > 0 else 1.0
    return predictions * unit, more_predictions * unit


def _joint_index(clusters: Labels, more_clusters: Labels) -> tuple[Labels, Labels, int]:
    """Return the source-image indices of both sets and the number of source images."""
    names, index = np.unique(np.concatenate([clusters, more_clusters]), return_inverse=True)
    return index[: clusters.size], index[clusters.size :], names.size


def _best_weight(label_influence: Numbers, score_influence: Numbers) -> float:
    """Return the weight in [0, 1] that minimizes the variance, a parabola."""
    curvature = float(score_influence @ score_influence)
    return min(1.0, max(0.0, float(label_influence @ score_influence) / curvature)) if curvature > 0 else 0.0


def _influence(values: Numbers, index: Labels, clusters: int, counts: Numbers | None = None) -> Numbers:
    """Return each cluster's influence on the mean, scaled for an unbiased variance."""
    present_clusters = np.unique(index).size
    weights = np.ones(values.size) if counts is None else counts
    sums = np.bincount(index, weights=weights * (values - np.average(values, weights=weights)), minlength=clusters)
    return np.asarray(sums / weights.sum() * np.sqrt(present_clusters / (present_clusters - 1)), dtype=np.float64)


def _interval(value: float, influences: Numbers, freedom: int, tuned_parameters: int) -> tuple[float, float]:
    error = np.sqrt(influences @ influences * freedom / (freedom - tuned_parameters))
    margin = float(stdtrit(freedom - tuned_parameters, (1 + LEVEL) / 2) * error)
    return value - margin, value + margin


def _obstacle(
    alone: Mean, labels: Numbers, predictions: Numbers, more_predictions: Numbers, more_clusters: Labels
) -> str:
    """Return why the predictions cannot help; empty when they can."""
    unlabeled_sources = np.unique(more_clusters).size
    if alone.clusters < 2:
        return "only one source image is rated, so there is no interval"
    if not np.ptp(labels):
        return "all ratings are equal, so the uncertainty of their mean is unknown"
    if not more_predictions.size:
        return "every scored edit is rated, so the score has nothing to add"
    if min(alone.clusters, unlabeled_sources) < MIN_SOURCES:
        return f"fewer than {MIN_SOURCES} source images are rated, or unrated, so the score does not count"
    if not np.ptp(predictions) or not np.ptp(more_predictions):
        return "the score is the same everywhere, so it carries no information"
    return ""
