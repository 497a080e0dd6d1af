"""UniBench's results: methods side by side as in its figure 3, and over repeated trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from editgauge._render import text as words
from editgauge._util.variants import base_name
from editgauge.analysis.aggregation import TOTAL, TrialCell, aggregations, count_trials, trial_cells
from editgauge.edit_types import vocabulary
from editgauge.reports._figures import Mark, Series, plot_series
from editgauge.reports.sections.standard import METHODS, NUMBERS, TemplateSection

if TYPE_CHECKING:
    from markupsafe import Markup

    from editgauge._stats.resampling import Estimate
    from editgauge.reports._score_tables import ScoreTable
    from editgauge.reports.context import Context

PROTOCOLS = ("unibench", "unibench-detect")
SPOKEN = {edit_type: word.replace("_", " ") for word, edit_type in sorted(vocabulary("unibench").items())}
"""UniBench's words for the edit types, in the order of its table."""


@dataclass(frozen=True, slots=True)
class TrialTable:
    """One score of one protocol over trials."""

    protocol: str
    score: str
    kinds: tuple[str, ...]
    rows: dict[str, tuple[tuple[str, str], ...]]
    """Method to mean and deviation, and the interval, per type of edit; the total last."""


def plots(context: Context) -> list[Markup]:
    """One plot for each of the scores that average others, such as fidelity and consistency."""
    chosen = [table for table in context.tables if _is_average(table)]
    return [_plot(context, table) for table in chosen if len(context.methods) > 1]


def _is_average(table: ScoreTable) -> bool:
    return base_name(table.protocol) in PROTOCOLS and table.spec.name in {"fidelity", "consistency", "edit"}


def _plot(context: Context, table: ScoreTable) -> Markup:
    kinds = [kind for kind in SPOKEN if kind in table.rows]
    totals = aggregations(context.run, table.protocol, table.spec.name)
    series = []
    for place, method in enumerate(context.methods):
        row = [shown.cell.mean if (shown := table.rows[kind][place]) else None for kind in kinds]
        marks = [Mark(mean.value, mean.low, mean.high) if mean else None for mean in row]
        series.append(Series(method, [*marks, _total(totals[method].get("by_type")) if all(marks) else None]))
    title = f"{table.title} {'↑' if table.spec.higher_is_better else '↓'}"
    spoken = [*(SPOKEN[kind] for kind in kinds), TOTAL]
    return plot_series(series, spoken, table.scale, title, table.decimals)


def _total(estimate: Estimate | None) -> Mark | None:
    if estimate is None or estimate.value is None:
        return None
    return Mark(estimate.value, estimate.low, estimate.high)


def trial_tables(context: Context) -> list[TrialTable]:
    """Mean, deviation and interval of every cell over trials; nothing for a run of one trial."""
    cells = trial_cells(context.run)
    scores = dict.fromkeys((cell.protocol, cell.name) for cell in cells)
    return [_table(context, key, [cell for cell in cells if (cell.protocol, cell.name) == key]) for key in scores]


def _table(context: Context, key: tuple[str, str], cells: Sequence[TrialCell]) -> TrialTable:
    known = {cell.edit_type for cell in cells}
    kinds = tuple(dict.fromkeys((*(kind for kind in (*SPOKEN, *context.edit_types) if kind in known), TOTAL)))
    by_place = {(cell.method, cell.edit_type): cell for cell in cells}
    decimals = words.decimals_for(cell.mean for cell in cells)
    limits = context.run.spec(*key).range
    rows = {m: tuple(_text(by_place.get((m, kind)), decimals, limits) for kind in kinds) for m in context.methods}
    return TrialTable(*key, tuple(SPOKEN.get(kind, words.spaced(kind)) for kind in kinds), rows)


def _text(cell: TrialCell | None, decimals: int, limits: tuple[float, float]) -> tuple[str, str]:
    if cell is None or not cell.means:
        return "no score", ""
    text = words.number(cell.mean, decimals)
    if cell.deviation is None or cell.interval is None:
        return text, "one trial"
    low, high = max(cell.interval[0], limits[0]), min(cell.interval[1], limits[1])  # Student's t knows no limits
    return f"{text} ± {words.number(cell.deviation, decimals)}", words.interval(low, high, decimals)


def _side_by_side(context: Context) -> dict[str, Any] | None:
    drawn = plots(context)
    return {"plots": drawn} if drawn else None


def _trials(context: Context) -> dict[str, Any] | None:
    tables = trial_tables(context)
    return {"trial_tables": tables, "trials": count_trials(context.run)} if tables else None


side_by_side = TemplateSection("side_by_side", "Side by side", 45, _side_by_side, METHODS)
trials = TemplateSection("trials", "Trials", 53, _trials, NUMBERS)
