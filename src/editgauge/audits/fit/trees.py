"""Boosted trees without steps for the protocol `editgauge`: how they grow, what they say, and how they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

Floats = NDArray[np.float64]

SHAPE = {"max_depth": 2, "learning_rate": 0.06, "min_samples_leaf": 20, "l2_regularization": 1.0}
LEAST_RAMP = 1e-4
MOST = 10, 90
"""Percentiles between which most values lie."""
DIGITS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """Trees, and how far around a threshold of each feature their answers are mixed."""

    start: float
    nodes: tuple[NDArray[Any], ...]
    ramps: Floats

    def staged(self, values: Floats) -> Floats:
        """The log-odds of every row after each tree."""
        return self.start + np.cumsum([self._said(nodes, 0, values) for nodes in self.nodes], axis=0)

    def written(self) -> list[list[list[float]]]:
        """Every tree as rows: an end is its value; a question has the mean of its ends, and where to go."""
        return [self._rows(nodes) for nodes in self.nodes]

    def _said(self, nodes: NDArray[Any], index: int, values: Floats) -> Floats:
        node = nodes[index]
        if node["is_leaf"]:
            return np.full(len(values), float(node["value"]))
        value, ramp = values[:, node["feature_idx"]], self.ramps[node["feature_idx"]]
        right = np.clip((value - node["num_threshold"] + ramp) / (2 * ramp), 0, 1)
        right = np.where(np.isnan(value), float(not node["missing_go_to_left"]), right)
        left_says, right_says = (self._said(nodes, int(node[side]), values) for side in ("left", "right"))
        return np.asarray((1 - right) * left_says + right * right_says)

    def _rows(self, nodes: NDArray[Any]) -> list[list[float]]:
        means: dict[int, float] = {}
        for place in reversed(range(len(nodes))):  # children come after their parents
            node, ways = nodes[place], [int(nodes[place][side]) for side in ("left", "right")]
            counted = sum(nodes[way]["count"] * means[way] for way in ways if not node["is_leaf"])
            means[place] = float(node["value"] if node["is_leaf"] else counted / node["count"])
        return [self._row(node, round(means[place], DIGITS)) for place, node in enumerate(nodes)]

    def _row(self, node: Any, value: float) -> list[float]:
        if node["is_leaf"]:
            return [value]
        feature, left, right = int(node["feature_idx"]), int(node["left"]), int(node["right"])
        low, high = (round(float(node["num_threshold"] + sign * self.ramps[feature]), 6) for sign in (-1, 1))
        return [value, feature, low, high, left, right, left if node["missing_go_to_left"] else right]


def weighed(truths: Floats) -> tuple[Floats, Floats]:
    """How much every probe counts as true and as false: as much as it is so, and all that are false weigh as much in
    all as all that are true to any degree.
    """
    is_true = truths > 0
    weights = np.where(is_true, 0.5 / is_true.sum(), 0.5 / (~is_true).sum()) * len(truths)
    return weights * truths, weights * (1 - truths)


def doubled(values: Floats, truths: Floats) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Every probe once as true and once as false, with its weights."""
    weights = np.concatenate(weighed(truths))
    counted = weights > 0
    return np.concatenate([values, values])[counted], np.repeat([1, 0], len(truths))[counted], weights[counted]


def grown(
    values: Floats, truths: Floats, directions: Sequence[int], count: int, ramp: float = 0.0, seed: int = 0
) -> Trees:
    """This many trees.

    Args:
        values: a row for every probe, a column for every feature; not a number where one is missing.
        truths: how true the claim is of every probe.
        directions: 1 for a feature of which more never speaks against the claim, -1 when never for it, else 0.
        count: of trees.
        ramp: so far to both sides of a threshold an answer is a mixed one, where 1 is the range in which most values
            of the feature lie.
        seed: for what is drawn at random.

    """
    rows, labels, weights = doubled(values, truths)
    rows[:, np.isnan(rows).all(axis=0)] = 0  # a feature without values carries no information, and breaks the binning
    trees = HistGradientBoostingClassifier(
        **SHAPE, max_iter=count, monotonic_cst=directions, early_stopping=False, random_state=seed
    ).fit(rows, labels, sample_weight=weights)
    low, high = np.nanpercentile(rows, MOST, axis=0)
    nodes = tuple(predictor[0].nodes for predictor in trees._predictors)
    return Trees(float(trees._baseline_prediction.ravel()[0]), nodes, np.maximum(ramp * (high - low), LEAST_RAMP))
