"""FID and KID between the source images and the edited ones: did the outcomes stay photographs of that kind?"""

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

    return dict(
        zip(names, (measured(frechet_distance, remarks, 0.0), measured(kernel_distance, (), -np.inf)), strict=True)
    )


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
