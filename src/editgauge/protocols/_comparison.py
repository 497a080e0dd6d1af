"""Compare two images with the metrics and the models of a run."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from editgauge.metrics import metrics
from editgauge.protocols._rules import attempt
from editgauge.types import Score, ScoreSpec, Unscored

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
