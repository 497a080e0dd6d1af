"""Two pictures compared by networks, each score under the name of the model that made it."""

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
    from editgauge.models.interfaces import Perception

COMPARERS = ("perceptual_distance", "image_embedder", "joint_embedder")
"""The roles whose models can tell how alike two pictures are."""
FARTHEST = 10.0
"""No perceptual distance comes near it: learned weights of normalized features bound them."""


def metric_specs(names: Iterable[str]) -> tuple[ScoreSpec, ...]:
    """What the scores of metrics are called, and mean."""
    infos = [metrics.get(name).info for name in names]
    return tuple(ScoreSpec(info.name, info.higher_is_better, info.range, info.about) for info in infos)


class Comparers:
    """The models of a run that compare pictures."""

    def __init__(self, models: Mapping[str, str]) -> None:
        self._roles = {_score_name(role, models[role]): role for role in COMPARERS if role in models}

    @property
    def specs(self) -> tuple[ScoreSpec, ...]:
        """What their scores are called, and mean."""
        return tuple(_spec(name, role) for name, role in self._roles.items())

    async def compare(self, one: Pixels, other: Pixels, perception: Perception) -> dict[str, Score | Unscored]:
        """Every model's answer."""
        scores = await gather(*(attempt(compared(role, one, other, perception)) for role in self._roles.values()))
        return dict(zip(self._roles, scores, strict=True))


def _score_name(role: str, model: str) -> str:
    return f"clip_i[{model}]" if role == "joint_embedder" else model


def _spec(name: str, role: str) -> ScoreSpec:
    if role == "perceptual_distance":
        return ScoreSpec(name, False, (0.0, FARTHEST), "How different the two pictures look, by a network's features.")
    return ScoreSpec(name, True, (-1.0, 1.0), "How alike the two pictures are: cosine of their embeddings.")


async def compared(role: str, one: Pixels, other: Pixels, perception: Perception) -> Score:
    """How alike, or how different, the model of a role finds two pictures."""
    if role == "perceptual_distance":
        return Score(await perception.distance(one, other))
    embed = perception.embed_image if role == "image_embedder" else perception.joint_image
    first, second = await gather(embed(one), embed(other))
    return Score(float(np.clip(first @ second, -1, 1)))  # of unit vectors; rounding may leave the range
