"""The summary of a run: a mean with its interval for every method, edit type and score, and what has none and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from editgauge.analysis.intervals import Mean, clustered_mean
from editgauge.core.types import EDIT_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from editgauge.core.run import Run
    from editgauge.core.types import ScoreSpec

ALL = "all"
"""The pseudo edit type under which every scored edit counts once (the pooled, count-weighted mean)."""
FEW_SOURCES = 10
"""Below this many source images a percentile interval is too narrow to be relied on; tables mark it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One mean of a table."""

    protocol: str
    spec: ScoreSpec
    method: str
    edit_type: str
    mean: Mean | None
    """None when nothing was scored."""
    unscored: Mapping[str, int]
    """Reason to count."""

    @property
    def scored(self) -> int:
        """How many scores the mean is over."""
        return self.mean.n if self.mean else 0


def summarise(run: Run) -> list[Cell]:
    """All cells, in the run's order of protocols, scores and methods; edit types in the project's order, then `all`."""
    columns = _columns(run)
    cells = []
    for protocol, entry in run.manifest.protocols.items():
        for spec in entry.scores:
            this_score = (columns["protocol"] == protocol) & (columns["name"] == spec.name)
            for method in run.manifest.methods:
                mine = this_score & (columns["method"] == method)
                for edit_type in (*edit_types(run), ALL):
                    chosen = mine if edit_type == ALL else mine & (columns["edit_type"] == edit_type)
                    if chosen.any():
                        cells.append(_cell(protocol, spec, method, edit_type, columns, chosen))
    return cells


def edit_types(run: Run) -> list[str]:
    """The edit types of the run, in the project's order."""
    present = set(run.scores["edit_type"].unique().to_pylist())
    return [name for name in EDIT_TYPES if name in present]


def _columns(run: Run) -> dict[str, Any]:
    names = ("protocol", "name", "method", "edit_type", "source", "reason")
    columns = {name: np.asarray(run.scores[name].to_pylist(), dtype=object) for name in names}
    values = [np.nan if value is None else value for value in run.scores["value"].to_pylist()]
    return {**columns, "value": np.asarray(values, dtype=np.float64)}


def _cell(protocol: str, spec: ScoreSpec, method: str, edit_type: str, columns: dict[str, Any], chosen: Any) -> Cell:
    values, sources = columns["value"][chosen], columns["source"][chosen]
    scored = ~np.isnan(values)
    mean = clustered_mean(values[scored], sources[scored].astype(str)) if scored.any() else None
    unscored = Counter(columns["reason"][chosen][~scored].tolist())
    return Cell(protocol, spec, method, edit_type, mean, dict(sorted(unscored.items())))
