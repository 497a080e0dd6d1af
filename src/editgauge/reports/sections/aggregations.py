"""One number per method in several ways: every outcome, every edit type or every source image counts once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from editgauge._render.text import estimate_text
from editgauge.analysis.aggregation import (
    METHOD_AGGREGATIONS,
    OVERALL_AGGREGATIONS,
    aggregations,
    measured_figures,
    paper_aggregation,
)
from editgauge.reports.sections import NUMBERS, TemplateSection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from editgauge._stats.resampling import Estimate
    from editgauge.reports.context import Context


@dataclass(frozen=True, slots=True)
class Aggregated:
    """One score, averaged in every way."""

    title: str
    ways: Mapping[str, str]
    """Each way of averaging, and what it means."""
    of_paper: str | None
    """The one that the paper reports."""
    rows: dict[str, tuple[str, ...]]
    over_all: dict[str, str]


@dataclass(frozen=True, slots=True)
class FigureTable:
    """A figure of a paper for every method, and the same values averaged otherwise."""

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

    def text(estimates: Mapping[str, Estimate], way: str) -> str:
        return estimate_text(estimates.get(way), table.spec.range, table.decimals)

    rows = {method: tuple(text(averages[method], way) for way in METHOD_AGGREGATIONS) for method in context.methods}
    over_all = {way: text(averages["all"], way) for way in OVERALL_AGGREGATIONS}
    return Aggregated(table.title, METHOD_AGGREGATIONS, paper_aggregation(protocol), rows, over_all)


def _aggregations_content(context: Context) -> dict[str, Any] | None:
    """Return the headline scores averaged in every way, and the figures of papers."""
    scores = [_aggregate_score(context, *key) for key in context.headlines]
    meanings = METHOD_AGGREGATIONS | OVERALL_AGGREGATIONS
    return {"scores": scores, "figures": _figure_tables(context), "meanings": meanings} if scores else None


aggregations_section = TemplateSection("aggregations", "Aggregations", 51, _aggregations_content, NUMBERS)
