"""Did everything else stay, except for the frame? The edited picture is aligned with its source first, then compared.

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
from editgauge.protocols._comparison import COMPARERS, Comparers, metric_specs
from editgauge.protocols.preservation import METRICS, outside_the_mask, why_nothing_outside, without_outside
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge._util.masks import BoolMask
    from editgauge.models.interfaces import Perception

LAID_BACK = "The edited picture is aligned with its source first."


class PreservationAligned(Protocol):
    """The scores of `preservation` in the source's frame, each under its name with `aligned_` before it."""

    name = "preservation-aligned"
    about = "Did everything else stay, apart from a frame that was shifted, cropped or scaled a little?"
    paper = "Common practice after image registration; the metrics cite their papers."
    version = "2"
    deviations: tuple[str, ...] = (
        "An edited image of another size is resized to the source's size by Lanczos first.",
        "What the moved frame no longer shows is not compared.",
        "Where no common frame is certain, the pictures are compared as they are, and the evidence says so.",
    )
    uses = COMPARERS

    def __init__(self, models: Mapping[str, str] = MappingProxyType({})) -> None:
        self._metrics = {name: metrics.get(name) for name in METRICS}
        self._seen = Comparers(models)
        raw = [*metric_specs(METRICS), *self._seen.specs]
        whole = [replace(spec, name=f"aligned_{spec.name}", about=f"{spec.about} {LAID_BACK}") for spec in raw]
        self.scores: tuple[ScoreSpec, ...] = (*whole, *map(outside_the_mask, whole))

    def with_models(self, models: Mapping[str, str]) -> PreservationAligned:
        """With a score for each model that can compare two pictures, under the model's own name."""
        return PreservationAligned(models)

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Every metric and every model twice, in the source's frame: on all that is shown, and outside the mask."""
        alignment = align(item.source, item.edited)
        edited, shown = in_frame(alignment, item.edited)
        whole = await self._compared(item.source, edited, shown, perception)
        whole["aligned_l1"] = replace(whole["aligned_l1"], evidence=(alignment_note(alignment),))
        nothing_outside = why_nothing_outside(item.mask)
        if item.mask is None or nothing_outside:
            return without_outside(whole, nothing_outside)
        counted = shown & ~item.mask
        if not counted.any():
            return without_outside(whole, "the edited image shows nothing outside the edit's mask")
        outside = await self._compared(item.source, edited, counted, perception)
        return whole | {f"{name}_outside": score for name, score in outside.items()}

    async def _compared(
        self, source: Pixels, edited: Pixels, counted: BoolMask, perception: Perception
    ) -> dict[str, Score | Unscored]:
        # What does not count is put back first, or windows across its edge, and networks, would see it.
        put_back = edited if counted.all() else np.where(counted[..., np.newaxis], edited, source)
        before, after = as_unit(source), as_unit(put_back)
        where = None if counted.all() else counted
        scores: dict[str, Score | Unscored] = {
            name: Score(metric(before, after, where)) for name, metric in self._metrics.items()
        }
        scores |= await self._seen.compare(source, put_back, perception)
        return {f"aligned_{name}": score for name, score in scores.items()}


def in_frame(alignment: Alignment, edited: Pixels) -> tuple[Pixels, BoolMask]:
    """The edited picture in the source's frame, and where it shows something; as it is where no frame is certain."""
    if alignment.found:
        return alignment.aligned, alignment.valid
    return edited, np.ones(edited.shape[:2], dtype=np.bool_)


def alignment_note(alignment: Alignment) -> Evidence:
    """A sentence on how the frame moved, and how certain that is."""
    share = f"{alignment.confidence:.0%} of the source's texture is found at its place"
    if not alignment.found:
        return Note(f"No common frame is certain ({share}): compared as it is.")
    if not alignment.moved:
        return Note(f"The frame stayed: {share}.")
    (across, _, right), (_, down, below) = alignment.matrix.tolist()
    height, width = alignment.valid.shape
    x, y = (across - 1) * width / 2 + right, (down - 1) * height / 2 + below
    lost = 1 - float(alignment.valid.mean())
    scaled = "" if abs(across - 1) < 0.001 and abs(down - 1) < 0.001 else f", scaled to {across:.1%} by {down:.1%}"
    return Note(
        f"The frame moved by {x:+.1f} pixels to the right and {y:+.1f} down{scaled}; {share}, "
        f"{lost:.1%} of the source is out of the frame."
    )


preservation_aligned = PreservationAligned()
