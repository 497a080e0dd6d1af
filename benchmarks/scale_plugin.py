"""A protocol and a model that cost next to nothing: `benchmarks/scale.py` measures the house, not its guests."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from editgauge._util.images import Pixels
from editgauge.models.answers import Vector
from editgauge.models.roles import ModelCard
from editgauge.protocols import Protocol
from editgauge.types import Item, Score, Scores, ScoreSpec

if TYPE_CHECKING:
    from editgauge.protocols import JudgingPerception


class MeanColor:
    """An image embedder without weights: for measuring only, and named so; never in a profile."""

    role: ClassVar[str] = "image_embedder"
    weights: tuple[str, ...] = ()
    batch = 64

    @property
    def card(self) -> ModelCard:
        """What it is."""
        return ModelCard(
            role=self.role, id="scale-embedder", revision="1", sha256="0" * 64, license="MIT", input_size=(1, 1)
        )

    def embed(self, images: Sequence[Pixels]) -> Vector:
        """Return mean colors as unit vectors."""
        means = np.stack([image.mean(axis=(0, 1)) + 1 for image in images])
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)


class Scale(Protocol):
    """Two scores: a cosine of remembered embeddings, and a number made of the edit's id. No pixel is looked at."""

    name = "scale"
    about = "Nothing: it measures the engine."
    paper = "None."
    version = "1"
    deviations = ()
    needs = ("image_embedder",)
    scores = (
        ScoreSpec("edit", True, (0.0, 1.0), "A number made of the edit's id."),
        ScoreSpec("likeness", True, (-1.0, 1.0), "Cosine of the two embeddings."),
    )

    async def score(self, item: Item, see: JudgingPerception) -> Scores:
        """Asks perception twice; both answers are remembered after the first few items."""
        before, after = await asyncio.gather(see.embed_image(item.source), see.embed_image(item.edited))
        chance = zlib.crc32(f"{item.edit.id}\0{item.outcome.method}".encode()) / 2**32
        return {"edit": Score(chance), "likeness": Score(min(1.0, max(-1.0, float(before @ after))))}


scale = Scale()
