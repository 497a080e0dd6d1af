"""What the small detectors share: one look at a picture, and answers filtered from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from editgauge._util.images import Pixels
from editgauge.errors import UnscorableError
from editgauge.models.answers import Detections, Features
from editgauge.models.interfaces import ModelCard
from editgauge.models.lite.runtime import FromCatalog, card_of
from editgauge.models.vocabulary import resolve
from editgauge.models.vocabulary.coco import coco_words

Boxes = NDArray[np.float32]
"""One row per object: left, top, right, bottom."""


class CocoDetector(FromCatalog, ABC):
    """Role `detector`: sees the 80 kinds of objects of COCO.

    The whole picture is pressed into the network's square. Keeping its shape and filling the rest was not clearly
    better on 65 photographs (`docs/explanation/operating-points.md`).
    """

    name: str
    """Of its weights in the catalog."""
    id: str
    side: int
    """Of the square that the network sees."""
    operating_point: float
    batch = 8

    @property
    def card(self) -> ModelCard:
        """What it is."""
        return card_of(
            self.name,
            "detector",
            self.id,
            (self.side, self.side),
            operating_point=self.operating_point,
            resize="bilinear, to the whole square",
        )

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The 80 words."""
        return tuple(coco_words().values())

    def word_for(self, phrase: str) -> str:
        """The word of COCO that a phrase stands for; raises `UnscorableError` when there is none."""
        return resolve(phrase, self.vocabulary).word

    def look(self, images: Sequence[Pixels]) -> list[Features]:
        """All that the network sees in each picture, whatever its confidence: boxes, confidences, COCO's numbers."""
        return [self._look(image) for image in images]

    def find(self, questions: Sequence[tuple[Features, tuple[str, ...]]]) -> list[Detections]:
        """What was seen of each question's words, most confident first."""
        return [_of_words(features, words) for features, words in questions]

    def _look(self, image: Pixels) -> Features:
        square = Image.fromarray(image).resize((self.side, self.side), Image.Resampling.BILINEAR)
        parts, confidences, numbers = self._run(np.asarray(square, dtype=np.uint8))
        height, width = image.shape[:2]
        boxes = (np.clip(parts, 0, 1) * (width, height, width, height)).astype(np.float32)
        there = (boxes[:, 2:] > boxes[:, :2]).all(axis=1) & np.isin(numbers, list(coco_words()))
        order = np.flatnonzero(there)[np.argsort(-confidences[there], kind="stable")]
        return {
            "boxes": boxes[order],
            "confidences": confidences[order].astype(np.float32),
            "numbers": numbers[order].astype(np.int16),
        }

    @abstractmethod
    def _run(self, square: Pixels) -> tuple[Boxes, NDArray[np.float32], NDArray[np.int64]]:
        """Boxes in parts of the square, confidences, and COCO's numbers."""


def _of_words(features: Features, words: tuple[str, ...]) -> Detections:
    known = {word: number for number, word in coco_words().items()}
    if strangers := [word for word in words if word not in known]:
        raise UnscorableError("unknown_word", f"the detector has no word {', '.join(map(repr, strangers))}")
    places = np.flatnonzero(np.isin(features["numbers"], [known[word] for word in words]))
    seen = tuple(coco_words()[number] for number in features["numbers"][places].tolist())
    return Detections(features["boxes"][places], features["confidences"][places], seen, seen)
