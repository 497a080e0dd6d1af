"""One score of a run, by method and outcome: what estimates and plans start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge.analysis.people.matching import Seeds, mean_by_edit, scored_outcomes, wanted_scores
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import Run

if TYPE_CHECKING:
    from editgauge.types import ScoreSpec

VERDICT = "edit"


@dataclass(frozen=True, slots=True)
class OneScore:
    """The values of one score, and which outcomes the run has."""

    folder: Path
    protocol: str
    spec: ScoreSpec
    values: Mapping[str, Mapping[tuple[str, int], float]]
    """Method to (edit, seed) to value, for what is scored; every method of the run is there."""
    sources: Mapping[str, str]
    """Edit to the name of its source image."""
    seeds: Seeds

    @classmethod
    def read(cls, folder: Path, score: str | None) -> OneScore:
        """The score called `name` or `protocol/name`; without one, the verdict `edit`, or the only score."""
        run = Run.open(folder)
        protocol, spec = _chosen(run, score)
        outcomes = scored_outcomes(run)
        values: dict[str, dict[tuple[str, int], float]] = {method: {} for method in run.manifest.methods}
        for key, value in outcomes.values.get((protocol, spec.name), {}).items():
            values[key.method][key.edit, key.seed] = value
        return cls(folder, protocol, spec, values, outcomes.sources, outcomes.seeds)

    def check(self, method: str) -> None:
        """Says which methods there are when this one is unknown."""
        if method not in self.values:
            raise UnknownNameError("method in this run", method, self.values, f"editgauge report {self.folder}")

    def by_edit(self, method: str) -> dict[str, float]:
        """Edit to value; an edit with several seeds counts with their mean."""
        return mean_by_edit((edit, value) for (edit, _), value in self.values[method].items())


def _chosen(run: Run, score: str | None) -> tuple[str, ScoreSpec]:
    fitting = wanted_scores(run, [score] if score else [])
    if score is None:
        fitting = [pair for pair in fitting if pair[1].name == VERDICT] or fitting
    if len(fitting) != 1:
        names = [f"{protocol}/{spec.name}" for protocol, spec in fitting]
        raise BadInputError(f"There are {len(fitting)} such scores in the run: choose one with --score.", names)
    return fitting[0]
