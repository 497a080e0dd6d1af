"""A hyperplane between source and target attributes, and the least change that brings a picture onto it (AugCLIP, 4.2).

Every classifier is fitted in the span of the points, where its answer lies anyway: a few dozen coordinates instead of
the embedder's hundreds, which `benchmarks/augclip.py` measures. Points are put in a fixed order first, so that the
order in which attributes were given changes no digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from editgauge.protocols._text_image import Floats, Vectors, cosine
from editgauge.protocols.augclip.attribute_weights import Weights, even_weights

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
    return cosine(edited_image, np.asarray(source_image, dtype=np.float64) + modification)


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
