"""Score tables of the report: the headline scores, and every score by method and edit type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from editgauge._render import text as words
from editgauge._render.svg import AxisRange, axis, scale_for, whisker
from editgauge.analysis.summary import ALL, Cell, headlines
from editgauge.types import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

    from editgauge.types import ScoreSpec

WIDE, NARROW = 220, 170
"""Widths of the marks in the overview and in the tables by edit type."""
SHADES = 5
"""Steps of the color scale."""


@dataclass(frozen=True, slots=True)
class PrintedCell:
    """One cell, ready to print."""

    cell: Cell
    decimals: int
    shade: int
    """0 for the worst values of the table to SHADES - 1 for the best."""
    mark: Markup | None

    @property
    def few(self) -> bool:
        """Whether the interval is of too few source images."""
        return self.cell.mean is not None and self.cell.mean.few

    @property
    def unscored(self) -> str:
        """How many have no score, and why."""
        return words.unscored(self.cell.unscored)

    @property
    def unscored_count(self) -> int:
        """How many have no score."""
        return sum(self.cell.unscored.values())

    @property
    def bounds(self) -> str:
        """The range of the mean if the missing outcomes had scores; empty if none is missing."""
        limits = self.cell.bounds
        if limits is None or not limits.missing:
            return ""
        low, high = sorted((limits.worst, limits.best))
        return f"{self.text(low)} to {self.text(high)} if the {limits.missing:,} missing had scores"

    def text(self, value: float) -> str:
        """Format a number with the decimals of the table."""
        return words.number(value, self.decimals)


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """One score by edit type and method."""

    protocol: str
    spec: ScoreSpec
    decimals: int
    axis: Markup
    rows: dict[str, list[PrintedCell | None]]
    """Edit type to a cell for every method; the first row is over all edits."""
    title: str
    """The score's name, with its protocol's where several have a score of that name."""

    @property
    def folded(self) -> list[str]:
        """The edit types for which no method has this score: listed without a plot."""
        return [
            kind
            for kind, row in self.rows.items()
            if kind != ALL and not any(printed and printed.cell.mean for printed in row)
        ]

    @property
    def scale(self) -> AxisRange:
        """The scale of all plots of the score, so that they can be compared."""
        means = [printed.cell.mean for row in self.rows.values() for printed in row if printed and printed.cell.mean]
        return scale_for(means, self.spec.range)

    @property
    def question(self) -> str:
        """The question that the score answers, in words; empty for none."""
        return QUESTIONS.get(self.spec.question, "") if self.spec.question else ""

    @property
    def key(self) -> str:
        """The name by which the page and its address know the score."""
        return f"{self.protocol}/{self.spec.name}"


def overview(cells: Iterable[Cell], methods: Sequence[str]) -> list[ScoreTable]:
    """Return the headline scores over all edits, each on its own scale."""
    overall = [cell for cell in cells if cell.edit_type == ALL]
    by_score = _by_score(overall)
    return [_table(by_score[key], methods, [ALL], WIDE, _title(key, by_score)) for key in headlines(overall)]


def score_tables(cells: Iterable[Cell], methods: Sequence[str], edit_types: Sequence[str]) -> list[ScoreTable]:
    """Return a table for every score, headline scores first, then in the run's order."""
    by_score = _by_score(cells)
    first = headlines(cell for cells_of in by_score.values() for cell in cells_of)
    order = dict.fromkeys((*first, *by_score))
    return [_table(by_score[key], methods, [ALL, *edit_types], NARROW, _title(key, by_score)) for key in order]


def _title(key: tuple[str, str], keys: Iterable[tuple[str, str]]) -> str:
    protocol, name = key
    return f"{protocol} {name}" if sum(score == name for _, score in keys) > 1 else name


def _by_score(cells: Iterable[Cell]) -> dict[tuple[str, str], list[Cell]]:
    by_score: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        by_score.setdefault((cell.protocol, cell.spec.name), []).append(cell)
    return by_score


def _table(
    cells: Sequence[Cell], methods: Sequence[str], edit_types: Sequence[str], width: int, title: str
) -> ScoreTable:
    first = cells[0]
    means = [cell.mean for cell in cells if cell.mean is not None]
    decimals = words.decimals_for(mean.value for mean in means)
    scale = scale_for(means, first.spec.range)
    printed = {(cell.edit_type, cell.method): _printed_cell(cell, decimals, scale, width) for cell in cells}
    rows = {kind: [printed.get((kind, method)) for method in methods] for kind in edit_types}
    return ScoreTable(first.protocol, first.spec, decimals, axis(scale, width), rows, title)


def _printed_cell(cell: Cell, decimals: int, scale: AxisRange, width: int) -> PrintedCell:
    mean = cell.mean
    if mean is None:
        return PrintedCell(cell, decimals, 0, None)
    goodness = scale.share(mean.value) if cell.spec.higher_is_better else 1 - scale.share(mean.value)
    spoken = f"{cell.method}: {words.number(mean.value, decimals)}{words.spoken_interval(mean, decimals)}"
    shade = min(int(goodness * SHADES), SHADES - 1)
    return PrintedCell(cell, decimals, shade, whisker(mean, scale, width, spoken))
