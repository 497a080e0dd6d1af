"""Small drawings as inline SVG: a mean with its interval, the axis under it, the outline of a mask."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import cv2
import numpy as np
from markupsafe import Markup

from editgauge._render.text import plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from editgauge._stats.intervals import Mean
    from editgauge._util.masks import BoolMask

MARK_HEIGHT = 18
MARK_MARGIN = 7
RELATIVE_TOLERANCE = 1e-9
"""Means that differ by a smaller share differ by rounding only: 1 and 0.9999999999999999."""
SCALE_STEPS = 4
"""Approximate number of steps of a scale."""
OUTLINE_TOLERANCE = 1 / 400
"""Deviation of an outline from its mask, as a share of the longer side; invisible on a thumbnail."""


@dataclass(frozen=True, slots=True)
class AxisRange:
    """The ends of an axis."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Return how far along the axis the value lies, from 0 to 1.

        >>> AxisRange(10, 20).share(15)
        0.5
        """
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class Plane:
    """Two axes of a drawing, with the lines and numbers around them."""

    across: AxisRange
    up: AxisRange
    left: float
    top: float
    right: float
    bottom: float
    """The edges of the field in the drawing; `bottom` is further down than `top`."""

    def x(self, value: float) -> float:
        """Return the x coordinate of a value."""
        return self.left + self.across.share(value) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Return the y coordinate of a value."""
        return self.bottom - self.up.share(value) * (self.bottom - self.top)

    def levels(self, values: Iterable[float], text: Callable[[float], str] = plain) -> Markup:
        """Draw horizontal lines with their numbers at the left."""
        values = list(values)
        lines = "".join(f"M{self.left:g} {self.y(value):.1f}H{self.right:g}" for value in values)
        numbers = (label(self.left - 8, self.y(value) + 4, text(value), "end") for value in values)
        return Markup('<path class="grid" d="{}"/>').format(lines) + Markup().join(numbers)

    def places(self, values: Iterable[float], text: Callable[[float], str] = plain) -> Markup:
        """Draw numbers below the field."""
        return Markup().join(label(self.x(value), self.bottom + 17, text(value), "middle") for value in values)


def drawing(parts: Iterable[Markup], width: float, height: float, spoken: str, style: str) -> Markup:
    """Return an inline drawing, styled by its class; `spoken` is for screen readers."""
    return Markup(
        '<svg class="{}" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" aria-label="{}">{}</svg>'
    ).format(style, spoken, Markup().join(parts), w=width, h=height)


def document(parts: Iterable[str], width: int, height: int, spoken: str, style: str) -> str:
    """Return a standalone drawing with its style sheet, on white."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(spoken)}"><style>{style}</style>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def label(x: float, y: float, text: str, anchor: str = "start", style: str = "end-label") -> Markup:
    """Draw a text."""
    form = Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>')
    return form.format(style, x, y, anchor, text)


def round_values(scale: AxisRange) -> list[float]:
    """Return round numbers from one end of a scale to the other.

    >>> round_values(AxisRange(0, 1)), round_values(AxisRange(0.4, 1))
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.4, 0.6, 0.8, 1.0])
    """
    low, high = sorted((scale.low, scale.high))
    step = _round_step((high - low) / (SCALE_STEPS + 1))
    first, last = math.ceil(round(low / step, 6)), math.floor(round(high / step, 6))
    return [_tidy(index * step) for index in range(first, last + 1)]


def scale_for(means: Iterable[Mean], limits: tuple[float, float]) -> AxisRange:
    """Return a scale with round ends that holds all means and intervals, within the limits of the score."""
    values = [value for mean in means for value in (mean.value, mean.low, mean.high) if value is not None]
    low, high = (min(values), max(values)) if values else limits
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = 0.0, 1.0
    span = high - low if high - low > RELATIVE_TOLERANCE * max(abs(low), abs(high)) else 0.0
    step = _round_step((span or abs(high) / 10 or 0.001) / SCALE_STEPS)
    first, last = math.floor(round(low / step, 6)), math.ceil(round(high / step, 6))
    if first == last:
        first, last = first - SCALE_STEPS, last + SCALE_STEPS
    below, above = max(first * step, limits[0]), min(last * step, limits[1])
    return AxisRange(_tidy(below), _tidy(above)) if below < above else AxisRange(low - step, high + step)


def _tidy(value: float) -> float:
    """Remove rounding errors: 0.6, not 0.6000000000000001."""
    return float(f"{value:.9g}")


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)


def whisker(mean: Mean, scale: AxisRange, width: int, spoken: str) -> Markup:
    """Draw a dot at the mean and a line over its interval; hollow and dashed for too few source images."""
    middle = MARK_HEIGHT / 2
    parts = [_line("track", MARK_MARGIN, middle, width - MARK_MARGIN, middle)]
    if mean.low is not None and mean.high is not None:
        low, high = _x(mean.low, scale, width), _x(mean.high, scale, width)
        parts.append(_line("whisker", low, middle, high, middle))
        parts += [_line("cap", x, middle - 3, x, middle + 3) for x in (low, high)]
    dot = Markup('<circle class="dot" cx="{:.1f}" cy="{:g}" r="3.5"/>')
    parts.append(dot.format(_x(mean.value, scale, width), middle))
    return drawing(parts, width, MARK_HEIGHT, spoken, "mark unsure" if mean.few else "mark")


def axis(scale: AxisRange, width: int) -> Markup:
    """Draw the ends of a scale, for below its whiskers."""
    low, high = plain(scale.low), plain(scale.high)
    line = Markup(
        '<path d="M{first} 4V1H{last}V4"/><text x="{first}" y="16">{low}</text>'
        '<text class="end" x="{last}" y="16">{high}</text>'
    ).format(first=MARK_MARGIN, last=width - MARK_MARGIN, low=low, high=high)
    return drawing([line], width, MARK_HEIGHT, f"from {low} to {high}", "axis")


def outline(mask: BoolMask) -> str:
    """Return the border of a mask as SVG path data, in pixels; empty for an empty mask."""
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    straight = (cv2.approxPolyDP(contour, max(mask.shape) * OUTLINE_TOLERANCE, closed=True) for contour in contours)
    rings = (ring.reshape(-1, 2).tolist() for ring in straight if len(ring) > 2)
    return "".join("M" + "L".join(f"{x} {y}" for x, y in ring) + "Z" for ring in rings)


def _x(value: float, scale: AxisRange, width: int) -> float:
    return MARK_MARGIN + scale.share(value) * (width - 2 * MARK_MARGIN)


def _line(name: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" y1="{:g}" x2="{:.1f}" y2="{:g}"/>').format(name, x1, y1, x2, y2)
