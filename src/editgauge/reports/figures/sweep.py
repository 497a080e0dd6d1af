"""A score to the top, an option to the right: lines through means, each mean with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from editgauge._render import text
from editgauge._render.svg import AxisRange, Plane, drawing, label, scale_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge._stats.intervals import Mean
    from editgauge.reports._score_tables import ScoreTable

WIDTH, HEIGHT = 400, 230
LEFT, TOP, BOTTOM = 52, 26, 42
RIGHT, RIGHT_WITH_LABELS = 22, 92
INSET = 14
"""Between the frame and the first and last value."""
MOST_LABELS = 9
LONGEST_LABEL = 16
LABEL_GAP = 12
APART = 5.0
"""Between the marks of two lines at one value, so that their intervals do not hide each other."""


class SweepPoint(NamedTuple):
    """A value of the option and the mean there, if there is one."""

    value: float
    mean: Mean | None


class SweepLine(NamedTuple):
    """Points that differ in the option alone."""

    label: str
    """What else is chosen; empty when nothing is."""
    points: Sequence[SweepPoint]

    @property
    def known(self) -> list[tuple[float, Mean]]:
        """The points that have a mean."""
        return [(point.value, point.mean) for point in self.points if point.mean]


def plot(lines: Sequence[SweepLine], option: str, table: ScoreTable) -> Markup:
    """The plot of one score."""
    values = sorted({point.value for line in lines for point in line.points})
    up = scale_for([mean for line in lines for _, mean in line.known], table.spec.range)
    end = WIDTH - (RIGHT_WITH_LABELS if len(lines) > 1 else RIGHT)
    across = AxisRange(values[0], values[-1])
    field = Plane(across, up, LEFT + INSET, TOP, end - INSET, HEIGHT - BOTTOM)
    arrow = "↑" if table.spec.higher_is_better else "↓"
    parts = [
        field.levels((up.low, (up.low + up.high) / 2, up.high)),
        field.places(values[:: -(-len(values) // MOST_LABELS)]),
        label((LEFT + end) / 2, HEIGHT - 6, option, "middle"),
        label(LEFT, TOP - 11, f"{table.title} {arrow}"),
        *(_line(line, field, APART * (place - (len(lines) - 1) / 2)) for place, line in enumerate(lines)),
        *(_labels(lines, field) if len(lines) > 1 else []),
    ]
    spoken = "; ".join(_spoken(line, table.decimals) for line in lines)
    return drawing(parts, WIDTH, HEIGHT, f"{table.title} over {option}: {spoken}", "profile")


def _line(line: SweepLine, field: Plane, aside: float) -> Markup:
    through = "L".join(f"{field.x(value) + aside:.1f} {field.y(mean.value):.1f}" for value, mean in line.known)
    parts = [Markup('<path class="span" opacity=".5" d="M{}"/>').format(through)] if len(line.known) > 1 else []
    for value, mean in line.known:
        x, unsure = field.x(value) + aside, " unsure" if mean.few else ""
        if mean.low is not None and mean.high is not None:
            low, high = field.y(mean.low), field.y(mean.high)
            parts.append(Markup('<path class="span{}" d="M{:.1f} {:.1f}V{:.1f}"/>').format(unsure, x, low, high))
        dot = Markup('<circle class="dot{}" cx="{:.1f}" cy="{:.1f}" r="3.6"/>')
        parts.append(dot.format(unsure, x, field.y(mean.value)))
    return Markup().join(parts)


def _labels(lines: Sequence[SweepLine], field: Plane) -> list[Markup]:
    """What else is chosen, next to the end of each line; one that would touch another moves up."""
    ends = sorted(((field.y(line.known[-1][1].value), line.label) for line in lines if line.known), reverse=True)
    placed: list[Markup] = []
    last = float("inf")
    for end, name in ends:
        last = min(end + 4, last - LABEL_GAP)
        placed.append(label(field.right + INSET + 6, last, text.shortened(name, LONGEST_LABEL) or "as it is"))
    return placed


def _spoken(line: SweepLine, decimals: int) -> str:
    said = (
        f"{text.plain(point.value)} {text.number(point.mean.value, decimals) if point.mean else 'no score'}"
        for point in line.points
    )
    return (f"{line.label}: " if line.label else "") + ", ".join(said)
