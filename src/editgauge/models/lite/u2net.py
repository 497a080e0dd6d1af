"""U²-Net, small (Qin et al. 2020): what stands out in an image, or in the part of it that a box names.

The network was made for squares of 320 pixels. Around one object it does as well with 160, in a quarter of the time:
`docs/decisions/0011-lite-segmenter.md` has the figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask
from editgauge.errors import UnscorableError
from editgauge.models.answers import ClassMap, Features, SegmentPrompt
from editgauge.models.lite._runtime import FromCatalog, card_of, imagenet_scaled, library, onnx_session
from editgauge.models.roles import ModelCard
from editgauge.models.weights import weights_of

NAME = "u2netp"
ID = "U2-Net-p"
SIDE_OF_A_BOX = 160
SIDE_OF_A_PICTURE = 320
MARGIN = 0.25
"""Of the box's width and height, seen on each side of it: an object stands out from something."""
SALIENCY_THRESHOLD = 0.5


class _U2Net(FromCatalog):
    side: int
    batch = 8
    weights = (NAME,)

    def outstanding(self, image: Pixels) -> NDArray[np.float32]:
        """Return the saliency of every pixel, scaled to 0 to 1 per image."""
        shrinks = min(image.shape[:2]) > self.side
        way = cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR
        square = np.asarray(cv2.resize(image, (self.side, self.side), interpolation=way), np.uint8)
        saliency = self._session.run(None, {self._session.get_inputs()[0].name: imagenet_scaled(square)})[0][0, 0]
        lowest, highest = saliency.min(), saliency.max()
        spread = (saliency - lowest) / max(highest - lowest, 1e-6)
        return np.asarray(cv2.resize(spread, image.shape[1::-1], interpolation=cv2.INTER_LINEAR), np.float32)

    @cached_property
    def _session(self) -> Any:
        path = self._weights or weights_of(NAME).path("u2netp.onnx")
        return onnx_session(_for_squares_of(self.side, path), ID, self._threads, one_size=True)


class U2NetBoxes(_U2Net):
    """Role `segmenter`: the salient object in a box. Points are not supported."""

    side = SIDE_OF_A_BOX

    @property
    def card(self) -> ModelCard:
        """Identity of the model."""
        return card_of(NAME, "segmenter", ID, (self.side, self.side), margin=MARGIN, threshold=SALIENCY_THRESHOLD)

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Return the images unchanged: the network only sees crops around boxes."""
        return [{"pixels": image} for image in images]

    def cut(self, questions: Sequence[tuple[Features, SegmentPrompt]]) -> list[NDArray[np.bool_]]:
        """Return one mask per box, in the size of the image and empty outside the box."""
        return [self._cut(features["pixels"], prompt) for features, prompt in questions]

    def _cut(self, image: Pixels, prompt: SegmentPrompt) -> NDArray[np.bool_]:
        if prompt.boxes is None:
            raise UnscorableError(
                "no_model", f"{ID} outlines what is in a box; for a point take the segmenter 'sam2-tiny'"
            )
        masks = np.zeros((len(prompt.boxes), *image.shape[:2]), np.bool_)
        for mask, box in zip(masks, prompt.boxes.tolist(), strict=True):
            self._fill(mask, image, box)
        return masks

    def _fill(self, mask: BoolMask, image: Pixels, box: list[float]) -> None:
        left, top, right, bottom = box
        across, down = MARGIN * (right - left), MARGIN * (bottom - top)
        rows, columns = _pixels_of([left, top, right, bottom], image)
        seen_rows, seen_columns = _pixels_of([left - across, top - down, right + across, bottom + down], image)
        if mask[rows, columns].size == 0:
            return
        everywhere = np.zeros(mask.shape, np.float32)
        everywhere[seen_rows, seen_columns] = self.outstanding(image[seen_rows, seen_columns])
        mask[rows, columns] = everywhere[rows, columns] > SALIENCY_THRESHOLD


class U2NetForeground(_U2Net):
    """Role `semantic_segmenter`: salient foreground and background."""

    side = SIDE_OF_A_PICTURE

    @property
    def card(self) -> ModelCard:
        """Identity of the model."""
        return card_of(NAME, "semantic_segmenter", ID, (self.side, self.side), threshold=SALIENCY_THRESHOLD)

    def label(self, images: Sequence[Pixels]) -> list[ClassMap]:
        """Segment foreground and background of each image."""
        maps = [(self.outstanding(image) > SALIENCY_THRESHOLD).astype(np.uint8) for image in images]
        return [ClassMap(labels, ("background", "foreground")) for labels in maps]


def _pixels_of(box: list[float], image: Pixels) -> tuple[slice, slice]:
    """Return the rows and columns of a box, clipped to the image."""
    left, top, right, bottom = (round(item) for item in box)
    height, width = image.shape[:2]
    return slice(max(top, 0), max(min(bottom, height), 0)), slice(max(left, 0), max(min(right, width), 0))


def _for_squares_of(side: int, path: Path) -> bytes:
    """Change the input size: every layer is a convolution, only the file fixes 320 pixels.

    Of its seven outputs the first is kept, which joins the others.
    """
    network = library("onnx", ID).load(str(path))
    del network.graph.output[1:]
    for end in (network.graph.input[0], network.graph.output[0]):
        for axis in (2, 3):
            end.type.tensor_type.shape.dim[axis].dim_value = side
    content: bytes = network.SerializeToString()
    return content
