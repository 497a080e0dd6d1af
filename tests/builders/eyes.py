"""A detector that sees what it is told, for tests only; and scenes and edits to use it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import ImageFile, Pixels
from editgauge.builders._training_changes import ChangeScene
from editgauge.errors import UnscorableError
from editgauge.models.answers import Detections
from editgauge.models.roles import ModelCard
from editgauge.models.vocabulary import wordnet_here
from editgauge.models.vocabulary._words import coco_words
from editgauge.types import Edit

Box = tuple[float, float, float, float]
COCO = tuple(coco_words().values())
BOX = (4.0, 4.0, 40.0, 40.0)
BEFORE, AFTER = 10, 200
needs_wordnet = pytest.mark.skipif(wordnet_here() is None, reason="WordNet is not here: similar things were NOT tested")


def picture(shade: int) -> Pixels:
    """A picture that is known by its shade."""
    return np.full((64, 64, 3), shade, np.uint8)


class Eyes:
    """Sees, in the picture of a shade, the things with their boxes."""

    def __init__(self, seen: Mapping[int, Mapping[str, Box]], words: Sequence[str] = COCO) -> None:
        self._seen = seen
        self._words = tuple(words)

    def card(self, role: str) -> ModelCard:
        settings = {"operating_point": 0.5}
        return ModelCard(role=role, id="eyes", revision="1", sha256="", license="", settings=settings)

    def vocabulary(self) -> tuple[str, ...]:
        return self._words

    async def detect(self, image: Pixels, *phrases: str, least: float | None = None) -> Detections:
        for phrase in phrases:
            if phrase not in self._words:
                raise UnscorableError("unknown_word", f"no word for {phrase}")
        return self._found(image, phrases)

    async def detect_all(self, image: Pixels, least: float | None = None) -> Detections:
        return self._found(image, self._words)

    async def similarity(self, text: str, other: str) -> float:
        return len(set(text) & set(other)) / len(set(text) | set(other))

    def _found(self, image: Pixels, words: Sequence[str]) -> Detections:
        here = {word: box for word, box in self._seen[int(image[0, 0, 0])].items() if word in words}
        if not here:
            return Detections.none()
        boxes = np.asarray(list(here.values()), np.float32)
        return Detections(boxes, np.ones(len(here), np.float32), tuple(here), tuple(here))


def scene(before: dict[str, Any], after: dict[str, Any], accurate: bool = True, mask: Any = None) -> ChangeScene:
    eyes: Any = Eyes({BEFORE: before, AFTER: after})
    return ChangeScene(picture(BEFORE), picture(AFTER), eyes, mask, accurate)


def edit(told: str, **parts: Any) -> Edit:
    where = ImageFile("a.png", Path("a.png"))
    return Edit(id="e", source=where, instruction=told, **{"type": "unspecified", **parts})
