"""Would a plain mix of two scores do? Agreement along gamma * preservation + (1 - gamma) * modification.

AugCLIP, section 3.1 and its figure 2. Both scores are first turned so that more is better, then scaled to 0 ... 1 by
the least and the greatest value among the run's outcomes that have both: another run scales otherwise, so a gamma does
not carry over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from editgauge.core.errors import BadInput
from editgauge.core.types import ScoreSpec
from editgauge.findings.evaluators.evaluators import EvaluatorTarget, Scored, label
from editgauge.findings.people.matching import OutcomeKey
from editgauge.stats.resampling import Estimate

STEPS = 20
GAMMAS = tuple(step / STEPS for step in range(STEPS + 1))


@dataclass(frozen=True, slots=True)
class GammaCurve:
    """Agreement with one thing that was asked, at every gamma."""

    asked: str
    measure: str
    chance: float
    points: tuple[Estimate, ...]
    best: float | None
    """The gamma of the highest point, picked by the same answers, so its height is optimistic; None without any."""


@dataclass(frozen=True, slots=True)
class Interpolation:
    """How agreement changes from one score (gamma 0) to the other (gamma 1)."""

    preservation: str
    modification: str
    gammas: tuple[float, ...]
    outcomes: int
    """Outcomes with both scores, by which they are scaled."""
    curves: tuple[GammaCurve, ...]


def interpolate(preservation: Scored, modification: Scored, targets: Sequence[EvaluatorTarget]) -> Interpolation:
    """Sweeps gamma and asks at every step."""
    shared = [key for key in preservation.values if key in modification.values]
    if not shared:
        raise BadInput(f"No outcome has both {label(preservation)} and {label(modification)}.")
    kept, changed = _scaled(preservation, shared), _scaled(modification, shared)
    steps = [blended(kept, changed, gamma) for gamma in GAMMAS]
    curves = (_curve(each, steps) for each in targets)
    return Interpolation(label(preservation), label(modification), GAMMAS, len(shared), tuple(curves))


def blended(kept: dict[OutcomeKey, float], changed: dict[OutcomeKey, float], gamma: float) -> Scored:
    """The mix of two scaled scores as a score of its own."""
    values = {key: gamma * kept[key] + (1 - gamma) * changed[key] for key in kept}
    return Scored("blend", ScoreSpec(f"gamma={gamma:g}", True, (0.0, 1.0)), values)


def _curve(target: EvaluatorTarget, steps: Sequence[Scored]) -> GammaCurve:
    points = tuple(target.ask(step) for step in steps)
    heights = [(point.value, -place) for place, point in enumerate(points) if point.value is not None]
    best = GAMMAS[-max(heights)[1]] if heights else None
    return GammaCurve(target.name, target.measure, target.chance, points, best)


def _scaled(score: Scored, keys: Sequence[OutcomeKey]) -> dict[OutcomeKey, float]:
    turned = {key: score.values[key] * (1 if score.spec.higher_is_better else -1) for key in keys}
    low, high = min(turned.values()), max(turned.values())
    if low == high:
        raise BadInput(f"{label(score)} is the same for all {len(keys)} outcomes: it cannot be scaled, nor blended.")
    return {key: (value - low) / (high - low) for key, value in turned.items()}
