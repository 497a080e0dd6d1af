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
STEP, HEIGHT = 96, 250
LEFT, TOP, BOTTOM = 52, 26, 34
LABELS = 150
"""Width of the names at the right."""
LABEL_GAP = 14
LONGEST_LABEL = 22
SPREAD = 28.0
"""Pixels over which the marks of one type are spread, so that intervals do not hide each other."""


class Mark(NamedTuple):
    """A mean with its interval, where it has one."""

    value: float
    low: float | None
    high: float | None


class Series(NamedTuple):
    """A method: its mark at every type of edit, none where it has no score."""

    label: str
    marks: Sequence[Mark | None]


@dataclass(frozen=True, slots=True)
class _Field(Plane):
    """Types of edits stand at equal steps; the marks of a type are spread, so that methods do not hide each other."""

    lines: int

    @classmethod
    def of(cls, up: AxisRange, count: int, lines: int) -> _Field:
        return cls(AxisRange(0, count), up, LEFT, TOP, right=LEFT + STEP * count, bottom=HEIGHT - BOTTOM, lines=lines)

    def middle(self, place: int) -> float:
        return self.x(place + 0.5)

    def aside(self, place: int, line: int) -> float:
        return self.middle(place) + (SPREAD * (line / (self.lines - 1) - 0.5) if self.lines > 1 else 0.0)


def plot(series: Sequence[Series], kinds: Sequence[str], up: AxisRange, title: str, decimals: int) -> Markup:
    """The plot of one score; the last of the kinds is the total and stands apart."""
    field = _Field.of(up, len(kinds), len(series))
    parts = [
        _levels(field),
        Markup('<path fill="none" stroke="currentColor" stroke-opacity=".18" d="M{0:.1f} {1}V{2}"/>').format(
            field.right - STEP, TOP, HEIGHT - BOTTOM
        ),
        *(_text(field.middle(place), HEIGHT - BOTTOM + 16, kind, "middle") for place, kind in enumerate(kinds)),
        _text(LEFT, TOP - 11, title, "start"),
        *(_drawn(each, number, field) for number, each in enumerate(series)),
        *_labels(series, field),
    ]
    spoken = "; ".join(f"{each.label}: {_spoken(each, kinds, decimals)}" for each in series)
    return drawing(parts, field.right + LABELS, HEIGHT, f"{title}: {spoken}", "side-by-side")


def _levels(field: _Field) -> Markup:
    levels = (field.up.low, (field.up.low + field.up.high) / 2, field.up.high)
    rules = "".join(f"M{LEFT} {field.y(level):.1f}H{field.right}" for level in levels)
    texts = [_text(LEFT - 6, field.y(level) + 4, words.plain(level), "end") for level in levels]
    return Markup('<path fill="none" stroke="currentColor" stroke-opacity=".18" d="{}"/>').format(
        rules
    ) + Markup().join(texts)


def _drawn(series: Series, number: int, field: _Field) -> Markup:
    color, dash = _look(number)
    known = [(field.aside(place, number), mark) for place, mark in enumerate(series.marks) if mark]
    way = "L".join(f"{x:.1f} {field.y(mark.value):.1f}" for x, mark in known)
    line = Markup('<path fill="none" stroke="{}" stroke-opacity=".45" stroke-dasharray="{}" d="M{}"/>')
    parts = [line.format(color, dash, way)] if len(known) > 1 else []
    for x, mark in known:
        if mark.low is not None and mark.high is not None:
            whisker = Markup('<path fill="none" stroke="{}" stroke-width="1.5" d="M{:.1f} {:.1f}V{:.1f}"/>')
            parts.append(whisker.format(color, x, field.y(mark.low), field.y(mark.high)))
        dot = Markup('<circle fill="{}" cx="{:.1f}" cy="{:.1f}" r="3.6"/>')
        parts.append(dot.format(color, x, field.y(mark.value)))
    return Markup().join(parts)


def _labels(series: Sequence[Series], field: _Field) -> list[Markup]:
    """The methods' names next to the ends of their lines, in their colors; one that would touch another moves up."""
    ends = [
        (field.y(last.value), number, each.label)
        for number, each in enumerate(series)
        if (last := next((mark for mark in reversed(each.marks) if mark), None))
    ]
    placed: list[Markup] = []
    free = float(HEIGHT - BOTTOM + 4)
    for end, number, label in sorted(ends, reverse=True):
        free = min(end + 4, free)
        placed.append(
            Markup('<circle fill="{}" cx="{}" cy="{:.1f}" r="3"/>').format(_look(number)[0], field.right + 9, free - 4)
        )
        placed.append(_text(field.right + 17, free, words.shortened(label, LONGEST_LABEL), "start"))
        free -= LABEL_GAP
    return placed


def _look(number: int) -> tuple[str, str]:
    return COLORS[number % len(COLORS)], DASHES[number // len(COLORS) % len(DASHES)]


def _spoken(series: Series, kinds: Sequence[str], decimals: int) -> str:
    pairs = zip(kinds, series.marks, strict=True)
    return ", ".join(f"{kind} {words.number(mark.value, decimals) if mark else 'no score'}" for kind, mark in pairs)


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    """In the color of the page's own text, whichever that is."""
    drawn = Markup('<text fill="currentColor" font-size="11.5" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    return drawn.format(x, y, anchor, text)
