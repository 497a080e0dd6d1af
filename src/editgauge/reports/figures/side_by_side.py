"""Methods side by side: a score to the top, types of edits to the right, a line and a color for every method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from editgauge._render import text as words
from editgauge._render.svg import AxisRange, Plane, drawing

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's palette, which people tell apart whatever their color vision; lines repeat it with other dashes."""
DASHES = ("none", "7 3", "2 3")
SERIES_STEP, SERIES_HEIGHT = 96, 250
SERIES_LEFT, SERIES_TOP, SERIES_BOTTOM = 52, 26, 34
SERIES_LABEL_WIDTH = 150
"""Width of the names at the right, in pixels."""
SERIES_LABEL_GAP = 14
MAX_SERIES_CHARACTERS = 22
SERIES_SPREAD = 28.0
"""Pixels over which the marks of one edit type are spread, so that intervals do not overlap."""


class Mark(NamedTuple):
    """A mean with its interval, where it has one."""

    value: float
    low: float | None
    high: float | None


class Series(NamedTuple):
    """A method: its mark at every edit type, None where it has no score."""

    label: str
    marks: Sequence[Mark | None]


@dataclass(frozen=True, slots=True)
class _SeriesPlane(Plane):
    """A plane with edit types at equal steps."""

    lines: int

    @classmethod
    def of(cls, up: AxisRange, count: int, lines: int) -> _SeriesPlane:
        return cls(AxisRange(0, count), up, SERIES_LEFT, SERIES_TOP, right=SERIES_LEFT + SERIES_STEP * count, bottom=SERIES_HEIGHT - SERIES_BOTTOM, lines=lines)

    def middle(self, index: int) -> float:
        return self.x(index + 0.5)

    def shifted(self, index: int, line: int) -> float:
        return self.middle(index) + (SERIES_SPREAD * (line / (self.lines - 1) - 0.5) if self.lines > 1 else 0.0)


def plot_series(series: Sequence[Series], kinds: Sequence[str], up: AxisRange, title: str, decimals: int) -> Markup:
    """Plot one score: a line and color per method, edit types to the right, the total last."""
    field = _SeriesPlane.of(up, len(kinds), len(series))
    parts = [
        _series_levels(field),
        Markup('<path fill="none" stroke="currentColor" stroke-opacity=".18" d="M{0:.1f} {1}V{2}"/>').format(
            field.right - SERIES_STEP, SERIES_TOP, SERIES_HEIGHT - SERIES_BOTTOM
        ),
        *(_series_text(field.middle(index), SERIES_HEIGHT - SERIES_BOTTOM + 16, kind, "middle") for index, kind in enumerate(kinds)),
        _series_text(SERIES_LEFT, SERIES_TOP - 11, title, "start"),
        *(_draw_series(line, number, field) for number, line in enumerate(series)),
        *_series_labels(series, field),
    ]
    spoken = "; ".join(f"{line.label}: {_spoken_series(line, kinds, decimals)}" for line in series)
    return drawing(parts, field.right + SERIES_LABEL_WIDTH, SERIES_HEIGHT, f"{title}: {spoken}", "side-by-side")


def _series_levels(field: _SeriesPlane) -> Markup:
    levels = (field.up.low, (field.up.low + field.up.high) / 2, field.up.high)
    rules = "".join(f"M{SERIES_LEFT} {field.y(level):.1f}H{field.right}" for level in levels)
    texts = [_series_text(SERIES_LEFT - 6, field.y(level) + 4, words.plain(level), "end") for level in levels]
    return Markup('<path fill="none" stroke="currentColor" stroke-opacity=".18" d="{}"/>').format(
        rules
    ) + Markup().join(texts)


def _draw_series(series: Series, number: int, field: _SeriesPlane) -> Markup:
    color, dash = _line_style(number)
    points = [(field.shifted(index, number), mark) for index, mark in enumerate(series.marks) if mark]
    way = "L".join(f"{x:.1f} {field.y(mark.value):.1f}" for x, mark in points)
    line = Markup('<path fill="none" stroke="{}" stroke-opacity=".45" stroke-dasharray="{}" d="M{}"/>')
    parts = [line.format(color, dash, way)] if len(points) > 1 else []
    for x, mark in points:
        if mark.low is not None and mark.high is not None:
            whisker = Markup('<path fill="none" stroke="{}" stroke-width="1.5" d="M{:.1f} {:.1f}V{:.1f}"/>')
            parts.append(whisker.format(color, x, field.y(mark.low), field.y(mark.high)))
        dot = Markup('<circle fill="{}" cx="{:.1f}" cy="{:.1f}" r="3.6"/>')
        parts.append(dot.format(color, x, field.y(mark.value)))
    return Markup().join(parts)


def _series_labels(series: Sequence[Series], field: _SeriesPlane) -> list[Markup]:
    """Place names next to the ends of their lines; one that would overlap another moves up."""
    ends = [
        (field.y(last.value), number, line.label)
        for number, line in enumerate(series)
        if (last := next((mark for mark in reversed(line.marks) if mark), None))
    ]
    placed: list[Markup] = []
    free = float(SERIES_HEIGHT - SERIES_BOTTOM + 4)
    for end, number, label in sorted(ends, reverse=True):
        free = min(end + 4, free)
        placed.append(
            Markup('<circle fill="{}" cx="{}" cy="{:.1f}" r="3"/>').format(_line_style(number)[0], field.right + 9, free - 4)
        )
        placed.append(_series_text(field.right + 17, free, words.shortened(label, MAX_SERIES_CHARACTERS), "start"))
        free -= SERIES_LABEL_GAP
    return placed


def _line_style(number: int) -> tuple[str, str]:
    return COLORS[number % len(COLORS)], DASHES[number // len(COLORS) % len(DASHES)]


def _spoken_series(series: Series, kinds: Sequence[str], decimals: int) -> str:
    pairs = zip(kinds, series.marks, strict=True)
    return ", ".join(f"{kind} {words.number(mark.value, decimals) if mark else 'no score'}" for kind, mark in pairs)


def _series_text(x: float, y: float, text: str, anchor: str) -> Markup:
    """Draw text in the color of the page."""
    drawn = Markup('<text fill="currentColor" font-size="11.5" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    return drawn.format(x, y, anchor, text)
