"""Detectors of the 80 classes of COCO: EfficientDet-Lite and SSD-MobileNetV2."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from editgauge._util.images import Pixels
from editgauge.errors import UnscorableError
from editgauge.models.answers import Detections, Features
from editgauge.models.lite._runtime import FromCatalog, litert, litert_outputs
from editgauge.models.vocabulary import resolve
from editgauge.models.vocabulary._words import coco_words

Boxes = NDArray[np.float32]
"""One row per object: left, top, right, bottom."""


class CocoDetector(FromCatalog, ABC):
    """Role `detector`: the 80 classes of COCO.

    The whole image is pressed into the network's square. Keeping its shape and filling the rest was not clearly
    better on 65 photographs (`docs/explanation/operating-points.md`).
    """

    role = "detector"
    name: str
    """Of its weights in the catalog."""
    id: str
    side: int
    """Of the square that the network sees."""
    operating_point: float
    batch = 8

    def _settings(self) -> dict[str, str | int | float]:
        return {"operating_point": self.operating_point, "resize": "bilinear, to the whole square"}

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The 80 class names."""
        return tuple(coco_words().values())

    def word_for(self, phrase: str) -> str:
        """Map a phrase to a COCO class; raise `UnscorableError` when there is none."""
        return resolve(phrase, self.vocabulary).word

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """Return all detections of each image: boxes, confidences and COCO category ids."""
        return [self._look(image) for image in images]

    def find(self, questions: Sequence[tuple[Features, tuple[str, ...]]]) -> list[Detections]:
        """Return the detections of each question's words, most confident first."""
        return [_of_words(features, words) for features, words in questions]

    def _look(self, image: Pixels) -> Features:
        square = Image.fromarray(image).resize((self.side, self.side), Image.Resampling.BILINEAR)
        parts, confidences, numbers = self._run(np.asarray(square, dtype=np.uint8))
        height, width = image.shape[:2]
        boxes = (np.clip(parts, 0, 1) * (width, height, width, height)).astype(np.float32)
        is_valid = (boxes[:, 2:] > boxes[:, :2]).all(axis=1) & np.isin(numbers, list(coco_words()))
        order = np.flatnonzero(is_valid)[np.argsort(-confidences[is_valid], kind="stable")]
        return {
            "boxes": boxes[order],
            "confidences": confidences[order].astype(np.float32),
            "numbers": numbers[order].astype(np.int16),
        }

    @abstractmethod
    def _run(self, square: Pixels) -> tuple[Boxes, NDArray[np.float32], NDArray[np.int64]]:
        """Return boxes relative to the square, confidences and COCO category ids."""


def _of_words(features: Features, words: tuple[str, ...]) -> Detections:
    ids = {word: number for number, word in coco_words().items()}
    if unknown := [word for word in words if word not in ids]:
        raise UnscorableError("unknown_word", f"the detector has no word {', '.join(map(repr, unknown))}")
    indices = np.flatnonzero(np.isin(features["numbers"], [ids[word] for word in words]))
    labels = tuple(coco_words()[number] for number in features["numbers"][indices].tolist())
    return Detections(features["boxes"][indices], features["confidences"][indices], labels, labels)


BOXES, NUMBERS, CONFIDENCES, COUNT = (f"StatefulPartitionedCall:{index}" for index in (3, 2, 1, 0))


class _EfficientDet(CocoDetector):
    @cached_property
    def _network(self) -> Any:
        return litert(self._file(f"{self.name}.tflite"), self.id, self._threads)

    def _run(self, square: Pixels) -> tuple[Boxes, NDArray[np.float32], NDArray[np.int64]]:
        outputs = litert_outputs(self._network, square)
        count = int(outputs[COUNT])
        top_left_bottom_right = outputs[BOXES][:count]
        numbers = outputs[NUMBERS][:count].astype(np.int64) + 1  # the network counts from 0, COCO from 1
        return top_left_bottom_right[:, [1, 0, 3, 2]], outputs[CONFIDENCES][:count], numbers


class EfficientDetLite2(_EfficientDet):
    """COCO's 80 classes in less than 0.1 s per image on one core."""

    name = "efficientdet-lite2"
    weights = (name,)
    id = "EfficientDet-Lite2"
    side = 448
    operating_point = 0.25


class EfficientDetLite0(_EfficientDet):
    """The smaller variant: twice as fast, with lower recall."""

    name = "efficientdet-lite0"
    weights = (name,)
    id = "EfficientDet-Lite0"
    side = 320
    operating_point = 0.3


GRAPH = "frozen_inference_graph.pb"
TEXT = "ssd_mobilenet_v2_coco_2018_03_29.pbtxt"


class SsdMobileNetV2(CocoDetector):
    """COCO's 80 classes: at most 100 detections per image, from a confidence of 0.01."""

    name = "ssd-mobilenet-v2"
    weights = (name,)
    id = "SSD-MobileNetV2 (COCO, 2018-03-29)"
    side = 300
    operating_point = 0.3

    @cached_property
    def _net(self) -> Any:
        import cv2

        folder = self._file(GRAPH).parent
        return cv2.dnn.readNetFromTensorflow(str(folder / GRAPH), str(folder / TEXT))

    def _run(self, square: Pixels) -> tuple[Boxes, NDArray[np.float32], NDArray[np.int64]]:
        import cv2

        self._net.setInput(cv2.dnn.blobFromImage(square))
        rows = self._net.forward()[0, 0]  # image, number, confidence, left, top, right, bottom
        return rows[:, 3:7], rows[:, 2], rows[:, 1].astype(np.int64)
