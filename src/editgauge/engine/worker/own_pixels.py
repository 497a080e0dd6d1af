"""Models look at an edited picture in its own resolution; what they answer is reported in the source's frame.

Protocols compare pixels, so they are given the edited picture in the source's size. A detector that looked at that copy
would miss what shrinking hides: a row of cars in a picture of 1024 pixels that was brought down to 256.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import cv2
import numpy as np

from editgauge.models.answers import SegmentPrompt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from editgauge.core.images import Pixels
    from editgauge.core.types import Item
    from editgauge.models.answers import ClassScores, Detections, Instances
    from editgauge.protocols import Sight

WHOLE = frozenset({"patches", "embed_image", "joint_image", "caption"})
"""Questions about a whole picture, whose answers have no places in it."""


def in_own_pixels(see: Sight, item: Item) -> Sight:
    """The same models, which are shown the edited picture as the method made it."""
    return see if item.original is None else cast("Sight", _OwnPixels(see, item.edited, item.original))


class _OwnPixels:
    """Passes every question on; one about the resized picture is put about the original."""

    def __init__(self, see: Sight, resized: Pixels, original: Pixels) -> None:
        self._see, self._resized, self._original = see, resized, original
        across, down = original.shape[1] / resized.shape[1], original.shape[0] / resized.shape[0]
        self._scale = np.array([across, down, across, down], np.float32)

    def __getattr__(self, name: str) -> Any:
        """What is not asked here is asked as it is, of the original where the answer has no places."""
        answer = getattr(self._see, name)
        if name not in WHOLE:
            return answer
        return lambda image, *rest, **options: answer(self._shown(image), *rest, **options)

    async def detect(self, image: Pixels, *phrases: str, least: float | None = None) -> Detections:
        """As `Perception.detect`."""
        return self._placed(image, await self._see.detect(self._shown(image), *phrases, least=least))

    async def detect_all(self, image: Pixels, least: float | None = None) -> Detections:
        """As `Perception.detect_all`."""
        return self._placed(image, await self._see.detect_all(self._shown(image), least))

    async def instances(self, image: Pixels, *phrases: str, least: float | None = None) -> Instances:
        """As `Perception.instances`."""
        seen = await self._see.instances(self._shown(image), *phrases, least=least)
        return replace(
            seen, detections=self._placed(image, seen.detections), masks=self._resized_masks(image, seen.masks)
        )

    async def segment(self, image: Pixels, prompt: SegmentPrompt) -> NDArray[np.bool_]:
        """As `Perception.segment`."""
        if image is not self._resized:
            return await self._see.segment(image, prompt)
        boxes = None if prompt.boxes is None else prompt.boxes * self._scale
        points = None if prompt.points is None else prompt.points * self._scale[:2]
        return self._resized_masks(image, await self._see.segment(self._original, SegmentPrompt(boxes, points)))

    async def classify(self, image: Pixels, box: Sequence[float] | None = None) -> ClassScores:
        """As `Perception.classify`."""
        if image is self._resized and box is not None:
            box = (np.asarray(box, np.float32) * self._scale).tolist()
        return await self._see.classify(self._shown(image), box)

    def _shown(self, image: Pixels) -> Pixels:
        return self._original if image is self._resized else image

    def _placed(self, image: Pixels, seen: Detections) -> Detections:
        return replace(seen, boxes=seen.boxes / self._scale) if image is self._resized else seen

    def _resized_masks(self, image: Pixels, masks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        if image is not self._resized or not len(masks):
            return masks if image is not self._resized else np.zeros((0, *image.shape[:2]), np.bool_)
        size = image.shape[1], image.shape[0]
        return np.stack(
            [cv2.resize(mask.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0 for mask in masks]
        )
