"""Figures of reports: trade-off, profiles, sweeps of an option, methods side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from editgauge._render import text as words
from editgauge._render.svg import AxisRange, Plane, drawing, label, round_values, scale_for
from editgauge.analysis.summary import ALL

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from editgauge._stats.intervals import Mean
    from editgauge.analysis.summary import Cell, ScoreKey
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
    kept: Mean
    untouched: bool
    """Whether it returns every source unchanged; drawn for comparison."""

    @property
    def unsure(self) -> bool:
        """Whether a mean is of too few source images."""
        return self.done.few or self.kept.few


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


def _plot_trade_off(points: Sequence[TradeOffPoint], done: ScoreSpec, preserved: ScoreSpec, keys: tuple[ScoreKey, ScoreKey]) -> Markup:
    plane = Plane(
        _better_last(scale_for([point.kept for point in points], preserved.range), preserved),
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
        f"edit done {_spoken_mean(point.done)}, rest kept {_spoken_mean(point.kept)}"
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
    x, y = plane.x(point.kept.value), plane.y(point.done.value)
    spans = ""
    if point.kept.low is not None and point.kept.high is not None:
        spans += f"M{plane.x(point.kept.low):.1f} {y:.1f}H{plane.x(point.kept.high):.1f}"
    if point.done.low is not None and point.done.high is not None:
        spans += f"M{x:.1f} {plane.y(point.done.low):.1f}V{plane.y(point.done.high):.1f}"
    title = f"{point.method}: edit done {_spoken_mean(point.done)}, rest kept {_spoken_mean(point.kept)}"
    return Markup(
        '<g class="method{}"><title>{}</title><path class="span" d="{}"/>'
        '<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="6"/></g>'
    ).format(_point_style(point), title, spans, x, y)


def _place_names(points: Sequence[TradeOffPoint], plane: Plane) -> list[Markup]:
    """Place each name next to its point, clear of points and other names; omit a name that does not fit.

    A name that fits only at the normal size is `crowded`: phones, which enlarge names, hide it.
    """
    centers = [(plane.x(point.kept.value), plane.y(point.done.value)) for point in points]
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
    inside = box.left >= TRADE_OFF_LEFT and box.right <= TRADE_OFF_WIDTH and box.top >= TRADE_OFF_TOP - LINE_HEIGHT and box.bottom <= TRADE_OFF_BOTTOM + 3
    return inside and not any(map(box.meets, taken))


def _spoken_mean(mean: Mean) -> str:
    text = words.number(mean.value, 2)
    if mean.low is None or mean.high is None:
        return text
    return f"{text} ({words.number(mean.low, 2)} to {words.number(mean.high, 2)})"
