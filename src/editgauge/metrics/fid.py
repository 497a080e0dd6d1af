"""FID: the Fréchet distance of two sets of images."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from editgauge.metrics._inputs import Images, read_image_set
from editgauge.metrics._networks import load_model

Features = NDArray[np.floating]
"""One row per image."""


def fid(sources: Images, outcomes: Images, *, model: str = "inception-fid") -> float:
    """Return the Fréchet Inception distance of two sets of images.

    |m1 - m2|^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2)), with m and C the mean and covariance of the features of each set.
    Lower is better. Biased upwards for small sets, most of all for fewer images than a feature has numbers (2,048):
    use `kid`, or shallower features, then. Needs torch.
    Heusel, Ramsauer, Unterthiner, Nessler and Hochreiter, GANs Trained by a Two Time-Scale Update Rule Converge to a
    Local Nash Equilibrium, NeurIPS 2017.

    Args:
        sources: two or more images: a folder, a list, or an array or tensor of four dimensions.
        outcomes: the other set; sizes and counts may differ.
        model: `inception-fid`, or its shallower layers `inception-fid-64`, `inception-fid-192`, `inception-fid-768`.

    Example:
        >>> from editgauge import metrics
        >>> metrics.fid("sources/", "outcomes/")  # doctest: +SKIP
        41.27

    """
    return frechet_distance(embed_set(sources, "sources", model), embed_set(outcomes, "outcomes", model))


def embed_set(images: Images, name: str, model: str) -> Features:
    """Return the features of a set of images, one row each."""
    network = load_model("fid_features", model)
    pixels = read_image_set(images, name)
    batches = [pixels[start : start + network.batch] for start in range(0, len(pixels), network.batch)]
    return np.concatenate([network.embed(batch) for batch in batches])


def frechet_distance(first: Features, second: Features) -> float:
    """Return the Fréchet distance of two sets of features, as if both were normally distributed.

    The trace of the matrix root is the sum of the singular values of the product of the centered features, which is
    exact and needs no root of a singular matrix.

    >>> frechet_distance(np.array([[0.0], [2.0]]), np.array([[3.0], [5.0]]))
    9.0
    """
    sets = [check_features(first), check_features(second)]
    centered = [(features - features.mean(axis=0)) / np.sqrt(len(features) - 1) for features in sets]
    shared = np.linalg.svd(centered[0] @ centered[1].T, compute_uv=False).sum()
    means = float(np.sum((sets[0].mean(axis=0) - sets[1].mean(axis=0)) ** 2))
    return max(0.0, means + float(sum((features**2).sum() for features in centered)) - 2 * float(shared))


def check_features(features: Features) -> NDArray[np.float64]:
    """Return features in double precision; raise `ValueError` for fewer than two rows."""
    if features.ndim != 2 or len(features) < 2:
        raise ValueError(f"a set needs two images at least, one row each; got the shape {features.shape}")
    return np.asarray(features, dtype=np.float64)
