"""Attribute weights and the separating hyperplane of AugCLIP (section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from editgauge.metrics.embeddings import Floats, Vectors, cosine_similarity, unit_vectors

MIN_WEIGHT = 1e-3
"""Lower bound of weights, because classifiers need positive ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """One weight per attribute of the two sets, and how many were not positive."""

    source: Floats
    target: Floats
    clipped_source: float = 0.0
    """Fraction of source attributes whose weight was clipped or dropped."""
    clipped_target: float = 0.0
    abandoned: bool = False
    """Whether a whole set was clipped, so that all attributes have equal weight."""

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
    """Return importance plus collision (eq. 4-6), by mean cosines or by sums as printed.

    Args:
        source: one row per source attribute
        target: one row per target attribute
        sums: whether cosines are summed instead of averaged
        dropped: whether attributes without a positive weight are left out instead of clipped

    """
    source_weights, target_weights = _relative(source, target, sums=sums), _relative(target, source, sums=sums)
    if dropped:
        return Weights(
            source_weights, target_weights, float((source_weights <= 0).mean()), float((target_weights <= 0).mean())
        )
    return clip_weights(source_weights, target_weights)


def naive_weights(source: Vectors, target: Vectors, direction: Vectors) -> Weights:
    """Return cosines with the direction from source to target text, negated for source attributes (table 7)."""
    direction_unit = unit_vectors(direction)
    return clip_weights(-unit_vectors(source) @ direction_unit, unit_vectors(target) @ direction_unit)


def clip_weights(source: Floats, target: Floats) -> Weights:
    """Clip weights at a small positive floor; return equal weights if a whole set lies below it.

    >>> clip_weights(np.array([0.5, -1.0]), np.array([0.2])).source.tolist()
    [0.5, 0.001]
    >>> clip_weights(np.array([-0.5, -1.0]), np.array([0.2])).abandoned
    True
    """
    low_source, low_target = source < MIN_WEIGHT, target < MIN_WEIGHT
    shares = float(low_source.mean()), float(low_target.mean())
    if low_source.all() or low_target.all():
        return Weights(np.ones(len(source)), np.ones(len(target)), *shares, abandoned=True)
    return Weights(np.maximum(source, MIN_WEIGHT), np.maximum(target, MIN_WEIGHT), *shares)


def _relative(attributes: Vectors, opposite: Vectors, *, sums: bool) -> Floats:
    own_units, opposite_units = unit_vectors(attributes), unit_vectors(opposite)
    importance = (own_units @ own_units.T).sum(axis=1) - 1.0  # without its similarity with itself
    collision = -(own_units @ opposite_units.T).sum(axis=1)
    if sums:
        return np.asarray(importance + collision)
    return np.asarray(importance / max(len(own_units) - 1, 1) + collision / len(opposite_units))


Classifier = Literal["svm", "lda", "logistic"]
CLASSIFIERS: tuple[Classifier, ...] = get_args(Classifier)
TOLERANCE = 1e-6
"""Stopping tolerance of the solvers, a thousand times stricter than their default."""
MIN_SQUARED_NORM = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Hyperplane:
    """The hyperplane w.x + b = 0, with targets on the positive side."""

    w: Floats
    b: float

    def side(self, points: Vectors) -> Floats:
        """Return the signed distance of points in units of 1 / |w|; targets are positive."""
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
    """Fit a hyperplane between two sets of attributes (eq. 7); raise `ValueError` if there is none.

    Args:
        source: one row per source attribute.
        target: one row per target attribute.
        weights: weight of each attribute; equal by default. LDA takes none. Attributes without a positive weight are
            left out.
        classifier: `svm`, `lda` (with Ledoit and Wolf's shrinkage) or `logistic`.
        c: how much a misclassified attribute costs relative to |w|; LDA takes none.

    """
    if len(source) == 0 or len(target) == 0:
        raise ValueError("a hyperplane needs an attribute on either side")
    weights = weights or even_weights(source, target)
    points = np.concatenate([np.asarray(side, dtype=np.float64) for side in (source, target)])
    labels = np.repeat([-1, 1], [len(source), len(target)])
    sample_weights = np.concatenate([weights.source, weights.target])
    order = np.array(
        sorted(range(len(points)), key=lambda row: (labels[row], points[row].tobytes(), sample_weights[row]))
    )
    order = order[sample_weights[order] > 0]
    points, labels, sample_weights = points[order], labels[order], sample_weights[order]
    if len(np.unique(labels)) < 2:
        raise ValueError("a whole set of attributes has no positive weight, so that nothing can be parted")
    if classifier == "svm":
        w, b = _svm(points, labels, sample_weights, c)
    else:
        basis, coordinates = np.linalg.qr(points.T)
        solve = _lda if classifier == "lda" else _logistic
        inner, b = solve(coordinates.T, labels, sample_weights, c)
        w = basis @ inner
    if not np.isfinite(b) or w @ w < MIN_SQUARED_NORM:
        raise ValueError("no hyperplane parts source and target attributes; are they the same to this embedder?")
    return Hyperplane(w, b)


def ideal_similarity(edited_image: Vectors, source_image: Vectors, modification: Floats) -> float:
    """Return the cosine of the edited image with the ideal edit (eq. 3)."""
    return cosine_similarity(edited_image, np.asarray(source_image, dtype=np.float64) + modification)


def _svm(points: Floats, labels: Floats, sample_weights: Floats, c: float) -> tuple[Floats, float]:
    """Solve by inner products of points."""
    from sklearn import config_context
    from sklearn.svm import SVC

    with config_context(assume_finite=True, skip_parameter_validation=True):
        svm = SVC(C=c, kernel="precomputed", tol=TOLERANCE).fit(points @ points.T, labels, sample_weight=sample_weights)
    return np.asarray(svm.dual_coef_[0] @ points[svm.support_]), float(svm.intercept_[0])


def _logistic(points: Floats, labels: Floats, sample_weights: Floats, c: float) -> tuple[Floats, float]:
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression

    with config_context(assume_finite=True, skip_parameter_validation=True):
        logistic = LogisticRegression(C=c, solver="newton-cholesky", tol=TOLERANCE, max_iter=1000)
        logistic.fit(points, labels, sample_weight=sample_weights)
    return np.asarray(logistic.coef_[0]), float(logistic.intercept_[0])


def _lda(points: Floats, labels: Floats, _loads: Floats, _c: float) -> tuple[Floats, float]:
    """Solve with shrinkage, because fewer points than dimensions leave the covariance singular."""
    from sklearn.covariance import ledoit_wolf

    before, after = points[labels < 0].mean(axis=0), points[labels > 0].mean(axis=0)
    scatter = points - np.where(labels[:, np.newaxis] < 0, before, after)
    identity = np.eye(points.shape[1])
    covariance = ledoit_wolf(scatter, assume_centered=True)[0] if scatter.any() else identity
    ridge = TOLERANCE * float(np.trace(covariance)) * identity  # of a few points that mirror each other, none is shrunk
    w = np.asarray(np.linalg.solve(covariance + ridge, after - before))
    return w, float(-w @ (before + after) / 2)
