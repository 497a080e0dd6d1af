"""Would a plain mix of two scores do? Agreement along gamma * preservation + (1 - gamma) * modification.

AugCLIP, section 3.1 and its figure 2. Both scores are first turned so that more is better, then scaled to 0 ... 1 by
the least and the greatest value among the run's outcomes that have both: another run scales otherwise, so a gamma does
not carry over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from editgauge._render.svg import AxisRange, Plane, document
from editgauge._render.text import shortened
from editgauge._stats.resampling import Estimate
from editgauge.analysis.evaluators.evaluators import EvaluatorTarget, Scored, label
from editgauge.analysis.people.matching import OutcomeKey
from editgauge.errors import BadInputError
from editgauge.types import ScoreSpec

STEPS = 20
GAMMAS = tuple(step / STEPS for step in range(STEPS + 1))
WIDTH, PANEL = 460, 250
LEFT, RIGHT, TOP, BOTTOM = 54, 22, 40, 44
LONGEST_NAME = 28
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.axis,.grid{fill:none;stroke:#999}"
    ".grid{stroke:#e4e4e4}.best-label{paint-order:stroke;stroke:#fff;stroke-width:4}.band{fill:#2a6fb0;fill-opacity:.16}.line{fill:none;stroke:#2a6fb0;stroke-width:2;"
    "stroke-linejoin:round}.best{fill:#2a6fb0}.chance{stroke:#b3541e;stroke-dasharray:5 4}.chance-label{fill:#b3541e}"
)


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
        raise BadInputError(f"No outcome has both {label(preservation)} and {label(modification)}.")
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
        raise BadInputError(
            f"{label(score)} is the same for all {len(keys)} outcomes: it cannot be scaled, nor blended."
        )
    return {key: (value - low) / (high - low) for key, value in turned.items()}


def interpolation_svg(interpolation: Interpolation) -> str:
    """An SVG document: a panel for everything that was asked, with its interval as a band and chance dashed."""
    panels = (
        f'<g transform="translate(0 {place * PANEL})">{_panel(curve, interpolation)}</g>'
        for place, curve in enumerate(interpolation.curves)
    )
    description = "; ".join(_spoken(curve, interpolation) for curve in interpolation.curves)
    spoken = f"Agreement from {interpolation.modification} to {interpolation.preservation}: {description}"
    return document(panels, WIDTH, PANEL * len(interpolation.curves), spoken, STYLE)


def _panel(curve: GammaCurve, interpolation: Interpolation) -> str:
    scale = _plane(curve)
    points = [(scale.x(gamma), point) for gamma, point in zip(interpolation.gammas, curve.points, strict=True)]
    return "".join(
        (
            f'<text class="title" x="{LEFT}" y="20">{escape(curve.asked)}</text>',
            f'<text x="{WIDTH - RIGHT}" y="20" text-anchor="end">{escape(curve.measure)}</text>',
            _frame(scale),
            _band(points, scale),
            _chance(curve.chance, scale),
            _path(points, scale),
            _best(curve, interpolation, scale),
            _ends(interpolation),
        )
    )


def _plane(curve: GammaCurve) -> Plane:
    """Upwards in steps of a fifth, wide enough for the curve, its band and chance."""
    ends = [end for point in curve.points for end in (point.value, point.low, point.high) if end is not None]
    low, high = min([curve.chance, *ends]), max([curve.chance, *ends])
    first, last = int(low * 5 // 1), int(-(-high * 5 // 1))
    up = AxisRange(first / 5, max(last, first + 1) / 5)
    return Plane(AxisRange(0, 1), up, LEFT, TOP, WIDTH - RIGHT, PANEL - BOTTOM)


def _frame(plane: Plane) -> str:
    fifths = (step / 5 for step in range(round(plane.up.low * 5), round(plane.up.high * 5) + 1))
    lines = plane.levels(fifths, "{:.1f}".format)
    return f'{lines}<path class="axis" d="M{LEFT} {PANEL - BOTTOM}H{WIDTH - RIGHT}"/>'


def _band(points: list[tuple[float, Estimate]], scale: Plane) -> str:
    ends = [(x, each.low, each.high) for x, each in points if each.low is not None and each.high is not None]
    if not ends:
        return ""
    upper = [f"{x:.1f} {scale.y(high):.1f}" for x, _, high in ends]
    lower = [f"{x:.1f} {scale.y(low):.1f}" for x, low, _ in reversed(ends)]
    return f'<path class="band" d="M{" L".join([*upper, *lower])}Z"/>'


def _path(points: list[tuple[float, Estimate]], scale: Plane) -> str:
    there = [f"{x:.1f} {scale.y(each.value):.1f}" for x, each in points if each.value is not None]
    return f'<path class="line" d="M{" L".join(there)}"/>' if there else ""


def _chance(chance: float, scale: Plane) -> str:
    at = scale.y(chance)
    label = f'<text class="chance-label" x="{WIDTH - RIGHT - 4}" y="{at - 5:.1f}" text-anchor="end">guessing</text>'
    return f'<path class="chance" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>{label}'


def _best(curve: GammaCurve, interpolation: Interpolation, scale: Plane) -> str:
    if curve.best is None:
        return ""
    height = curve.points[interpolation.gammas.index(curve.best)].value or 0.0
    x, side = scale.x(curve.best), "end" if curve.best > 0.75 else "start" if curve.best < 0.25 else "middle"
    return (
        f'<circle class="best" cx="{x:.1f}" cy="{scale.y(height):.1f}" r="4"/>'
        f'<text class="best-label" x="{x:.1f}" y="{scale.y(height) - 9:.1f}" text-anchor="{side}">'
        f"{height:.2f} at γ = {curve.best:g}</text>"
    )


def _ends(interpolation: Interpolation) -> str:
    below = PANEL - BOTTOM + 17
    ends = interpolation.modification, interpolation.preservation
    first, last = (escape(shortened(each, LONGEST_NAME)) for each in ends)
    return (
        f'<text x="{LEFT}" y="{below}">0: {first}</text>'
        f'<text x="{WIDTH - RIGHT}" y="{below}" text-anchor="end">{last} :1</text>'
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{PANEL - 10}" text-anchor="middle">γ, the share of preservation'
        "</text>"
    )


def _spoken(curve: GammaCurve, interpolation: Interpolation) -> str:
    if curve.best is None:
        return f"{curve.asked}, nothing can be determined"
    ends = [curve.points[0].value, curve.points[interpolation.gammas.index(curve.best)].value, curve.points[-1].value]
    first, best, last = ("none" if each is None else f"{each:.2f}" for each in ends)
    return f"{curve.asked}, {first} at gamma 0, {best} at {curve.best:g}, {last} at 1"
