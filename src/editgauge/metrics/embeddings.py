"""Similarities of embedding vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from editgauge.errors import UnscorableError

Vectors = NDArray[np.floating]
Floats = NDArray[np.float64]
MIN_STEP = 1e-6
"""A shorter difference of two unit vectors is rounding error and has no direction."""


def unit_vectors(vectors: Vectors) -> Floats:
    """Scale vectors (along the last axis) to length 1."""
    exact = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(exact, axis=-1, keepdims=True)
    if not np.all(lengths > 0):
        raise ValueError("a vector of length 0 (or of no numbers) has no direction")
    return np.asarray(exact / lengths)


def cosine_similarity(first: Vectors, second: Vectors) -> float:
    """Return the cosine of the angle between two vectors, in [-1, 1].

    >>> cosine_similarity(np.array([1.0, 0.0]), np.array([3.0, 0.0]))
    1.0
    """
    return float(np.clip(unit_vectors(first) @ unit_vectors(second), -1.0, 1.0))


def directional_similarity(
    source_image: Vectors, edited_image: Vectors, source_text: Vectors, target_text: Vectors
) -> float:
    """Return the cosine between the change of the image and the change of the text (AugCLIP, eq. 1-2).

    All arguments are unit vectors of one joint embedding. Raises `UnscorableError` when the images or the texts are the
    same, because their difference then has no direction.

    >>> x, y, z = np.eye(3)
    >>> round(directional_similarity(x, y, x, y), 6), round(directional_similarity(x, y, x, z), 6)
    (1.0, 0.5)
    """
    return cosine_similarity(
        _step(source_image, edited_image, "the edited image is the source image to this embedder"),
        _step(source_text, target_text, "the target text is the source text to this embedder"),
    )


def _step(start: Vectors, end: Vectors, problem: str) -> Floats:
    step = np.asarray(end, dtype=np.float64) - np.asarray(start, dtype=np.float64)
    if np.linalg.norm(step) < MIN_STEP:
        raise UnscorableError("not_applicable", f"{problem}: there is no direction to compare")
    return np.asarray(step)
