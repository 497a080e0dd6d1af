"""FID and KID between the source images and the edited ones: did the outcomes stay photographs of that kind?"""

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

MOST = float(10**6)
USUAL = "inception-fid"
"""The features that FID means when nothing is said; with others the scores carry the model's name."""
FID = "Fréchet distance of sources and edited images; biased upwards when few."
KID = "Kernel distance of the same sets; unbiased, the choice for small ones."


def specs(model: str) -> tuple[ScoreSpec, ScoreSpec]:
    """FID and KID of these features; distances of different features cannot be compared, so the names differ."""
    mark = "" if model == USUAL else f"[{model}]"
    return ScoreSpec(f"fid{mark}", False, (0.0, MOST), FID), ScoreSpec(f"kid{mark}", False, (-MOST, MOST), KID)


async def part(item: Item, perception: Perception) -> Part:
    """The features of both pictures."""
    before, after = await gather(perception.fid_features(item.source), perception.fid_features(item.edited))
    return before, after


def score_set(parts: Sequence[Part], names: Sequence[str] = ("fid", "kid")) -> Scores:
    """Both distances, by these names, with intervals over source images; a source of several edits counts once."""
    if len(parts) < 2:
        return dict.fromkeys(names, Unscored("not_applicable", "a set needs two outcomes at least"))
    sources, of_source = np.unique(np.stack([before for before, _ in parts]), axis=0, return_inverse=True)
    edited = np.stack([after for _, after in parts])
    if len(sources) < 2:
        return dict.fromkeys(names, Unscored("not_applicable", "a set needs two source images at least"))
    remarks = _too_few(min(len(sources), len(edited)), edited.shape[1])

    def measured(distance: Callable[[Features, Features], float], remarks: tuple[Note, ...], lowest: float) -> Score:
        def answer(rows: NDArray[np.int64]) -> float:
            return distance(sources[np.unique(of_source[rows])], edited[rows])

        value = distance(sources, edited)
        interval = half_sample_interval(answer, value, of_source)
        return Score(value, remarks, (max(lowest, interval[0]), interval[1]) if interval else None)

    return dict(zip(names, (measured(fid, remarks, 0.0), measured(kid, (), -np.inf)), strict=True))


def _too_few(pictures: int, dimensions: int) -> tuple[Note, ...]:
    """Fewer pictures than numbers in a feature leave the covariance singular, and FID far too high."""
    if pictures >= dimensions:
        return ()
    return (
        Note(
            f"{pictures} pictures are few for FID with features of {dimensions:,} numbers: read KID instead, or take a "
            "shallow layer (--model fid_features=inception-fid-64)."
        ),
    )


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
