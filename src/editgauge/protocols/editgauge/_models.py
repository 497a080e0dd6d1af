"""The fitted models, stored as numbers in a JSON file: every answer is a sum over features, so it can be explained."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from editgauge.edit_types import EDIT_TYPES
from editgauge.protocols.editgauge._request import REQUEST_FEATURES, request_features

if TYPE_CHECKING:
    from editgauge.protocols.editgauge._request import Values
    from editgauge.protocols.editgauge._view import View
    from editgauge.types import Edit

FILE = "model.json"
MAX_PENALTY = 0.9
"""How far the most severe disturbance lowers `kept` and `quality`."""
REDRAWN_CHANGE = 0.1, 0.4
"""Median change of all patches from which an image counts as redrawn, and at which it counts fully."""
MAX_LOG_ODDS = 30.0


@dataclass(frozen=True, slots=True)
class Prediction:
    """A probability, and what each feature added to its log-odds."""

    value: float
    effects: Mapping[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """Logistic model: a feature adds its weight times its value to the log-odds, a missing one adds nothing."""

    intercept: float
    weights: Mapping[str, float]
    token_weights: NDArray[np.float64] | None = None
    """One per number of the changed region's token, for `quality`."""
    token_offset: float = 0.0
    """Mean effect of tokens, used for those of another embedder."""

    def predict(self, values: Values, token: NDArray[np.float32] | None = None) -> Prediction:
        """Return the probability for an item's features."""
        effects = {name: weight * value for name, weight in self.weights.items() if (value := values[name]) is not None}
        if self.token_weights is not None and token is not None:
            fits = len(token) == len(self.token_weights)
            effects["region_look"] = float(self.token_weights @ token) if fits else self.token_offset
        return Prediction(sigmoid(self.intercept + sum(effects.values())), effects)


@dataclass(frozen=True, slots=True)
class Curve:
    """Piecewise linear effect of one feature; 0 on average over the outcomes of the fit."""

    knots: tuple[float, ...]
    slopes: tuple[float, ...]
    """Change of the slope at each knot."""
    offset: float

    def __call__(self, value: float) -> float:
        """Return the effect of a value on the log-odds."""
        bends = zip(self.knots, self.slopes, strict=True)
        return sum(slope * max(0.0, value - knot) for knot, slope in bends) - self.offset


@dataclass(frozen=True, slots=True)
class CurveModel:
    """Logistic model of one curve per feature; a missing value adds nothing."""

    intercept: float
    curves: Mapping[str, Curve]

    def predict(self, values: Values) -> Prediction:
        """Return the probability for an item's features."""
        effects = {name: curve(value) for name, curve in self.curves.items() if (value := values[name]) is not None}
        return Prediction(sigmoid(self.intercept + sum(effects.values())), effects)


@dataclass(frozen=True, slots=True)
class ConfidenceLevel:
    """Answers of one confidence on rated outcomes of unseen photographs."""

    answer: Literal["yes", "no"]
    level: Literal["high", "medium", "low"]
    threshold: float
    """Least probability that people agree."""
    right: int
    total: int


@dataclass(frozen=True, slots=True)
class FittedModels:
    """All that was fitted, and on what."""

    linear: Mapping[Model, LinearModel]
    fallback: CurveModel
    confidence: tuple[ConfidenceLevel, ...]
    """By answer, highest level first."""
    provenance: Mapping[str, Any]

    def kept(self, values: Values, severities: Mapping[str, float]) -> Prediction:
        """Return how well everything but the edit was kept: 1 for an untouched image.

        The fitted probability relative to that of an untouched image, and no more than what the most severe change of
        the image as a whole allows. Both fall with every disturbance.

        Args:
            values: features of the content that changed.
            severities: of each disturbance of the image as a whole, from 0 to 1.
        """
        model = self.linear["kept"]
        fitted_value = model.predict(values)
        relative = min(1.0, fitted_value.value / sigmoid(model.intercept))
        worst = max(*severities.values(), _redrawn_severity(values.get("median_changed")))
        return Prediction(min(relative, 1 - MAX_PENALTY * worst), fitted_value.effects)

    def quality(self, values: Values, token: NDArray[np.float32] | None, severities: Mapping[str, float]) -> Prediction:
        """Return how natural people would call the image; no disturbance raises it above an untouched image."""
        model = self.linear["quality"]
        answer = model.predict(values, token)
        worst = max(0.0, 2 * max(severities[name] for name in ("blur", "noise")) - 1)  # people forgive slight ones
        untouched = sigmoid(model.intercept)
        return Prediction(min(answer.value, untouched * (1 - MAX_PENALTY * worst)), answer.effects)


def _redrawn_severity(change: float | None) -> float:
    start, end = REDRAWN_CHANGE
    return 0.0 if change is None else min(1.0, max(0.0, (change - start) / (end - start)))


def sigmoid(log_odds: float) -> float:
    """Return the probability of log-odds."""
    return 1 / (1 + math.exp(-max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, log_odds))))


@lru_cache(maxsize=1)
def fitted() -> FittedModels:
    """Return the models that come with the package."""
    return read_fitted((files(__package__) / FILE).read_text("utf-8"))


def read_fitted(text: str) -> FittedModels:
    """Read models from their JSON form; refuse those of other features."""
    content = json.loads(text)
    for name, names in FEATURES.items():
        if content["models"][name]["features"] != fingerprint(names):
            raise ValueError(f"the model of '{name}' was fitted on other features; fit it again (audits/fit)")
    linear: dict[Model, LinearModel] = {
        name: _read_linear(content["models"][name]) for name in FEATURES if name != "fallback"
    }
    curves = content["models"]["fallback"]
    fallback = CurveModel(curves["intercept"], {name: _read_curve(curve) for name, curve in curves["curves"].items()})
    confidence = tuple(ConfidenceLevel(**level) for level in content["confidence"])
    return FittedModels(linear, fallback, confidence, content["provenance"])


def _read_linear(content: Mapping[str, Any]) -> LinearModel:
    token_weights = content.get("token_weights")
    vector = None if token_weights is None else np.array(token_weights, np.float64)
    return LinearModel(content["intercept"], content["weights"], vector, content.get("token_offset", 0.0))


def _read_curve(content: Mapping[str, Any]) -> Curve:
    return Curve(tuple(content["knots"]), tuple(content["slopes"]), content["offset"])


Model = Literal["edit", "success", "contained", "kept", "quality", "fallback"]
"""What is fitted: `success` times `contained` is the score `success`; `fallback` replaces it for unknown words."""

KINDS = ("adds", "replaces", "removes", "recolors", "acts")
FEATURES: Mapping[Model, tuple[str, ...]] = {
    "edit": REQUEST_FEATURES,
    "success": REQUEST_FEATURES,
    "contained": ("least_changed", "mean_changed", "unmatched"),
    "kept": ("mean_changed", "unmatched"),
    "quality": ("novelty", "most_changed", "token_length", "clipped", "detail_lost", "detail_gained"),
    "fallback": (
        "mean_changed", "median_changed", "least_changed", "upper_changed", "greatest_changed", "unmatched", "novelty",
        "focus", "region_share", "region_count", "outside_mean", "outside_greatest", "color_shift", "chroma_shift",
        "detail_lost", "detail_gained", "structure_lost", *KINDS,
    ),
}  # fmt: skip
"""In the order in which a fitted model stores its numbers."""


def features(view: View) -> dict[Model, Values]:
    """Return the values of every feature, by model; None where a feature does not apply or cannot be measured."""
    change = change_features(view)
    request = request_features(view)
    contained = change if view.is_local else {}
    return {
        "edit": request,
        "success": request,
        "contained": {name: contained.get(name) for name in FEATURES["contained"]},
        "kept": {name: change.get(name) for name in (*FEATURES["kept"], "median_changed")},
        "quality": {name: change.get(name) for name in FEATURES["quality"]},
        "fallback": {name: change.get(name) for name in FEATURES["fallback"]},
    }


def change_features(view: View) -> Values:
    """Return what changed and how much, whatever was requested; empty when no model gives patch tokens."""
    if not view.tokens:
        return {}
    disturbance = view.disturbance
    return {
        **view.tokens,
        "color_shift": disturbance.color,
        "chroma_shift": disturbance.chroma,
        "detail_lost": max(0.0, -disturbance.detail),
        "detail_gained": max(0.0, disturbance.detail),
        "structure_lost": disturbance.structure,
        **{kind: float(kind == edit_kind(view.edit)) for kind in KINDS},
    }


def edit_kind(edit: Edit) -> str:
    """Return what kind of change an edit asks for, one of `KINDS` or `other`."""
    effect = EDIT_TYPES[edit.type].effect
    if effect != "changes":
        return effect
    return {"color": "recolors", "action": "acts"}.get(edit.type, "other")


def fingerprint(names: tuple[str, ...]) -> str:
    """Tell lists of features apart: a model fitted on other features must not be used.

    >>> fingerprint(("a", "b")) == fingerprint(("b", "a"))
    False
    """
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
