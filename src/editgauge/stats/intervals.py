"""How sure a mean is, when scores of one source image are not independent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import t as student

RESAMPLES = 2_000
LEVEL = 0.95
NUMBERS_AT_ONCE = 4_000_000
"""Bounds the memory of resampling: thirty megabytes, whatever the number of clusters."""

Numbers = NDArray[np.float64]
Labels = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its interval; no interval when everything comes from one source image."""

    value: float
    low: float | None
    high: float | None
    n: int
    clusters: int


def clustered_mean(values: Numbers, clusters: Labels, *, resamples: int = RESAMPLES, seed: int = 0) -> Mean:
    """The mean with a 95 % interval from a bootstrap that draws whole clusters (source images).

    The draws are cut where BCa says (Efron, 1987: corrected for bias and skew), with the wider tails of Student's t.

    >>> clustered_mean(np.array([1.0, 1.0, 0.0, 0.0]), np.array(["a", "a", "b", "b"]))
    Mean(value=0.5, low=0.0, high=1.0, n=4, clusters=2)
    """
    if values.size == 0:
        raise ValueError("there is no mean of nothing; check for n = 0 first")
    sums, counts = _by_cluster(values, clusters)
    mean = float(values.mean())
    if sums.size < 2:
        return Mean(mean, None, None, values.size, sums.size)
    draws = np.concatenate([(drawn @ sums) / (drawn @ counts) for drawn in cluster_draws(sums.size, resamples, seed)])
    low, high = np.quantile(draws, _corrected_cuts(draws, mean, sums, counts))
    return Mean(mean, float(low), float(high), values.size, sums.size)


def reach(clusters: int) -> float:
    """How many standard errors of a bootstrap a 95 % interval reaches to either side: 1.96, and more for few clusters.

    Draws of few clusters vary too little, by the factor under the root, and how much they vary is itself uncertain,
    which Student's t allows for (Hesterberg, 2015: the expanded percentile interval).

    >>> round(reach(10), 2), round(reach(1000), 2)
    (2.38, 1.96)
    """
    return float(student.ppf((1 + LEVEL) / 2, clusters - 1) * np.sqrt(clusters / (clusters - 1)))


def _corrected_cuts(draws: Numbers, mean: float, sums: Numbers, counts: Numbers) -> Numbers:
    """The shares of the draws that lie below the two ends of the interval (BCa)."""
    rounding = 1e-9 * float(np.ptp(draws))
    below = float((draws < mean - rounding).mean() + (np.abs(draws - mean) <= rounding).mean() / 2)
    bias = ndtri(np.clip(below, 1 / draws.size, 1 - 1 / draws.size))
    pulls = (sums - mean * counts) / (counts.sum() - counts)  # how far the mean moves when a cluster is left out
    spread = float((pulls**2).sum())
    skew = float((pulls**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0
    ends = bias + np.array([-1.0, 1.0]) * reach(sums.size)
    bent = ends / np.maximum(1 - skew * ends, 1e-9)  # two or three clusters can reach the pole: then the last draw
    return np.asarray(ndtr(bias + bent), dtype=np.float64)


def sign_flip_p(differences: Numbers, clusters: Labels, *, resamples: int = 9_999, seed: int = 0) -> float | None:
    """The two-sided p-value that paired differences average to zero, flipping the sign of whole clusters.

    None with fewer than two clusters. Never zero: the data itself counts as one of the permutations.
    """
    sums, _ = _by_cluster(differences, clusters)
    if sums.size < 2:
        return None
    rng = np.random.default_rng(seed)
    observed = abs(sums.sum())
    tied = observed - 1e-12 * np.abs(sums).sum()  # rounding must not decide whether a flip is as extreme
    as_extreme = 0
    for size in _chunks(resamples, sums.size):
        signs = rng.integers(0, 2, size=(size, sums.size), dtype=np.int8) * 2 - 1
        as_extreme += int((np.abs(signs @ sums) >= tied).sum())
    return (as_extreme + 1) / (resamples + 1)


def holm(p_values: list[float | None]) -> list[float | None]:
    """P-values adjusted for having looked at many, by Holm's step-down method; None stays None.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    order = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    floor = 0.0
    for rank, (p, place) in enumerate(order):
        floor = max(floor, min(1.0, p * (len(order) - rank)))
        adjusted[place] = floor
    return adjusted


def _by_cluster(values: Numbers, clusters: Labels) -> tuple[Numbers, Numbers]:
    _, index = np.unique(clusters, return_inverse=True)
    return np.bincount(index, weights=values).astype(np.float64), np.bincount(index).astype(np.float64)


def cluster_draws(clusters: int, resamples: int, seed: int) -> Iterable[NDArray[np.int64]]:
    """How often each cluster is drawn in each resample, in portions."""
    if clusters * resamples <= NUMBERS_AT_ONCE:
        return (_one_portion(clusters, resamples, seed),)
    rng, even = np.random.default_rng(seed), np.full(clusters, 1 / clusters)
    return (rng.multinomial(clusters, even, size=size) for size in _chunks(resamples, clusters))


@lru_cache(maxsize=1)
def _one_portion(clusters: int, resamples: int, seed: int) -> NDArray[np.int64]:
    """Drawing takes ten times as long as the rest, and the cells of a table mostly have as many clusters."""
    return np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples)


def _chunks(total: int, width: int) -> list[int]:
    size = max(1, NUMBERS_AT_ONCE // width)
    return [min(size, total - start) for start in range(0, total, size)]
