"""The tab of numbers: ways of averaging, figures of papers, trials, turns and difference captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from editgauge._render import text as words
from editgauge._render.tables import directed
from editgauge._render.text import estimate_text
from editgauge.analysis._groups import TurnCell, TurnTable, turn_tables
from editgauge.analysis.aggregation import (
    METHOD_AGGREGATIONS,
    OVERALL_AGGREGATIONS,
    TOTAL,
    TrialCell,
    aggregations,
    count_trials,
    measured_figures,
    paper_aggregation,
    trial_cells,
)
from editgauge.analysis.captions import (
    COUNT,
    NONE_NAMED,
    OBJECTS,
    SHOWN,
    CaptionCurve,
    CaptionGroup,
    caption_groups,
    caption_quality,
)
from editgauge.analysis.outcomes import scored_outcomes
from editgauge.edit_types import vocabulary
from editgauge.reports._figures import (
    CAPTION_STYLE,
    Mark,
    Series,
    SweepLine,
    SweepPoint,
    caption_quality_svg,
    plot_series,
    plot_sweep,
)
from editgauge.reports._score_tables import ScoreTable
from editgauge.reports.sections import METHODS, NUMBERS, TemplateSection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from editgauge._stats.resampling import Estimate
    from editgauge.reports.context import Context


@dataclass(frozen=True, slots=True)
class Aggregated:
    """One score, averaged in every aggregation."""

    title: str
    aggregations: Mapping[str, str]
    """Name and meaning of each aggregation."""
    of_paper: str | None
    """The one that the paper reports."""
    rows: dict[str, tuple[str, ...]]
    over_all: dict[str, str]


@dataclass(frozen=True, slots=True)
class FigureTable:
    """A figure of a paper for every method, and the same values under other averages."""

    title: str
    paper: str
    averages: list[str]
    """That of the paper first."""
    rows: dict[str, list[str]]
    """Method to one text per average."""


def _figure_tables(context: Context) -> list[FigureTable]:
    """Return the figures of the papers of the run's benchmark and protocols."""
    tables = []
    for measured in measured_figures(context.run):
        rows = {
            method: [estimate_text(methods[method], measured.spec.range) for methods in measured.averages.values()]
            for method in context.methods
        }
        tables.append(FigureTable(measured.title, measured.figure.paper, list(measured.averages), rows))
    return tables


def _aggregate_score(context: Context, protocol: str, name: str) -> Aggregated:
    averages = aggregations(context.run, protocol, name)
    table = context.table((protocol, name))

    def text(estimates: Mapping[str, Estimate], aggregation: str) -> str:
        return estimate_text(estimates.get(aggregation), table.spec.range, table.decimals)

    rows = {
        method: tuple(text(averages[method], aggregation) for aggregation in METHOD_AGGREGATIONS)
        for method in context.methods
    }
    over_all = {aggregation: text(averages["all"], aggregation) for aggregation in OVERALL_AGGREGATIONS}
    return Aggregated(table.title, METHOD_AGGREGATIONS, paper_aggregation(protocol), rows, over_all)


def _aggregations_content(context: Context) -> dict[str, Any] | None:
    """Return the headline scores averaged in every aggregation, and the figures of papers."""
    scores = [_aggregate_score(context, *key) for key in context.headlines]
    meanings = METHOD_AGGREGATIONS | OVERALL_AGGREGATIONS
    return {"scores": scores, "figures": _figure_tables(context), "meanings": meanings} if scores else None


aggregations_section = TemplateSection("aggregations", "Aggregations", 51, _aggregations_content, NUMBERS)


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
    title = directed(table.title, higher_is_better=table.spec.higher_is_better)
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


def _turn_table(table: TurnTable) -> dict[str, Any]:
    means = [cell.mean.value for row in table.cells.values() for cell in row.values() if cell.mean]
    decimals = words.decimals_for(means)
    turns = sorted({turn for row in table.cells.values() for turn in row})
    lines = [
        SweepLine(method, tuple(SweepPoint(turn, row[turn].mean if turn in row else None) for turn in turns))
        for method, row in table.cells.items()
    ]
    score = ScoreTable(table.protocol, table.spec, decimals, Markup(), {}, f"{table.protocol} {table.name}")
    rows = {method: [_turn_text(row.get(turn), decimals) for turn in turns] for method, row in table.cells.items()}
    return {
        "title": score.title,
        "about": table.about,
        "plot": plot_sweep(lines, "turn", score),
        "turns": turns,
        "rows": rows,
    }


def _turn_text(cell: TurnCell | None, decimals: int) -> tuple[str, str]:
    """Format the mean with its interval, and its number of outcomes."""
    if cell is None or cell.mean is None:
        return ("not known", f"{cell.unknown} outcomes") if cell else ("-", "")
    mean = cell.mean
    text = f"{words.number(mean.value, decimals)} {words.interval(mean.low, mean.high, decimals)}".rstrip()
    return text, f"n {mean.n}" + (f", {cell.unknown} not known" if cell.unknown else "")


def _turns_content(context: Context) -> dict[str, Any] | None:
    tables = turn_tables(context.run)
    return {"turn_tables": [_turn_table(table) for table in tables]} if tables else None


turns_section = TemplateSection("turns", "Turns", 53, _turns_content)


PROTOCOL = "difference-captions"


def _captions_content(context: Context) -> dict[str, Any] | None:
    content = {
        spec.name
        for protocol, entry in context.run.manifest.protocols.items()
        if protocol.startswith(PROTOCOL)
        for spec in entry.scores
    }
    curves = caption_quality(context.run.folder) if OBJECTS in content else ()
    groups = caption_groups(context.run, scored_outcomes(context.run)) if COUNT in content else ()
    if not (curves or groups):
        return None
    return {
        "curves": [(curve, _draw_curve(curve)) for curve in curves],
        "grouped": _group_tables(groups),
        "columns": (*SHOWN, NONE_NAMED),
    }


def _draw_curve(curve: CaptionCurve) -> Markup:
    """Draw the curve without its own style, which the page's policy forbids; the page styles both themes."""
    return Markup(caption_quality_svg(curve).replace(f"<style>{CAPTION_STYLE}</style>", ""))  # noqa: S704


def _group_tables(groups: Sequence[CaptionGroup]) -> dict[tuple[str, str], list[CaptionGroup]]:
    """Return the groups of every judge and method: first by action, then by people's answers."""
    groups_by_key = groupby(groups, key=lambda group: (group.protocol, group.method))
    return {key: sorted(rows, key=lambda group: group.name.startswith("people: ")) for key, rows in groups_by_key}


captions_section = TemplateSection("captions", "Difference captions", 53, _captions_content, NUMBERS)
