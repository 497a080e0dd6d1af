"""Did everything else stay? Compare source and edited image, whole and outside the edit's mask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import cv2
import numpy as np

from editgauge._util.images import Unit, as_unit
from editgauge._util.masks import BoolMask
from editgauge._vision.registration import Alignment, align
from editgauge.errors import BadInputError
from editgauge.evidence import Box, Evidence, Note, Region
from editgauge.metrics import metrics
from editgauge.protocols import Protocol, format_variant
from editgauge.protocols._comparison import COMPARISON_ROLES, ModelComparison, metric_specs
from editgauge.types import Item, Question, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.models.perception import Perception

METRICS = ("l1", "l2", "psnr", "ssim", "histogram_correlation", "edge_distance")
OUTSIDE_NOTE = "Outside the edit's mask."
MAIN_SCORES = frozenset({"ssim", "aligned_ssim"})
"""Outside the mask, the main scores for whether the rest was preserved."""
MIN_VISIBLE_CHANGE = 8 / 255
"""A change that a careful eye can see; smaller ones come with re-encoding."""


class Preservation(Protocol):
    """Reference implementation of a protocol."""

    name: str = "preservation"
    about = "Did everything else stay? Pixels, looks and content, on the whole picture and outside the edit's mask."
    paper = "Common practice; the metrics cite their papers."
    version = "3"
    deviations: tuple[str, ...] = ("An edited image of another size is resized to the source's size by Lanczos first.",)
    uses = COMPARISON_ROLES

    def __init__(self, models: Mapping[str, str] = MappingProxyType({}), extra_metrics: tuple[str, ...] = ()) -> None:
        self.name = format_variant("preservation", {"metrics": "+".join(extra_metrics)} if extra_metrics else {})
        self._extra_metrics = extra_metrics
        self._metrics = {name: metrics.get(name) for name in (*METRICS, *extra_metrics)}
        self._models = ModelComparison(models)
        whole_specs = [*metric_specs(self._metrics), *self._models.specs]
        self.scores: tuple[ScoreSpec, ...] = (*whole_specs, *map(outside_spec, whole_specs))

    def with_models(self, models: Mapping[str, str]) -> Preservation:
        """Return the protocol with a score per model that compares two images."""
        return Preservation(models, self._extra_metrics)

    def variant(self, options: Mapping[str, str]) -> Preservation:
        """Return `preservation[metrics=NAME+NAME]`, with further metrics, such as those of a plug-in."""
        names = tuple(name for name in options.get("metrics", "").split("+") if name)
        if set(options) != {"metrics"} or not names:
            raise BadInputError("preservation takes further metrics, such as preservation[metrics=my_metric+another].")
        return Preservation(extra_metrics=tuple(name for name in dict.fromkeys(names) if name not in METRICS))

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Compare the whole images, and the images with the edited region put back."""
        before, after = as_unit(item.source), as_unit(item.edited)
        scores: dict[str, Score | Unscored] = {
            name: Score(metric(before, after), _size_note(item) if name == "l1" else ())
            for name, metric in self._metrics.items()
        }
        scores |= await self._models.compare(item.source, item.edited, perception)
        nothing_outside = reason_without_outside(item.mask)
        if item.mask is None or nothing_outside:
            return add_unscored_outside(scores, nothing_outside)
        outside = ~item.mask
        # What the edit itself changed is put back first, or windows across the mask's edge would see it.
        restored = np.where(outside[..., np.newaxis], item.edited, item.source)
        restored_unit = as_unit(restored)
        for name, metric in self._metrics.items():
            evidence = _change_evidence(before, after, outside) if name == "l1" else ()
            scores[f"{name}_outside"] = Score(metric(before, restored_unit, outside), evidence)
        similarities = await self._models.compare(item.source, restored, perception)
        return scores | {f"{name}_outside": score for name, score in similarities.items()}


def outside_spec(spec: ScoreSpec) -> ScoreSpec:
    """Return the specification of the same score outside the mask."""
    question: Question | None = "kept" if spec.name in MAIN_SCORES else None
    return replace(spec, name=f"{spec.name}_outside", about=f"{spec.about} {OUTSIDE_NOTE}", question=question)


def add_unscored_outside(scores: Scores, reason: str) -> Scores:
    """Add unscored entries outside the mask to the scores of the whole image."""
    return {**scores, **{f"{name}_outside": Unscored("not_applicable", reason) for name in scores}}


def reason_without_outside(mask: BoolMask | None) -> str:
    """Return why nothing can be compared outside the mask, or an empty string; in a black mask, nothing may change."""
    if mask is None:
        return "the edit has no mask"
    return "the edit's mask covers the whole picture" if mask.all() else ""


def _size_note(item: Item) -> tuple[Evidence, ...]:
    if item.resized_from is None:
        return ()
    height, width = item.source.shape[:2]
    was = "{} x {}".format(*item.resized_from)
    return (Note(f"The edited image was {was} and was resized to the source's {width} x {height}."),)


def _change_evidence(before: Unit, after: Unit, outside: BoolMask) -> tuple[Evidence, ...]:
    """Return the mask, the changed fraction outside of it, and the largest change."""
    red, green, blue = cv2.split(cv2.absdiff(before, after))
    change: Unit = np.asarray(cv2.max(cv2.max(red, green), blue), np.float32) * outside
    changed_fraction = float((change > MIN_VISIBLE_CHANGE).sum() / outside.sum())
    evidence: list[Evidence] = [
        Region("source", ~outside, "may change"),
        Note(f"{changed_fraction:.1%} of the pixels outside the mask changed visibly."),
    ]
    if changed_fraction > 0:
        evidence.append(_largest_change(change))
    return tuple(evidence)


def _largest_change(change: Unit) -> Box:
    """Return the square, an eighth of the image wide, with the largest change."""
    height, width = change.shape
    side = max(1, min(height, width) // 8)
    mean = cv2.blur(change, (side, side), borderType=cv2.BORDER_CONSTANT)
    row, column = divmod(int(mean.argmax()), width)
    left = float(np.clip(column - side // 2, 0, width - side))
    top = float(np.clip(row - side // 2, 0, height - side))
    return Box("edited", left, top, left + side, top + side, "largest change outside the mask")


ALIGNED_NOTE = "The edited picture is aligned with its source first."


class PreservationAligned(Protocol):
    """Scores of `preservation` in the source's frame, with the prefix `aligned_`.

    An editor that crops, scales or shifts the frame by a few pixels moves every pixel, which metrics of pixels take for
    a loss of everything. Here it costs only the strip that left the frame.
    """

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


preservation = Preservation()
preservation_aligned = PreservationAligned()
