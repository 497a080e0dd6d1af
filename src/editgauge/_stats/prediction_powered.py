"""A mean of few human labels, made more confident by many automatic scores: PPI++, clustered by source image.

Angelopoulos, Duchi and Zrnic, "PPI++: Efficient Prediction-Powered Inference" (arXiv 2311.01453): the mean of the
labels is corrected by how much the scores of the labeled edits differ from the scores of all others,

    mean(labels) + weight * (mean(scores without label) - mean(scores with label)),

which estimates the mean of the labels whatever the scores are worth; the weight (the paper's lambda) makes the variance
smallest. Variances are cluster-robust: what one source image contributes to the estimate, from edits with a label and
without, is summed before it is squared. Intervals are Student's t over source images.

Of a sample that took some edits with a larger chance than others, every labeled edit counts one over its chance
(inverse-probability weights, as ratios of weighted sums), and the scores of all edits replace those without
label, which are no random sample then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import t as student

from editgauge._stats.intervals import LEVEL, Labels, Mean, Numbers

PLAIN_STUDENT = "Student's t over source images"
FEWEST_SOURCES = 10
"""With fewer source images, with labels or without, a tuned weight fits their noise: labels alone are used."""


@dataclass(frozen=True, slots=True)
class PoweredMean:
    """The mean that people would give, by their labels and the scores; and by their labels alone."""

    value: float
    low: float | None
    high: float | None
    labels_alone: Mean
    weight: float
    """How much the scores count, from 0 (not at all) to 1; the paper's lambda."""
    n_unlabeled: int
    note: str = ""
    """Why there is no interval, or why the scores do not count; empty when there is nothing to say."""

    def inside(self, scale: tuple[float, float]) -> PoweredMean:
        """The same with value and intervals that stay on the scale of the labels."""
        alone = self.labels_alone
        low, high, first, last = (
            None if end is None else min(max(end, scale[0]), scale[1])
            for end in (self.low, self.high, alone.low, alone.high)
        )
        value = min(max(self.value, scale[0]), scale[1])
        return replace(self, value=value, low=low, high=high, labels_alone=replace(alone, low=first, high=last))

    @property
    def width_ratio(self) -> float | None:
        """How wide the interval is, where that of the labels alone is 1; None without intervals."""
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
    """The mean of the labels with its 95% interval, helped by predictions for edits that have no label.

    `labels`, `predictions` and `clusters` belong to the labeled edits, the others to the rest; a source image may have
    edits of both kinds. The labeled edits must have been picked at random: all with the same chance, or each with its
    own of `probabilities`. A `weight` that is given is not tuned.
    """
    counts = None if probabilities is None else 1 / probabilities
    alone = mean_by_clusters(labels, clusters, counts)
    hindrance = _hindrance(alone, labels, predictions, more_predictions, more_clusters)
    unlabeled = more_predictions.size
    if hindrance:
        return PoweredMean(alone.value, alone.low, alone.high, alone, 0.0, unlabeled, hindrance)
    more_predictions, more_clusters = _population(predictions, clusters, more_predictions, more_clusters, counts)
    here, there, sources = _joint_index(clusters, more_clusters)
    of_labels = _pull(labels, here, sources, counts)
    of_scores = _pull(predictions, here, sources, counts) - _pull(more_predictions, there, sources)
    used = _best_weight(of_labels, of_scores) if weight is None else weight
    value = float(alone.value + used * (more_predictions.mean() - np.average(predictions, weights=counts)))
    spent = int(weight is None and used > 0)  # tuning fits one number, like a slope
    low, high = _interval(value, of_labels - used * of_scores, alone.clusters - 1, spent)
    note = "" if used > 0 else "the score does not rise with the ratings, so it does not count"
    return PoweredMean(value, low, high, alone, used, unlabeled, note)


def _population(
    scores: Numbers, clusters: Labels, more_scores: Numbers, more_clusters: Labels, counts: Numbers | None
) -> tuple[Numbers, Labels]:
    """What stands for all edits: those without label if they are as random as the others, else both together."""
    if counts is None:
        return more_scores, more_clusters
    return np.concatenate([scores, more_scores]), np.concatenate([clusters, more_clusters])


SELECTION_ALPHA = 0.01
"""Below this p-value the labeled edits were probably not picked at random."""


def selection_p(
    scores: Numbers,
    clusters: Labels,
    more_scores: Numbers,
    more_clusters: Labels,
    *,
    probabilities: Numbers | None = None,
) -> float | None:
    """Could the labeled edits have been picked at random? The p-value that their scores have the mean of the others'.

    With `probabilities`: could they have been picked with these chances? None when there are too few source images.

    >>> top = selection_p(np.arange(20.0) + 20, np.arange(20), np.arange(20.0), np.arange(20, 40))
    >>> top < CHOSEN
    True
    """
    if not scores.size or not more_scores.size:
        return None
    here, there, sources = _joint_index(clusters, more_clusters)
    if min(np.unique(here).size, np.unique(there).size) < FEWEST_SOURCES:
        return None
    counts = None if probabilities is None else 1 / probabilities
    more_scores, there = _population(scores, here, more_scores, there, counts)
    pulls = _pull(scores, here, sources, counts) - _pull(more_scores, there, sources)
    error = float(np.sqrt(pulls @ pulls))
    apart = float(np.average(scores, weights=counts) - more_scores.mean())
    return float(2 * student.sf(abs(apart) / error, sources - 1)) if error > 0 else None


def mean_by_clusters(values: Numbers, clusters: Labels, counts: Numbers | None = None) -> Mean:
    """The mean with a 95% interval by Student's t over clusters; no interval for one cluster or equal values.

    With `counts`, each value counts that often.

    >>> mean_by_clusters(np.array([3.0, 3.0, 5.0]), np.array(["a", "a", "a"]))
    Mean(value=3.6666666666666665, low=None, high=None, n=3, clusters=1, method='')
    """
    value = float(np.average(values, weights=counts))
    names, index = np.unique(clusters, return_inverse=True)
    if names.size < 2 or not np.ptp(values):
        return Mean(value, None, None, values.size, names.size)
    low, high = _interval(value, _pull(values, index, names.size, counts), names.size - 1, 0)
    return Mean(value, low, high, values.size, names.size, PLAIN_STUDENT)


def in_units_of(labels: Numbers, predictions: Numbers, more_predictions: Numbers) -> tuple[Numbers, Numbers]:
    """Both predictions with the spread of the labels, so that a weight between 0 and 1 means the same on any scale."""
    spread = float(np.concatenate([predictions, more_predictions]).std())
    unit = float(labels.std()) / spread if spread > 0 else 1.0
    return predictions * unit, more_predictions * unit


def _joint_index(clusters: Labels, more_clusters: Labels) -> tuple[Labels, Labels, int]:
    """The numbers of the source images of both, and how many source images there are."""
    names, index = np.unique(np.concatenate([clusters, more_clusters]), return_inverse=True)
    return index[: clusters.size], index[clusters.size :], names.size


def _best_weight(of_labels: Numbers, of_scores: Numbers) -> float:
    """The weight for which the variance, a parabola, is smallest; it stays within 0 and 1."""
    steepness = float(of_scores @ of_scores)
    return min(1.0, max(0.0, float(of_labels @ of_scores) / steepness)) if steepness > 0 else 0.0


def _pull(values: Numbers, index: Labels, clusters: int, counts: Numbers | None = None) -> Numbers:
    """What each cluster adds to the error of the mean; scaled so that the squares sum up to an unbiased variance."""
    counted = np.unique(index).size
    times = np.ones(values.size) if counts is None else counts
    sums = np.bincount(index, weights=times * (values - np.average(values, weights=times)), minlength=clusters)
    return np.asarray(sums / times.sum() * np.sqrt(counted / (counted - 1)), dtype=np.float64)


def _interval(value: float, pulls: Numbers, freedom: int, spent: int) -> tuple[float, float]:
    error = np.sqrt(pulls @ pulls * freedom / (freedom - spent))
    reach = float(student.ppf((1 + LEVEL) / 2, freedom - spent) * error)
    return value - reach, value + reach


def _hindrance(
    alone: Mean, labels: Numbers, predictions: Numbers, more_predictions: Numbers, more_clusters: Labels
) -> str:
    """Why the predictions cannot help; empty when they can."""
    others = np.unique(more_clusters).size
    if alone.clusters < 2:
        return "only one source image is rated, so there is no interval"
    if not np.ptp(labels):
        return "all ratings are equal, so the uncertainty of their mean is unknown"
    if not more_predictions.size:
        return "every scored edit is rated, so the score has nothing to add"
    if min(alone.clusters, others) < FEWEST_SOURCES:
        return f"fewer than {FEWEST_SOURCES} source images are rated, or unrated, so the score does not count"
    if not np.ptp(predictions) or not np.ptp(more_predictions):
        return "the score is the same everywhere, so it carries no information"
    return ""
