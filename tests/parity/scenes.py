"""Random scenes for parity tests: what a network would say about two pictures, without a network."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import ImageFile, Pixels
from editgauge.models.answers import Detections, Instances
from editgauge.protocols import open_protocol
from editgauge.types import Edit, Item, Outcome, Score

THRESHOLD = 0.1
SCENES = 200
PAGES = Path(__file__).parents[2] / "docs" / "parity"


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The boxes of one picture in the network's order, and how well each fits each phrase."""

    boxes: NDArray[np.float32]
    fits: Mapping[str, NDArray[np.float32]]
    masks: NDArray[np.bool_] | None = None


class Sees:
    """Answers from two `Seen`: for tests only."""

    def __init__(self, item: Item, source: Seen, edited: Seen, prefixes: Sequence[str] = ()) -> None:
        self._item = item
        self._seen = {"source": source, "edited": edited}
        self._prefixes = prefixes

    def vocabulary(self) -> None:
        return None

    async def detect(
        self, image: Pixels, *phrases: str, least: float | None = None, compete: bool = False
    ) -> Detections:
        seen = self._of(image)
        rows = [
            (float(fits), place, phrase)
            for phrase in dict.fromkeys(phrases)
            for place, fits in enumerate(seen.fits.get(self._bare(phrase), ()))
        ]
        rows.sort(key=lambda row: -row[0])
        places = np.array([place for _, place, _ in rows], np.int32)
        names = tuple(phrase for *_, phrase in rows)
        sure = np.array([fits for fits, *_ in rows], np.float32)
        result = Detections(seen.boxes[places].reshape(-1, 4), sure, names, names, places).over(THRESHOLD)
        return result.best_phrase_of_each_box() if compete else result

    async def instances(self, image: Pixels, *phrases: str, least: float | None = None) -> Instances:
        result = await self.detect(image, *phrases)
        masks = self._of(image).masks
        assert masks is not None
        assert result.output_indices is not None
        return Instances(result, masks[result.output_indices])

    def _of(self, image: Pixels) -> Seen:
        return self._seen["source" if image is self._item.source else "edited"]

    def _bare(self, phrase: str) -> str:
        return next((phrase.removeprefix(start) for start in self._prefixes if phrase.startswith(start)), phrase)


def item_of(edit: Mapping[str, Any], source: Pixels, edited: Pixels) -> Item:
    return Item(
        edit=Edit(id="e", source=ImageFile("p", Path("/p")), instruction="", **edit),
        outcome=Outcome(edit_id="e", method="m", image=Path("/o")),
        source=source,
        edited=edited,
    )


def values(protocol: str, item: Item, see: Any) -> dict[str, float | None]:
    """The scores by name; None for what is unscored."""
    scores = asyncio.run(open_protocol(protocol).score(item, see))
    return {name: given.value if isinstance(given, Score) else None for name, given in scores.items()}


def table_on_page(page: str, number: int = 1) -> dict[str, tuple[int, ...]]:
    """The rows of one of the page's tables, the first unless told: a name, then counts."""
    lines = (PAGES / page).read_text("utf-8").splitlines()
    tables = [list(group) for is_row, group in groupby(lines, lambda line: line.startswith("|")) if is_row]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in tables[number - 1]]
    return {row[0].strip("`"): tuple(int(cell) for cell in row[1:]) for row in rows[2:]}
