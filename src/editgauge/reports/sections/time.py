"""Time spent by models and protocols, for runs with `--timings`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from editgauge._render.svg import drawing
from editgauge._render.text import number, shortened
from editgauge._util.profiling import FOLDER, TIMELINE, Profile, read_profile
from editgauge.reports.sections import SETUP, TemplateSection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge.reports.context import Context

STAGE_STYLES = {"decode": "work", "score": "work", "compute": "work"} | {
    stage: stage for stage in ("load", "prepare", "forward", "remember")
}
"""Stages that use a processor, and the style of each."""
LEGEND = {
    "work": "decoding images and protocol code",
    "load": "loading a model",
    "prepare": "preparing inputs",
    "forward": "forward passes",
    "remember": "caching answers",
}
NAMES = {"pictures": "decoding images"}
ROW_HEIGHT, BAR_HEIGHT, TOP, BOTTOM = 26, 14, 2, 4
LABEL_WIDTH, PLOT_WIDTH, NUMBER_WIDTH = 200, 420, 64
MAX_LABEL_CHARACTERS = 30


@dataclass(slots=True)
class Bar:
    """The time that one model, protocol or function took."""

    of: str
    seconds: dict[str, float] = field(default_factory=dict)
    """By style."""

    @property
    def total(self) -> float:
        """The sum over stages, in seconds."""
        return sum(self.seconds.values())

    @property
    def label(self) -> str:
        """The text next to the bar."""
        return shortened(NAMES.get(self.of, self.of), MAX_LABEL_CHARACTERS)


class ModelUsage(NamedTuple):
    """Requests to one model; None for times that were not measured."""

    model: str
    questions: int
    recalled: float
    """The share of them that was answered from the cache."""
    answered: int
    """Requests that the model computed; equal questions of several items count once."""
    waited: float | None
    """Seconds until a request went out, on average."""
    prepared: float | None
    """Seconds of preparing, for one request."""
    forward: float | None
    """Seconds of forward passes, for one request."""


def time_bars(profile: Profile) -> list[Bar]:
    """Return one bar per model, protocol or function, the longest first."""
    by_name: dict[str, Bar] = {}
    for spent in profile.spent:
        if drawn := STAGE_STYLES.get(spent.stage):
            seconds = by_name.setdefault(spent.of, Bar(spent.of)).seconds
            seconds[drawn] = seconds.get(drawn, 0.0) + spent.seconds
    return sorted(by_name.values(), key=lambda bar: -bar.total)


def model_usage(profile: Profile) -> list[ModelUsage]:
    """Return the requests to every model."""
    times: dict[str, dict[str, int]] = {}
    seconds: dict[str, dict[str, float]] = {}
    for spent in profile.spent:
        times.setdefault(spent.of, {})[spent.stage] = spent.times
        seconds.setdefault(spent.of, {})[spent.stage] = spent.seconds
    rows = []
    for model, counts in times.items():
        cached = counts.get("recalled", 0)
        questions = cached + counts.get("unknown", 0)
        answered = counts.get("queue", 0)
        if questions:
            per_request = (seconds[model].get(stage, 0.0) / answered if answered else None for stage in REQUEST_STAGES)
            rows.append(ModelUsage(model, questions, cached / questions, answered, *per_request))
    return rows


REQUEST_STAGES = ("queue", "prepare", "forward")


def plot_time(bars: Sequence[Bar]) -> Markup:
    """Plot one stacked bar per entry on one scale."""
    longest = max(bar.total for bar in bars) or 1.0
    rows = [_time_row(bar, longest, TOP + ROW_HEIGHT * index) for index, bar in enumerate(bars)]
    width, height = LABEL_WIDTH + PLOT_WIDTH + NUMBER_WIDTH, TOP + ROW_HEIGHT * len(bars) + BOTTOM
    spoken = "; ".join(f"{bar.label} {number(bar.total, 1)} seconds" for bar in bars)
    return drawing(rows, width, height, f"Where the time went: {spoken}", "spent")


def _time_row(bar: Bar, longest: float, top: float) -> Markup:
    middle = top + ROW_HEIGHT / 2
    parts = [Markup('<text class="label" x="{}" y="{:g}">{}</text>').format(LABEL_WIDTH - 10, middle + 4, bar.label)]
    x = float(LABEL_WIDTH)
    for stage, meaning in LEGEND.items():
        if width := PLOT_WIDTH * bar.seconds.get(stage, 0.0) / longest:
            title = f"{meaning}: {number(bar.seconds[stage], 2)} s"
            parts.append(
                Markup(
                    '<rect class="spent-{}" x="{:.2f}" y="{:g}" width="{:.2f}" height="{}"><title>{}</title></rect>'
                ).format(stage, x, middle - BAR_HEIGHT / 2, width, BAR_HEIGHT, title)
            )
            x += width
    markup = Markup('<text class="number" x="{:.1f}" y="{:g}">{} s</text>')
    return Markup().join([*parts, markup.format(x + 6, middle + 4, number(bar.total, 1))])


def _time_content(context: Context) -> dict[str, Any] | None:
    profile = read_profile(context.run.folder)
    bars = time_bars(profile) if profile else []
    if profile is None or not bars:
        return None
    drawn = {stage for bar in bars for stage in bar.seconds}
    return {
        "profile": profile,
        "work": sum(bar.total for bar in bars),
        "plot": plot_time(bars),
        "legend": {stage: meaning for stage, meaning in LEGEND.items() if stage in drawn},
        "usage": model_usage(profile),
        "timeline": f"{FOLDER}/{TIMELINE}",
    }


time_section = TemplateSection("profile", "Time", 85, _time_content, SETUP)
