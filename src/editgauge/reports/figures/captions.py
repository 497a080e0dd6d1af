"""Draw precision and hallucination of difference captions by the number of objects (EditInspector, figure 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from editgauge._render.svg import AxisRange, Plane, document
from editgauge._stats.intervals import Mean
from editgauge.analysis.captions import CaptionCurve

WIDTH, HEIGHT = 460, 320
LEFT, RIGHT, TOP, BOTTOM = 54, 96, 54, 46
APART = 3
"""Pixels that the two rates of a step stand left and right of their place, so that whiskers do not cover each other."""
LABEL_HEIGHT = 15
NAMES = {"mp": "precision", "hr": "hallucination"}
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.axis,.grid{fill:none;stroke:#999}"
    ".grid{stroke:#e4e4e4}.mp{stroke:#2a6fb0;fill:#2a6fb0}.hr{stroke:#b3541e;fill:#b3541e}"
    ".whisker{stroke-width:1.6}.line{fill:none;stroke-opacity:.45;stroke-width:2}.hr.line{stroke-dasharray:6 4}"
    "text.mp,text.hr{stroke:none}"
)
FIELD = Plane(AxisRange(0, 1), AxisRange(0, 1), LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
"""Rates upwards; groups of outcomes have places of their own to the right."""


def caption_quality_svg(curve: CaptionCurve) -> str:
    """An SVG document: a dot with its interval per group of outcomes and rate, joined by a line."""
    width = (WIDTH - LEFT - RIGHT) / max(len(curve.steps), 1)
    places = [LEFT + width * (place + 0.5) for place in range(len(curve.steps))]
    ends = {rate: _end(curve, rate) for rate in NAMES}
    heights = _label_heights(ends)
    parts = [FIELD.levels((0, 0.25, 0.5, 0.75, 1), "{:.0%}".format), _axis(curve, places)]
    for rate, name in NAMES.items():
        parts += _drawn(curve, rate, places)
        if rate in heights:
            parts.append(f'<text class="{rate}" x="{WIDTH - RIGHT + 8}" y="{heights[rate]:.1f}">{name}</text>')
    description = "; ".join(f"{step.fewest} to {step.most} objects: {_summary(step.rates)}" for step in curve.steps)
    spoken = f"Difference captions of {curve.protocol} for {curve.method}: {description}"
    return document(parts, WIDTH, HEIGHT, spoken, STYLE)


def _drawn(curve: CaptionCurve, rate: str, places: Sequence[float]) -> list[str]:
    aside = -APART if rate == "mp" else APART
    steps = zip(places, curve.steps, strict=True)
    means = [(place + aside, mean) for place, step in steps if (mean := step.rates[rate]) is not None]
    points = " L".join(f"{at:.1f} {FIELD.y(mean.value):.1f}" for at, mean in means)
    elements = [f'<path class="{rate} line" d="M{points}"/>'] if points else []
    for at, mean in means:
        if mean.low is not None and mean.high is not None:
            whisker = f"M{at:.1f} {FIELD.y(mean.low):.1f}V{FIELD.y(mean.high):.1f}"
            elements.append(f'<path class="{rate} whisker" d="{whisker}"/>')
        elements.append(f'<circle class="{rate}" cx="{at:.1f}" cy="{FIELD.y(mean.value):.1f}" r="3.6"/>')
    return elements


def _end(curve: CaptionCurve, rate: str) -> float | None:
    means = [mean for step in curve.steps if (mean := step.rates[rate]) is not None]
    return means[-1].value if means else None


def _label_heights(ends: dict[str, float | None]) -> dict[str, float]:
    """Where each line's name stands: at its end, and not on the other's."""
    heights = {rate: FIELD.y(value) + 4 for rate, value in ends.items() if value is not None}
    if len(heights) == 2 and abs(heights["mp"] - heights["hr"]) < LABEL_HEIGHT:
        upper, lower = sorted(heights, key=lambda rate: heights[rate])
        middle = sum(heights.values()) / 2
        heights = {upper: middle - LABEL_HEIGHT / 2, lower: middle + LABEL_HEIGHT / 2}
    return heights


def _summary(rates: Mapping[str, Mean | None]) -> str:
    known = ((NAMES[rate], mean) for rate, mean in rates.items() if mean is not None)
    return ", ".join(f"{name} {mean.value:.0%} of {mean.n}" for name, mean in known)


def _axis(curve: CaptionCurve, places: Sequence[float]) -> str:
    title = (
        f'<text class="title" x="{LEFT}" y="20">{escape(curve.method)}</text>'
        f'<text x="{LEFT}" y="37">{escape(curve.protocol)}</text>'
    )
    middle = (LEFT + WIDTH - RIGHT) / 2
    numbers = "".join(
        f'<text x="{place:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">'
        f"{step.fewest if step.fewest == step.most else f'{step.fewest}–{step.most}'}</text>"
        for place, step in zip(places, curve.steps, strict=True)
    )
    name = f'<text x="{middle:.0f}" y="{HEIGHT - 10}" text-anchor="middle">objects in the edited image</text>'
    return f'{title}<path class="axis" d="M{LEFT} {FIELD.y(0):.1f}H{WIDTH - RIGHT}"/>{numbers}{name}'
