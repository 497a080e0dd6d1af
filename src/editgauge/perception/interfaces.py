"""The roles a model can play, and what a protocol may ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from editgauge.core.images import Pixels

Vector = NDArray[np.floating[Any]]


class Model(Protocol):
    """What every model states about itself; the manifest of a run keeps it.

    Making one must be cheap, because `editgauge list models` makes them all: load weights when first asked. A model is
    asked by one thread at a time.
    """

    role: str
    id: str
    revision: str
    licence: str


@runtime_checkable
class ImageEmbedder(Model, Protocol):
    """Role `image_embedder`: pictures that look alike lie close together."""

    def embed(self, images: Sequence[Pixels]) -> Vector:
        """One unit vector per picture."""
        ...


class Perception(Protocol):
    """What a protocol sees with. Every question is awaited; `CannotTell` is raised when there is no honest answer."""

    async def embed_image(self, image: Pixels) -> Vector:
        """The picture as a unit vector."""
        ...


ROLES: dict[str, type] = {"image_embedder": ImageEmbedder}
