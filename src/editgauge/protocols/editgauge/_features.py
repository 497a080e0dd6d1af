"""The fixed lists of features, and an item's values for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from editgauge.edit_types import EDIT_TYPES
from editgauge.protocols.editgauge._request import REQUEST_FEATURES, request_features

if TYPE_CHECKING:
    from editgauge.protocols.editgauge._request import Values
    from editgauge.protocols.editgauge._view import View
    from editgauge.types import Edit

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
