"""Attribute weights and the separating hyperplane of AugCLIP (section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from editgauge.metrics.embeddings import Floats, Vectors, cosine_similarity, unit_vectors

Classifier = Literal["svm", "lda", "logistic"]
MIN_WEIGHT = 1e-3
"""Lower bound of weights, because classifiers need positive ones."""
TOLERANCE = 1e-6
"""Stopping tolerance of the solvers, a thousand times stricter than their default."""
MIN_SQUARED_NORM = 1e-12
"""Squared norm of w below which there is no hyperplane."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """One weight per attribute of the two sets, and the fraction that was not positive."""

    source: Floats
    target: Floats
    clipped_source: float = 0.0
    """Fraction of source attributes whose weight was clipped or dropped."""
    clipped_target: float = 0.0
    abandoned: bool = False
    """Whether all weights of a set were clipped, so that all attributes have equal weight."""

    def scaled(self) -> Weights:
        """Return the weights scaled to mean 1, so that C means the same as without weights."""
        weights = np.concatenate([self.source, self.target])
        if not (weights > 0).any():
            return self
        mean = float(weights[weights > 0].mean())
        return Weights(self.source / mean, self.target / mean, self.clipped_source, self.clipped_target, self.abandoned)


def even_weights(source: Vectors, target: Vectors) -> Weights:
    """Return equal weights (table 9, unweighted)."""
    return Weights(np.ones(len(source)), np.ones(len(target)))


def relative_weights(source: Vectors, target: Vectors, *, sums: bool = False, dropped: bool = False) -> Weights:
    """Return importance plus collision (eq. 4-6) from mean cosines, or from their sums as the paper prints them.

    Args:
        source: one row per source attribute.
        target: one row per target attribute.
        sums: whether cosines are summed instead of averaged.
        dropped: whether attributes without a positive weight are left out instead of clipped.

    """
    source_weights = _importance_plus_collision(source, target, sums=sums)
    target_weights = _importance_plus_collision(target, source, sums=sums)
    if not dropped:
        return clip_weights(source_weights, target_weights)
    return Weights(
        source_weights, target_weights, float((source_weights <= 0).mean()), float((target_weights <= 0).mean())
    )


def naive_weights(source: Vectors, target: Vectors, direction: Vectors) -> Weights:
    """Return cosines with the direction from source to target text, negated for source attributes (table 7)."""
    direction_unit = unit_vectors(direction)
    return clip_weights(-unit_vectors(source) @ direction_unit, unit_vectors(target) @ direction_unit)


def clip_weights(source: Floats, target: Floats) -> Weights:
    """Clip weights to at least `MIN_WEIGHT`; return equal weights if all weights of a set lie below it.

    >>> clip_weights(np.array([0.5, -1.0]), np.array([0.2])).source.tolist()
    [0.5, 0.001]
    >>> clip_weights(np.array([-0.5, -1.0]), np.array([0.2])).abandoned
    True
    """
    low_source, low_target = source < MIN_WEIGHT, target < MIN_WEIGHT
    clipped_fractions = float(low_source.mean()), float(low_target.mean())
    if low_source.all() or low_target.all():
        return Weights(np.ones(len(source)), np.ones(len(target)), *clipped_fractions, abandoned=True)
    return Weights(np.maximum(source, MIN_WEIGHT), np.maximum(target, MIN_WEIGHT), *clipped_fractions)


def _importance_plus_collision(attributes: Vectors, opposite: Vectors, *, sums: bool) -> Floats:
    units, opposite_units = unit_vectors(attributes), unit_vectors(opposite)
    importance = (units @ units.T).sum(axis=1) - 1.0  # exclude the similarity of an attribute to itself
    collision = -(units @ opposite_units.T).sum(axis=1)
    if sums:
        return np.asarray(importance + collision)
    return np.asarray(importance / max(len(units) - 1, 1) + collision / len(opposite_units))


@dataclass(frozen=True, slots=True, eq=False)
class Hyperplane:
    """The hyperplane w.x + b = 0, with targets on the positive side."""

    w: Floats
    b: float

    def side(self, points: Vectors) -> Floats:
        """Return the signed distance of points in units of 1 / |w|, positive on the side of the targets."""
        return np.asarray(np.asarray(points, dtype=np.float64) @ self.w + self.b)

    def reach(self, point: Vectors) -> Floats:
        """Return the shortest vector from a point onto the hyperplane, from either side (eq. 10)."""
        return np.asarray(-(float(self.side(point)) / float(self.w @ self.w)) * self.w)

    def modification(self, source_image: Vectors) -> Floats:
        """Return the least change that makes the source image a target, 0 if it is one (eq. 8)."""
        return np.zeros_like(self.w) if self.side(source_image) >= 0 else self.reach(source_image)

    def misclassified(self, source: Vectors, target: Vectors) -> float:
        """Return the fraction of attributes on the wrong side (table 11)."""
        wrong = np.concatenate([self.side(source) >= 0, self.side(target) <= 0])
        return float(wrong.mean())


def fit(
    source: Vectors, target: Vectors, weights: Weights | None = None, classifier: Classifier = "svm", c: float = 1.0
) -> Hyperplane:
    """Fit a hyperplane between two sets of attributes (eq. 7).

    Args:
        source: one row per source attribute.
        target: one row per target attribute.
        weights: weight of each attribute; equal by default. Attributes without a positive weight are left out; LDA
            ignores the size of the others.
        classifier: `svm`, `lda` (with Ledoit and Wolf's shrinkage) or `logistic`.
        c: cost of a misclassified attribute relative to |w|; ignored by LDA.

    Raises:
        ValueError: a set has no attribute of positive weight, or no hyperplane separates the sets.

    """
    if len(source) == 0 or len(target) == 0:
        raise ValueError("a hyperplane needs an attribute on either side")
    points, labels, sample_weights = _make_samples(source, target, weights or even_weights(source, target))
    if len(np.unique(labels)) < 2:
        raise ValueError("a whole set of attributes has no positive weight, so that nothing can be separated")
    if classifier == "svm":
        w, b = _fit_svm(points, labels, sample_weights, c)
    else:
        # Solve in the span of the points, which has fewer dimensions than the embeddings.
        basis, coordinates = np.linalg.qr(points.T)
        if classifier == "lda":
            span_w, b = _fit_lda(coordinates.T, labels)
        else:
            span_w, b = _fit_logistic(coordinates.T, labels, sample_weights, c)
        w = basis @ span_w
    if not np.isfinite(b) or w @ w < MIN_SQUARED_NORM:
        raise ValueError("no hyperplane parts source and target attributes; are they the same to this embedder?")
    return Hyperplane(w, b)


def ideal_similarity(edited_image: Vectors, source_image: Vectors, modification: Floats) -> float:
    """Return the cosine of the edited image with the ideal edit (eq. 3)."""
    return cosine_similarity(edited_image, np.asarray(source_image, dtype=np.float64) + modification)


def _make_samples(source: Vectors, target: Vectors, weights: Weights) -> tuple[Floats, Floats, Floats]:
    """Return points, labels and weights of the attributes with a positive weight.

    Rows are sorted, so that the hyperplane does not depend on the order of attributes.
    """
    points = np.concatenate([np.asarray(vectors, dtype=np.float64) for vectors in (source, target)])
    labels = np.repeat([-1.0, 1.0], [len(source), len(target)])
    sample_weights = np.concatenate([weights.source, weights.target])
    rows = sorted(
        np.flatnonzero(sample_weights > 0).tolist(),
        key=lambda row: (labels[row], points[row].tobytes(), sample_weights[row]),
    )
    return points[rows], labels[rows], sample_weights[rows]


def _fit_svm(points: Floats, labels: Floats, sample_weights: Floats, c: float) -> tuple[Floats, float]:
    """Fit by inner products, because there are fewer points than dimensions."""
    from sklearn import config_context
    from sklearn.svm import SVC

    with config_context(assume_finite=True, skip_parameter_validation=True):
        svm = SVC(C=c, kernel="precomputed", tol=TOLERANCE).fit(points @ points.T, labels, sample_weight=sample_weights)
    return np.asarray(svm.dual_coef_[0] @ points[svm.support_]), float(svm.intercept_[0])


def _fit_logistic(points: Floats, labels: Floats, sample_weights: Floats, c: float) -> tuple[Floats, float]:
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression

    with config_context(assume_finite=True, skip_parameter_validation=True):
        logistic = LogisticRegression(C=c, solver="newton-cholesky", tol=TOLERANCE, max_iter=1000)
        logistic.fit(points, labels, sample_weight=sample_weights)
    return np.asarray(logistic.coef_[0]), float(logistic.intercept_[0])


def _fit_lda(points: Floats, labels: Floats) -> tuple[Floats, float]:
    """Fit with shrinkage, because the covariance of fewer points than dimensions is singular."""
    from sklearn.covariance import ledoit_wolf

    source_mean, target_mean = points[labels < 0].mean(axis=0), points[labels > 0].mean(axis=0)
    scatter = points - np.where(labels[:, np.newaxis] < 0, source_mean, target_mean)
    identity = np.eye(points.shape[1])
    covariance = ledoit_wolf(scatter, assume_centered=True)[0] if scatter.any() else identity
    # Ledoit and Wolf's estimate of a few symmetric points may have no shrinkage, and so be singular.
    ridge = TOLERANCE * float(np.trace(covariance)) * identity
    w = np.asarray(np.linalg.solve(covariance + ridge, target_mean - source_mean))
    return w, float(-w @ (source_mean + target_mean) / 2)
