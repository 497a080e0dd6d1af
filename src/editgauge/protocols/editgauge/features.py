"""The fixed lists of features, and an item's values for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from editgauge.protocols.editgauge.artifact_features import OF_FLAWS, flaws
from editgauge.protocols.editgauge.asked import asked_features
from editgauge.protocols.editgauge.further import JUDGED, WORDS
from editgauge.protocols.editgauge.preservation_features import OF_THE_REST, keeping

if TYPE_CHECKING:
    from editgauge.protocols.editgauge.asked import Values
    from editgauge.protocols.editgauge.view import View

Question = Literal["asked", "contained", "quality", "disturbed", "flawed"]

FEATURES: Mapping[Question, tuple[str, ...]] = {
    "asked": (
        "asks_presence", "something_new", "presence", "presence_gain", "gone", "replaced", "count_wrong", "color_gain",
        "color_rank", "color_rank_gain", "style_fit", "style_gain", "place_fit", "third_fit", "size_fit", "text_fit",
        "text_gain", WORDS, JUDGED,
    ),
    "contained": ("median_changed", "share_changed", "unmatched"),
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
