"""Structure distance: did the layout of an image change, whatever it shows now?"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from editgauge._util.images import Pixels
from editgauge.metrics._inputs import Images, Values
from editgauge.metrics._networks import compare_pairs, load_model

TINY = 1e-6


def structure_distance(source: Images, edited: Images, *, model: str = "dinov2-s14") -> Values:
    """Return the structure distance of two images by the attention keys of a vision transformer.

    mean((S(x) - S(y))^2), with S(x) the matrix of cosines between the keys of the last attention layer at all positions
    of image x. Lower is better: 0 means the same layout. Values of different networks cannot be compared.
    Tumanyan, Bar-Tal, Bagon and Dekel, Splicing ViT Features for Semantic Appearance Transfer, CVPR 2022; measured on
    edits by Ju et al., PnPInversion, ICLR 2024, with DINO ViT-B/8.

    Args:
        source: image of height x width x 3, or a batch.
        edited: image or images of the same size.
        model: an image embedder with keys: `dinov2-s14` (runs without torch), or `dino:facebook/dino-vitb8` as in
            PnPInversion.

    Returns:
        One number from 0 to 4, or an array with one number per pair of a batch.

    Example:
        >>> from editgauge import metrics
        >>> metrics.structure_distance("source.png", "edited.png")  # doctest: +SKIP
        0.0127

    """
    network = load_model("image_embedder", model)

    def distance(first: Pixels, second: Pixels) -> float:
        return self_similarity_distance(*network.keys([first, second]))

    return compare_pairs(distance, source, edited)


def self_similarity_distance(first: NDArray[np.floating[Any]], second: NDArray[np.floating[Any]]) -> float:
    """Return the mean squared difference of the self-similarity matrices of two sets of tokens.

    Args:
        first: tokens of one image, count x length.
        second: tokens of the other image, the same shape.

    >>> tokens = np.eye(4)
    >>> self_similarity_distance(tokens, tokens[::-1]), self_similarity_distance(tokens, np.ones((4, 4)))
    (0.0, 0.75)

    """
    one, other = (_unit_rows(tokens) for tokens in (first, second))
    return float(np.mean((one @ one.T - other @ other.T) ** 2))


def _unit_rows(tokens: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    exact = np.asarray(tokens, np.float64)
    return np.asarray(exact / np.maximum(np.linalg.norm(exact, axis=-1, keepdims=True), TINY))
