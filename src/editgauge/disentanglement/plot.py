"""Models as points: a disentanglement score to the right, the mean verdict on edits upwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from editgauge.render import words

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
    across = _Scale.of(its.disentanglement, LEFT, WIDTH - RIGHT)
    up = _Scale.of(its.edit, HEIGHT - BOTTOM, TOP)
    points = [
        _point(model, across.place(x), up.place(y), x, y)
        for model, x, y in zip(its.models, its.disentanglement, its.edit, strict=True)
    ]
    axes = Markup('<path class="track" d="M{l} {t}V{b}H{r}"/>').format(
        l=LEFT, t=TOP, b=HEIGHT - BOTTOM, r=WIDTH - RIGHT
    )
    texts = [
        *(_text(across.place(x), HEIGHT - BOTTOM + 14, f"{x:.2f}", "middle") for x in across.ends),
        *(_text(LEFT - 6, up.place(y) + 4, f"{y:.2f}", "end") for y in up.ends),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, its.score, "middle"),
        _text(LEFT, TOP - 9, f"{its.protocol}: edit ↑", "start"),
    ]
    return Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, HEIGHT, f"{its.score} beside {its.protocol}", Markup().join([axes, *texts, *points])
    )


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where a number stands between two places of the drawing, with a margin at both."""

    ends: tuple[float, ...]
    """The least and the greatest number; one where they are the same."""
    first: float
    last: float

    @classmethod
    def of(cls, numbers: Sequence[float], first: float, last: float) -> _Scale:
        return cls(tuple(sorted({min(numbers), max(numbers)})), first, last)

    def place(self, number: float) -> float:
        span = self.ends[-1] - self.ends[0]
        share = (number - self.ends[0]) / span if span else 0.5
        return self.first + (self.last - self.first) * (MARGIN + (1 - 2 * MARGIN) * share)


def _point(model: str, x: float, y: float, score: float, edit: float) -> Markup:
    is_right = x > MIDDLE
    name = Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(
        x + (-7 if is_right else 7), y + 4, "end" if is_right else "start", model
    )
    label = f"{model}: {words.number(score, 3)}, edit {words.number(edit, 3)}"
    return Markup('<circle cx="{:.1f}" cy="{:.1f}" r="4"><title>{}</title></circle>{}').format(x, y, label, name)


def _text(x: float, y: float, text: str, anchor: str) -> Markup:
    return Markup('<text class="soft" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(x, y, anchor, text)
