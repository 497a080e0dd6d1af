"""UniBench's results: methods side by side as in its figure 3, and over repeated trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from editgauge._render import text as words
from editgauge._render.tables import directed
from editgauge.analysis.aggregation import TOTAL, TrialCell, aggregations, count_trials, trial_cells
from editgauge.edit_types import vocabulary
from editgauge.reports._figures import Mark, Series, plot_series
from editgauge.reports.sections import METHODS, NUMBERS, TemplateSection

if TYPE_CHECKING:
    from markupsafe import Markup

    from editgauge._stats.resampling import Estimate
    from editgauge.reports._score_tables import ScoreTable
    from editgauge.reports.context import Context

UNIBENCH_PROTOCOLS = ("unibench", "unibench-detect")
UNIBENCH_NAMES = {edit_type: word.replace("_", " ") for word, edit_type in sorted(vocabulary("unibench").items())}
"""UniBench's names of the edit types, in the order of its table."""


@dataclass(frozen=True, slots=True)
class TrialTable:
    """One score of one protocol over trials."""

    protocol: str
    score: str
    kinds: tuple[str, ...]
    rows: dict[str, tuple[tuple[str, str], ...]]
    """Method to mean and deviation, and the interval, per edit type; the total last."""


def _side_by_side_plots(context: Context) -> list[Markup]:
    """Plot each score that averages others, such as fidelity and consistency."""
    tables = [table for table in context.tables if _is_average(table)]
    return [_side_by_side_plot(context, table) for table in tables if len(context.methods) > 1]


def _is_average(table: ScoreTable) -> bool:
    return table.protocol.partition("[")[0] in UNIBENCH_PROTOCOLS and table.spec.name in {
        "fidelity",
        "consistency",
        "edit",
    }


def _side_by_side_plot(context: Context, table: ScoreTable) -> Markup:
    kinds = [kind for kind in UNIBENCH_NAMES if kind in table.rows]
    totals = aggregations(context.run, table.protocol, table.spec.name)
    series = []
    for column, method in enumerate(context.methods):
        row = [cell.cell.mean if (cell := table.rows[kind][column]) else None for kind in kinds]
        marks = [Mark(mean.value, mean.low, mean.high) if mean else None for mean in row]
        series.append(Series(method, [*marks, _total_mark(totals[method].get("by_type")) if all(marks) else None]))
    title = directed(table.title, table.spec.higher_is_better)
    spoken = [*(UNIBENCH_NAMES[kind] for kind in kinds), TOTAL]
    return plot_series(series, spoken, table.scale, title, table.decimals)


def _total_mark(estimate: Estimate | None) -> Mark | None:
    if estimate is None or estimate.value is None:
        return None
    return Mark(estimate.value, estimate.low, estimate.high)


def trial_tables(context: Context) -> list[TrialTable]:
    """Return mean, deviation and interval of every cell over trials; empty for a run of one trial."""
    cells = trial_cells(context.run)
    scores = dict.fromkeys((cell.protocol, cell.name) for cell in cells)
    return [_trial_table(context, key, [cell for cell in cells if (cell.protocol, cell.name) == key]) for key in scores]


def _trial_table(context: Context, key: tuple[str, str], cells: Sequence[TrialCell]) -> TrialTable:
    present = {cell.edit_type for cell in cells}
    kinds = tuple(dict.fromkeys((*(kind for kind in (*UNIBENCH_NAMES, *context.edit_types) if kind in present), TOTAL)))
    by_key = {(cell.method, cell.edit_type): cell for cell in cells}
    decimals = words.decimals_for(cell.mean for cell in cells)
    limits = context.run.spec(*key).range
    rows = {m: tuple(_trial_text(by_key.get((m, kind)), decimals, limits) for kind in kinds) for m in context.methods}
    return TrialTable(*key, tuple(UNIBENCH_NAMES.get(kind, words.spaced(kind)) for kind in kinds), rows)


def _trial_text(cell: TrialCell | None, decimals: int, limits: tuple[float, float]) -> tuple[str, str]:
    if cell is None or not cell.means:
        return "no score", ""
    text = words.number(cell.mean, decimals)
    if cell.deviation is None or cell.interval is None:
        return text, "one trial"
    low, high = max(cell.interval[0], limits[0]), min(cell.interval[1], limits[1])  # Student's t knows no limits
    return f"{text} ± {words.number(cell.deviation, decimals)}", words.interval(low, high, decimals)


def _side_by_side(context: Context) -> dict[str, Any] | None:
    drawn = _side_by_side_plots(context)
    return {"plots": drawn} if drawn else None


def _trials(context: Context) -> dict[str, Any] | None:
    tables = trial_tables(context)
    return {"trial_tables": tables, "trials": count_trials(context.run)} if tables else None


side_by_side = TemplateSection("side_by_side", "Side by side", 45, _side_by_side, METHODS)
trials = TemplateSection("trials", "Trials", 53, _trials, NUMBERS)
