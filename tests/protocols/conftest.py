"""`staged`: a perception for tests only, which sees what it is told.

`staged(source={"cat": [(0, 0, 10, 10)]}, edited={...})` gives the pair (item maker, perception). A box is left, top,
right, bottom, and a fifth number for the confidence if it is not .9. Outlines are the boxes, filled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from editgauge._util.images import ImageFile, Pixels
from editgauge.errors import UnscorableError
from editgauge.models.answers import Detections, Instances
from editgauge.types import Edit, Item, Outcome

Boxes = Sequence[Sequence[float]]


class Staged:
    """Sees what it was told, and says so; never in a profile or a demo."""

    OPERATING_POINT = 0.1

    def __init__(self, item: Item, told: Mapping[str, Mapping[str, Boxes]], words: tuple[str, ...] | None) -> None:
        self._item = item
        self._told = told
        self._words = words

    def vocabulary(self) -> tuple[str, ...] | None:
        return self._words

    async def detect(
        self, image: Pixels, *phrases: str, least: float | None = None, compete: bool = False
    ) -> Detections:
        told = self._told["source" if image is self._item.source else "edited"]
        unknown = [phrase for phrase in phrases if self._words is not None and phrase not in self._words]
        if unknown:
            raise UnscorableError("unknown_word", f"the detector does not know '{unknown[0]}'")
        rows = [
            (box[4] if len(box) > 4 else 0.9, box[:4], phrase)
            for phrase in phrases
            for box in told.get(phrase.removeprefix("a photo of ").removeprefix("a "), ())
        ]
        rows = sorted(rows, key=lambda row: (-row[0], tuple(row[1])))
        result = Detections(
            np.array([box for _, box, _ in rows], np.float32).reshape(-1, 4),
            np.array([sure for sure, _, _ in rows], np.float32),
            tuple(phrase for _, _, phrase in rows),
            tuple(phrase for _, _, phrase in rows),
        )
        seen = result.over(self.OPERATING_POINT if least is None else least)
        return seen.best_phrase_of_each_box() if compete else seen

    async def instances(self, image: Pixels, *phrases: str, least: float | None = None) -> Instances:
        result = await self.detect(image, *phrases, least=least)
        height, width = image.shape[:2]
        rows, columns = np.mgrid[:height, :width]
        masks: NDArray[np.bool_] = np.zeros((len(result), height, width), np.bool_)
        for mask, (left, top, right, bottom) in zip(masks, result.boxes, strict=True):
            mask[:] = (columns >= left) & (columns < right) & (rows >= top) & (rows < bottom)
        return Instances(result, masks)

    async def embed_image(self, image: Pixels) -> NDArray[np.float32]:
        raise UnscorableError("no_model", "no model plays the role 'image_embedder'")


@pytest.fixture
def staged() -> Callable[..., tuple[Item, Any]]:
    def make(
        edit: Mapping[str, Any],
        source: Mapping[str, Boxes] | None = None,
        edited: Mapping[str, Boxes] | None = None,
        size: tuple[int, int] = (640, 480),
        words: tuple[str, ...] | None = None,
        resized_from: tuple[int, int] | None = None,
        pictures: tuple[Pixels, Pixels] | None = None,
    ) -> tuple[Item, Any]:
        width, height = size
        blank = [np.full((height, width, 3), shade, np.uint8) for shade in (40, 60)]
        before, after = pictures or blank
        item = Item(
            edit=Edit(id="e", source=ImageFile("p", Path("/p")), **{"instruction": "", **edit}),
            outcome=Outcome(edit_id="e", method="m", image=Path("/o")),
            source=before,
            edited=after,
            resized_from=resized_from,
        )
        return item, Staged(item, {"source": source or {}, "edited": edited or {}}, words)

    return make
