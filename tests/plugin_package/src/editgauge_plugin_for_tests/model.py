from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from editgauge import MissingWeightsError, ModelCard, Pixels, Vector


class MeanColor:
    """An ImageEmbedder needing no weights: for tests only, and named so; never in a profile or a demo."""

    role: ClassVar[str] = "image_embedder"
    id: ClassVar[str] = "mean-color"
    weights: tuple[str, ...] = ()
    batch = 4

    @property
    def card(self) -> ModelCard:
        return ModelCard(
            role=self.role, id=self.id, revision="1", sha256="0" * 64, license="for tests only", input_size=(1, 1)
        )

    def embed(self, images: Sequence[Pixels]) -> Vector:
        means = np.stack([image.mean(axis=(0, 1)) + 1 for image in images])
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)


class Careless(MeanColor):
    """Like many real models it must not be asked by two threads at once; this one notices."""

    id = "careless-embedder"

    def __init__(self) -> None:
        self._busy = threading.Lock()

    def embed(self, images: Sequence[Pixels]) -> Vector:
        if not self._busy.acquire(blocking=False):
            raise RuntimeError("asked by two threads at once")
        try:
            time.sleep(0.01)
            return super().embed(images)
        finally:
            self._busy.release()


class Slow(MeanColor):
    """Takes its time, and tells in a file of its process how many pictures it has looked at."""

    id = "slow-embedder"

    def embed(self, images: Sequence[Pixels]) -> Vector:
        with open(f"{os.environ['SLOW_EMBEDDER']}-{os.getpid()}", "ab") as told:  # noqa: PTH123
            told.write(b"." * len(images))
        time.sleep(0.01 * len(images))
        return super().embed(images)


class NotAnEmbedder(MeanColor):
    """Plays another role."""

    role = "captioner"
    embed = None  # type: ignore[assignment]

    def caption(self, images: Sequence[Pixels]) -> list[str]:
        return ["a picture" for _ in images]


class WithoutWeights:
    """Cannot be made on this machine."""

    def __init__(self) -> None:
        raise RuntimeError("the weights are not here")


class Unfetched(MeanColor):
    """Knows that its weights are missing."""

    available = False


class Damaged(MeanColor):
    """Finds out when it is first asked."""

    id = "damaged"

    def embed(self, images: Sequence[Pixels]) -> Vector:
        raise MissingWeightsError("The weights 'damaged' are not whole: run `editgauge models pull damaged`.")
