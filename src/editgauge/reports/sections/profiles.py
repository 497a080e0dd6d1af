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

PROFILE_ROW_HEIGHT, PROFILE_TOP, PROFILE_BOTTOM = 21, 4, 20
PROFILE_LABEL_WIDTH, PROFILE_PLOT_WIDTH, PROFILE_NUMBER_WIDTH = 152, 118, 52
"""Widths of the names at the left, the axis, and the number at the right, in pixels."""
MAX_PROFILE_CHARACTERS = 24


class ProfileRow(NamedTuple):
    """One row of a plot_profile."""

    label: str
    mean: Mean | None
    background: Sequence[float] = ()
    """Values of other methods, drawn in gray."""


def plot_method_profile(table: ScoreTable, methods: Sequence[str], method: str) -> Markup:
    """Plot a method's mean at every edit type, with the other methods in gray."""
    column = methods.index(method)
    lines = []
    for edit_type, row in table.rows.items():
        background = [
            cell.cell.mean.value for index, cell in enumerate(row) if index != column and cell and cell.cell.mean
        ]
        own_cell = row[column]
        label = "all edits" if edit_type == ALL else text.spaced(edit_type)
        lines.append(ProfileRow(label, own_cell.cell.mean if own_cell else None, background))
    return plot_profile(lines, table.scale, table.decimals, f"{table.title} of {method} by edit type")


def plot_type_profile(table: ScoreTable, methods: Sequence[str], edit_type: str) -> Markup:
    """Plot every method's mean at one edit type."""
    lines = [
        ProfileRow(method, cell.cell.mean if cell else None)
        for method, cell in zip(methods, table.rows[edit_type], strict=True)
    ]
    return plot_profile(lines, table.scale, table.decimals, f"{table.title} at {text.spaced(edit_type)} by method")


def plot_profile(lines: Sequence[ProfileRow], scale: AxisRange, decimals: int, title: str) -> Markup:
    """Plot dots with intervals on one axis, one row each."""
    bottom = PROFILE_TOP + PROFILE_ROW_HEIGHT * len(lines)
    width, height = PROFILE_LABEL_WIDTH + PROFILE_PLOT_WIDTH + PROFILE_NUMBER_WIDTH, bottom + PROFILE_BOTTOM
    drawn = [_profile_line(line, scale, decimals, PROFILE_TOP + PROFILE_ROW_HEIGHT * index + PROFILE_ROW_HEIGHT / 2) for index, line in enumerate(lines)]
    spoken = ", ".join(_spoken_row(line, decimals) for line in lines)
    axis = Markup(
        '<path class="frame" d="M{} {}v4M{} {}v4M{} {}H{}"/><text class="end-label" x="{}" y="{}">{}</text>'
        '<text class="end-label last" x="{}" y="{}">{}</text>'
    ).format(
        *(PROFILE_LABEL_WIDTH, bottom, PROFILE_LABEL_WIDTH + PROFILE_PLOT_WIDTH, bottom, PROFILE_LABEL_WIDTH, bottom, PROFILE_LABEL_WIDTH + PROFILE_PLOT_WIDTH),
        *(PROFILE_LABEL_WIDTH, height - 3, text.plain(scale.low), PROFILE_LABEL_WIDTH + PROFILE_PLOT_WIDTH, height - 3, text.plain(scale.high)),
    )
    return drawing([*drawn, axis], width, height, f"{title}: {spoken}", "profile")


def _profile_line(line: ProfileRow, scale: AxisRange, decimals: int, y: float) -> Markup:
    label = text.shortened(line.label, MAX_PROFILE_CHARACTERS)
    parts = [
        Markup('<text class="label" x="{}" y="{:g}">{}</text>').format(PROFILE_LABEL_WIDTH - 10, y + 4, label),
        Markup('<path class="track" d="M{} {:g}h{}"/>').format(PROFILE_LABEL_WIDTH, y, PROFILE_PLOT_WIDTH),
    ]
    if line.background:
        dots = "".join(f"M{_profile_x(value, scale):.1f} {y:g}h0" for value in line.background)
        parts.append(Markup('<path class="others" d="{}"/>').format(dots))
    mean = line.mean
    if mean is None:
        parts.append(Markup('<text class="number absent" x="{}" y="{:g}">none</text>').format(_profile_end(), y + 4))
        return Markup().join(parts)
    unsure = " unsure" if mean.few else ""
    if mean.low is not None and mean.high is not None:
        low, high = _profile_x(mean.low, scale), _profile_x(mean.high, scale)
        parts.append(Markup('<path class="span{}" d="M{:.1f} {:g}H{:.1f}"/>').format(unsure, low, y, high))
    parts += [
        Markup('<circle class="dot{}" cx="{:.1f}" cy="{:g}" r="3.6"/>').format(unsure, _profile_x(mean.value, scale), y),
        Markup('<text class="number" x="{}" y="{:g}">{}</text>').format(
            _profile_end(), y + 4, text.number(mean.value, decimals)
        ),
    ]
    return Markup().join(parts)


def _spoken_row(line: ProfileRow, decimals: int) -> str:
    return f"{line.label} {text.number(line.mean.value, decimals) if line.mean else 'no score'}"


def _profile_x(value: float, scale: AxisRange) -> float:
    return PROFILE_LABEL_WIDTH + scale.share(value) * PROFILE_PLOT_WIDTH


def _profile_end() -> int:
    return PROFILE_LABEL_WIDTH + PROFILE_PLOT_WIDTH + PROFILE_NUMBER_WIDTH - 2
