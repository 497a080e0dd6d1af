"""Paint over the corner mark that DALL·E leaves in its images, so that neither judges nor detectors see it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import cv2
import numpy as np

from editgauge._util.images import ImageArray, Pixels
from editgauge.protocols import Protocol, SetPart, format_variant, parse_variant
from editgauge.types import Edit, Item, Scores

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception

MARK_LEFT, MARK_TOP = 0.921, 0.983
"""Where the mark begins, as fractions of width and height; it ends in the lower right corner."""
INPAINT_RADIUS = 3  # pixels
OPTION = "mask_watermark"
NOTE = "The lower right corner, where DALL·E leaves its mark, is painted over in both pictures."


def mask_watermark(image: Pixels) -> Pixels:
    """Return the image with its lower right corner painted over from the pixels around it.

    Args:
        image: height x width x 3, uint8

    """
    height, width = image.shape[:2]
    mark = np.zeros((height, width), np.uint8)
    mark[int(height * MARK_TOP) :, int(width * MARK_LEFT) :] = 255
    return np.asarray(cv2.inpaint(np.ascontiguousarray(image), mark, INPAINT_RADIUS, cv2.INPAINT_TELEA), np.uint8)


def without_watermark(item: Item) -> Item:
    """Return the item with the mark painted over in both images, in the edited one also at its native size."""
    native = None if item.original is None else mask_watermark(item.original)
    edited = ImageArray(mask_watermark(item.edited), native)
    return replace(item, source=ImageArray(mask_watermark(item.source)), edited=edited, notes=(*item.notes, NOTE))


class WatermarkMasked(Protocol):
    """A protocol on images whose corner mark is painted over: `artifacts[mask_watermark]`."""

    def __init__(self, protocol: Protocol) -> None:
        base, options = parse_variant(protocol.name)
        self.name = format_variant(base, {**options, OPTION: ""})
        self.about, self.paper, self.version = protocol.about, protocol.paper, protocol.version
        self.deviations = (*protocol.deviations, NOTE)
        self.scores, self.sets = protocol.scores, protocol.sets
        self.needs, self.prefers, self.uses = protocol.needs, protocol.prefers, protocol.uses
        self.judge, self.grader = protocol.judge, protocol.grader
        self.takes_inputs = protocol.takes_inputs
        self._protocol = protocol

    async def score(self, item: Item, perception: JudgingPerception) -> Scores:
        """Score the item without the mark."""
        return await self._protocol.score(without_watermark(item), perception)

    def questions_at_most(self, edit: Edit, outcomes: int) -> Mapping[str, int]:
        """Return the bound of the protocol."""
        return self._protocol.questions_at_most(edit, outcomes)

    async def part(self, item: Item, perception: JudgingPerception) -> SetPart:
        """Return what the scores of a set need from the item without the mark."""
        return await self._protocol.part(without_watermark(item), perception)

    def score_set(self, parts: Sequence[SetPart]) -> Scores:
        """Return the scores of a set."""
        return self._protocol.score_set(parts)

    def with_models(self, models: Mapping[str, str]) -> WatermarkMasked:
        """Return the protocol for these models."""
        return WatermarkMasked(self._protocol.with_models(models))

    def worded(self, wording: str, prompts: Collection[str]) -> WatermarkMasked:
        """Return the protocol with the user's own prompts."""
        return WatermarkMasked(self._protocol.worded(wording, prompts))
