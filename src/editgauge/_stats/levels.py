"""At which level scores and people are compared: within each part and then averaged, or by the means of the parts.

The same scores agree better or worse by level, so a number without its level says little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from editgauge._stats.agreement import Measure, paired
from editgauge._stats.intervals import Labels, Numbers, clustered_mean
from editgauge._stats.resampling import (
    Estimate,
    all_equal,
    as_estimate,
    divided,
    estimate,
    no_estimate,
    resampled,
)

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
    means = [divided(belongs @ each, belongs.sum(axis=1)) for each in (x, y)]
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
        means = divided(belongs @ (numbers[:, None] * weights), belongs @ weights)
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
    return divided(np.where(there, numbers, 0).sum(axis=0), there.sum(axis=0))


def _in_each(measure: Measure, x: Numbers, y: Numbers, weights: Numbers, members: Mapping[str, Rows]) -> Numbers:
    return np.stack([measure.of_draws(x[rows], y[rows], weights[rows]) for rows in members.values()])


def _of_means(measure: Measure, belongs: Numbers, x: Numbers, y: Numbers, weights: Numbers) -> Numbers:
    sizes = belongs @ weights
    x_means, y_means = (divided(belongs @ (each[:, None] * weights), sizes) for each in (x, y))
    whole = (sizes > 0).all(axis=0)
    answers = np.full(whole.shape, np.nan)
    answers[whole] = measure.of_columns(x_means[:, whole], y_means[:, whole])
    return answers
