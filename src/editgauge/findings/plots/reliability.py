"""The reliability curve as a picture: how often people accept edits, by their score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from editgauge.render.svg import AxisRange, Plane, label
from editgauge.stats.conformal import Bin, Threshold

WIDTH, HEIGHT = 460, 300
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 34, 46
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.axis,.grid{fill:none;stroke:#999}"
    ".grid{stroke:#e4e4e4}.whisker{stroke:#2a6fb0;stroke-width:1.6}.dot{fill:#2a6fb0}"
    ".fit{fill:none;stroke:#2a6fb0;stroke-opacity:.35;stroke-width:5;stroke-linejoin:round}"
    ".limit{stroke:#b3541e;stroke-dasharray:5 4}.limit-label{fill:#b3541e}"
)


def reliability_svg(bins: Sequence[Bin], threshold: Threshold, name: str) -> str:
    """An SVG document: a dot with Wilson's interval per bin, the isotonic fit behind, the threshold dashed."""
    marks = [each.score for each in bins] + ([] if threshold.value is None else [threshold.value])
    low, high = (min(marks), max(marks)) if marks else (0.0, 1.0)
    margin = (high - low) * 0.04 or 0.5
    across = AxisRange(low - margin, high + margin)
    plane = Plane(across, AxisRange(0, 1), LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
    x, y = plane.x, plane.y
    parts = [_frame(plane), _ends(plane, dict.fromkeys((low, high)), name)]
    if bins:
        parts.append(f'<path class="fit" d="M{" L".join(f"{x(b.score):.1f} {y(b.fitted):.1f}" for b in bins)}"/>')
    for each in bins:
        at = f"{x(each.score):.1f}"
        parts.append(f'<path class="whisker" d="M{at} {y(each.low):.1f}V{y(each.high):.1f}"/>')
        parts.append(f'<circle class="dot" cx="{at}" cy="{y(each.accepted):.1f}" r="3.6"/>')
    if threshold.value is not None:
        parts.append(_limit(plane, threshold.value))
    description = "; ".join(f"score {each.score:.3g}: {each.accepted:.0%} of {each.n}" for each in bins)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{escape(f"How often people accept, by {name}: {description}")}"><style>{STYLE}</style>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _frame(plane: Plane) -> str:
    title = f'<text class="title" x="{LEFT}" y="20">people accept, by score</text>'
    levels = plane.levels((0, 0.25, 0.5, 0.75, 1), "{:.0%}".format)
    return f'{title}{levels}<path class="axis" d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>'


def _ends(plane: Plane, ends: Iterable[float], name: str) -> str:
    return f"{plane.places(ends, '{:.3g}'.format)}{label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, name, 'middle')}"


def _limit(plane: Plane, threshold: float) -> str:
    """The threshold, with its name on the side where there is room."""
    at = plane.x(threshold)
    side = f'x="{at + 5:.1f}"' if at < WIDTH * 0.6 else f'x="{at - 5:.1f}" text-anchor="end"'
    line = f'<path class="limit" d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
    return f'{line}<text class="limit-label" {side} y="{TOP + 12}">passes beyond {threshold:.3g}</text>'
