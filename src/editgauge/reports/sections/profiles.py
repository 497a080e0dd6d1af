"""Small multiples: a method's mean at every edit type against the others, and an edit type's mean for every method."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from editgauge._render import text
from editgauge._render.svg import AxisRange, drawing
from editgauge.analysis.summary import ALL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge._stats.intervals import Mean
    from editgauge.reports._score_tables import ScoreTable

ROW, TOP, BOTTOM = 21, 4, 20
LABEL, PLOT, NUMBER = 152, 118, 52
"""Widths: the names at the left, the axis, the number at the right."""
LONGEST_LABEL = 24


class ProfileRow(NamedTuple):
    """One row of a plot."""

    label: str
    mean: Mean | None
    others: Sequence[float] = ()
    """Drawn gray behind the mean."""


def of_method(table: ScoreTable, methods: Sequence[str], method: str) -> Markup:
    """The method's mean at every edit type, with the other methods in gray."""
    mine = methods.index(method)
    lines = []
    for edit_type, row in table.rows.items():
        others = [
            shown.cell.mean.value for place, shown in enumerate(row) if place != mine and shown and shown.cell.mean
        ]
        own = row[mine]
        label = "all edits" if edit_type == ALL else text.spaced(edit_type)
        lines.append(ProfileRow(label, own.cell.mean if own else None, others))
    return plot(lines, table.scale, table.decimals, f"{table.title} of {method} by edit type")


def of_edit_type(table: ScoreTable, methods: Sequence[str], edit_type: str) -> Markup:
    """Every method's mean at the edit type."""
    lines = [
        ProfileRow(method, shown.cell.mean if shown else None)
        for method, shown in zip(methods, table.rows[edit_type], strict=True)
    ]
    return plot(lines, table.scale, table.decimals, f"{table.title} at {text.spaced(edit_type)} by method")


def plot(lines: Sequence[ProfileRow], scale: AxisRange, decimals: int, title: str) -> Markup:
    """Dots with whiskers under each other on one axis."""
    bottom = TOP + ROW * len(lines)
    width, height = LABEL + PLOT + NUMBER, bottom + BOTTOM
    drawn = [_line(line, scale, decimals, TOP + ROW * place + ROW / 2) for place, line in enumerate(lines)]
    spoken = ", ".join(_spoken(line, decimals) for line in lines)
    axis = Markup(
        '<path class="frame" d="M{} {}v4M{} {}v4M{} {}H{}"/><text class="end-label" x="{}" y="{}">{}</text>'
        '<text class="end-label last" x="{}" y="{}">{}</text>'
    ).format(
        *(LABEL, bottom, LABEL + PLOT, bottom, LABEL, bottom, LABEL + PLOT),
        *(LABEL, height - 3, text.plain(scale.low), LABEL + PLOT, height - 3, text.plain(scale.high)),
    )
    return drawing([*drawn, axis], width, height, f"{title}: {spoken}", "profile")


def _line(line: ProfileRow, scale: AxisRange, decimals: int, y: float) -> Markup:
    label = text.shortened(line.label, LONGEST_LABEL)
    parts = [
        Markup('<text class="label" x="{}" y="{:g}">{}</text>').format(LABEL - 10, y + 4, label),
        Markup('<path class="track" d="M{} {:g}h{}"/>').format(LABEL, y, PLOT),
    ]
    if line.others:
        dots = "".join(f"M{_x(value, scale):.1f} {y:g}h0" for value in line.others)
        parts.append(Markup('<path class="others" d="{}"/>').format(dots))
    mean = line.mean
    if mean is None:
        parts.append(Markup('<text class="number absent" x="{}" y="{:g}">none</text>').format(_end(), y + 4))
        return Markup().join(parts)
    unsure = " unsure" if mean.few else ""
    if mean.low is not None and mean.high is not None:
        low, high = _x(mean.low, scale), _x(mean.high, scale)
        parts.append(Markup('<path class="span{}" d="M{:.1f} {:g}H{:.1f}"/>').format(unsure, low, y, high))
    parts += [
        Markup('<circle class="dot{}" cx="{:.1f}" cy="{:g}" r="3.6"/>').format(unsure, _x(mean.value, scale), y),
        Markup('<text class="number" x="{}" y="{:g}">{}</text>').format(
            _end(), y + 4, text.number(mean.value, decimals)
        ),
    ]
    return Markup().join(parts)


def _spoken(line: ProfileRow, decimals: int) -> str:
    return f"{line.label} {text.number(line.mean.value, decimals) if line.mean else 'no score'}"


def _x(value: float, scale: AxisRange) -> float:
    return LABEL + scale.share(value) * PLOT


def _end() -> int:
    return LABEL + PLOT + NUMBER - 2
