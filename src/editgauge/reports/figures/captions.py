"""Draw precision and hallucination of difference captions by the number of objects (EditInspector, figure 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from editgauge._render.svg import AxisRange, Plane, document
from editgauge._stats.intervals import Mean
from editgauge.analysis.captions import CaptionCurve

CAPTION_WIDTH, CAPTION_HEIGHT = 460, 320
CAPTION_LEFT, CAPTION_RIGHT, CAPTION_TOP, CAPTION_BOTTOM = 54, 96, 54, 46
CAPTION_OFFSET = 3
"""Pixels by which the two rates of a step are shifted, so that intervals do not overlap."""
CAPTION_LABEL_HEIGHT = 15
CAPTION_RATES = {"mp": "precision", "hr": "hallucination"}
CAPTION_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.axis,.grid{fill:none;stroke:#999}"
    ".grid{stroke:#e4e4e4}.mp{stroke:#2a6fb0;fill:#2a6fb0}.hr{stroke:#b3541e;fill:#b3541e}"
    ".whisker{stroke-width:1.6}.line{fill:none;stroke-opacity:.45;stroke-width:2}.hr.line{stroke-dasharray:6 4}"
    "text.mp,text.hr{stroke:none}"
)
CAPTION_PLANE = Plane(AxisRange(0, 1), AxisRange(0, 1), CAPTION_LEFT, CAPTION_TOP, CAPTION_WIDTH - CAPTION_RIGHT, CAPTION_HEIGHT - CAPTION_BOTTOM)
"""Rates upwards; the caller places groups of outcomes to the right."""


def caption_quality_svg(curve: CaptionCurve) -> str:
    """Draw an SVG document: a dot with its interval per group of outcomes and rate, joined by a line."""
    width = (CAPTION_WIDTH - CAPTION_LEFT - CAPTION_RIGHT) / max(len(curve.steps), 1)
    positions = [CAPTION_LEFT + width * (index + 0.5) for index in range(len(curve.steps))]
    ends = {rate: _last_value(curve, rate) for rate in CAPTION_RATES}
    heights = _label_heights(ends)
    parts = [CAPTION_PLANE.levels((0, 0.25, 0.5, 0.75, 1), "{:.0%}".format), _caption_axis(curve, positions)]
    for rate, name in CAPTION_RATES.items():
        parts += _draw_rate(curve, rate, positions)
        if rate in heights:
            parts.append(f'<text class="{rate}" x="{CAPTION_WIDTH - CAPTION_RIGHT + 8}" y="{heights[rate]:.1f}">{name}</text>')
    description = "; ".join(f"{step.fewest} to {step.most} objects: {_spoken_rates(step.rates)}" for step in curve.steps)
    spoken = f"Difference captions of {curve.protocol} for {curve.method}: {description}"
    return document(parts, CAPTION_WIDTH, CAPTION_HEIGHT, spoken, CAPTION_STYLE)


def _draw_rate(curve: CaptionCurve, rate: str, positions: Sequence[float]) -> list[str]:
    offset = -APART if rate == "mp" else CAPTION_OFFSET
    steps = zip(positions, curve.steps, strict=True)
    means = [(position + offset, mean) for position, step in steps if (mean := step.rates[rate]) is not None]
    points = " L".join(f"{at:.1f} {CAPTION_PLANE.y(mean.value):.1f}" for at, mean in means)
    elements = [f'<path class="{rate} line" d="M{points}"/>'] if points else []
    for at, mean in means:
        if mean.low is not None and mean.high is not None:
            whisker = f"M{at:.1f} {CAPTION_PLANE.y(mean.low):.1f}V{CAPTION_PLANE.y(mean.high):.1f}"
            elements.append(f'<path class="{rate} whisker" d="{whisker}"/>')
        elements.append(f'<circle class="{rate}" cx="{at:.1f}" cy="{CAPTION_PLANE.y(mean.value):.1f}" r="3.6"/>')
    return elements


def _last_value(curve: CaptionCurve, rate: str) -> float | None:
    means = [mean for step in curve.steps if (mean := step.rates[rate]) is not None]
    return means[-1].value if means else None


def _label_heights(ends: dict[str, float | None]) -> dict[str, float]:
    """Return the height of each line's name: at its end, clear of the other."""
    heights = {rate: CAPTION_PLANE.y(value) + 4 for rate, value in ends.items() if value is not None}
    if len(heights) == 2 and abs(heights["mp"] - heights["hr"]) < CAPTION_LABEL_HEIGHT:
        upper, lower = sorted(heights, key=lambda rate: heights[rate])
        middle = sum(heights.values()) / 2
        heights = {upper: middle - CAPTION_LABEL_HEIGHT / 2, lower: middle + CAPTION_LABEL_HEIGHT / 2}
    return heights


def _spoken_rates(rates: Mapping[str, Mean | None]) -> str:
    measured = ((CAPTION_RATES[rate], mean) for rate, mean in rates.items() if mean is not None)
    return ", ".join(f"{name} {mean.value:.0%} of {mean.n}" for name, mean in measured)


def _caption_axis(curve: CaptionCurve, positions: Sequence[float]) -> str:
    title = (
        f'<text class="title" x="{CAPTION_LEFT}" y="20">{escape(curve.method)}</text>'
        f'<text x="{CAPTION_LEFT}" y="37">{escape(curve.protocol)}</text>'
    )
    middle = (CAPTION_LEFT + CAPTION_WIDTH - CAPTION_RIGHT) / 2
    numbers = "".join(
        f'<text x="{position:.1f}" y="{CAPTION_HEIGHT - CAPTION_BOTTOM + 17}" text-anchor="middle">'
        f"{step.fewest if step.fewest == step.most else f'{step.fewest}–{step.most}'}</text>"
        for position, step in zip(positions, curve.steps, strict=True)
    )
    name = f'<text x="{middle:.0f}" y="{CAPTION_HEIGHT - 10}" text-anchor="middle">objects in the edited image</text>'
    return f'{title}<path class="axis" d="M{CAPTION_LEFT} {CAPTION_PLANE.y(0):.1f}H{CAPTION_WIDTH - CAPTION_RIGHT}"/>{numbers}{name}'
