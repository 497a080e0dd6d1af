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
from editgauge.errors import BadInputError
from editgauge.evidence import Box, Evidence, Note, Region
from editgauge.metrics import metrics
from editgauge.protocols import Protocol, format_variant
from editgauge.protocols._comparison import COMPARISON_ROLES, ModelComparison, metric_specs
from editgauge.types import Item, Question, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
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


preservation = Preservation()
