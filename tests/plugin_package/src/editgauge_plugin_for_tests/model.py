from __future__ import annotations

import threading
import time
from collections.abc import Sequence

import numpy as np

from editgauge.core.images import Pixels
from editgauge.perception.interfaces import Vector


class MeanColour:
    """An ImageEmbedder needing no weights: for tests only, and named so; never in a profile or a demo."""

    role = "image_embedder"
    id = "mean-colour"
    revision = "1"
    licence = "for tests only"

    def embed(self, images: Sequence[Pixels]) -> Vector:
        means = np.stack([image.mean(axis=(0, 1)) + 1 for image in images])
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True))


class Careless(MeanColour):
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


class NotAnEmbedder:
    """Plays another role."""

    role = "captioner"
    id = "not-an-embedder"
    revision = "1"
    licence = "for tests only"


class WithoutWeights:
    """Cannot be made on this machine."""

    def __init__(self) -> None:
        raise RuntimeError("the weights are not here")
