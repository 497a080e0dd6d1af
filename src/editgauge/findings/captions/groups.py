"""Difference captions by action, and by whether people call the edit done (EditInspector, section 3.3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from editgauge.core.run import Run
from editgauge.findings.captions.quality import mean_of
from editgauge.findings.people.matching import ScoredOutcomes
from editgauge.stats.intervals import Mean

COUNT = "differences"
NONE_NAMED = "none named"
SHOWN = ("main_matched", "mp", "hr", COUNT)
DONE = 2
"""EditInspector's level of accuracy from which the edit was done, even in an unexpected way."""


@dataclass(frozen=True, slots=True)
class CaptionGroup:
    """One judge's captions of one method's outcomes that belong together."""

    protocol: str
    method: str
    name: str
    means: Mapping[str, Mean | None]
    """By score; None where no outcome has it."""


def caption_groups(run: Run, outcomes: ScoredOutcomes) -> tuple[CaptionGroup, ...]:
    """Every group of the run; none when its benchmark knows neither actions nor people's answers."""
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
    return {name: mean_of(keys, values, outcomes.sources) for name, values in by_name.items()}
