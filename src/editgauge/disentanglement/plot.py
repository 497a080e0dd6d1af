"""Models as points: a disentanglement score to the right, the mean verdict on edits upwards."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from editgauge.render import words
from editgauge.render.svg import AxisRange, Plane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge.disentanglement.scores import Beside

WIDTH, HEIGHT = 320, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 24, 22, 40
MARGIN = 0.12
"""Of an axis, left free at both ends."""
MIDDLE = WIDTH / 2


def beside_plot(its: Beside) -> Markup:
    """The plot; the least and the greatest number stand at both axes, and every point has its model's name."""
    across, up = _around(its.disentanglement), _around(its.edit)
    plane = Plane(across, up, LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
    points = [
        _point(model, plane.x(x), plane.y(y), x, y)
        for model, x, y in zip(its.models, its.disentanglement, its.edit, strict=True)
    ]
    axes = Markup('<path class="track" d="M{l} {t}V{b}H{r}"/>').format(
        l=LEFT, t=TOP, b=HEIGHT - BOTTOM, r=WIDTH - RIGHT
    )
    texts = [
        *(_text(plane.x(x), HEIGHT - BOTTOM + 14, f"{x:.2f}", "middle") for x in _ends(its.disentanglement)),
        *(_text(LEFT - 6, plane.y(y) + 4, f"{y:.2f}", "end") for y in _ends(its.edit)),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, its.score, "middle"),
        _text(LEFT, TOP - 9, f"{its.protocol}: edit ↑", "start"),
    ]
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, f"{its.score} and {its.protocol}", Markup().join([axes, *texts, *points])
    )


def _around(numbers: Sequence[float]) -> AxisRange:
    """An axis that holds all numbers, with room at both ends."""
    low, high = min(numbers), max(numbers)
    room = (high - low or 1.0) * MARGIN / (1 - 2 * MARGIN)
    return AxisRange(low - room, high + room)


def _ends(numbers: Sequence[float]) -> list[float]:
    """The least and the greatest number; one where they are the same."""
    return sorted({min(numbers), max(numbers)})


def _point(model: str, x: float, y: float, score: float, edit: float) -> Markup:
    is_right = x > MIDDLE
    name = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        x + (-7 if is_right else 7), y + 4, "end" if is_right else "start", model
    )
    label = f"{model}: {words.number(score, 3)}, edit {words.number(edit, 3)}"
    return Markup('<circle cx="{:.1f}" cy="{:.1f}" r="4"><title>{}</title></circle>{}').format(x, y, label, name)


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return Markup('<text class="soft" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, text)
