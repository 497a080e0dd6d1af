"""Did everything else stay, apart from the frame? Align the edited image with its source before comparing.

An editor that crops, scales or shifts the frame by a few pixels moves every pixel, and metrics of pixels call that a
loss of everything. Here it costs nothing but the strip that went out of the frame; `preservation` gives the raw scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from editgauge._util.images import as_unit
from editgauge._vision.registration import Alignment, align
from editgauge.evidence import Evidence, Note
from editgauge.metrics import metrics
from editgauge.protocols import Protocol
from editgauge.protocols._comparison import COMPARISON_ROLES, ModelComparison, metric_specs
from editgauge.protocols.preservation import METRICS, add_unscored_outside, outside_spec, reason_without_outside
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.models.perception import Perception

ALIGNED_NOTE = "The edited picture is aligned with its source first."


class PreservationAligned(Protocol):
    """Scores of `preservation` in the source's frame, with the prefix `aligned_`."""

    name = "preservation-aligned"
    about = "Did everything else stay, apart from a frame that was shifted, cropped or scaled a little?"
    paper = "Common practice after image registration; the metrics cite their papers."
    version = "3"
    deviations: tuple[str, ...] = (
        "An edited image of another size is resized to the source's size by Lanczos first.",
        "What the moved frame no longer shows is not compared.",
        "Where no common frame is certain, the pictures are compared as they are, and the evidence says so.",
    )
    uses = COMPARISON_ROLES

    def __init__(self, models: Mapping[str, str] = MappingProxyType({})) -> None:
        self._metrics = {name: metrics.get(name) for name in METRICS}
        self._models = ModelComparison(models)
        raw = [*metric_specs(METRICS), *self._models.specs]
        whole_specs = [replace(spec, name=f"aligned_{spec.name}", about=f"{spec.about} {ALIGNED_NOTE}") for spec in raw]
        self.scores: tuple[ScoreSpec, ...] = (*whole_specs, *map(outside_spec, whole_specs))

    def with_models(self, models: Mapping[str, str]) -> PreservationAligned:
        """Return the protocol with a score per model that compares two images."""
        return PreservationAligned(models)

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Compare in the source's frame: everything visible, and outside the mask."""
        alignment = align(item.source, item.edited)
        edited, visible = in_frame(alignment, item.edited)
        scores = await self._compared(item.source, edited, visible, perception)
        scores["aligned_l1"] = replace(scores["aligned_l1"], evidence=(alignment_note(alignment),))
        nothing_outside = reason_without_outside(item.mask)
        if item.mask is None or nothing_outside:
            return add_unscored_outside(scores, nothing_outside)
        compared_region = visible & ~item.mask
        if not compared_region.any():
            return add_unscored_outside(scores, "the edited image shows nothing outside the edit's mask")
        outside = await self._compared(item.source, edited, compared_region, perception)
        return scores | {f"{name}_outside": score for name, score in outside.items()}

    async def _compared(
        self, source: Pixels, edited: Pixels, compared_region: BoolMask, perception: Perception
    ) -> dict[str, Score | Unscored]:
        # What does not count is put back first, or windows across its edge, and networks, would see it.
        restored = edited if compared_region.all() else np.where(compared_region[..., np.newaxis], edited, source)
        before, after = as_unit(source), as_unit(restored)
        region = None if compared_region.all() else compared_region
        scores: dict[str, Score | Unscored] = {
            name: Score(metric(before, after, region)) for name, metric in self._metrics.items()
        }
        scores |= await self._models.compare(source, restored, perception)
        return {f"aligned_{name}": score for name, score in scores.items()}


def in_frame(alignment: Alignment, edited: Pixels) -> tuple[Pixels, BoolMask]:
    """Return the edited image in the source's frame and its visible region; unchanged if no frame is certain."""
    if alignment.found:
        return alignment.aligned, alignment.valid
    return edited, np.ones(edited.shape[:2], dtype=np.bool_)


def alignment_note(alignment: Alignment) -> Evidence:
    """Return a sentence on how the frame moved, and how certain that is."""
    matched = f"{alignment.confidence:.0%} of the source's texture is found at its place"
    if not alignment.found:
        return Note(f"No common frame is certain ({matched}): compared as it is.")
    if not alignment.moved:
        return Note(f"The frame stayed: {matched}.")
    (scale_x, _, shift_x), (_, scale_y, shift_y) = alignment.matrix.tolist()
    height, width = alignment.valid.shape
    x, y = (scale_x - 1) * width / 2 + shift_x, (scale_y - 1) * height / 2 + shift_y
    lost = 1 - float(alignment.valid.mean())
    scaled = (
        "" if abs(scale_x - 1) < 0.001 and abs(scale_y - 1) < 0.001 else f", scaled to {scale_x:.1%} by {scale_y:.1%}"
    )
    return Note(
        f"The frame moved by {x:+.1f} pixels to the right and {y:+.1f} down{scaled}; {matched}, "
        f"{lost:.1%} of the source is out of the frame."
    )


preservation_aligned = PreservationAligned()
