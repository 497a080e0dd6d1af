"""How much each attribute counts: like the others of its own set, unlike those of the opposite set (AugCLIP, 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from editgauge.metrics.embeddings import Floats, Vectors, cosine_similarity, unit_vectors

FLOOR = 1e-3
"""What a weight that is not positive becomes: a classifier needs positive ones."""


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """One positive weight per attribute of the two sets, and what had to be done to make them so."""

    source: Floats
    target: Floats
    clipped_source: float = 0.0
    """The share of source attributes whose weight was clipped."""
    clipped_target: float = 0.0
    abandoned: bool = False
    """Was a whole set clipped, so that all attributes weigh the same instead?"""

    def scaled(self) -> Weights:
        """The same weights with the mean 1, so that the C of a classifier means the same as without weights."""
        mean = float(np.concatenate([self.source, self.target]).mean())
        return Weights(self.source / mean, self.target / mean, self.clipped_source, self.clipped_target, self.abandoned)


def even_weights(source: Vectors, target: Vectors) -> Weights:
    """All attributes alike (table 9, unweighted)."""
    return Weights(np.ones(len(source)), np.ones(len(target)))


def relative_weights(source: Vectors, target: Vectors, *, sums: bool = False) -> Weights:
    """Importance plus collision (eq. 4-6): by mean cosines, or by their sums as the formulas print them."""
    return clipped(*(_relative(*pair, sums=sums) for pair in ((source, target), (target, source))))


def naive_weights(source: Vectors, target: Vectors, direction: Vectors) -> Weights:
    """By the cosine with the way from source text to target text, backwards for source attributes (table 7)."""
    way = unit_vectors(direction)
    return clipped(-unit_vectors(source) @ way, unit_vectors(target) @ way)


def clipped(source: Floats, target: Floats) -> Weights:
    """The weights with a small positive floor; all alike when a whole set lies below it.

    >>> clipped(np.array([0.5, -1.0]), np.array([0.2])).source.tolist()
    [0.5, 0.001]
    >>> clipped(np.array([-0.5, -1.0]), np.array([0.2])).abandoned
    True
    """
    low_source, low_target = source < FLOOR, target < FLOOR
    shares = float(low_source.mean()), float(low_target.mean())
    if low_source.all() or low_target.all():
        return Weights(np.ones(len(source)), np.ones(len(target)), *shares, abandoned=True)
    return Weights(np.maximum(source, FLOOR), np.maximum(target, FLOOR), *shares)


def _relative(own: Vectors, opposite: Vectors, *, sums: bool) -> Floats:
    mine, others = unit_vectors(own), unit_vectors(opposite)
    importance = (mine @ mine.T).sum(axis=1) - 1.0  # without its similarity with itself
    collision = -(mine @ others.T).sum(axis=1)
    if sums:
        return np.asarray(importance + collision)
    return np.asarray(importance / max(len(mine) - 1, 1) + collision / len(others))


Classifier = Literal["svm", "lda", "logistic"]
CLASSIFIERS: tuple[Classifier, ...] = get_args(Classifier)
TOLERANCE = 1e-6
"""At which the solvers stop: a thousand times stricter than their own choice, and no slower on a few dozen points."""
DUST = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Hyperplane:
    """Where w.x + b = 0: targets lie on the positive side."""

    w: Floats
    b: float

    def side(self, points: Vectors) -> Floats:
        """How far on the target side each point lies, in units of 1 / |w|."""
        return np.asarray(np.asarray(points, dtype=np.float64) @ self.w + self.b)

    def reach(self, point: Vectors) -> Floats:
        """The shortest way from a point onto the hyperplane, from whichever side (eq. 10)."""
        return np.asarray(-(float(self.side(point)) / float(self.w @ self.w)) * self.w)

    def modification(self, source_image: Vectors) -> Floats:
        """The least change that makes the source image a target: nothing when it is one already (eq. 8)."""
        return np.zeros_like(self.w) if self.side(source_image) >= 0 else self.reach(source_image)

    def misclassified(self, source: Vectors, target: Vectors) -> float:
        """The share of attributes on the wrong side (table 11)."""
        wrong = np.concatenate([self.side(source) >= 0, self.side(target) <= 0])
        return float(wrong.mean())


def fit(
    source: Vectors, target: Vectors, weights: Weights | None = None, classifier: Classifier = "svm", c: float = 1.0
) -> Hyperplane:
    """The hyperplane between two sets of attributes (eq. 7); raises `ValueError` where none exists.

    Args:
        source: one row per source attribute.
        target: one row per target attribute.
        weights: how much each attribute counts; all alike when left out. LDA takes none.
        classifier: `svm`, `lda` (with Ledoit and Wolf's shrinkage) or `logistic`.
        c: how much a misclassified attribute costs relative to |w|; LDA takes none.
    """
    if len(source) == 0 or len(target) == 0:
        raise ValueError("a hyperplane needs an attribute on either side")
    weights = weights or even_weights(source, target)
    points = np.concatenate([np.asarray(side, dtype=np.float64) for side in (source, target)])
    labels = np.repeat([-1, 1], [len(source), len(target)])
    loads = np.concatenate([weights.source, weights.target])
    order = np.array(sorted(range(len(points)), key=lambda row: (labels[row], points[row].tobytes(), loads[row])))
    points, labels, loads = points[order], labels[order], loads[order]
    if classifier == "svm":
        w, b = _svm(points, labels, loads, c)
    else:
        basis, coordinates = np.linalg.qr(points.T)
        solve = _lda if classifier == "lda" else _logistic
        inner, b = solve(coordinates.T, labels, loads, c)
        w = basis @ inner
    if not np.isfinite(b) or w @ w < DUST:
        raise ValueError("no hyperplane parts source and target attributes; are they the same to this embedder?")
    return Hyperplane(w, b)


def likeness(edited_image: Vectors, source_image: Vectors, modification: Floats) -> float:
    """How near the edited image comes to the ideal one, from -1 to 1 (eq. 3)."""
    return cosine_similarity(edited_image, np.asarray(source_image, dtype=np.float64) + modification)


def _svm(points: Floats, labels: Floats, loads: Floats, c: float) -> tuple[Floats, float]:
    """By products of points alone, of which the solver makes a combination of points."""
    from sklearn import config_context
    from sklearn.svm import SVC

    with config_context(assume_finite=True, skip_parameter_validation=True):
        svm = SVC(C=c, kernel="precomputed", tol=TOLERANCE).fit(points @ points.T, labels, sample_weight=loads)
    return np.asarray(svm.dual_coef_[0] @ points[svm.support_]), float(svm.intercept_[0])


def _logistic(points: Floats, labels: Floats, loads: Floats, c: float) -> tuple[Floats, float]:
    from sklearn import config_context
    from sklearn.linear_model import LogisticRegression

    with config_context(assume_finite=True, skip_parameter_validation=True):
        logistic = LogisticRegression(C=c, solver="newton-cholesky", tol=TOLERANCE, max_iter=1000)
        logistic.fit(points, labels, sample_weight=loads)
    return np.asarray(logistic.coef_[0]), float(logistic.intercept_[0])


def _lda(points: Floats, labels: Floats, _loads: Floats, _c: float) -> tuple[Floats, float]:
    """With shrinkage: fewer points than dimensions leave the covariance within the sets without an inverse."""
    from sklearn.covariance import ledoit_wolf

    before, after = points[labels < 0].mean(axis=0), points[labels > 0].mean(axis=0)
    scatter = points - np.where(labels[:, np.newaxis] < 0, before, after)
    unshaped = np.eye(points.shape[1])
    covariance = ledoit_wolf(scatter, assume_centered=True)[0] if scatter.any() else unshaped
    ridge = TOLERANCE * float(np.trace(covariance)) * unshaped  # of a few points that mirror each other, none is shrunk
    w = np.asarray(np.linalg.solve(covariance + ridge, after - before))
    return w, float(-w @ (before + after) / 2)
