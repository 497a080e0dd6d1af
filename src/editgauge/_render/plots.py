"""Static SVG plots of analysis results: reliability of a threshold, blends of two scores, kinds of complaints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from editgauge._render.svg import AxisRange, Plane, document, label
from editgauge._render.text import shortened
from editgauge._stats.conformal import Bin, Threshold
from editgauge._stats.intervals import Mean
from editgauge._stats.resampling import Estimate

LEFT, RIGHT, TOP = 54, 14, 34
RELIABILITY_WIDTH, RELIABILITY_HEIGHT, RELIABILITY_BOTTOM = 460, 300, 46
BLEND_WIDTH, PANEL_HEIGHT, BLEND_RIGHT, BLEND_TOP, BLEND_BOTTOM = 460, 250, 22, 40, 44
MAX_NAME_LENGTH = 28
BARS_WIDTH, BARS_LEFT, BARS_RIGHT = 560, 176, 58
ROW_HEIGHT, BAR_HEIGHT, HEADER_HEIGHT, FOOTER_HEIGHT = 22, 13, 34, 12
_TEXT_STYLE = "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}"
_AXIS_STYLE = ".axis,.grid{fill:none;stroke:#999}.grid{stroke:#e4e4e4}"
RELIABILITY_STYLE = (
    f"{_TEXT_STYLE}{_AXIS_STYLE}.whisker{{stroke:#2a6fb0;stroke-width:1.6}}.dot{{fill:#2a6fb0}}"
    ".fit{fill:none;stroke:#2a6fb0;stroke-opacity:.35;stroke-width:5;stroke-linejoin:round}"
    ".limit{stroke:#b3541e;stroke-dasharray:5 4}.limit-label{fill:#b3541e}"
)
BLEND_STYLE = (
    f"{_TEXT_STYLE}{_AXIS_STYLE}.best-label{{paint-order:stroke;stroke:#fff;stroke-width:4}}"
    ".band{fill:#2a6fb0;fill-opacity:.16}.line{fill:none;stroke:#2a6fb0;stroke-width:2;stroke-linejoin:round}"
    ".best{fill:#2a6fb0}.chance{stroke:#b3541e;stroke-dasharray:5 4}.chance-label{fill:#b3541e}"
)
BARS_STYLE = (
    f"{_TEXT_STYLE}.label{{text-anchor:end}}.track{{stroke:#e4e4e4}}.bar{{fill:#8fb3d6}}"
    ".whisker{stroke:#1c4a76;stroke-width:1.6}"
)


def reliability_svg(bins: Sequence[Bin], threshold: Threshold, name: str) -> str:
    """Draw acceptance by score: a dot with Wilson's interval per bin, the isotonic fit, the threshold dashed."""
    marks = [group.score for group in bins] + ([] if threshold.value is None else [threshold.value])
    low, high = (min(marks), max(marks)) if marks else (0.0, 1.0)
    margin = (high - low) * 0.04 or 0.5
    width, height, bottom = RELIABILITY_WIDTH, RELIABILITY_HEIGHT, RELIABILITY_BOTTOM
    plane = Plane(AxisRange(low - margin, high + margin), AxisRange(0, 1), LEFT, TOP, width - RIGHT, height - bottom)
    x, y = plane.x, plane.y
    parts = [
        f'<text class="title" x="{LEFT}" y="20">people accept, by score</text>',
        plane.levels((0, 0.25, 0.5, 0.75, 1), "{:.0%}".format),
        f'<path class="axis" d="M{LEFT} {height - bottom}H{width - RIGHT}"/>',
        plane.places(dict.fromkeys((low, high)), "{:.3g}".format),
        label((LEFT + width - RIGHT) / 2, height - 10, name, "middle"),
    ]
    if bins:
        parts.append(f'<path class="fit" d="M{" L".join(f"{x(b.score):.1f} {y(b.fitted):.1f}" for b in bins)}"/>')
    for group in bins:
        at = f"{x(group.score):.1f}"
        parts.append(f'<path class="whisker" d="M{at} {y(group.low):.1f}V{y(group.high):.1f}"/>')
        parts.append(f'<circle class="dot" cx="{at}" cy="{y(group.accepted):.1f}" r="3.6"/>')
    if threshold.value is not None:
        parts.append(_threshold_line(plane, threshold.value))
    description = "; ".join(f"score {group.score:.3g}: {group.accepted:.0%} of {group.n}" for group in bins)
    return document(parts, width, height, f"How often people accept, by {name}: {description}", RELIABILITY_STYLE)


def _threshold_line(plane: Plane, threshold: float) -> str:
    """Draw the threshold, labeled on the side with more room."""
    at = plane.x(threshold)
    anchor = f'x="{at + 5:.1f}"' if at < RELIABILITY_WIDTH * 0.6 else f'x="{at - 5:.1f}" text-anchor="end"'
    line = f'<path class="limit" d="M{at:.1f} {TOP}V{RELIABILITY_HEIGHT - RELIABILITY_BOTTOM}"/>'
    return f'{line}<text class="limit-label" {anchor} y="{TOP + 12}">passes above {threshold:.3g}</text>'


@dataclass(frozen=True, slots=True)
class BlendCurve:
    """Agreement with one target along a blend of two scores."""

    target: str
    measure: str
    chance: float
    points: tuple[Estimate, ...]
    """One per gamma."""
    best: float | None
    """The gamma of the highest point; optimistic, because it was chosen on the same answers. None without any."""


def blend_svg(curves: Sequence[BlendCurve], gammas: Sequence[float], names: tuple[str, str]) -> str:
    """Draw a panel per target with the interval as a band and chance dashed; `names` are those at gamma 0 and 1."""
    panels = (
        f'<g transform="translate(0 {index * PANEL_HEIGHT})">{_panel(curve, gammas, names)}</g>'
        for index, curve in enumerate(curves)
    )
    description = "; ".join(_describe(curve, gammas) for curve in curves)
    text = f"Agreement from {names[0]} to {names[1]}: {description}"
    return document(panels, BLEND_WIDTH, PANEL_HEIGHT * len(curves), text, BLEND_STYLE)


def _panel(curve: BlendCurve, gammas: Sequence[float], names: tuple[str, str]) -> str:
    plane = _blend_plane(curve)
    points = [(plane.x(gamma), point) for gamma, point in zip(gammas, curve.points, strict=True)]
    fifths = (step / 5 for step in range(round(plane.up.low * 5), round(plane.up.high * 5) + 1))
    base = PANEL_HEIGHT - BLEND_BOTTOM
    right = BLEND_WIDTH - BLEND_RIGHT
    return "".join(
        (
            f'<text class="title" x="{LEFT}" y="20">{escape(curve.target)}</text>',
            f'<text x="{right}" y="20" text-anchor="end">{escape(curve.measure)}</text>',
            plane.levels(fifths, "{:.1f}".format),
            f'<path class="axis" d="M{LEFT} {base}H{right}"/>',
            _band(points, plane),
            _chance_line(curve.chance, plane),
            _path(points, plane),
            _best_point(curve, gammas, plane),
            _gamma_axis(names),
        )
    )


def _blend_plane(curve: BlendCurve) -> Plane:
    """Scale the vertical axis in steps of a fifth, wide enough for the curve, its band and chance."""
    ends = [end for point in curve.points for end in (point.value, point.low, point.high) if end is not None]
    low, high = min([curve.chance, *ends]), max([curve.chance, *ends])
    first, last = int(low * 5 // 1), int(-(-high * 5 // 1))
    up = AxisRange(first / 5, max(last, first + 1) / 5)
    return Plane(AxisRange(0, 1), up, LEFT, BLEND_TOP, BLEND_WIDTH - BLEND_RIGHT, PANEL_HEIGHT - BLEND_BOTTOM)


def _band(points: Sequence[tuple[float, Estimate]], plane: Plane) -> str:
    ends = [(x, point.low, point.high) for x, point in points if point.low is not None and point.high is not None]
    if not ends:
        return ""
    upper = [f"{x:.1f} {plane.y(high):.1f}" for x, _, high in ends]
    lower = [f"{x:.1f} {plane.y(low):.1f}" for x, low, _ in reversed(ends)]
    return f'<path class="band" d="M{" L".join([*upper, *lower])}Z"/>'


def _path(points: Sequence[tuple[float, Estimate]], plane: Plane) -> str:
    defined = [f"{x:.1f} {plane.y(point.value):.1f}" for x, point in points if point.value is not None]
    return f'<path class="line" d="M{" L".join(defined)}"/>' if defined else ""


def _chance_line(chance: float, plane: Plane) -> str:
    at, right = plane.y(chance), BLEND_WIDTH - BLEND_RIGHT
    text = f'<text class="chance-label" x="{right - 4}" y="{at - 5:.1f}" text-anchor="end">guessing</text>'
    return f'<path class="chance" d="M{LEFT} {at:.1f}H{right}"/>{text}'


def _best_point(curve: BlendCurve, gammas: Sequence[float], plane: Plane) -> str:
    if curve.best is None:
        return ""
    height = curve.points[gammas.index(curve.best)].value or 0.0
    x, side = plane.x(curve.best), "end" if curve.best > 0.75 else "start" if curve.best < 0.25 else "middle"
    return (
        f'<circle class="best" cx="{x:.1f}" cy="{plane.y(height):.1f}" r="4"/>'
        f'<text class="best-label" x="{x:.1f}" y="{plane.y(height) - 9:.1f}" text-anchor="{side}">'
        f"{height:.2f} at γ = {curve.best:g}</text>"
    )


def _gamma_axis(names: tuple[str, str]) -> str:
    below, right = PANEL_HEIGHT - BLEND_BOTTOM + 17, BLEND_WIDTH - BLEND_RIGHT
    first, last = (escape(shortened(name, MAX_NAME_LENGTH)) for name in names)
    return (
        f'<text x="{LEFT}" y="{below}">0: {first}</text>'
        f'<text x="{right}" y="{below}" text-anchor="end">{last} :1</text>'
        f'<text x="{(LEFT + right) / 2:.0f}" y="{PANEL_HEIGHT - 10}" text-anchor="middle">γ, the share of preservation'
        "</text>"
    )


def _describe(curve: BlendCurve, gammas: Sequence[float]) -> str:
    if curve.best is None:
        return f"{curve.target}, undefined"
    ends = [curve.points[0].value, curve.points[gammas.index(curve.best)].value, curve.points[-1].value]
    first, best, last = ("none" if end is None else f"{end:.2f}" for end in ends)
    return f"{curve.target}, {first} at gamma 0, {best} at {curve.best:g}, {last} at 1"


def feedback_svg(questions: Mapping[str, Mapping[str, Mean]]) -> str:
    """Draw a bar chart per question, all on one scale: the share of remarks about each kind of issue."""
    ends = [share.high or share.value for shares in questions.values() for share in shares.values()]
    longest = max(ends, default=0.0) or 1.0
    parts, top = [], 0
    for question, shares in questions.items():
        n = next((share.n for share in shares.values()), 0)
        parts.append(f'<text class="title" x="14" y="{top + 22}">{escape(question)}: share of {n} remarks</text>')
        for index, (name, share) in enumerate(shares.items()):
            parts.append(_bar(name, share, top + HEADER_HEIGHT + index * ROW_HEIGHT, longest))
        top += HEADER_HEIGHT + ROW_HEIGHT * len(shares) + FOOTER_HEIGHT
    description = "; ".join(
        f"{question}: {', '.join(f'{name} {share.value:.0%}' for name, share in shares.items())}"
        for question, shares in questions.items()
    )
    return document(parts, BARS_WIDTH, top, f"What people complain about. {description}", BARS_STYLE)


def _bar(name: str, share: Mean, top: int, longest: float) -> str:
    middle, base = top + ROW_HEIGHT / 2, top + (ROW_HEIGHT - BAR_HEIGHT) / 2

    def x(value: float) -> float:
        return BARS_LEFT + value / longest * (BARS_WIDTH - BARS_LEFT - BARS_RIGHT)

    whisker = ""
    if share.low is not None and share.high is not None:
        whisker = f'<path class="whisker" d="M{x(share.low):.1f} {middle:g}H{x(share.high):.1f}"/>'
    return (
        f'<text class="label" x="{BARS_LEFT - 10}" y="{middle + 4:g}">{escape(name)}</text>'
        f'<path class="track" d="M{BARS_LEFT} {middle:g}H{BARS_WIDTH - BARS_RIGHT}"/>'
        f'<rect class="bar" x="{BARS_LEFT}" y="{base:g}" width="{x(share.value) - BARS_LEFT:.1f}" '
        f'height="{BAR_HEIGHT}"/>'
        f'{whisker}<text x="{BARS_WIDTH - BARS_RIGHT + 10}" y="{middle + 4:g}">{share.value:.1%}</text>'
    )
