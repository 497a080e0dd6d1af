"""The fixed lists of features, and an item's values for them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import as_unit
from editgauge.metrics.ssim import ssim
from editgauge.protocols.editgauge.appearance import detail
from editgauge.protocols.editgauge.artifact_features import OF_FLAWS, flaws
from editgauge.protocols.editgauge.asked import ASKED, asked_features

if TYPE_CHECKING:
    from editgauge.protocols.editgauge.asked import Values
    from editgauge.protocols.editgauge.view import View

CLEARLY = 10.0
"""Distance in CIE Lab from which a pixel has another color for everyone."""
SOME = 4
"""A median of every fourth pixel is as good as one of all."""
OF_THE_REST = ("rest_changed", "rest_away", "rest_far", "rest_cast", "rest_unlike", "rest_blurred", "rest_noisier")


def keeping(view: View) -> Values:
    """Each feature by name; those of the rest are None when the edit may change everything."""
    alignment = view.changes.alignment
    moved = alignment.matrix[:, :2] @ _middle(view) + alignment.matrix[:, 2] - _middle(view)
    frame: Values = {
        "frame_lost": 1 - alignment.confidence,
        "frame_moved": min(1.0, 20 * float(np.hypot(*moved)) / view.diagonal) if alignment.found else 1.0,
    }
    region = view.expected.mask
    rest = view.shown if region is None else view.shown & ~region
    if region is None or not rest.any():
        return frame | dict.fromkeys(OF_THE_REST)
    put_back = np.where(rest[..., np.newaxis], view.edited, view.source)
    gained = math.log2(detail(view.fine[1], rest) / detail(view.fine[0], rest))
    away = view.away[rest]
    cast = np.median(view.shift.reshape(-1, 3)[np.flatnonzero(rest)[::SOME]], axis=0)
    return frame | {
        "rest_changed": math.sqrt(float(view.changes.mask[rest].mean())),
        "rest_away": math.log1p(float(away.mean())),
        "rest_far": float((away > CLEARLY).mean()),
        "rest_cast": math.log1p(float(np.linalg.norm(cast))),
        "rest_unlike": 1 - ssim(as_unit(view.source), as_unit(put_back), rest),
        "rest_blurred": float(np.clip(-gained, 0, 3)),
        "rest_noisier": float(np.clip(gained, 0, 3)),
    }


def _middle(view: View) -> NDArray[np.float64]:
    height, width = view.source.shape[:2]
    return np.array([width / 2, height / 2])


Question = Literal["asked", "contained", "quality", "disturbed", "flawed"]

FEATURES: Mapping[Question, tuple[str, ...]] = {
    "asked": ASKED,
    "contained": ("least_changed", "mean_changed", "unmatched"),
    "quality": ("novelty", "most_changed", "token_length", "clipped", "sharper"),
    "disturbed": ("frame_lost", "frame_moved", *OF_THE_REST),
    "flawed": OF_FLAWS,
}  # fmt: skip
"""In the order in which a fitted model has its numbers."""


def features(view: View) -> dict[Question, Values]:
    """The values of every feature, by question; None where a feature has no meaning or cannot be seen."""
    redrawn = view.redrawn
    contained = {} if view.roles.everywhere or view.roles.behind else redrawn
    return {
        "asked": asked_features(view),
        "contained": {name: contained.get(name) for name in FEATURES["contained"]},
        "quality": {name: redrawn.get(name) for name in FEATURES["quality"]},
        "disturbed": keeping(view),
        "flawed": flaws(view),
    }


def fingerprint(names: tuple[str, ...]) -> str:
    """Tells lists of features apart: a model fitted on other features must not be used.

    >>> fingerprint(("a", "b")) == fingerprint(("b", "a"))
    False
    """
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
