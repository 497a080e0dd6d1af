"""The heat map: methods by edit types for one score, darker for better whatever the score's direction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from editgauge.findings.summary import ALL
from editgauge.render import words

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from editgauge.reports.tables import PrintedCell, ScoreTable

STEPS = 7
"""Steps of the color scale, light to dark in one hue: the order survives gray printing and color blindness."""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """One field of the map."""

    text: str
    step: int | None
    """0 for the worst to STEPS - 1 for the best; None for what has no score."""
    tooltip: str
    """The whole story: interval, counts, reasons."""
    few: bool = False
    reference: bool = False
    """Whether the method leaves every source as it is: a number to compare with, without a color."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One score: a row for every method, a column for all edits and every edit type that has this score."""

    table: ScoreTable
    columns: list[str]
    rows: dict[str, list[HeatCell]]
    worst: str
    best: str

    @property
    def folded(self) -> list[str]:
        """The edit types without a column, as nothing in it would have a score."""
        return self.table.folded

    @property
    def has_gaps(self) -> bool:
        """Whether any field has no score."""
        return any(cell.step is None for row in self.rows.values() for cell in row)

    @property
    def has_few(self) -> bool:
        """Whether any field rests on few source images."""
        return any(cell.few for row in self.rows.values() for cell in row)


def heat_map(table: ScoreTable, methods: Sequence[str], untouched: Collection[str] = ()) -> HeatMap:
    """The map of one score, its colors spread from the worst mean of a method that edits to the best."""
    values = [
        shown.cell.mean.value
        for row in table.rows.values()
        for shown in row
        if shown and shown.cell.mean and shown.cell.method not in untouched
    ]
    ends = (min(values), max(values)) if values else (0.0, 0.0)
    worst, best = ends if table.spec.higher_is_better else ends[::-1]
    columns = [kind for kind in table.rows if kind not in table.folded]
    rows = {
        method: [
            replace(_cell(table.rows[kind][place], kind, worst, best), reference=method in untouched)
            for kind in columns
        ]
        for place, method in enumerate(methods)
    }
    return HeatMap(table, columns, rows, words.number(worst, table.decimals), words.number(best, table.decimals))


def _cell(shown: PrintedCell | None, edit_type: str, worst: float, best: float) -> HeatCell:
    where = "all edits" if edit_type == ALL else words.spaced(edit_type)
    if shown is None:
        return HeatCell("none", None, f"{where}: no outcomes")
    mean = shown.cell.mean
    if mean is None:
        return HeatCell("none", None, f"{where}: no score; {shown.unscored}")
    share = (mean.value - worst) / (best - worst) if best != worst else 0.5
    label = f"{where}: {shown.text(mean.value)}"
    if mean.low is not None and mean.high is not None:
        label += f", 95 % interval {shown.text(mean.low)} to {shown.text(mean.high)}"
    label += f", {shown.cell.scored} scored" + (f", {shown.unscored}" if shown.unscored else "")
    return HeatCell(shown.text(mean.value), min(max(int(share * STEPS), 0), STEPS - 1), label, shown.few)
