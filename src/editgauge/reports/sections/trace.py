"""Where the time of a run went: shown when the run was made with `--timings`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from editgauge._render.svg import drawing
from editgauge._render.text import number, shortened
from editgauge._util.profiling import FOLDER, TIMELINE, Profile, read_profile
from editgauge.reports.sections.standard import SETUP, TemplateSection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge.reports.context import Context

DRAWN = {"decode": "work", "score": "work", "compute": "work"} | {
    stage: stage for stage in ("load", "prepare", "forward", "remember")
}
"""The stages in which a processor is at work, and how each is drawn."""
LEGEND = {
    "work": "decoding, or a protocol's own work",
    "load": "loading a model",
    "prepare": "preparing what it is shown",
    "forward": "its forward passes",
    "remember": "keeping and recalling its answers",
}
NAMES = {"pictures": "decoding pictures"}
ROW, BAR, TOP, BOTTOM = 26, 14, 2, 4
LABEL, PLOT, NUMBER = 200, 420, 64
LONGEST_LABEL = 30


@dataclass(slots=True)
class Bar:
    """What one model, protocol or function took."""

    of: str
    seconds: dict[str, float] = field(default_factory=dict)
    """By how it is drawn."""

    @property
    def total(self) -> float:
        """All its seconds."""
        return sum(self.seconds.values())

    @property
    def label(self) -> str:
        """What stands next to it."""
        return shortened(NAMES.get(self.of, self.of), LONGEST_LABEL)


class ModelUsage(NamedTuple):
    """What was asked of one model; None where nothing of the kind happened."""

    model: str
    questions: int
    recalled: float
    """The share of them that was recalled."""
    answered: int
    """Requests that reached the model itself: the same question of several items is asked once."""
    waited: float | None
    """Seconds until a request went out, on average."""
    prepared: float | None
    """Seconds of preparing, for one request."""
    forward: float | None
    """Seconds of forward passes, for one request."""


def bars(profile: Profile) -> list[Bar]:
    """What took time, the longest first."""
    by_name: dict[str, Bar] = {}
    for spent in profile.spent:
        if drawn := DRAWN.get(spent.stage):
            seconds = by_name.setdefault(spent.of, Bar(spent.of)).seconds
            seconds[drawn] = seconds.get(drawn, 0.0) + spent.seconds
    return sorted(by_name.values(), key=lambda bar: -bar.total)


def asked(profile: Profile) -> list[ModelUsage]:
    """What was asked of every model."""
    times: dict[str, dict[str, int]] = {}
    seconds: dict[str, dict[str, float]] = {}
    for spent in profile.spent:
        times.setdefault(spent.of, {})[spent.stage] = spent.times
        seconds.setdefault(spent.of, {})[spent.stage] = spent.seconds
    rows = []
    for model, counted in times.items():
        known, questions = counted.get("recalled", 0), counted.get("recalled", 0) + counted.get("unknown", 0)
        answered = counted.get("queue", 0)
        if questions:
            each = (seconds[model].get(stage, 0.0) / answered if answered else None for stage in _FOR_ONE)
            rows.append(ModelUsage(model, questions, known / questions, answered, *each))
    return rows


_FOR_ONE = ("queue", "prepare", "forward")


def plot(shown: Sequence[Bar]) -> Markup:
    """A bar for each, its stages one after another, on one scale."""
    longest = max(bar.total for bar in shown) or 1.0
    rows = [_row(bar, longest, TOP + ROW * place) for place, bar in enumerate(shown)]
    width, height = LABEL + PLOT + NUMBER, TOP + ROW * len(shown) + BOTTOM
    spoken = "; ".join(f"{bar.label} {number(bar.total, 1)} seconds" for bar in shown)
    return drawing(rows, width, height, f"Where the time went: {spoken}", "spent")


def _row(bar: Bar, longest: float, top: float) -> Markup:
    middle = top + ROW / 2
    parts = [Markup('<text class="label" x="{}" y="{:g}">{}</text>').format(LABEL - 10, middle + 4, bar.label)]
    x = float(LABEL)
    for stage in LEGEND:
        if width := PLOT * bar.seconds.get(stage, 0.0) / longest:
            title = f"{LEGEND[stage]}: {number(bar.seconds[stage], 2)} s"
            parts.append(
                Markup(
                    '<rect class="spent-{}" x="{:.2f}" y="{:g}" width="{:.2f}" height="{}"><title>{}</title></rect>'
                ).format(stage, x, middle - BAR / 2, width, BAR, title)
            )
            x += width
    markup = Markup('<text class="number" x="{:.1f}" y="{:g}">{} s</text>')
    return Markup().join([*parts, markup.format(x + 6, middle + 4, number(bar.total, 1))])


def _content(context: Context) -> dict[str, Any] | None:
    profile = read_profile(context.run.folder)
    shown = bars(profile) if profile else []
    if profile is None or not shown:
        return None
    drawn = {stage for bar in shown for stage in bar.seconds}
    return {
        "profile": profile,
        "work": sum(bar.total for bar in shown),
        "plot": plot(shown),
        "legend": {stage: meaning for stage, meaning in LEGEND.items() if stage in drawn},
        "asked": asked(profile),
        "timeline": f"{FOLDER}/{TIMELINE}",
    }


section = TemplateSection("profile", "Time", 85, _content, SETUP)
