"""SAM 2 (Ravi et al. 2024), hiera-tiny, run by onnxruntime: the outline of what is in a box or under a point.

The encoder takes seconds an image and sees it once; each box or point then takes a tenth of a second. Of the three
masks that the decoder offers, the one it holds to be the best is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask
from editgauge.models.answers import Features, SegmentPrompt
from editgauge.models.lite._runtime import FromCatalog, card_of, imagenet_scaled, onnx_session
from editgauge.models.roles import ModelCard

NAME = "sam2-tiny"
ID = "SAM 2 hiera-tiny"
ENCODER = "sam2_hiera_tiny_encoder.with_runtime_opt.ort"
DECODER = "sam2_hiera_tiny_decoder_pr1.onnx"
SIDE = 1024
MASK_SIDE = 256
POINT, TOP_LEFT, BOTTOM_RIGHT = 1.0, 2.0, 3.0
"""How the decoder is told what a coordinate stands for."""


class Sam2Tiny(FromCatalog):
    """Role `segmenter`: accurate masks; several seconds per image."""

    batch = 1
    weights = (NAME,)

    @property
    def card(self) -> ModelCard:
        """Identity of the model."""
        return card_of(NAME, "segmenter", ID, (SIDE, SIDE), resize="bilinear, to the whole square")

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Encode each image and record its height and width."""
        return [self._look(image) for image in images]

    def cut(self, questions: Sequence[tuple[Features, SegmentPrompt]]) -> list[NDArray[np.bool_]]:
        """Return one mask per box or point, in the size of the image."""
        return [self._cut(features, prompt) for features, prompt in questions]

    def _look(self, image: Pixels) -> Features:
        square = np.asarray(cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR), np.uint8)
        names = [output.name for output in self._encoder.get_outputs()]
        features = self._encoder.run(names, {"image": imagenet_scaled(square)})
        return {"size": np.array(image.shape[:2]), **dict(zip(names, features, strict=True))}

    def _cut(self, features: Features, prompt: SegmentPrompt) -> NDArray[np.bool_]:
        height, width = features["size"].tolist()
        scale = np.array([SIDE / width, SIDE / height], np.float32)
        kinds = (POINT,) if prompt.boxes is None else (TOP_LEFT, BOTTOM_RIGHT)
        prompts = np.asarray(prompt.points if prompt.boxes is None else prompt.boxes).reshape(-1, len(kinds), 2)
        masks = np.zeros((len(prompts), height, width), np.bool_)
        for index, corners in enumerate(prompts):
            masks[index] = self._mask(features, (corners * scale).astype(np.float32), kinds, width, height)
        return masks

    def _mask(
        self, features: Features, corners: NDArray[np.float32], kinds: tuple[float, ...], width: int, height: int
    ) -> BoolMask:
        """Segment one prompt; a batch would hold all masks in memory at once."""
        offered, quality = self._decoder.run(
            ["masks", "iou_predictions"],
            {
                **{name: feature for name, feature in features.items() if name != "size"},
                "point_coords": corners[np.newaxis],
                "point_labels": np.array([kinds], np.float32),
                "mask_input": np.zeros((1, 1, MASK_SIDE, MASK_SIDE), np.float32),
                "has_mask_input": np.zeros(1, np.float32),
            },
        )
        best = offered[0, int(quality[0].argmax())]
        return np.asarray(cv2.resize(best, (width, height), interpolation=cv2.INTER_LINEAR) > 0)

    @cached_property
    def _encoder(self) -> Any:
        return onnx_session(self._file(ENCODER), ID, self._threads)

    @cached_property
    def _decoder(self) -> Any:
        return onnx_session(self._file(DECODER), ID, self._threads)
