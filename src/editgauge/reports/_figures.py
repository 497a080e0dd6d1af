"""Figures of reports: trade-off, profiles, sweeps of an option, methods side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from editgauge._render import text
from editgauge._render import text as words
from editgauge._render.svg import AxisRange, Plane, document, drawing, label, round_values, scale_for
from editgauge._render.tables import directed
from editgauge._stats.intervals import Mean
from editgauge.analysis.captions import CaptionCurve
from editgauge.analysis.summary import ALL

if TYPE_CHECKING:
    from collections.abc import Collection

    from editgauge.analysis.summary import Cell, ScoreKey
    from editgauge.reports._score_tables import ScoreTable
    from editgauge.types import ScoreSpec

TRADE_OFF_WIDTH, TRADE_OFF_HEIGHT = 470, 372
TRADE_OFF_LEFT, TRADE_OFF_TOP, TRADE_OFF_RIGHT, TRADE_OFF_BOTTOM = 58, 30, 454, 318
LETTER_WIDTH, LINE_HEIGHT = 6.6, 15
"""Size of a letter of a label, in pixels."""
PHONE_SCALE = 1.38
"""Factor by which the style sheet enlarges names on phones."""
ANCHOR_OFFSETS = {"start": 0.0, "middle": 0.5, "end": 1.0}
"""Share of a name that lies left of its anchor."""
MAX_NAME_CHARACTERS = 26


class LabelBox(NamedTuple):
    """The rectangle that a label or point covers."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: LabelBox) -> bool:
        """Return whether the two overlap."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TradeOffPoint:
    """The means of one method."""

    method: str
    done: Mean
    preserved: Mean
    untouched: bool
    """Whether it returns every source unchanged; drawn for comparison."""

    @property
    def unsure(self) -> bool:
        """Whether a mean is of too few source images."""
        return self.done.few or self.preserved.few


def trade_off(
    cells: Sequence[Cell], done: ScoreKey, preserved: ScoreKey, methods: Sequence[str], untouched: Collection[str]
) -> Markup | None:
    """Plot edit done against rest kept, one point with two intervals per method; None if no method has both."""
    by_key = {(c.protocol, c.spec.name, c.method): c for c in cells if c.edit_type == ALL and c.mean}
    specs = {(c.protocol, c.spec.name): c.spec for c in cells}
    points = [
        TradeOffPoint(method, of_done.mean, of_kept.mean, method in untouched)
        for method in methods
        if (of_done := by_key.get((*done, method)))
        and (of_kept := by_key.get((*preserved, method)))
        and of_done.mean
        and of_kept.mean
    ]
    return _plot_trade_off(points, specs[done], specs[preserved], (done, preserved)) if points else None


def _plot_trade_off(
    points: Sequence[TradeOffPoint], done: ScoreSpec, preserved: ScoreSpec, keys: tuple[ScoreKey, ScoreKey]
) -> Markup:
    plane = Plane(
        _better_last(scale_for([point.preserved for point in points], preserved.range), preserved),
        _better_last(scale_for([point.done for point in points], done.range), done),
        *(TRADE_OFF_LEFT, TRADE_OFF_TOP, TRADE_OFF_RIGHT, TRADE_OFF_BOTTOM),
    )
    names = [f"{protocol}/{name}" for protocol, name in keys]
    parts = [
        plane.levels(round_values(plane.up)),
        plane.places(round_values(plane.across)),
        _axis_name(TRADE_OFF_LEFT, 14, "edit done ↑", names[0], "start"),
        _axis_name(TRADE_OFF_RIGHT, TRADE_OFF_HEIGHT - 10, "rest kept →", names[1], "end"),
        *(_draw_point(point, plane) for point in points),
        *_place_names(points, plane),
    ]
    spoken = "; ".join(
        f"{point.method}{' (the source itself)' if point.untouched else ''}: "
        f"edit done {_spoken_mean(point.done)}, rest kept {_spoken_mean(point.preserved)}"
        for point in points
    )
    return drawing(parts, TRADE_OFF_WIDTH, TRADE_OFF_HEIGHT, f"Edit done against rest kept. {spoken}", "tradeoff")


def _axis_name(x: float, y: float, question: str, score: str, anchor: str) -> Markup:
    parts = [Markup('<tspan class="axis-name">{}</tspan>').format(question), Markup("<tspan>{}</tspan>").format(score)]
    text = Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>')
    return text.format(x, y, anchor, Markup(" ").join(parts if anchor == "start" else parts[::-1]))


def _better_last(scale: AxisRange, spec: ScoreSpec) -> AxisRange:
    """Orient a scale so that better is to the top or right."""
    return scale if spec.higher_is_better else AxisRange(scale.high, scale.low)


def _point_style(point: TradeOffPoint) -> str:
    return (" untouched" if point.untouched else "") + (" unsure" if point.unsure else "")


def _draw_point(point: TradeOffPoint, plane: Plane) -> Markup:
    x, y = plane.x(point.preserved.value), plane.y(point.done.value)
    spans = ""
    if point.preserved.low is not None and point.preserved.high is not None:
        spans += f"M{plane.x(point.preserved.low):.1f} {y:.1f}H{plane.x(point.preserved.high):.1f}"
    if point.done.low is not None and point.done.high is not None:
        spans += f"M{x:.1f} {plane.y(point.done.low):.1f}V{plane.y(point.done.high):.1f}"
    title = f"{point.method}: edit done {_spoken_mean(point.done)}, rest kept {_spoken_mean(point.preserved)}"
    return Markup(
        '<g class="method{}"><title>{}</title><path class="span" d="{}"/>'
        '<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="6"/></g>'
    ).format(_point_style(point), title, spans, x, y)


def _place_names(points: Sequence[TradeOffPoint], plane: Plane) -> list[Markup]:
    """Place each name next to its point, clear of points and other names; omit a name that does not fit.

    A name that fits only at the normal size is `crowded`: phones, which enlarge names, hide it.
    """
    centers = [(plane.x(point.preserved.value), plane.y(point.done.value)) for point in points]
    dots = [LabelBox(x - 7, y - 7, x + 7, y + 7) for x, y in centers]
    taken = {1.0: list(dots), PHONE_SCALE: list(dots)}
    drawn = []
    for point, (x, y) in zip(points, centers, strict=True):
        name = words.shortened(point.method, MAX_NAME_CHARACTERS)
        right, left, middle = (x + 11, "start"), (x - 11, "end"), (x, "middle")
        positions = ((right, y - 5), (left, y - 5), (right, y + 15), (left, y + 15), (middle, y - 13), (middle, y + 23))
        for sizes, crowded in (((1.0, PHONE_SCALE), ""), ((1.0,), " crowded")):
            free = [
                position
                for position in positions
                if all(_is_free(_label_box(name, *position, size), taken[size]) for size in sizes)
            ]
            if free:
                (start, anchor), low = free[0]
                for size in sizes:
                    taken[size].append(_label_box(name, *free[0], size))
                drawn.append(label(start, low, name, anchor, f"method-name{_point_style(point)}{crowded}"))
                break
    return drawn


def _label_box(name: str, start: tuple[float, str], low: float, size: float) -> LabelBox:
    x, anchor = start
    wide = len(name) * LETTER_WIDTH * size
    left = x - wide * ANCHOR_OFFSETS[anchor]
    return LabelBox(left, low - LINE_HEIGHT * size + 3, left + wide, low + 3)


def _is_free(box: LabelBox, taken: Sequence[LabelBox]) -> bool:
    inside = (
        box.left >= TRADE_OFF_LEFT
        and box.right <= TRADE_OFF_WIDTH
        and box.top >= TRADE_OFF_TOP - LINE_HEIGHT
        and box.bottom <= TRADE_OFF_BOTTOM + 3
    )
    return inside and not any(map(box.meets, taken))


def _spoken_mean(mean: Mean) -> str:
    text = words.number(mean.value, 2)
    if mean.low is None or mean.high is None:
        return text
    return f"{text} ({words.number(mean.low, 2)} to {words.number(mean.high, 2)})"


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
    drawn = [
        _profile_line(line, scale, decimals, PROFILE_TOP + PROFILE_ROW_HEIGHT * index + PROFILE_ROW_HEIGHT / 2)
        for index, line in enumerate(lines)
    ]
    spoken = ", ".join(_spoken_row(line, decimals) for line in lines)
    axis = Markup(
        '<path class="frame" d="M{} {}v4M{} {}v4M{} {}H{}"/><text class="end-label" x="{}" y="{}">{}</text>'
        '<text class="end-label last" x="{}" y="{}">{}</text>'
    ).format(
        *(
            PROFILE_LABEL_WIDTH,
            bottom,
            PROFILE_LABEL_WIDTH + PROFILE_PLOT_WIDTH,
            bottom,
            PROFILE_LABEL_WIDTH,
            bottom,
            PROFILE_LABEL_WIDTH + PROFILE_PLOT_WIDTH,
        ),
        *(
            PROFILE_LABEL_WIDTH,
            height - 3,
            text.plain(scale.low),
            PROFILE_LABEL_WIDTH + PROFILE_PLOT_WIDTH,
            height - 3,
            text.plain(scale.high),
        ),
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
        Markup('<circle class="dot{}" cx="{:.1f}" cy="{:g}" r="3.6"/>').format(
            unsure, _profile_x(mean.value, scale), y
        ),
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
    """Points that differ only in the option."""

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
        label(SWEEP_LEFT, SWEEP_TOP - 11, directed(table.title, higher_is_better=table.spec.higher_is_better)),
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
    """Place labels next to the ends of lines; one that would overlap another moves up."""
    ends = sorted(((field.y(line.measured[-1][1].value), line.label) for line in lines if line.measured), reverse=True)
    placed: list[Markup] = []
    last = float("inf")
    for end, name in ends:
        last = min(end + 4, last - SWEEP_LABEL_GAP)
        placed.append(
            label(field.right + SWEEP_INSET + 6, last, text.shortened(name, MAX_SWEEP_CHARACTERS) or "as it is")
        )
    return placed


def _spoken_sweep(line: SweepLine, decimals: int) -> str:
    spoken_points = (
        f"{text.plain(point.value)} {text.number(point.mean.value, decimals) if point.mean else 'no score'}"
        for point in line.points
    )
    return (f"{line.label}: " if line.label else "") + ", ".join(spoken_points)


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
        return cls(
            AxisRange(0, count),
            up,
            SERIES_LEFT,
            SERIES_TOP,
            right=SERIES_LEFT + SERIES_STEP * count,
            bottom=SERIES_HEIGHT - SERIES_BOTTOM,
            lines=lines,
        )

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
        *(
            _series_text(field.middle(index), SERIES_HEIGHT - SERIES_BOTTOM + 16, kind, "middle")
            for index, kind in enumerate(kinds)
        ),
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
    for end, number, name in sorted(ends, reverse=True):
        free = min(end + 4, free)
        placed.append(
            Markup('<circle fill="{}" cx="{}" cy="{:.1f}" r="3"/>').format(
                _line_style(number)[0], field.right + 9, free - 4
            )
        )
        placed.append(_series_text(field.right + 17, free, words.shortened(name, MAX_SERIES_CHARACTERS), "start"))
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


CAPTION_WIDTH, CAPTION_HEIGHT = 460, 320
CAPTION_LEFT, CAPTION_RIGHT, CAPTION_TOP, CAPTION_BOTTOM = 54, 96, 54, 46
CAPTION_OFFSET = 3
"""Pixels by which the two rates of a step are shifted, so that intervals do not overlap."""
CAPTION_LABEL_HEIGHT = 15
CAPTION_RATES = {"mp": "precision", "hr": "hallucination"}
CAPTION_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.axis,.grid{fill:none;stroke:#999}"
    ".grid{stroke:#e4e4e4}.mp{stroke:#2a6fb0;fill:#2a6fb0}.hr{stroke:#b3541e;fill:#b3541e}"
    ".whisker{stroke-width:1.6}.line{fill:none;stroke-opacity:.45;stroke-width:2}.hr.line{stroke-dasharray:6 4}"
    "text.mp,text.hr{stroke:none}"
)
CAPTION_PLANE = Plane(
    AxisRange(0, 1),
    AxisRange(0, 1),
    CAPTION_LEFT,
    CAPTION_TOP,
    CAPTION_WIDTH - CAPTION_RIGHT,
    CAPTION_HEIGHT - CAPTION_BOTTOM,
)
"""Rates upwards; the caller places groups of outcomes to the right."""


def caption_quality_svg(curve: CaptionCurve) -> str:
    """Draw an SVG document: a dot with its interval per group of outcomes and rate, joined by a line."""
    width = (CAPTION_WIDTH - CAPTION_LEFT - CAPTION_RIGHT) / max(len(curve.steps), 1)
    positions = [CAPTION_LEFT + width * (index + 0.5) for index in range(len(curve.steps))]
    ends = {rate: _last_value(curve, rate) for rate in CAPTION_RATES}
    heights = _label_heights(ends)
    parts = [CAPTION_PLANE.levels((0, 0.25, 0.5, 0.75, 1), "{:.0%}".format), _caption_axis(curve, positions)]
    for rate, name in CAPTION_RATES.items():
        parts += _draw_rate(curve, rate, positions)
        if rate in heights:
            parts.append(
                f'<text class="{rate}" x="{CAPTION_WIDTH - CAPTION_RIGHT + 8}" y="{heights[rate]:.1f}">{name}</text>'
            )
    description = "; ".join(
        f"{step.fewest} to {step.most} objects: {_spoken_rates(step.rates)}" for step in curve.steps
    )
    spoken = f"Difference captions of {curve.protocol} for {curve.method}: {description}"
    return document(parts, CAPTION_WIDTH, CAPTION_HEIGHT, spoken, CAPTION_STYLE)


def _draw_rate(curve: CaptionCurve, rate: str, positions: Sequence[float]) -> list[str]:
    offset = -CAPTION_OFFSET if rate == "mp" else CAPTION_OFFSET
    steps = zip(positions, curve.steps, strict=True)
    means = [(position + offset, mean) for position, step in steps if (mean := step.rates[rate]) is not None]
    points = " L".join(f"{at:.1f} {CAPTION_PLANE.y(mean.value):.1f}" for at, mean in means)
    elements = [f'<path class="{rate} line" d="M{points}"/>'] if points else []
    for at, mean in means:
        if mean.low is not None and mean.high is not None:
            whisker = f"M{at:.1f} {CAPTION_PLANE.y(mean.low):.1f}V{CAPTION_PLANE.y(mean.high):.1f}"
            elements.append(f'<path class="{rate} whisker" d="{whisker}"/>')
        elements.append(f'<circle class="{rate}" cx="{at:.1f}" cy="{CAPTION_PLANE.y(mean.value):.1f}" r="3.6"/>')
    return elements


def _last_value(curve: CaptionCurve, rate: str) -> float | None:
    means = [mean for step in curve.steps if (mean := step.rates[rate]) is not None]
    return means[-1].value if means else None


def _label_heights(ends: dict[str, float | None]) -> dict[str, float]:
    """Return the height of each line's name: at its end, clear of the other."""
    heights = {rate: CAPTION_PLANE.y(value) + 4 for rate, value in ends.items() if value is not None}
    if len(heights) == 2 and abs(heights["mp"] - heights["hr"]) < CAPTION_LABEL_HEIGHT:
        upper, lower = sorted(heights, key=lambda rate: heights[rate])
        middle = sum(heights.values()) / 2
        heights = {upper: middle - CAPTION_LABEL_HEIGHT / 2, lower: middle + CAPTION_LABEL_HEIGHT / 2}
    return heights


def _spoken_rates(rates: Mapping[str, Mean | None]) -> str:
    measured = ((CAPTION_RATES[rate], mean) for rate, mean in rates.items() if mean is not None)
    return ", ".join(f"{name} {mean.value:.0%} of {mean.n}" for name, mean in measured)


def _caption_axis(curve: CaptionCurve, positions: Sequence[float]) -> str:
    title = (
        f'<text class="title" x="{CAPTION_LEFT}" y="20">{escape(curve.method)}</text>'
        f'<text x="{CAPTION_LEFT}" y="37">{escape(curve.protocol)}</text>'
    )
    middle = (CAPTION_LEFT + CAPTION_WIDTH - CAPTION_RIGHT) / 2
    numbers = "".join(
        f'<text x="{position:.1f}" y="{CAPTION_HEIGHT - CAPTION_BOTTOM + 17}" text-anchor="middle">'
        f"{step.fewest if step.fewest == step.most else f'{step.fewest}–{step.most}'}</text>"
        for position, step in zip(positions, curve.steps, strict=True)
    )
    name = f'<text x="{middle:.0f}" y="{CAPTION_HEIGHT - 10}" text-anchor="middle">objects in the edited image</text>'
    line = f"M{CAPTION_LEFT} {CAPTION_PLANE.y(0):.1f}H{CAPTION_WIDTH - CAPTION_RIGHT}"
    return f'{title}<path class="axis" d="{line}"/>{numbers}{name}'
