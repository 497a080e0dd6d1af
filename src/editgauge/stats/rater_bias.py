"""Is a rater more generous than the others, or more severe?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from editgauge.stats.intervals import Labels, Mean, clustered_mean


@dataclass(frozen=True, slots=True)
class RaterBias:
    """One rater compared with the others."""

    rater: str
    answers: int
    deviation: Mean | None
    """The rater's answers minus the mean of the others' on the same outcomes; None if no one else rated them."""


def rater_bias(answers: ArrayLike, raters: Sequence[str], clusters: Labels) -> list[RaterBias]:
    """Every rater's mean deviation from the others, the one who deviates most first.

    Answers are a matrix, a row per outcome and a column per rater; NaN where a rater gave none.

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
