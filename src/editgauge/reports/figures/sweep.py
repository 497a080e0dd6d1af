"""A score to the top, an option to the right: lines through means, each mean with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from editgauge._render import text
from editgauge._render.tables import directed
from editgauge._render.svg import AxisRange, Plane, drawing, label, scale_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge._stats.intervals import Mean
    from editgauge.reports._score_tables import ScoreTable

SWEEP_WIDTH, SWEEP_HEIGHT = 400, 230
SWEEP_LEFT, SWEEP_TOP, SWEEP_BOTTOM = 52, 26, 42
SWEEP_RIGHT, SWEEP_RIGHT_WITH_LABELS = 22, 92
SWEEP_INSET = 14
"""Pixels between the frame and the first and last value."""
MAX_TICKS = 9
MAX_SWEEP_CHARACTERS = 16
SWEEP_LABEL_GAP = 12
SWEEP_OFFSET = 5.0
"""Pixels between the marks of two lines at one value, so that intervals do not overlap."""


class SweepPoint(NamedTuple):
    """A value of the option and the mean there, if there is one."""

    value: float
    mean: Mean | None


class SweepLine(NamedTuple):
    """Points that differ in the option alone."""

    label: str
    """The other options of the variants; empty without any."""
    points: Sequence[SweepPoint]

    @property
    def measured(self) -> list[tuple[float, Mean]]:
        """Return the points that have a mean."""
        return [(point.value, point.mean) for point in self.points if point.mean]


def plot_sweep(lines: Sequence[SweepLine], option: str, table: ScoreTable) -> Markup:
    """Plot a score over an option: lines through means, each with its interval."""
    values = sorted({point.value for line in lines for point in line.points})
    up = scale_for([mean for line in lines for _, mean in line.measured], table.spec.range)
    end = SWEEP_WIDTH - (SWEEP_RIGHT_WITH_LABELS if len(lines) > 1 else SWEEP_RIGHT)
    across = AxisRange(values[0], values[-1])
    field = Plane(across, up, SWEEP_LEFT + SWEEP_INSET, SWEEP_TOP, end - SWEEP_INSET, SWEEP_HEIGHT - SWEEP_BOTTOM)
    parts = [
        field.levels((up.low, (up.low + up.high) / 2, up.high)),
        field.places(values[:: -(-len(values) // MAX_TICKS)]),
        label((SWEEP_LEFT + end) / 2, SWEEP_HEIGHT - 6, option, "middle"),
        label(SWEEP_LEFT, SWEEP_TOP - 11, directed(table.title, table.spec.higher_is_better)),
        *(_sweep_line(line, field, SWEEP_OFFSET * (index - (len(lines) - 1) / 2)) for index, line in enumerate(lines)),
        *(_sweep_labels(lines, field) if len(lines) > 1 else []),
    ]
    spoken = "; ".join(_spoken_sweep(line, table.decimals) for line in lines)
    return drawing(parts, SWEEP_WIDTH, SWEEP_HEIGHT, f"{table.title} over {option}: {spoken}", "profile")


def _sweep_line(line: SweepLine, field: Plane, aside: float) -> Markup:
    through = "L".join(f"{field.x(value) + aside:.1f} {field.y(mean.value):.1f}" for value, mean in line.measured)
    parts = [Markup('<path class="span" opacity=".5" d="M{}"/>').format(through)] if len(line.measured) > 1 else []
    for value, mean in line.measured:
        x, unsure = field.x(value) + aside, " unsure" if mean.few else ""
        if mean.low is not None and mean.high is not None:
            low, high = field.y(mean.low), field.y(mean.high)
            parts.append(Markup('<path class="span{}" d="M{:.1f} {:.1f}V{:.1f}"/>').format(unsure, x, low, high))
        dot = Markup('<circle class="dot{}" cx="{:.1f}" cy="{:.1f}" r="3.6"/>')
        parts.append(dot.format(unsure, x, field.y(mean.value)))
    return Markup().join(parts)


def _sweep_labels(lines: Sequence[SweepLine], field: Plane) -> list[Markup]:
    """What else is chosen, next to the end of each line; one that would touch another moves up."""
    ends = sorted(((field.y(line.measured[-1][1].value), line.label) for line in lines if line.measured), reverse=True)
    placed: list[Markup] = []
    last = float("inf")
    for end, name in ends:
        last = min(end + 4, last - SWEEP_LABEL_GAP)
        placed.append(label(field.right + SWEEP_INSET + 6, last, text.shortened(name, MAX_SWEEP_CHARACTERS) or "as it is"))
    return placed


def _spoken_sweep(line: SweepLine, decimals: int) -> str:
    said = (
        f"{text.plain(point.value)} {text.number(point.mean.value, decimals) if point.mean else 'no score'}"
        for point in line.points
    )
    return (f"{line.label}: " if line.label else "") + ", ".join(said)
