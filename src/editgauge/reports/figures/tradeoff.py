"""Edit done against rest kept, a point with two intervals for every method: the trade-off that all editors face."""

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

WIDTH, HEIGHT = 470, 372
LEFT, TOP, RIGHT, BOTTOM = 58, 30, 454, 318
LETTER, LINE = 6.6, 15
"""Width of a letter and height of a line of a label."""
ON_PHONES = 1.38
"""How much larger the style sheet draws names on phones."""
OFFSETS = {"start": 0.0, "middle": 0.5, "end": 1.0}
"""How much of a name lies left of where it is anchored."""
LONGEST_NAME = 26


class LabelBox(NamedTuple):
    """A part of the drawing that is taken."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: LabelBox) -> bool:
        """Whether the two overlap."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TradeOffPoint:
    """One method."""

    method: str
    done: Mean
    kept: Mean
    untouched: bool
    """Whether it leaves every source as it is: drawn for comparison."""

    @property
    def unsure(self) -> bool:
        """Whether too few source images stand behind it."""
        return self.done.few or self.kept.few


def trade_off(
    cells: Sequence[Cell], done: ScoreKey, kept: ScoreKey, methods: Sequence[str], untouched: Collection[str]
) -> Markup | None:
    """The plot; None when no method has both scores."""
    by_key = {(c.protocol, c.spec.name, c.method): c for c in cells if c.edit_type == ALL and c.mean}
    specs = {(c.protocol, c.spec.name): c.spec for c in cells}
    points = [
        TradeOffPoint(method, one.mean, other.mean, method in untouched)
        for method in methods
        if (one := by_key.get((*done, method))) and (other := by_key.get((*kept, method))) and one.mean and other.mean
    ]
    return _plot(points, specs[done], specs[kept], (done, kept)) if points else None


def _plot(points: Sequence[TradeOffPoint], done: ScoreSpec, kept: ScoreSpec, keys: tuple[ScoreKey, ScoreKey]) -> Markup:
    plane = Plane(
        _better_last(scale_for([point.kept for point in points], kept.range), kept),
        _better_last(scale_for([point.done for point in points], done.range), done),
        *(LEFT, TOP, RIGHT, BOTTOM),
    )
    names = [f"{protocol}/{name}" for protocol, name in keys]
    parts = [
        plane.levels(round_values(plane.up)),
        plane.places(round_values(plane.across)),
        _axis_name(LEFT, 14, "edit done ↑", names[0], "start"),
        _axis_name(RIGHT, HEIGHT - 10, "rest kept →", names[1], "end"),
        *(_point(point, plane) for point in points),
        *_names(points, plane),
    ]
    spoken = "; ".join(
        f"{point.method}{' (the source itself)' if point.untouched else ''}: "
        f"edit done {_spoken(point.done)}, rest kept {_spoken(point.kept)}"
        for point in points
    )
    return drawing(parts, WIDTH, HEIGHT, f"Edit done against rest kept. {spoken}", "tradeoff")


def _axis_name(x: float, y: float, question: str, score: str, anchor: str) -> Markup:
    parts = [Markup('<tspan class="axis-name">{}</tspan>').format(question), Markup("<tspan>{}</tspan>").format(score)]
    text = Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>')
    return text.format(x, y, anchor, Markup(" ").join(parts if anchor == "start" else parts[::-1]))


def _better_last(scale: AxisRange, spec: ScoreSpec) -> AxisRange:
    """So that better is always to the top and to the right."""
    return scale if spec.higher_is_better else AxisRange(scale.high, scale.low)


def _style(point: TradeOffPoint) -> str:
    return (" untouched" if point.untouched else "") + (" unsure" if point.unsure else "")


def _point(point: TradeOffPoint, plane: Plane) -> Markup:
    x, y = plane.x(point.kept.value), plane.y(point.done.value)
    spans = ""
    if point.kept.low is not None and point.kept.high is not None:
        spans += f"M{plane.x(point.kept.low):.1f} {y:.1f}H{plane.x(point.kept.high):.1f}"
    if point.done.low is not None and point.done.high is not None:
        spans += f"M{x:.1f} {plane.y(point.done.low):.1f}V{plane.y(point.done.high):.1f}"
    title = f"{point.method}: edit done {_spoken(point.done)}, rest kept {_spoken(point.kept)}"
    return Markup(
        '<g class="method{}"><title>{}</title><path class="span" d="{}"/>'
        '<circle class="dot" cx="{:.1f}" cy="{:.1f}" r="6"/></g>'
    ).format(_style(point), title, spans, x, y)


def _names(points: Sequence[TradeOffPoint], plane: Plane) -> list[Markup]:
    """Every method's name next to its point, where no other point or name stands; no name where all is full.

    A name with room only at the usual size is `crowded`: phones, which draw names larger, leave it out.
    """
    at = [(plane.x(point.kept.value), plane.y(point.done.value)) for point in points]
    dots = [LabelBox(x - 7, y - 7, x + 7, y + 7) for x, y in at]
    taken = {1.0: list(dots), ON_PHONES: list(dots)}
    drawn = []
    for point, (x, y) in zip(points, at, strict=True):
        name = words.shortened(point.method, LONGEST_NAME)
        right, left, middle = (x + 11, "start"), (x - 11, "end"), (x, "middle")
        places = ((right, y - 5), (left, y - 5), (right, y + 15), (left, y + 15), (middle, y - 13), (middle, y + 23))
        for sizes, crowded in (((1.0, ON_PHONES), ""), ((1.0,), " crowded")):
            free = [place for place in places if all(_is_free(_box(name, *place, size), taken[size]) for size in sizes)]
            if free:
                (start, anchor), low = free[0]
                for size in sizes:
                    taken[size].append(_box(name, *free[0], size))
                drawn.append(label(start, low, name, anchor, f"method-name{_style(point)}{crowded}"))
                break
    return drawn


def _box(name: str, start: tuple[float, str], low: float, size: float) -> LabelBox:
    x, anchor = start
    wide = len(name) * LETTER * size
    left = x - wide * OFFSETS[anchor]
    return LabelBox(left, low - LINE * size + 3, left + wide, low + 3)


def _is_free(box: LabelBox, taken: Sequence[LabelBox]) -> bool:
    inside = box.left >= LEFT and box.right <= WIDTH and box.top >= TOP - LINE and box.bottom <= BOTTOM + 3
    return inside and not any(map(box.meets, taken))


def _spoken(mean: Mean) -> str:
    text = words.number(mean.value, 2)
    if mean.low is None or mean.high is None:
        return text
    return f"{text} ({words.number(mean.low, 2)} to {words.number(mean.high, 2)})"
