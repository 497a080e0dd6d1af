"""One number per method in several ways: every outcome, every edit type or every source image counts once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from editgauge.findings.aggregates.aggregations import OF_A_METHOD, OF_ALL_METHODS, aggregations, chosen_by_paper
from editgauge.render.words import number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from editgauge.reports.context import Context
    from editgauge.stats.resampling import Estimate


@dataclass(frozen=True, slots=True)
class Aggregated:
    """One score in every way."""

    title: str
    ways: Mapping[str, str]
    """Each way of aggregating, and what it means."""
    chosen: str | None
    """The one whose number the paper prints."""
    rows: dict[str, tuple[str, ...]]
    over_all: dict[str, str]


def aggregated(context: Context) -> list[Aggregated]:
    """The headline scores in every way."""
    return [_of(context, *key) for key in context.headlines]


def _of(context: Context, protocol: str, name: str) -> Aggregated:
    found = aggregations(context.run, protocol, name)
    table = next(table for table in context.tables if (table.protocol, table.spec.name) == (protocol, name))

    def told(estimates: Mapping[str, Estimate], way: str) -> str:
        return _text(estimates.get(way), table.decimals, table.spec.range)

    rows = {method: tuple(told(found[method], way) for way in OF_A_METHOD) for method in context.methods}
    over_all = {way: told(found["all"], way) for way in OF_ALL_METHODS}
    return Aggregated(table.title, OF_A_METHOD, chosen_by_paper(protocol), rows, over_all)


def _text(estimate: Estimate | None, decimals: int, limits: tuple[float, float]) -> str:
    if estimate is None or estimate.value is None:
        return "no score"
    value = number(estimate.value, decimals)
    if estimate.low is None or estimate.high is None:
        return value
    low, high = (
        max(estimate.low, limits[0]),
        min(estimate.high, limits[1]),
    )  # Student's t knows no limits, the score does
    return f"{value} [{number(low, decimals)}, {number(high, decimals)}]"
