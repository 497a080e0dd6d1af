"""How much hangs on the chance in a protocol? The same outcomes scored again with other attributes, or another seed.

AugCLIP, section 6: attributes were extracted with five seeds; ROUGE-L says how alike the lists are, and the variance
over the seeds how far the score and its agreement with people move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from editgauge.core.errors import BadInput
from editgauge.findings.evaluators.evaluators import EvaluatorTarget, Scored, label
from editgauge.findings.people.matching import ScoredOutcomes
from editgauge.stats.intervals import Mean, clustered_mean
from editgauge.stats.resampling import all_equal


@dataclass(frozen=True, slots=True)
class Moved:
    """Agreement with one thing that was asked, run by run."""

    asked: str
    values: tuple[float | None, ...]
    variance: float | None
    """Over the runs (n - 1 below the line); None with fewer than two numbers."""

    @property
    def deviation(self) -> float | None:
        """The standard deviation, in the units of the agreement itself."""
        return None if self.variance is None else self.variance**0.5


@dataclass(frozen=True, slots=True)
class Steadiness:
    """One score over several runs that should agree."""

    score: str
    runs: int
    outcomes: int
    """Outcomes scored in all of them; only those count."""
    variance: Mean | None
    """The variance of an outcome's score over the runs, averaged over outcomes."""
    of_all: float | None
    """How much of all variance is within outcomes: 0 is steady, 1 nothing but chance; None when all are equal."""
    agreement: tuple[Moved, ...]


def steadiness(scores: Sequence[Scored], targets: Sequence[EvaluatorTarget], known: ScoredOutcomes) -> Steadiness:
    """How steady a score is, given once for every run."""
    if len(scores) < 2:
        raise ValueError("steadiness needs the score of at least two runs")
    shared = [key for key in scores[0].values if all(key in each.values for each in scores)]
    table = np.array([[each.values[key] for each in scores] for key in shared], dtype=np.float64)
    moved = tuple(_moved(each, scores) for each in targets)
    if not shared:
        return Steadiness(label(scores[0]), len(scores), 0, None, None, moved)
    return Steadiness(
        label(scores[0]),
        len(scores),
        len(shared),
        clustered_mean(table.var(axis=1, ddof=1), known.sources_of(shared)),
        None if all_equal(table.ravel()) else float(table.var(axis=1).mean() / table.var()),
        moved,
    )


def over_runs(
    runs: Sequence[ScoredOutcomes], scores: Sequence[Scored], targets: Sequence[EvaluatorTarget]
) -> list[Steadiness]:
    """The steadiness of every score of the first run that the others have too."""
    moves = []
    for score in scores:
        name = (score.protocol, score.spec.name)
        again = [Scored(score.protocol, score.spec, run.values[name]) for run in runs[1:] if name in run.values]
        if len(again) == len(runs) - 1:
            moves.append(steadiness([score, *again], targets, runs[0]))
    if not moves:
        raise BadInput("The runs have no score in common, so stability cannot be measured.")
    return moves


def _moved(target: EvaluatorTarget, scores: Sequence[Scored]) -> Moved:
    values = tuple(target.ask(each).value for each in scores)
    known_values = [value for value in values if value is not None]
    return Moved(target.name, values, float(np.var(known_values, ddof=1)) if len(known_values) > 1 else None)
