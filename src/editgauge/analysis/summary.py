"""Summarize a run: a mean with its interval for every method, edit type and score, and counts of unscored outcomes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup

from editgauge._render.tables import (
    Column,
    EmptyCell,
    ResultTable,
    ValueCell,
    as_html,
    as_markdown,
    directed,
    value_cell,
)
from editgauge._stats.intervals import MIN_SOURCES, Bounds, Limits, Mean, bounds, clustered_mean, score_limits
from editgauge._util.text import format_count
from editgauge._util.variants import base_name
from editgauge.edit_types import EDIT_TYPES
from editgauge.results import Rows, Run, ScoreColumns
from editgauge.results.tables import data_frame
from editgauge.types import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from editgauge.types import Question, ScoreSpec

ALL = "all"
"""Pseudo edit type of the mean over all scored edits (count-weighted)."""
FEW_SOURCES = MIN_SOURCES
"""With fewer source images a confidence interval is unreliable; tables mark it."""
OWN_PROTOCOL = "editgauge"
"""Its scores are primary among scores with equally many values: they are validated on human ratings."""
MAX_FIRST_SCORES = 3
"""Number of primary scores of a run in which no score answers a question."""
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
    """Reason to number of outcomes."""
    bounds: Bounds | None = None
    """The mean if unscored outcomes had scores; None when the score has no limits."""

    @property
    def scored(self) -> int:
        """Return the number of scores behind the mean."""
        return self.mean.n if self.mean else 0


def summarize(run: Run, columns: ScoreColumns | None = None, *, by_type: bool = True) -> list[Cell]:
    """Return all cells in the run's order of protocols, scores and methods; edit types in canonical order, then `all`.

    Args:
        run: the run.
        columns: a selection of its scores; default: all.
        by_type: whether to add a cell for every edit type.

    """
    columns = columns or run.score_columns
    scores = {
        (protocol, spec): columns.rows(protocol, spec.name)
        for protocol, entry in run.manifest.protocols.items()
        for spec in entry.scores
    }
    limits = {score: score_limits(score[1], columns.value[rows]) for score, rows in scores.items()}
    rows = {
        (*score, method): score_rows[columns.method.equals(method)[score_rows]]
        for score, score_rows in scores.items()
        for method in run.manifest.methods
    }
    cells: dict[tuple[str, ScoreSpec, str], list[Cell]] = {score: [] for score in rows}
    types = (*edit_types(run), ALL) if by_type else (ALL,)
    for edit_type in types:  # outermost: cells of one type share their sources, and so their cached draws
        of_this_type = columns.edit_type.equals(edit_type)
        for score, score_rows in rows.items():
            selected = score_rows if edit_type == ALL else score_rows[of_this_type[score_rows]]
            if selected.size:
                cells[score].append(_cell(score, edit_type, columns, selected, limits[score[:2]]))
    return [cell for group in cells.values() for cell in group]


MEAN_COLUMNS = ("protocol", "score", "method", "edit_type", "mean", "low", "high", "n", "unscored")


def mean_row(cell: Cell) -> list[str | float | int | None]:
    """Return one mean in the order of `MEAN_COLUMNS`."""
    mean = cell.mean
    return [
        *(cell.protocol, cell.spec.name, cell.method, cell.edit_type),
        *((mean.value, mean.low, mean.high) if mean else (None, None, None)),
        *(cell.scored, sum(cell.unscored.values())),
    ]


def edit_types(run: Run) -> list[str]:
    """Return the edit types of the run, in canonical order."""
    present = set(run.table["edit_type"].unique().to_pylist())
    return [name for name in EDIT_TYPES if name in present]


def answers(cells: Iterable[Cell]) -> dict[Question, list[ScoreKey]]:
    """Return the scores with values that answer each question, the primary one first.

    The score declares which question it answers. Primary is the one with most values; among equals that of `editgauge`,
    then the first by name. The order of protocols in the run does not matter.
    """
    values: Counter[ScoreKey] = Counter()
    questions: dict[ScoreKey, Question | None] = {}
    for cell in cells:
        if cell.mean is not None:
            values[cell.protocol, cell.spec.name] += cell.scored
            questions[cell.protocol, cell.spec.name] = cell.spec.question
    order = sorted(values, key=lambda key: (-values[key], base_name(key[0]) != OWN_PROTOCOL, key))
    by_question = {question: [key for key in order if questions[key] == question] for question in QUESTIONS}
    return {question: keys for question, keys in by_question.items() if keys}


def headlines(cells: Iterable[Cell]) -> list[ScoreKey]:
    """Return the primary scores: one per question, then the first scores of protocols that answer none."""
    cells = list(cells)
    primary = answers(cells)
    answering = {protocol for keys in primary.values() for protocol, _ in keys}
    names_by_protocol: dict[str, dict[str, None]] = {}
    for cell in cells:
        if cell.mean is not None and cell.protocol not in answering:
            names_by_protocol.setdefault(cell.protocol, {})[cell.spec.name] = None
    limit = 1 if primary or len(names_by_protocol) > 1 else MAX_FIRST_SCORES
    first = [(protocol, name) for protocol, names in names_by_protocol.items() for name in list(names)[:limit]]
    return [*(keys[0] for keys in primary.values()), *first]


def untouched_methods(run: Run) -> frozenset[str]:
    """Return the methods all of whose outcomes equal the source: a reference, never ranked."""
    table = run.table.select(["method", "source_pixels", "edited_pixels"]).filter(
        pc.is_valid(run.table["edited_pixels"])
    )
    same = pc.equal(table["source_pixels"].cast(pa.string()), table["edited_pixels"].cast(pa.string()))
    counts = (
        table.append_column("same", pc.fill_null(same, fill_value=False))
        .group_by("method")
        .aggregate([("same", "min")])
    )
    return frozenset(row["method"] for row in counts.to_pylist() if row["same_min"])


def _cell(
    score: tuple[str, ScoreSpec, str], edit_type: str, columns: ScoreColumns, rows: Rows, limits: Limits | None
) -> Cell:
    """Summarize these rows of a protocol, score and method."""
    protocol, spec, method = score
    values = columns.value[rows]
    scored = ~np.isnan(values)
    sources = columns.source.codes[rows][scored]
    mean = clustered_mean(values[scored], sources, scale=spec.range) if scored.any() else None
    unscored = dict(sorted(Counter(columns.reason.decode(rows[~scored])).items()))
    mean_bounds = bounds(spec, values[scored], unscored, limits) if limits else None
    return Cell(protocol, spec, method, edit_type, mean, unscored, mean_bounds)


WIDE_RANGE = 10
"""Scores of a wider range, such as decibels, have one decimal."""


@dataclass(frozen=True, repr=False)
class RunSummary:
    """The means of a run with their confidence intervals.

    Printing shows the main means; `to_frame()` and `to_dict()` have all of them, by method and edit type.

    >>> editgauge.RunSummary(editgauge.Run.open("run"))  # doctest: +SKIP
    """

    run: Run

    @cached_property
    def means(self) -> list[Cell]:
        """Return a mean with its interval for every score, method and edit type."""
        return summarize(self.run)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: the run and every mean."""
        manifest = self.run.manifest
        return {
            "folder": str(self.run.folder),
            "benchmark": manifest.benchmark,
            "edits": manifest.edits,
            "methods": list(manifest.methods),
            "means": [dict(zip(MEAN_COLUMNS, mean_row(cell), strict=True)) for cell in self.means],
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame with a row for every mean; needs `pip install pandas`."""
        columns = zip(*map(mean_row, self.means), strict=True)
        return data_frame(dict(zip(MEAN_COLUMNS, columns, strict=True)))

    def __repr__(self) -> str:
        return as_markdown(self._table()).removeprefix("### ").rstrip()

    def _repr_html_(self) -> str:
        table = self._table()
        return Markup("<p><b>{}</b> ({})</p>{}").format(table.title, table.legend, as_html(table))

    def _table(self) -> ResultTable:
        """Build the table of main scores over all edits, a row per score and a column per method."""
        manifest = self.run.manifest
        cells = {(cell.protocol, cell.spec.name, cell.method): cell for cell in self.means if cell.edit_type == ALL}
        methods = list(manifest.methods)
        outcomes = len(self.run.table.group_by(["edit", "method", "seed"]).aggregate([]))
        return ResultTable(
            columns=[Column("score", align="left"), *map(Column, methods)],
            rows=[
                [
                    _name(protocol, name, cells.values()),
                    *(_printed_cell(cells.get((protocol, name, method))) for method in methods),
                ]
                for protocol, name in headlines(cells.values())
            ],
            title=f"{manifest.benchmark}: {format_count(manifest.edits, 'edit')}, {format_count(outcomes, 'outcome')}",
            legend=(
                f"mean [95% confidence interval]; few: under {FEW_SOURCES} source images; run folder {self.run.folder}"
            ),
        )


def _name(protocol: str, name: str, cells: Any) -> str:
    spec = next(cell.spec for cell in cells if (cell.protocol, cell.spec.name) == (protocol, name))
    return directed(f"{protocol}/{name}", higher_is_better=spec.higher_is_better)


def _printed_cell(cell: Cell | None) -> ValueCell | EmptyCell:
    if cell is None or cell.mean is None:
        return EmptyCell(sum(cell.unscored.values()) if cell else 0)
    low, high = cell.spec.range
    return value_cell(cell.mean, form=".1f" if high - low > WIDE_RANGE else ".3f")
