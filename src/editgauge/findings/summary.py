"""The summary of a run: a mean with its interval for every method, edit type and score, and what has none and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from editgauge.core.edit_types import EDIT_TYPES
from editgauge.findings.columns import Columns, Rows
from editgauge.stats.bounds import Bounds, Limits, bounds, extremes
from editgauge.stats.intervals import FEWEST_SOURCES, Mean, clustered_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from editgauge.core.run import Run
    from editgauge.core.types import ScoreSpec

ALL = "all"
"""The pseudo edit type under which every scored edit counts once (the pooled, count-weighted mean)."""
FEW_SOURCES = FEWEST_SOURCES
"""With fewer source images a confidence interval is not reliable; tables mark it."""
PREFERRED = ("edit", "ssim_outside", "l1_outside", "psnr_outside", "ssim", "l1", "psnr")
"""Scores that tell most at a glance, best first; a protocol without any of them shows its first ones."""
HEADLINES_OF_A_PROTOCOL = 3
MOST_HEADLINES = 4


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
    bounds: Bounds | None = None
    """What the mean could be if the unscored had scores; None when no value of the score is known to be the limit."""

    @property
    def scored(self) -> int:
        """How many scores the mean is over."""
        return self.mean.n if self.mean else 0


def summarize(run: Run) -> list[Cell]:
    """All cells, in the run's order of protocols, scores and methods; edit types in the project's order, then `all`."""
    columns = Columns.of(run)
    scores = {
        (protocol, spec): columns.rows(protocol, spec.name)
        for protocol, entry in run.manifest.protocols.items()
        for spec in entry.scores
    }
    limits = {score: extremes(score[1], columns.value[rows]) for score, rows in scores.items()}
    rows = {
        (*score, method): its_rows[columns.method.are(method)[its_rows]]
        for score, its_rows in scores.items()
        for method in run.manifest.methods
    }
    cells: dict[tuple[str, ScoreSpec, str], list[Cell]] = {score: [] for score in rows}
    for edit_type in (*edit_types(run), ALL):  # outermost: cells of one type have the same sources, and share draws
        of_this_type = columns.edit_type.are(edit_type)
        for score, its_rows in rows.items():
            chosen = its_rows if edit_type == ALL else its_rows[of_this_type[its_rows]]
            if chosen.size:
                cells[score].append(_cell(*score, edit_type, columns, chosen, limits[score[:2]]))
    return [cell for some in cells.values() for cell in some]


MEAN_COLUMNS = ("protocol", "score", "method", "edit_type", "mean", "low", "high", "n", "unscored")


def mean_row(cell: Cell) -> list[str | float | int | None]:
    """One mean, in the order of `MEAN_COLUMNS`; what has no score has no mean."""
    mean = cell.mean
    return [
        *(cell.protocol, cell.spec.name, cell.method, cell.edit_type),
        *((mean.value, mean.low, mean.high) if mean else (None, None, None)),
        *(cell.scored, sum(cell.unscored.values())),
    ]


def edit_types(run: Run) -> list[str]:
    """The edit types of the run, in the project's order."""
    present = set(run.scores["edit_type"].unique().to_pylist())
    return [name for name in EDIT_TYPES if name in present]


def headlines(cells: Iterable[Cell]) -> list[tuple[str, str]]:
    """The primary (protocol, score) pairs: a few of every protocol, only such as were scored at all."""
    names: dict[str, list[str]] = {}
    for cell in cells:
        of_protocol = names.setdefault(cell.protocol, [])
        if cell.mean is not None and cell.spec.name not in of_protocol:
            of_protocol.append(cell.spec.name)
    few = HEADLINES_OF_A_PROTOCOL if len(names) == 1 else max(1, MOST_HEADLINES // max(len(names), 1))
    return [(protocol, name) for protocol, known in names.items() for name in sorted(known, key=_preference)[:few]]


def _preference(name: str) -> int:
    return PREFERRED.index(name) if name in PREFERRED else len(PREFERRED)


def _cell(
    protocol: str, spec: ScoreSpec, method: str, edit_type: str, columns: Columns, chosen: Rows, limits: Limits | None
) -> Cell:
    values = columns.value[chosen]
    scored = ~np.isnan(values)
    sources = columns.source.codes[chosen][scored]
    mean = clustered_mean(values[scored], sources, scale=spec.range) if scored.any() else None
    counts = Counter(columns.reason.words[code] for code in columns.reason.codes[chosen][~scored])
    unscored = dict(sorted(counts.items()))
    allowed = bounds(spec, values[scored], unscored, limits) if limits else None
    return Cell(protocol, spec, method, edit_type, mean, unscored, allowed)
