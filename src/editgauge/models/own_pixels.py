"""Models look at an edited picture in its own resolution; what they answer is reported in the source's frame.

Protocols compare pixels, so they are given the edited picture in the source's size. A detector that looked at that copy
would miss what shrinking hides: a row of cars in a picture of 1024 pixels that was brought down to 256.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

import cv2
import numpy as np

from editgauge.models.answers import SegmentPrompt

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from editgauge._util.images import Pixels
    from editgauge.models.answers import ClassMap, ClassScores, Detections, Faces, Instances, Poses, TextLines, Vector
    from editgauge.models.interfaces import Perception

See = TypeVar("See", bound="Perception")
WHOLE = frozenset({"patches", "embed_image", "joint_image", "fid_features", "caption"})
"""Questions about a whole picture, whose answers have no places in it."""


def in_own_pixels(see: See, resized: Pixels, original: Pixels | None) -> See:
    """The same models, which are shown the original wherever they are asked about its resized copy."""
    return see if original is None else cast("See", _OwnPixels(see, resized, original))


class _OwnPixels:
    """Passes every question on; one about the resized picture is put about the original."""

    def __init__(self, see: Perception, resized: Pixels, original: Pixels) -> None:
        self._see, self._resized, self._original = see, resized, original
        across, down = original.shape[1] / resized.shape[1], original.shape[0] / resized.shape[0]
        self._scale = np.array([across, down, across, down], np.float32)

    def __getattr__(self, name: str) -> Any:
        """What is not asked here is asked as it is, of the original where the answer has no places."""
        answer = getattr(self._see, name)
        if name not in WHOLE:
            return answer
        return lambda image, *rest, **options: answer(self._shown(image), *rest, **options)

    async def detect(
        self, image: Pixels, *phrases: str, least: float | None = None, compete: bool = False
    ) -> Detections:
        """As `Perception.detect`."""
        return self._placed(image, await self._see.detect(self._shown(image), *phrases, least=least, compete=compete))

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

    async def classes(self, image: Pixels) -> ClassMap:
        """As `Perception.classes`."""
        labeled = await self._see.classes(self._shown(image))
        if image is not self._resized:
            return labeled
        places = cv2.resize(labeled.places, self._size, interpolation=cv2.INTER_NEAREST)
        return replace(labeled, places=np.asarray(places, np.uint8))

    async def classify(self, image: Pixels, box: Sequence[float] | None = None) -> ClassScores:
        """As `Perception.classify`."""
        if image is self._resized and box is not None:
            box = (np.asarray(box, np.float32) * self._scale).tolist()
        return await self._see.classify(self._shown(image), box)

    async def read_text(self, image: Pixels) -> TextLines:
        """As `Perception.read_text`."""
        lines = await self._see.read_text(self._shown(image))
        return replace(lines, polygons=lines.polygons / self._scale[:2]) if image is self._resized else lines

    async def faces(self, image: Pixels) -> Faces:
        """As `Perception.faces`."""
        faces = await self._see.faces(self._shown(image))
        if image is not self._resized:
            return faces
        return replace(faces, boxes=faces.boxes / self._scale, points=faces.points / self._scale[:2])

    async def poses(self, image: Pixels) -> Poses:
        """As `Perception.poses`."""
        poses = await self._see.poses(self._shown(image))
        if image is not self._resized:
            return poses
        return replace(poses, boxes=poses.boxes / self._scale, joints=poses.joints / self._scale[:2])

    async def explain(self, image: Pixels, towards: Vector) -> NDArray[np.float32]:
        """As `Perception.explain`."""
        shares = await self._see.explain(self._shown(image), towards)
        if image is not self._resized:
            return shares
        return np.asarray(cv2.resize(shares, self._size, interpolation=cv2.INTER_LINEAR), np.float32)

    @property
    def _size(self) -> tuple[int, int]:
        """Width and height of the resized picture."""
        return self._resized.shape[1], self._resized.shape[0]

    def _shown(self, image: Pixels) -> Pixels:
        return self._original if image is self._resized else image

    def _placed(self, image: Pixels, seen: Detections) -> Detections:
        return replace(seen, boxes=seen.boxes / self._scale) if image is self._resized else seen

    def _resized_masks(self, image: Pixels, masks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        if image is not self._resized or not len(masks):
            return masks if image is not self._resized else np.zeros((0, *image.shape[:2]), np.bool_)
        return np.stack(
            [cv2.resize(mask.astype(np.uint8), self._size, interpolation=cv2.INTER_NEAREST) > 0 for mask in masks]
        )
