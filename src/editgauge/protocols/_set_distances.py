"""Fréchet and kernel distances (FID, KID) between the source images and the edited images."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge._stats.resampling import half_sample_interval
from editgauge.evidence import Note
from editgauge.metrics.fid import Features, frechet_distance
from editgauge.metrics.kid import kernel_distance
from editgauge.protocols import Part
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge.models.perception import Perception

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
