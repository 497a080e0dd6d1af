"""DeepLabV3 (Chen et al. 2017) on MobileNetV2, run by LiteRT: 20 kinds of things, and the rest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import cv2
import numpy as np

from editgauge._util.images import Pixels
from editgauge.models.answers import ClassMap
from editgauge.models.lite._runtime import FromCatalog, card_of, litert, litert_outputs
from editgauge.models.roles import ModelCard
from editgauge.models.weights import weights_of

NAME = "deeplab-v3"
ID = "DeepLabV3-MobileNetV2"
SIDE = 257
CLASSES = (
    *("background", "airplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("dining table", "dog", "horse", "motorcycle", "person", "potted plant", "sheep", "couch", "train", "tv"),
)
"""Those of PASCAL VOC in the order of the network's outputs, in the words of COCO where the two differ."""


class DeepLabV3(FromCatalog):
    """Role `semantic_segmenter`: coarse masks of 20 classes; 0.02 s per image."""

    batch = 8
    weights = (NAME,)

    @property
    def card(self) -> ModelCard:
        """Identity of the model."""
        return card_of(NAME, "semantic_segmenter", ID, (SIDE, SIDE), resize="bilinear, to the whole square")

    def label(self, images: Sequence[Pixels]) -> list[ClassMap]:
        """Return the class of every pixel of each image."""
        return [ClassMap(self._labels(image), CLASSES) for image in images]

    def _labels(self, image: Pixels) -> Pixels:
        square = cv2.resize(image, (SIDE, SIDE), interpolation=cv2.INTER_LINEAR).astype(np.float32) / 127.5 - 1
        scores, *_ = litert_outputs(self._network, square).values()
        return np.asarray(
            cv2.resize(scores, image.shape[1::-1], interpolation=cv2.INTER_LINEAR).argmax(axis=2), dtype=np.uint8
        )

    @cached_property
    def _network(self) -> Any:
        return litert(self._weights or weights_of(NAME).path("deeplabv3.tflite"), ID, self._threads)
