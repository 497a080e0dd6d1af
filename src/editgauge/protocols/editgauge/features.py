"""The fixed lists of features, and an item's values for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from editgauge.protocols.editgauge.artifact_features import OF_FLAWS, flaws
from editgauge.protocols.editgauge.edit_features import doing
from editgauge.protocols.editgauge.preservation_features import OF_THE_REST, keeping

if TYPE_CHECKING:
    from editgauge.protocols.editgauge.edit_features import Values
    from editgauge.protocols.editgauge.view import View

Question = Literal["done", "disturbed", "flawed"]

FEATURES: Mapping[Question, tuple[str, ...]] = {
    "done": (
        "changed", "expected_changed", "change_expected", "strength", "comes_after", "comes_gain", "comes_count",
        "goes_after", "goes_gain", "goes_count", "stays_after", "stays_lost", "colour_gain", "colour_rank",
        "colour_rank_gain", "style_fit", "style_gain", "same_content", "new_content", "place_fit", "third_fit",
        "size_fit", "editval", "pixlens", "frame",
    ),
    "disturbed": ("frame_lost", "frame_moved", *OF_THE_REST),
    "flawed": OF_FLAWS,
}  # fmt: skip
"""In the order in which a fitted model has its numbers."""


def features(view: View) -> dict[Question, Values]:
    """The values of every feature, by question; None where a feature has no meaning or cannot be seen."""
    return {"done": doing(view), "disturbed": keeping(view), "flawed": flaws(view)}


def fingerprint(names: tuple[str, ...]) -> str:
    """Tells lists of features apart: a model fitted on other features must not be used.

    >>> fingerprint(("a", "b")) == fingerprint(("b", "a"))
    False
    """
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
