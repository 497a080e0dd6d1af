"""How well a model's latents keep attributes apart (PixLens, section 3.2): three questions about vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Latents = NDArray[np.floating]
"""One row per sample."""


def linearity_error(start: Latents, first: Latents, second: Latents, end: Latents) -> NDArray[np.float64]:
    """Intra-sample: how far z_start - z_a1 + z_a2 misses z_end, as a share of z_end's length; one number per sample.

    0 means that changing the attribute is a plain addition in the latent space.

    >>> linearity_error(*(np.array([[x]]) for x in (3.0, 1.0, 2.0, 4.0)))
    array([0.])
    """
    return _relative_error(start + second - first, end)


def linearity_error_as_released(start: Latents, first: Latents, second: Latents, end: Latents) -> NDArray[np.float64]:
    """PixLens's released intra-sample error: how far z_a2 + z_a1 - z_start misses z_end, as a share of z_end's length.

    The signs of z_start and z_a1 are the other way round than in the paper (`compute_norms` of the released code).

    >>> linearity_error_as_released(*(np.array([[x]]) for x in (3.0, 1.0, 2.0, 4.0)))
    array([1.])
    """
    return _relative_error(second + first - start, end)


def _relative_error(expected: Latents, end: Latents) -> NDArray[np.float64]:
    lengths = np.linalg.norm(end, axis=1)
    if not lengths.all():
        raise ValueError("a latent of length 0 leaves no share to be measured")
    return np.asarray(np.linalg.norm(end - expected, axis=1) / lengths, dtype=np.float64)


def direction_cosines(changes: Latents) -> NDArray[np.float64]:
    """The cosine between every two changes that one pair of attributes makes to several objects.

    A change of length 0 has no direction; its pairs are left out.

    >>> direction_cosines(np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 0.0]]))
    array([-1.])
    """
    lengths = np.linalg.norm(changes, axis=1)
    moved = lengths > 0
    unit = changes[moved] / lengths[moved, None]
    above = np.triu_indices(len(unit), k=1)
    return np.asarray(np.clip((unit @ unit.T)[above], -1, 1), dtype=np.float64)


def confusion_scores(confusion: NDArray[np.integer]) -> tuple[float, float]:
    """Accuracy and balanced accuracy of a confusion matrix whose rows are the true classes.

    A class of which nothing was tested has no say in the balanced accuracy.

    >>> confusion_scores(np.array([[8, 2], [0, 90]]))
    (0.98, 0.9)
    """
    tested = confusion.sum(axis=1)
    right = np.diag(confusion)
    if not tested.any():
        raise ValueError("a confusion matrix of nothing has no accuracy")
    return float(right.sum() / tested.sum()), float(np.mean(right[tested > 0] / tested[tested > 0]))
