"""Compare two images, or two sets of images, with the metrics and the models of a run."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from editgauge._stats.resampling import half_sample_interval
from editgauge.evidence import Note
from editgauge.metrics import metrics
from editgauge.metrics.fid import Features, frechet_distance
from editgauge.metrics.kid import kernel_distance
from editgauge.protocols import SetPart
from editgauge.protocols._rules import attempt
from editgauge.types import Item, Score, Scores, ScoreSpec, Unscored

if TYPE_CHECKING:
    from editgauge._util.images import Pixels
    from editgauge.models.perception import Perception

COMPARISON_ROLES = ("perceptual_distance", "image_embedder", "joint_embedder")
"""Roles of models that compare two images."""
MAX_DISTANCE = 10.0
"""Upper bound of perceptual distances, which learned weights of normalized features keep well below it."""


def metric_specs(names: Iterable[str]) -> tuple[ScoreSpec, ...]:
    """Return the score specifications of metrics."""
    infos = [metrics.get(name).info for name in names]
    return tuple(ScoreSpec(info.name, info.higher_is_better, info.range, info.about) for info in infos)


class ModelComparison:
    """The models of a run that compare two images."""

    def __init__(self, models: Mapping[str, str]) -> None:
        self._roles = {_score_name(role, models[role]): role for role in COMPARISON_ROLES if role in models}

    @property
    def specs(self) -> tuple[ScoreSpec, ...]:
        """Specifications of the scores, which carry the models' names."""
        return tuple(_spec(name, role) for name, role in self._roles.items())

    async def compare(self, first: Pixels, second: Pixels, perception: Perception) -> dict[str, Score | Unscored]:
        """Compare two images with every model."""
        scores = await gather(
            *(attempt(compare_by_role(role, first, second, perception)) for role in self._roles.values())
        )
        return dict(zip(self._roles, scores, strict=True))


def _score_name(role: str, model: str) -> str:
    return f"clip_i[{model}]" if role == "joint_embedder" else model


def _spec(name: str, role: str) -> ScoreSpec:
    if role == "perceptual_distance":
        return ScoreSpec(
            name, False, (0.0, MAX_DISTANCE), "How different the two pictures look, by a network's features."
        )
    return ScoreSpec(name, True, (-1.0, 1.0), "How alike the two pictures are: cosine of their embeddings.")


async def compare_by_role(role: str, first: Pixels, second: Pixels, perception: Perception) -> Score:
    """Return the distance or the similarity of two images by the model of a role."""
    if role == "perceptual_distance":
        return Score(await perception.distance(first, second))
    embed = perception.embed_image if role == "image_embedder" else perception.joint_image
    first_vector, second_vector = await gather(embed(first), embed(second))
    return Score(float(np.clip(first_vector @ second_vector, -1, 1)))  # of unit vectors; rounding may leave the range


MAX_SET_DISTANCE = float(10**6)
DEFAULT_FEATURES = "inception-fid"
"""The features of plain `fid` and `kid`; scores of other features carry the model's name."""
FID = "Fréchet distance of sources and edited images; biased upwards when few."
KID = "Kernel distance of the same sets; unbiased, the choice for small ones."


def set_distance_specs(model: str) -> tuple[ScoreSpec, ScoreSpec]:
    """Return the specifications of FID and KID; names differ by features, because they do not compare."""
    mark = "" if model == DEFAULT_FEATURES else f"[{model}]"
    return ScoreSpec(f"fid{mark}", False, (0.0, MAX_SET_DISTANCE), FID), ScoreSpec(
        f"kid{mark}", False, (-MAX_SET_DISTANCE, MAX_SET_DISTANCE), KID
    )


async def fid_part(item: Item, perception: Perception) -> SetPart:
    """Return the features of both images."""
    before, after = await gather(perception.fid_features(item.source), perception.fid_features(item.edited))
    return before, after


def score_set_distances(parts: Sequence[SetPart], names: Sequence[str] = ("fid", "kid")) -> Scores:
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
