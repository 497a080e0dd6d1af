"""Did everything else stay? Metrics and networks compare source and edited image, whole and outside the edit's mask."""

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
from editgauge.protocols import Protocol, variant_name
from editgauge.protocols._comparison import COMPARERS, Comparers, metric_specs
from editgauge.types import Item, Question, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.models.interfaces import Perception

METRICS = ("l1", "l2", "psnr", "ssim", "histogram_correlation", "edge_distance")
OUTSIDE = "Outside the edit's mask."
MAIN = frozenset({"ssim", "aligned_ssim"})
"""Outside the mask, the main answer to whether the rest was kept."""
VISIBLE = 8 / 255
"""A change a careful eye can see; smaller ones come with re-encoding."""


class Preservation(Protocol):
    """The first citizen, and the example for other protocols."""

    name: str = "preservation"
    about = "Did everything else stay? Pixels, looks and content, on the whole picture and outside the edit's mask."
    paper = "Common practice; the metrics cite their papers."
    version = "2"
    deviations: tuple[str, ...] = ("An edited image of another size is resized to the source's size by Lanczos first.",)
    uses = COMPARERS

    def __init__(self, models: Mapping[str, str] = MappingProxyType({}), more: tuple[str, ...] = ()) -> None:
        self.name = variant_name("preservation", {"metrics": "+".join(more)} if more else {})
        self._more = more
        self._metrics = {name: metrics.get(name) for name in (*METRICS, *more)}
        self._seen = Comparers(models)
        whole = [*metric_specs(self._metrics), *self._seen.specs]
        self.scores: tuple[ScoreSpec, ...] = (*whole, *map(outside_the_mask, whole))

    def with_models(self, models: Mapping[str, str]) -> Preservation:
        """With a score for each model that can compare two pictures, under the model's own name."""
        return Preservation(models, self._more)

    def variant(self, options: Mapping[str, str]) -> Preservation:
        """`preservation[metrics=NAME+NAME]`: with further metrics, such as those of a plug-in."""
        wanted = tuple(name for name in options.get("metrics", "").split("+") if name)
        if set(options) != {"metrics"} or not wanted:
            raise BadInputError("preservation takes further metrics, such as preservation[metrics=my_metric+another].")
        return Preservation(more=tuple(name for name in dict.fromkeys(wanted) if name not in METRICS))

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Every metric and every model twice: on the whole picture, and with the edited part put back."""
        before, after = as_unit(item.source), as_unit(item.edited)
        scores: dict[str, Score | Unscored] = {
            name: Score(metric(before, after), _about_size(item) if name == "l1" else ())
            for name, metric in self._metrics.items()
        }
        scores |= await self._seen.compare(item.source, item.edited, perception)
        nothing_outside = why_nothing_outside(item.mask)
        if item.mask is None or nothing_outside:
            return without_outside(scores, nothing_outside)
        outside = ~item.mask
        # What the edit itself changed is put back first, or windows across the mask's edge would see it.
        put_back = np.where(outside[..., np.newaxis], item.edited, item.source)
        unit = as_unit(put_back)
        for name, metric in self._metrics.items():
            evidence = _what_changed(before, after, outside) if name == "l1" else ()
            scores[f"{name}_outside"] = Score(metric(before, unit, outside), evidence)
        seen = await self._seen.compare(item.source, put_back, perception)
        return scores | {f"{name}_outside": score for name, score in seen.items()}


def outside_the_mask(spec: ScoreSpec) -> ScoreSpec:
    """The same score, of what lies outside the mask."""
    question: Question | None = "kept" if spec.name in MAIN else None
    return replace(spec, name=f"{spec.name}_outside", about=f"{spec.about} {OUTSIDE}", question=question)


def without_outside(whole: Scores, why: str) -> Scores:
    """The scores of the whole picture, and why there are none outside the mask."""
    return {**whole, **{f"{name}_outside": Unscored("not_applicable", why) for name in whole}}


def why_nothing_outside(mask: BoolMask | None) -> str:
    """Why a mask leaves nothing to compare outside of it; empty when it does leave something."""
    if mask is None:
        return "the edit has no mask"
    if not mask.any():
        return "the edit's mask is empty: nothing says what may change"
    return "the edit's mask covers the whole picture" if mask.all() else ""


def _about_size(item: Item) -> tuple[Evidence, ...]:
    if item.resized_from is None:
        return ()
    height, width = item.source.shape[:2]
    was = "{} x {}".format(*item.resized_from)
    return (Note(f"The edited image was {was} and was resized to the source's {width} x {height}."),)


def _what_changed(before: Unit, after: Unit, outside: BoolMask) -> tuple[Evidence, ...]:
    """The mask, how much of the rest changed visibly, and where most."""
    red, green, blue = cv2.split(cv2.absdiff(before, after))
    change: Unit = np.asarray(cv2.max(cv2.max(red, green), blue), np.float32) * outside
    share = float((change > VISIBLE).sum() / outside.sum())
    evidence: list[Evidence] = [
        Region("source", ~outside, "may change"),
        Note(f"{share:.1%} of the pixels outside the mask changed visibly."),
    ]
    if share > 0:
        evidence.append(_where_most(change))
    return tuple(evidence)


def _where_most(change: Unit) -> Box:
    """The square, an eighth of the picture wide, in which the picture changed most."""
    height, width = change.shape
    side = max(1, min(height, width) // 8)
    mean = cv2.blur(change, (side, side), borderType=cv2.BORDER_CONSTANT)
    row, column = divmod(int(mean.argmax()), width)
    left = float(np.clip(column - side // 2, 0, width - side))
    top = float(np.clip(row - side // 2, 0, height - side))
    return Box("edited", left, top, left + side, top + side, "largest change outside the mask")


preservation = Preservation()
