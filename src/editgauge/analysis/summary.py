"""The summary of a run: a mean with its interval for every method, edit type and score, and what has none and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from editgauge._stats.intervals import MIN_SOURCES, Bounds, Limits, Mean, bounds, clustered_mean, score_limits
from editgauge.analysis.columns import Columns, Rows
from editgauge.edit_types import EDIT_TYPES
from editgauge.types import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from editgauge.results import Run
    from editgauge.types import Question, ScoreSpec

ALL = "all"
"""The pseudo edit type under which every scored edit counts once (the pooled, count-weighted mean)."""
FEW_SOURCES = MIN_SOURCES
"""With fewer source images a confidence interval is not reliable; tables mark it."""
OWN_PROTOCOL = "editgauge"
"""Compared with people's ratings: of scores that answer a question equally often, its score is the primary one."""
FIRST_OF_A_PROTOCOL = 3
"""Where no score of the run answers a question, this number of first scores stands in."""
ScoreKey = tuple[str, str]
"""Protocol and name of a score."""


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


def summarize(run: Run, columns: Columns | None = None, *, by_type: bool = True) -> list[Cell]:
    """All cells, in the run's order of protocols, scores and methods; edit types in the project's order, then `all`.

    Args:
        run: the run.
        columns: some of its scores; all of them when left out.
        by_type: also a cell for every edit type.
    """
    columns = columns or Columns.of(run)
    scores = {
        (protocol, spec): columns.rows(protocol, spec.name)
        for protocol, entry in run.manifest.protocols.items()
        for spec in entry.scores
    }
    limits = {score: score_limits(score[1], columns.value[rows]) for score, rows in scores.items()}
    rows = {
        (*score, method): its_rows[columns.method.are(method)[its_rows]]
        for score, its_rows in scores.items()
        for method in run.manifest.methods
    }
    cells: dict[tuple[str, ScoreSpec, str], list[Cell]] = {score: [] for score in rows}
    kinds = (*edit_types(run), ALL) if by_type else (ALL,)
    for edit_type in kinds:  # outermost: cells of one type have the same sources, and share draws
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


def answers(cells: Iterable[Cell]) -> dict[Question, list[ScoreKey]]:
    """The scores with values that answer each question, the primary one first.

    Which question a score answers is declared with the score. Primary is the one with most values; of equals that of
    `editgauge`, then the first by name. The order of protocols in the run plays no part.
    """
    values: Counter[ScoreKey] = Counter()
    questions: dict[ScoreKey, Question | None] = {}
    for cell in cells:
        if cell.mean is not None:
            values[cell.protocol, cell.spec.name] += cell.scored
            questions[cell.protocol, cell.spec.name] = cell.spec.question
    order = sorted(values, key=lambda key: (-values[key], key[0].partition("[")[0] != OWN_PROTOCOL, key))
    of_each = {question: [key for key in order if questions[key] == question] for question in QUESTIONS}
    return {question: keys for question, keys in of_each.items() if keys}


def headlines(cells: Iterable[Cell]) -> list[ScoreKey]:
    """The primary scores: the answer to every question, then the first scores of protocols that answer none."""
    cells = list(cells)
    primary = answers(cells)
    answering = {protocol for keys in primary.values() for protocol, _ in keys}
    others: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell.mean is not None and cell.protocol not in answering:
            others.setdefault(cell.protocol, {})[cell.spec.name] = None
    few = 1 if primary or len(others) > 1 else FIRST_OF_A_PROTOCOL
    first = [(protocol, name) for protocol, names in others.items() for name in list(names)[:few]]
    return [*(keys[0] for keys in primary.values()), *first]


def untouched_methods(run: Run) -> frozenset[str]:
    """The methods all of whose outcomes are the source itself: a reference for the others, never the best."""
    table = run.scores.select(["method", "source_pixels", "edited_pixels"]).filter(
        pc.is_valid(run.scores["edited_pixels"])
    )
    same = pc.equal(table["source_pixels"].cast(pa.string()), table["edited_pixels"].cast(pa.string()))
    counts = table.append_column("same", pc.fill_null(same, False)).group_by("method").aggregate([("same", "min")])
    return frozenset(row["method"] for row in counts.to_pylist() if row["same_min"])


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
