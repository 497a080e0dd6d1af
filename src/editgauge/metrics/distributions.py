"""Sets of pictures against each other: Fréchet and kernel distances of their features."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.floating]
"""One row per picture."""


def fid(one: Features, other: Features) -> float:
    """Fréchet distance of two sets of features, as if both were normally distributed; lower is nearer.

    |m1 - m2|^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2)). The trace of the root comes from the singular values of the product of
    the centered features, which is exact and needs no root of a singular matrix. Biased upwards for few pictures,
    most of all for fewer than a feature has numbers: use `kid` then.

    >>> fid(np.array([[0.0], [2.0]]), np.array([[3.0], [5.0]]))
    9.0
    """
    first, second = _checked(one), _checked(other)
    centered = [(each - each.mean(axis=0)) / np.sqrt(len(each) - 1) for each in (first, second)]
    shared = np.linalg.svd(centered[0] @ centered[1].T, compute_uv=False).sum()
    apart = float(np.sum((first.mean(axis=0) - second.mean(axis=0)) ** 2))
    return max(0.0, apart + float(sum((each**2).sum() for each in centered)) - 2 * float(shared))


def kid(one: Features, other: Features) -> float:
    """Kernel distance: the squared maximum mean discrepancy under (x.y / d + 1)^3, unbiased, so it may be below 0.

    Its expectation does not depend on how many pictures there are, which makes it the choice for small sets.
    """
    first, second = _checked(one), _checked(other)
    dimensions = first.shape[1]
    within = (_mean_of_others((each @ each.T / dimensions + 1) ** 3) for each in (first, second))
    return float(sum(within) - 2 * np.mean((first @ second.T / dimensions + 1) ** 3))


def _mean_of_others(kernel: Features) -> float:
    count = len(kernel)
    return float((kernel.sum() - np.trace(kernel)) / (count * (count - 1)))


def _checked(features: Features) -> NDArray[np.float64]:
    if features.ndim != 2 or len(features) < 2:
        raise ValueError(f"a set needs two pictures at least, one row each; got the shape {features.shape}")
    return np.asarray(features, dtype=np.float64)
