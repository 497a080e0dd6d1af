"""CLIP similarity in three readings; UniBench does not say which one its table shows."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from scipy.special import softmax

from editgauge.core.errors import CannotTell

if TYPE_CHECKING:
    from editgauge.core.images import Pixels
    from editgauge.models.interfaces import Perception

Reading = Literal["cosine", "rescaled", "softmax"]
READINGS: tuple[Reading, ...] = get_args(Reading)
ABOUT: dict[Reading, str] = {
    "cosine": "the raw cosine of the embeddings",
    "rescaled": "the cosine rescaled from [-1, 1] to [0, 1]",
    "softmax": "the softmax over the annotated candidates at CLIP's temperature (cosine times 100)",
}
SHARPNESS = 100.0
"""CLIP's learned logit scale, where its training bounds it."""


class Likeness:
    """Pictures against texts, and against pictures."""

    def __init__(self, reading: Reading, see: Perception) -> None:
        self._reading = reading
        self._see = see

    def must_be_there(self) -> None:
        """Raises `CannotTell` without a model: else only the failures, which need none, would be scored."""
        self._see.card("joint_embedder")

    async def of_text(self, picture: Pixels, text: str, alternatives: Sequence[str]) -> float:
        """How well the text fits the picture; the softmax says how much better than the alternatives."""
        if self._reading == "softmax":
            return await self._chosen(picture, text, alternatives)
        seen, said = await gather(self._see.joint_image(picture), self._see.joint_text(text))
        return self._rescaled(_cosine(seen, said))

    async def of_pictures(self, one: Pixels, other: Pixels) -> float:
        """How alike two pictures are. Pictures have no candidates: the softmax leaves the cosine as it is."""
        first, second = await gather(self._see.joint_image(one), self._see.joint_image(other))
        return self._rescaled(_cosine(first, second))

    async def _chosen(self, picture: Pixels, text: str, alternatives: Sequence[str]) -> float:
        texts = [text, *(other for other in alternatives if other != text)]
        if len(texts) < 2:
            raise CannotTell("not_applicable", f"'{text}' is the only candidate, and a softmax needs others")
        seen, *said = await gather(self._see.joint_image(picture), *map(self._see.joint_text, texts))
        return float(softmax(SHARPNESS * np.array([_cosine(seen, each) for each in said]))[0])

    def _rescaled(self, cosine: float) -> float:
        return (1 + cosine) / 2 if self._reading == "rescaled" else cosine


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.clip(one @ other, -1, 1))  # of unit vectors; rounding may leave the range
