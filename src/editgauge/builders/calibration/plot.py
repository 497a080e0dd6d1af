"""Reliability diagrams: what share of people say so, by number; as it was, and as the curve makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from editgauge._render.svg import AxisRange, Plane, document
from editgauge.builders.calibration.measures import CalibrationComparison, ReliabilityBin
from editgauge.protocols.editgauge._calibration import CalibrationCurve

SIDE = 220
LEFT, GAP, RIGHT, TOP, BETWEEN, BOTTOM = 58, 56, 24, 76, 130, 46
WIDTH = LEFT + SIDE + GAP + SIDE + RIGHT
SHARES = AxisRange(0, 1)
TICKS = (0, 0.25, 0.5, 0.75, 1)
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.small{fill:#666}"
    ".axis,.grid{fill:none;stroke:#999}.grid{stroke:#ececec}.even{stroke:#999;stroke-dasharray:4 4}"
    ".whisker{stroke-width:1.6}.before{stroke:#b3541e;fill:#b3541e}.after{stroke:#2a6fb0;fill:#2a6fb0}"
    ".dot{stroke:none}.band{fill:#2a6fb0;fill-opacity:.16}"
    ".curve{fill:none;stroke:#2a6fb0;stroke-width:2}"
)


def calibration_svg(scores: Mapping[str, tuple[CalibrationCurve, CalibrationComparison]]) -> str:
    """Draw an SVG with one row per score: the curve on probes, and the reliability after calibration."""
    rows = (_row(name, *item, TOP + index * (SIDE + BETWEEN)) for index, (name, item) in enumerate(scores.items()))
    height = TOP + len(scores) * (SIDE + BETWEEN) - BETWEEN + BOTTOM
    description = "; ".join(
        f"{name}: expected error {element.before.expected_error:.3f} before, {element.after.expected_error:.3f} after"
        for name, (_, element) in scores.items()
    )
    return document(rows, WIDTH, height, f"The share of people who say so, by number. {description}", STYLE)


def _row(name: str, curve: CalibrationCurve, comparison: CalibrationComparison, top: float) -> str:
    question = f" to '{curve.question}'" if curve.question else ""
    named = f"{name}, and the share of people who say so{question}"
    title = f'<text class="title" x="{LEFT}" y="{top - 52:g}">{escape(named)}</text>'
    before = _Panel(LEFT, top)
    after = _Panel(LEFT + SIDE + GAP, top)
    return "".join(
        (
            title,
            before.frame(
                "as fitted on probes", f"expected error {comparison.before.expected_error:.3f}", "number on probes"
            ),
            before.curve(curve),
            before.dots(comparison.before.bins, "before"),
            after.frame(
                "by people's ratings, on images left out",
                f"expected error {comparison.after.expected_error:.3f}",
                "calibrated number",
            ),
            after.dots(comparison.after.bins, "after"),
        )
    )


class _Panel(Plane):
    """A square from 0 to 1 both ways."""

    def __init__(self, left: float, top: float) -> None:
        super().__init__(SHARES, SHARES, left, top, left + SIDE, top + SIDE)

    def frame(self, title: str, small: str, below: str) -> str:
        """Grid, axes, and the diagonal on which numbers are what people say."""
        lines = "".join(
            f'<path class="grid" d="M{self.left:g} {self.y(tick):.1f}H{self.right:g}M{self.x(tick):.1f} {self.top:g}'
            f'V{self.bottom:g}"/>'
            f'<text x="{self.left - 8:g}" y="{self.y(tick) + 4:.1f}" text-anchor="end">{tick:.0%}</text>'
            for tick in TICKS
        )
        numbers = "".join(
            f'<text x="{self.x(tick):.1f}" y="{self.bottom + 16:g}" text-anchor="middle">{tick:g}</text>'
            for tick in (0, 0.5, 1)
        )
        middle = self.left + SIDE / 2
        return (
            f'<text x="{self.left:g}" y="{self.top - 30:g}">{escape(title)}</text>'
            f'<text class="small" x="{self.left:g}" y="{self.top - 12:g}">{escape(small)}</text>{lines}'
            f'<path class="axis" d="M{self.left:g} {self.top:g}V{self.bottom:g}H{self.right:g}"/>'
            f'<path class="even" d="M{self.left:g} {self.bottom:g}L{self.right:g} {self.top:g}"/>{numbers}'
            f'<text class="small" x="{middle:g}" y="{self.bottom + 34:g}" text-anchor="middle">{escape(below)}</text>'
        )

    def curve(self, curve: CalibrationCurve) -> str:
        """Draw the fitted curve with its band."""
        steps = [step / SIDE for step in range(SIDE + 1)]
        line = " L".join(f"{self.x(at):.1f} {self.y(curve(at)):.1f}" for at in steps)
        ends = [(at, *ends_at) for at in steps if (ends_at := curve.interval(at))]
        around = [(at, high) for at, _, high in ends] + [(at, low) for at, low, _ in reversed(ends)]
        band = " L".join(f"{self.x(at):.1f} {self.y(share):.1f}" for at, share in around)
        drawn = f'<path class="band" d="M{band}Z"/>' if ends else ""
        return f'{drawn}<path class="curve" d="M{line}"/>'

    def dots(self, bins: Sequence[ReliabilityBin], kind: str) -> str:
        """Draw one dot per bin with its interval."""
        parts = []
        for bin in bins:
            at, share = f"{self.x(bin.value):.1f}", bin.share
            if share.low is not None and share.high is not None:
                parts.append(
                    f'<path class="whisker {kind}" d="M{at} {self.y(share.low):.1f}V{self.y(share.high):.1f}"/>'
                )
            parts.append(f'<circle class="dot {kind}" cx="{at}" cy="{self.y(share.value):.1f}" r="3.6"/>')
        return "".join(parts)
