"""The protocol `structure`: is the layout of the image the same?"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping
from typing import TYPE_CHECKING

from editgauge.metrics.structure_distance import self_similarity_distance
from editgauge.protocols import Protocol, named_after
from editgauge.protocols._rules import attempt
from editgauge.types import Item, Score, Scores, ScoreSpec

if TYPE_CHECKING:
    from editgauge.models.perception import Perception

DEVIATIONS = (
    "PnPInversion takes DINO ViT-B/8 (`--model image_embedder=dino:facebook/dino-vitb8`); here the keys are those "
    "of the run's image embedder, whose name stands in the score's name. Numbers of two networks never compare.",
    "The whole picture is pressed into the network's square; PnPInversion scales the shorter side to 224 pixels, "
    "which is the same for the square pictures of PIE-Bench.",
)
RELEASED_DEVIATION = "As released: pixels from 0 to 255 go into a network that was trained on pixels from 0 to 1."
MAX_DISTANCE = 4.0
"""Maximum, because two cosines differ by at most 2."""


class Structure(Protocol):
    """Distance of the self-similarities of attention keys."""

    about = "Is the layout still the same? Distance of the self-similarities of a vision transformer's last keys."
    paper = "Tumanyan et al. 2022, Splicing ViT Features; Ju et al. 2024, PnPInversion (PIE-Bench), arXiv 2310.01506"
    version = "1"
    needs = ("image_embedder",)

    def __init__(self, embedder: str = "", *, released: bool = False) -> None:
        self.name: str = "structure@released" if released else "structure"
        self.deviations = (*DEVIATIONS, RELEASED_DEVIATION) if released else DEVIATIONS
        self._released = released
        self._score = named_after("structure_distance", embedder)
        about = "Mean squared difference of the cosines between all keys of the last attention; 0 for the same layout."
        self.scores = (ScoreSpec(self._score, False, (0.0, MAX_DISTANCE), about),)

    def with_models(self, models: Mapping[str, str]) -> Structure:
        """Return the protocol with the embedder's name in its score."""
        return Structure(models.get("image_embedder", ""), released=self._released)

    async def score(self, item: Item, perception: Perception) -> Scores:
        """Score the whole image; a mask makes no difference."""
        return {self._score: await attempt(self._distance(item, perception))}

    async def _distance(self, item: Item, perception: Perception) -> Score:
        before, after = await gather(
            *(perception.keys(image, of_bytes=self._released) for image in (item.source, item.edited))
        )
        return Score(self_similarity_distance(before, after))


structure = Structure()
structure_as_released = Structure(released=True)
