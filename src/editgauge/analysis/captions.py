"""Quality of difference captions (EditInspector): by number of objects, by action, and by human verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from editgauge._stats.intervals import Mean, clustered_mean
from editgauge.errors import BadInputError
from editgauge.results import OutcomeKey, Run, RunSource, ScoreColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATES = ("mp", "hr")
OBJECTS = "objects"
GROUPS = 5
COUNT = "differences"
NONE_NAMED = "none named"
SHOWN = ("main_matched", "mp", "hr", COUNT)
DONE = 2
"""Lowest level of accuracy at which EditInspector counts the edit as done."""


@dataclass(frozen=True, slots=True)
class CaptionRates:
    """Rates of captions over outcomes with a similar number of objects."""

    fewest: int
    most: int
    """Objects."""
    rates: Mapping[str, Mean | None]
    """`mp` and `hr` with intervals; None where no outcome has the rate."""


@dataclass(frozen=True, slots=True)
class CaptionCurve:
    """Rates of one judge's captions of one method's outcomes, from few objects to many."""

    protocol: str
    method: str
    steps: tuple[CaptionRates, ...]


def caption_quality(folder: RunSource, groups: int = GROUPS) -> tuple[CaptionCurve, ...]:
    """Return precision and hallucination by the number of objects (figure 6), per judge and method.

    Args:
        folder: a run of `difference-captions` with a detector, which counts the objects: `--models lite`.
        groups: number of groups of about equal size, by number of objects.

    """
    if groups < 1:
        raise BadInputError(f"`groups` must be at least 1; got {groups}.")
    run = Run.open(folder)
    outcomes = run.score_columns
    counted = [protocol for protocol in run.manifest.protocols if outcomes.scored(protocol, OBJECTS).size]
    if not counted:
        raise BadInputError(
            f"The run '{folder}' counts no objects. Score it with --protocol difference-captions and a detector "
            "of a closed vocabulary, such as --models lite."
        )
    curves = []
    for protocol in counted:
        by_name = {name: outcomes.values(protocol, name) for name in (OBJECTS, *RATES)}
        for method in run.manifest.methods:
            steps = _steps([key for key in by_name[OBJECTS] if key.method == method], by_name, outcomes, groups)
            if steps:
                curves.append(CaptionCurve(protocol, method, steps))
    return tuple(curves)


def quantile_groups(counts: NDArray[np.float64], groups: int) -> list[NDArray[np.int64]]:
    """Return indices of the counts in groups of about equal size, ascending; equal counts stay together.

    >>> [part.tolist() for part in quantile_groups(np.array([3.0, 1.0, 1.0, 9.0]), 2)]
    [[1, 2], [0, 3]]
    """
    ranks = np.searchsorted(np.sort(counts), counts, side="left")
    labels = ranks * groups // max(len(counts), 1)
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _steps(
    keys: Sequence[OutcomeKey],
    by_name: Mapping[str, Mapping[OutcomeKey, float]],
    outcomes: ScoreColumns,
    groups: int,
) -> tuple[CaptionRates, ...]:
    counts = np.array([by_name[OBJECTS][key] for key in keys], dtype=np.float64)
    steps = []
    for indices in quantile_groups(counts, groups):
        group_counts = counts[indices]
        rates = {name: _mean(name, [keys[index] for index in indices], by_name[name], outcomes) for name in RATES}
        steps.append(CaptionRates(int(group_counts.min()), int(group_counts.max()), rates))
    return tuple(steps)


def _mean(
    name: str, keys: Sequence[OutcomeKey], values: Mapping[OutcomeKey, float], outcomes: ScoreColumns
) -> Mean | None:
    """Return the mean over the outcomes that have the value; None without any."""
    scored = [key for key in keys if key in values]
    if not scored:
        return None
    scale = (0.0, np.inf) if name == COUNT else (0.0, 1.0)
    return clustered_mean(np.array([values[key] for key in scored]), outcomes.sources_of(scored), scale=scale)


@dataclass(frozen=True, slots=True)
class CaptionGroup:
    """One judge's captions of one method's outcomes in one group."""

    protocol: str
    method: str
    name: str
    means: Mapping[str, Mean | None]
    """By score; None where no outcome has it."""


def caption_groups(run: Run, outcomes: ScoreColumns) -> tuple[CaptionGroup, ...]:
    """Return captions by action and by human verdict (section 3.3.2); empty when the benchmark has neither."""
    labels = {edit: tuple(_labels(edit_fields.get("extras", {}))) for edit, edit_fields in run.edits.items()}
    names = tuple(dict.fromkeys(label for of_edit in labels.values() for label in of_edit))
    protocols = [protocol for protocol in run.manifest.protocols if outcomes.scored(protocol, COUNT).size]
    return tuple(
        CaptionGroup(protocol, method, name, means)
        for protocol in protocols
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


def _means(outcomes: ScoreColumns, protocol: str, method: str, edits: set[str]) -> dict[str, Mean | None]:
    by_name = {name: outcomes.values(protocol, name) for name in SHOWN}
    keys = [key for key in by_name[COUNT] if key.method == method and key.edit in edits]
    if not keys:
        return {}
    by_name[NONE_NAMED] = {key: float(by_name[COUNT][key] == 0) for key in keys}
    return {name: _mean(name, keys, values, outcomes) for name, values in by_name.items()}
