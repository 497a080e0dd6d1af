"""Difference captions (EditInspector): by the number of objects, by action, and by what people say of the edit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from editgauge._render.svg import AxisRange, Plane, document
from editgauge._stats.intervals import Mean, clustered_mean
from editgauge.analysis.outcomes import OutcomeKey, ScoredOutcomes, scored_outcomes
from editgauge.errors import BadInputError
from editgauge.results import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATES = ("mp", "hr")
OBJECTS = "objects"
GROUPS = 5
COUNT = "differences"
NONE_NAMED = "none named"
SHOWN = ("main_matched", "mp", "hr", COUNT)
DONE = 2
"""EditInspector's level of accuracy from which the edit was done, even in an unexpected way."""
WIDTH, HEIGHT = 460, 320
LEFT, RIGHT, TOP, BOTTOM = 54, 96, 54, 46
APART = 3
"""Pixels that the two rates of a step stand left and right of their place, so that whiskers do not cover each other."""
LABEL_HEIGHT = 15
NAMES = {"mp": "precision", "hr": "hallucination"}
STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600}.axis,.grid{fill:none;stroke:#999}"
    ".grid{stroke:#e4e4e4}.mp{stroke:#2a6fb0;fill:#2a6fb0}.hr{stroke:#b3541e;fill:#b3541e}"
    ".whisker{stroke-width:1.6}.line{fill:none;stroke-opacity:.45;stroke-width:2}.hr.line{stroke-dasharray:6 4}"
    "text.mp,text.hr{stroke:none}"
)
FIELD = Plane(AxisRange(0, 1), AxisRange(0, 1), LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)
"""Rates upwards; groups of outcomes have places of their own to the right."""


@dataclass(frozen=True, slots=True)
class CaptionRates:
    """Outcomes with about as many objects, and the rates of their captions."""

    fewest: int
    most: int
    """Objects."""
    rates: Mapping[str, Mean | None]
    """`mp` and `hr`, each with its interval; None where no outcome has the rate."""


@dataclass(frozen=True, slots=True)
class CaptionCurve:
    """What became of one judge's captions of one method's outcomes, from few objects to many."""

    protocol: str
    method: str
    steps: tuple[CaptionRates, ...]


def caption_quality(folder: str | Path, groups: int = GROUPS) -> tuple[CaptionCurve, ...]:
    """Precision and hallucination by the number of objects (Fig. 6): a curve for each judge and method of a run.

    Args:
        folder: a run of `difference-captions` with a detector, which counts the objects: `--models lite`.
        groups: into how many groups of about the same size outcomes are parted, by their number of objects.
    """
    if groups < 1:
        raise BadInputError(f"Outcomes are parted into one group at least; got {groups}.")
    run = Run.open(Path(folder))
    outcomes = scored_outcomes(run)
    counted = [protocol for protocol, name in outcomes.values if name == OBJECTS]
    if not counted:
        raise BadInputError(
            f"The run '{folder}' counts no objects. Score it with --protocol difference-captions and a detector "
            "of a closed vocabulary, such as --models lite."
        )
    curves = []
    for protocol in counted:
        by_name = {name: outcomes.values.get((protocol, name), {}) for name in (OBJECTS, *RATES)}
        for method in run.manifest.methods:
            steps = _steps([key for key in by_name[OBJECTS] if key.method == method], by_name, outcomes, groups)
            if steps:
                curves.append(CaptionCurve(protocol, method, steps))
    return tuple(curves)


def quantile_groups(counts: NDArray[np.float64], groups: int) -> list[NDArray[np.int64]]:
    """The places of the counts in groups of about the same size, from few to many; equal counts stay together.

    >>> [part.tolist() for part in parted(np.array([3.0, 1.0, 1.0, 9.0]), 2)]
    [[1, 2], [0, 3]]
    """
    ranks = np.searchsorted(np.sort(counts), counts, side="left")
    labels = ranks * groups // max(len(counts), 1)
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _steps(
    keys: Sequence[OutcomeKey],
    by_name: Mapping[str, Mapping[OutcomeKey, float]],
    known: ScoredOutcomes,
    groups: int,
) -> tuple[CaptionRates, ...]:
    counts = np.array([by_name[OBJECTS][key] for key in keys], dtype=np.float64)
    steps = []
    for places in quantile_groups(counts, groups):
        here = counts[places]
        rates = {name: _mean([keys[place] for place in places], by_name[name], known) for name in RATES}
        steps.append(CaptionRates(int(here.min()), int(here.max()), rates))
    return tuple(steps)


def _mean(keys: Sequence[OutcomeKey], values: Mapping[OutcomeKey, float], known: ScoredOutcomes) -> Mean | None:
    """The mean over the outcomes that have the value; None when none has."""
    scored = [key for key in keys if key in values]
    return clustered_mean(np.array([values[key] for key in scored]), known.sources_of(scored)) if scored else None


@dataclass(frozen=True, slots=True)
class CaptionGroup:
    """One judge's captions of one method's outcomes that belong together."""

    protocol: str
    method: str
    name: str
    means: Mapping[str, Mean | None]
    """By score; None where no outcome has it."""


def caption_groups(run: Run, outcomes: ScoredOutcomes) -> tuple[CaptionGroup, ...]:
    """Captions by action and by people's verdict (section 3.3.2); none when the benchmark knows neither."""
    labels = {edit: tuple(_labels(edit_fields.get("extras", {}))) for edit, edit_fields in run.edits.items()}
    names = tuple(dict.fromkeys(label for of_edit in labels.values() for label in of_edit))
    return tuple(
        CaptionGroup(protocol, method, name, means)
        for protocol in dict.fromkeys(protocol for protocol, score in outcomes.values if score == COUNT)
        for method in run.manifest.methods
        for name in names
        if (means := _means(outcomes, protocol, method, {edit for edit in labels if name in labels[edit]}))
    )


def _labels(extras: Mapping[str, Any]) -> Iterator[str]:
    if action := extras.get("action"):
        yield str(action)
    level = extras.get("majority", {}).get("accuracy")
    if level is not None:
        yield "people: done" if level >= DONE else "people: not done"


def _means(outcomes: ScoredOutcomes, protocol: str, method: str, edits: set[str]) -> dict[str, Mean | None]:
    by_name = {name: outcomes.values.get((protocol, name), {}) for name in SHOWN}
    keys = [key for key in by_name[COUNT] if key.method == method and key.edit in edits]
    if not keys:
        return {}
    by_name[NONE_NAMED] = {key: float(by_name[COUNT][key] == 0) for key in keys}
    return {name: _mean(keys, values, outcomes) for name, values in by_name.items()}


def caption_quality_svg(curve: CaptionCurve) -> str:
    """An SVG document: a dot with its interval per group of outcomes and rate, joined by a line."""
    width = (WIDTH - LEFT - RIGHT) / max(len(curve.steps), 1)
    places = [LEFT + width * (place + 0.5) for place in range(len(curve.steps))]
    ends = {rate: _end(curve, rate) for rate in NAMES}
    heights = _label_heights(ends)
    parts = [FIELD.levels((0, 0.25, 0.5, 0.75, 1), "{:.0%}".format), _axis(curve, places)]
    for rate, name in NAMES.items():
        parts += _drawn(curve, rate, places)
        if rate in heights:
            parts.append(f'<text class="{rate}" x="{WIDTH - RIGHT + 8}" y="{heights[rate]:.1f}">{name}</text>')
    description = "; ".join(f"{step.fewest} to {step.most} objects: {_summary(step.rates)}" for step in curve.steps)
    spoken = f"Difference captions of {curve.protocol} for {curve.method}: {description}"
    return document(parts, WIDTH, HEIGHT, spoken, STYLE)


def _drawn(curve: CaptionCurve, rate: str, places: Sequence[float]) -> list[str]:
    aside = -APART if rate == "mp" else APART
    steps = zip(places, curve.steps, strict=True)
    means = [(place + aside, mean) for place, step in steps if (mean := step.rates[rate]) is not None]
    points = " L".join(f"{at:.1f} {FIELD.y(mean.value):.1f}" for at, mean in means)
    elements = [f'<path class="{rate} line" d="M{points}"/>'] if points else []
    for at, mean in means:
        if mean.low is not None and mean.high is not None:
            whisker = f"M{at:.1f} {FIELD.y(mean.low):.1f}V{FIELD.y(mean.high):.1f}"
            elements.append(f'<path class="{rate} whisker" d="{whisker}"/>')
        elements.append(f'<circle class="{rate}" cx="{at:.1f}" cy="{FIELD.y(mean.value):.1f}" r="3.6"/>')
    return elements


def _end(curve: CaptionCurve, rate: str) -> float | None:
    means = [mean for step in curve.steps if (mean := step.rates[rate]) is not None]
    return means[-1].value if means else None


def _label_heights(ends: dict[str, float | None]) -> dict[str, float]:
    """Where each line's name stands: at its end, and not on the other's."""
    heights = {rate: FIELD.y(value) + 4 for rate, value in ends.items() if value is not None}
    if len(heights) == 2 and abs(heights["mp"] - heights["hr"]) < LABEL_HEIGHT:
        upper, lower = sorted(heights, key=lambda rate: heights[rate])
        middle = sum(heights.values()) / 2
        heights = {upper: middle - LABEL_HEIGHT / 2, lower: middle + LABEL_HEIGHT / 2}
    return heights


def _summary(rates: Mapping[str, Mean | None]) -> str:
    known = ((NAMES[rate], mean) for rate, mean in rates.items() if mean is not None)
    return ", ".join(f"{name} {mean.value:.0%} of {mean.n}" for name, mean in known)


def _axis(curve: CaptionCurve, places: Sequence[float]) -> str:
    title = (
        f'<text class="title" x="{LEFT}" y="20">{escape(curve.method)}</text>'
        f'<text x="{LEFT}" y="37">{escape(curve.protocol)}</text>'
    )
    middle = (LEFT + WIDTH - RIGHT) / 2
    numbers = "".join(
        f'<text x="{place:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">'
        f"{step.fewest if step.fewest == step.most else f'{step.fewest}–{step.most}'}</text>"
        for place, step in zip(places, curve.steps, strict=True)
    )
    name = f'<text x="{middle:.0f}" y="{HEIGHT - 10}" text-anchor="middle">objects in the edited image</text>'
    return f'{title}<path class="axis" d="M{LEFT} {FIELD.y(0):.1f}H{WIDTH - RIGHT}"/>{numbers}{name}'
