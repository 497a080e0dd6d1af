"""The means of a run, printable and shown as a table in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

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
from editgauge._util.text import format_count
from editgauge.analysis.summary import ALL, FEW_SOURCES, MEAN_COLUMNS, Cell, headlines, mean_row, summarize
from editgauge.results import Run
from editgauge.results.tables import data_frame

if TYPE_CHECKING:
    import pandas as pd

WIDE_RANGE = 10
"""Scores of a wider range, such as decibels, are written with one decimal."""


@dataclass(frozen=True, repr=False)
class RunSummary:
    """The means of a run with their confidence intervals.

    Printing shows the main means; `to_frame()` and `to_dict()` have all of them, by method and edit type.

    >>> editgauge.RunSummary(editgauge.Run.open("run"))  # doctest: +SKIP
    """

    run: Run

    @cached_property
    def means(self) -> list[Cell]:
        """A mean with its confidence interval for every score, method and edit type."""
        return summarize(self.run)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: what was run, and every mean."""
        manifest = self.run.manifest
        return {
            "folder": str(self.run.folder),
            "benchmark": manifest.benchmark,
            "edits": manifest.edits,
            "methods": list(manifest.methods),
            "means": [dict(zip(MEAN_COLUMNS, mean_row(cell), strict=True)) for cell in self.means],
        }

    def to_frame(self) -> pd.DataFrame:
        """A pandas table with a row for every mean; needs `pip install pandas`."""
        columns = zip(*map(mean_row, self.means), strict=True)
        return data_frame(dict(zip(MEAN_COLUMNS, columns, strict=True)))

    def __repr__(self) -> str:
        return as_markdown(self._table()).removeprefix("### ").rstrip()

    def _repr_html_(self) -> str:
        table = self._table()
        return Markup("<p><b>{}</b> ({})</p>{}").format(table.title, table.legend, as_html(table))

    def _table(self) -> ResultTable:
        """The main scores over all edits, a row per score and a column per method."""
        manifest = self.run.manifest
        cells = {(cell.protocol, cell.spec.name, cell.method): cell for cell in self.means if cell.edit_type == ALL}
        methods = list(manifest.methods)
        outcomes = len(self.run.table.group_by(["edit", "method", "seed"]).aggregate([]))
        return ResultTable(
            columns=[Column("score", align="left"), *map(Column, methods)],
            rows=[
                [_name(protocol, name, cells.values()), *(_cell(cells.get((protocol, name, each))) for each in methods)]
                for protocol, name in headlines(cells.values())
            ],
            title=f"{manifest.benchmark}: {format_count(manifest.edits, 'edit')}, {format_count(outcomes, 'outcome')}",
            legend=(
                f"mean [95% confidence interval]; few: under {FEW_SOURCES} source images; run folder {self.run.folder}"
            ),
        )


def _name(protocol: str, name: str, cells: Any) -> str:
    spec = next(cell.spec for cell in cells if (cell.protocol, cell.spec.name) == (protocol, name))
    return directed(f"{protocol}/{name}", spec.higher_is_better)


def _cell(cell: Cell | None) -> ValueCell | EmptyCell:
    if cell is None or cell.mean is None:
        return EmptyCell(sum(cell.unscored.values()) if cell else 0)
    low, high = cell.spec.range
    return value_cell(cell.mean, form=".1f" if high - low > WIDE_RANGE else ".3f")
