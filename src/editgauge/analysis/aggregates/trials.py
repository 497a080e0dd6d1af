"""Repeated trials: a benchmark that draws several sets of tasks gives each of them a mean, and these vary.

The deviation and the interval say how far another draw of tasks on the same images would move a number. How far other
images would is another question: the intervals of single runs, drawn over source images, answer that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from editgauge._stats.bounds import NOT_MEANT
from editgauge._stats.intervals import LEVEL, Numbers, student_interval
from editgauge.analysis.columns import Columns, Rows, WordColumn

if TYPE_CHECKING:
    from editgauge.results import Run

TRIAL = "trial"
"""The key of an edit's extras that says to which trial it belongs."""
DUST = 1e-12
"""Means that differ by a smaller share differ by rounding only."""
TOTAL = "total"
"""The cell in which every edit type counts once."""


@dataclass(frozen=True, slots=True)
class TrialCell:
    """One score of a method at one edit type, over trials."""

    protocol: str
    name: str
    method: str
    edit_type: str
    """`total` where every edit type counts once."""
    means: tuple[float, ...]
    """The mean of every trial that has one, in the order of trials."""

    @property
    def mean(self) -> float:
        """Over trials, each of which counts once."""
        return float(np.mean(self.means))

    @property
    def deviation(self) -> float | None:
        """Standard deviation between trials; none of a single one."""
        if len(self.means) < 2:
            return None
        spread = float(np.std(self.means, ddof=1))
        return spread if spread > DUST * max(map(abs, self.means)) else 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the mean over all possible trials lies with 95% confidence, by Student's t."""
        if self.deviation is None:
            return None
        return student_interval(self.mean, self.deviation / len(self.means) ** 0.5, 0.0, len(self.means) - 1, LEVEL)


def count_trials(run: Run) -> int:
    """How many sets of tasks the run's benchmark drew; 0 when it does not say."""
    return len(set(_trials(run).values()))


def trial_cells(run: Run) -> list[TrialCell]:
    """Every score of every method by edit type, and in total; nothing for a run of fewer than two trials."""
    trials = _trials(run)
    if len(set(trials.values())) < 2:
        return []
    columns, edits = Columns.of(run), WordColumn.of(run.scores["edit"])
    trial = np.array([trials.get(edit, 0) for edit in edits.words] or [0])[edits.codes]
    return [
        TrialCell(protocol, spec.name, method, edit_type, means)
        for protocol, entry in run.manifest.protocols.items()
        for spec in entry.scores
        for method in run.manifest.methods
        for edit_type, means in _of_score(columns, trial, columns.rows(protocol, spec.name), method)
    ]


def _trials(run: Run) -> dict[str, int]:
    """Edit to the trial it belongs to."""
    trial_of_edit = {name: edit.get("extras", {}).get(TRIAL) for name, edit in run.edits.items()}
    return {name: trial for name, trial in trial_of_edit.items() if isinstance(trial, int)}


def _of_score(columns: Columns, trial: Rows, rows: Rows, method: str) -> Iterator[tuple[str, tuple[float, ...]]]:
    own_rows = rows[columns.method.are(method)[rows] & (trial[rows] > 0)]
    mine = own_rows[~np.isnan(columns.value[own_rows])]
    if not mine.size:
        return
    kinds, numbers = np.unique(columns.edit_type.codes[mine]), np.unique(trial[mine])
    means = np.array([[_mean(columns, trial, mine, kind, number) for number in numbers] for kind in kinds])
    for place, kind in enumerate(kinds):
        yield columns.edit_type.words[kind], _known(means[place])
    whole = ~np.isnan(means).any(axis=0)  # a trial without a type of edit would be another total
    if whole.any() and not _lacks_a_type(columns, own_rows, kinds):
        yield TOTAL, _known(means[:, whole].mean(axis=0))


def _lacks_a_type(columns: Columns, own_rows: Rows, kinds: Rows) -> bool:
    """Is there a type of edit that should have this score and has none, for lack of a model or of a detection?"""
    without = own_rows[~np.isin(columns.edit_type.codes[own_rows], kinds)]
    return any(columns.reason.words[code] not in NOT_MEANT for code in np.unique(columns.reason.codes[without]))


def _mean(columns: Columns, trial: Rows, rows: Rows, kind: int, number: int) -> float:
    values = columns.value[rows[(columns.edit_type.codes[rows] == kind) & (trial[rows] == number)]]
    return float(values.mean()) if values.size else float("nan")


def _known(means: Numbers) -> tuple[float, ...]:
    return tuple(means[~np.isnan(means)].tolist())
