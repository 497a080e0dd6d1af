"""Precision and hallucination of difference captions by the number of objects in a picture (EditInspector, Fig. 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from editgauge.core.errors import BadInput
from editgauge.core.run import Run
from editgauge.findings.people.matching import OutcomeKey, scored_outcomes
from editgauge.stats.intervals import Mean, clustered_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATES = ("mp", "hr")
OBJECTS = "objects"
GROUPS = 5


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
    """The curves of a run, one for each judge and method.

    Args:
        folder: a run of `difference-captions` with a detector, which counts the objects: `--models lite`.
        groups: into how many groups of about the same size outcomes are parted, by their number of objects.
    """
    if groups < 1:
        raise BadInput(f"Outcomes are parted into one group at least; got {groups}.")
    run = Run.open(Path(folder))
    outcomes = scored_outcomes(run)
    counted = [protocol for protocol, name in outcomes.values if name == OBJECTS]
    if not counted:
        raise BadInput(
            f"The run '{folder}' counts no objects. Score it with --protocol difference-captions and a detector "
            "of a closed vocabulary, such as --models lite."
        )
    curves = []
    for protocol in counted:
        by_name = {name: outcomes.values.get((protocol, name), {}) for name in (OBJECTS, *RATES)}
        for method in run.manifest.methods:
            steps = _steps([key for key in by_name[OBJECTS] if key.method == method], by_name, outcomes.sources, groups)
            if steps:
                curves.append(CaptionCurve(protocol, method, steps))
    return tuple(curves)


def parted(counts: NDArray[np.float64], groups: int) -> list[NDArray[np.int64]]:
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
    sources: Mapping[str, str],
    groups: int,
) -> tuple[CaptionRates, ...]:
    counts = np.array([by_name[OBJECTS][key] for key in keys], dtype=np.float64)
    steps = []
    for places in parted(counts, groups):
        here = counts[places]
        rates = {name: mean_of([keys[place] for place in places], by_name[name], sources) for name in RATES}
        steps.append(CaptionRates(int(here.min()), int(here.max()), rates))
    return tuple(steps)


def mean_of(keys: Sequence[OutcomeKey], values: Mapping[OutcomeKey, float], sources: Mapping[str, str]) -> Mean | None:
    """The mean over the outcomes that have the value; None when none has."""
    known = [key for key in keys if key in values]
    if not known:
        return None
    return clustered_mean(np.array([values[key] for key in known]), np.array([sources[key.edit] for key in known]))
