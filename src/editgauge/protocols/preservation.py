"""Did everything else stay? Pixel metrics between source and edited image, whole and outside the edit's mask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

from editgauge.core.evidence import Box, Evidence, Note, Region
from editgauge.core.images import Unit, as_unit
from editgauge.core.masks import BoolMask
from editgauge.core.types import Item, Score, Scores, ScoreSpec, Unscored
from editgauge.metrics import metrics

if TYPE_CHECKING:
    from editgauge.perception.interfaces import Perception

METRICS = ("l1", "l2", "psnr", "ssim", "histogram_correlation", "edge_distance")
VISIBLE = 8 / 255
"""A change a careful eye can see; smaller ones come with re-encoding."""


class Preservation:
    """The first citizen, and the example for other protocols."""

    name = "preservation"
    about = "Did everything else stay? Pixel metrics on the whole picture and outside the edit's mask."
    paper = "Common practice; the metrics cite their papers."
    version = "1"
    deviations: tuple[str, ...] = ("An edited image of another size is resized to the source's size by Lanczos first.",)

    def __init__(self) -> None:
        self._metrics = {name: metrics.get(name) for name in METRICS}
        infos = [metric.info for metric in self._metrics.values()]
        whole = (ScoreSpec(info.name, info.higher_is_better, info.range, info.about) for info in infos)
        outside = (
            ScoreSpec(
                f"{info.name}_outside", info.higher_is_better, info.range, f"{info.about} Outside the edit's mask."
            )
            for info in infos
        )
        self.scores: tuple[ScoreSpec, ...] = (*whole, *outside)

    async def score(self, item: Item, see: Perception) -> Scores:
        """Every metric twice; nothing is asked of perception."""
        before, after = as_unit(item.source), as_unit(item.edited)
        scores: dict[str, Score | Unscored] = {
            name: Score(metric(before, after), _about_size(item) if name == "l1" else ())
            for name, metric in self._metrics.items()
        }
        nothing_outside = _why_nothing_outside(item.mask)
        if item.mask is None or nothing_outside:
            return scores | {f"{name}_outside": Unscored("not_applicable", nothing_outside) for name in self._metrics}
        outside = ~item.mask
        # What the edit itself changed is put back first, or windows across the mask's edge would see it.
        put_back = np.where(outside[..., np.newaxis], after, before)
        for name, metric in self._metrics.items():
            evidence = _what_changed(before, after, outside) if name == "l1" else ()
            scores[f"{name}_outside"] = Score(metric(before, put_back, outside), evidence)
        return scores


def _why_nothing_outside(mask: BoolMask | None) -> str:
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
    change = np.abs(before - after).max(axis=2) * outside
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
