"""Fréchet and kernel distances (FID, KID) between the source images and the edited images."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge._stats.resampling import half_sample_interval
from editgauge.evidence import Note
from editgauge.protocols import Part
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.models.interfaces import Perception

MAX_DISTANCE = float(10**6)
DEFAULT_FEATURES = "inception-fid"
"""The features of plain `fid` and `kid`; scores of other features carry the model's name."""
FID = "Fréchet distance of sources and edited images; biased upwards when few."
KID = "Kernel distance of the same sets; unbiased, the choice for small ones."


def specs(model: str) -> tuple[ScoreSpec, ScoreSpec]:
    """Return the specifications of FID and KID; names differ by features, because they do not compare."""
    mark = "" if model == DEFAULT_FEATURES else f"[{model}]"
    return ScoreSpec(f"fid{mark}", False, (0.0, MAX_DISTANCE), FID), ScoreSpec(
        f"kid{mark}", False, (-MAX_DISTANCE, MAX_DISTANCE), KID
    )


async def part(item: Item, perception: Perception) -> Part:
    """Return the features of both images."""
    before, after = await gather(perception.fid_features(item.source), perception.fid_features(item.edited))
    return before, after


def score_set(parts: Sequence[Part], names: Sequence[str] = ("fid", "kid")) -> Scores:
    """Return both distances with intervals over source images; a source of several edits counts once."""
    if len(parts) < 2:
        return dict.fromkeys(names, Unscored("not_applicable", "a set needs two outcomes at least"))
    sources, of_source = np.unique(np.stack([before for before, _ in parts]), axis=0, return_inverse=True)
    edited = np.stack([after for _, after in parts])
    if len(sources) < 2:
        return dict.fromkeys(names, Unscored("not_applicable", "a set needs two source images at least"))
    remarks = _too_few(min(len(sources), len(edited)), edited.shape[1])

    def measure(distance: Callable[[Features, Features], float], remarks: tuple[Note, ...], lowest: float) -> Score:
        def resample(rows: NDArray[np.int64]) -> float:
            return distance(sources[np.unique(of_source[rows])], edited[rows])

        distance_of_all = distance(sources, edited)
        interval = half_sample_interval(resample, distance_of_all, of_source)
        return Score(distance_of_all, remarks, (max(lowest, interval[0]), interval[1]) if interval else None)

    return dict(
        zip(names, (measure(frechet_distance, remarks, 0.0), measure(kernel_distance, (), -np.inf)), strict=True)
    )


def _too_few(images: int, dimensions: int) -> tuple[Note, ...]:
    """Warn if there are fewer images than feature dimensions, which leaves the covariance singular."""
    if images >= dimensions:
        return ()
    return (
        Note(
            f"{images} pictures are few for FID with features of {dimensions:,} numbers: read KID instead, or take a "
            "shallow layer (--model fid_features=inception-fid-64)."
        ),
    )


Features = NDArray[np.floating]
"""One row per image."""


def frechet_distance(first: Features, second: Features) -> float:
    """Return the Fréchet distance of two sets of features, as if both were normally distributed.

    |m1 - m2|^2 + tr(C1 + C2 - 2 (C1 C2)^(1/2)). The trace of the root comes from the singular values of the product of
    the centered features, which is exact and needs no root of a singular matrix. Biased upwards for few images,
    most of all for fewer than a feature has dimensions: use `kid` then.

    >>> fid(np.array([[0.0], [2.0]]), np.array([[3.0], [5.0]]))
    9.0
    """
    first_features, second_features = _check(first), _check(second)
    centered = [
        (features - features.mean(axis=0)) / np.sqrt(len(features) - 1)
        for features in (first_features, second_features)
    ]
    trace = np.linalg.svd(centered[0] @ centered[1].T, compute_uv=False).sum()
    mean_distance = float(np.sum((first_features.mean(axis=0) - second_features.mean(axis=0)) ** 2))
    return max(0.0, mean_distance + float(sum((features**2).sum() for features in centered)) - 2 * float(trace))


def kernel_distance(first: Features, second: Features) -> float:
    """Return the kernel distance: the unbiased squared maximum mean discrepancy under (x.y / d + 1)^3.

    It may be negative. Its expectation does not depend on the number of images, which makes it the choice for small
    sets.
    """
    first_features, second_features = _check(first), _check(second)
    dimensions = first_features.shape[1]
    within = (
        _off_diagonal_mean((features @ features.T / dimensions + 1) ** 3)
        for features in (first_features, second_features)
    )
    return float(sum(within) - 2 * np.mean((first_features @ second_features.T / dimensions + 1) ** 3))


def _off_diagonal_mean(kernel: Features) -> float:
    count = len(kernel)
    return float((kernel.sum() - np.trace(kernel)) / (count * (count - 1)))


def _check(features: Features) -> NDArray[np.float64]:
    if features.ndim != 2 or len(features) < 2:
        raise ValueError(f"a set needs two pictures at least, one row each; got the shape {features.shape}")
    return np.asarray(features, dtype=np.float64)
