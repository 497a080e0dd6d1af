"""The tables of `editgauge compare`, a hundred columns wide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from editgauge._cli.tables.common import named, new_table, number, show
from editgauge._stats.pairwise import ALPHA
from editgauge._util.text import format_count
from editgauge.analysis.aggregation import METHOD_AGGREGATIONS, aggregations_differ, paper_aggregation
from editgauge.analysis.summary import ALL, FEW_SOURCES

if TYPE_CHECKING:
    from editgauge._stats.intervals import Bounds
    from editgauge._stats.resampling import Estimate
    from editgauge.analysis.compare import Comparison, Standing
    from editgauge.engine.prefer.prefer import Preferred
    from editgauge.types import ScoreSpec

STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def show_comparison(comparisons: Sequence[Comparison]) -> None:
    """Two methods side by side, who is better where it can be said, and how each stands among all."""
    if not comparisons:
        show(Text("The run has no score to compare."))
        return
    first, second = comparisons[0].first, comparisons[0].second
    several = len({each.protocol for each in comparisons}) > 1
    table = new_table(text=["score"], numbers=[first, second, "difference", "p"], wrap_numbers=False)
    table.add_column("better")
    for each in comparisons:
        here, there = each.standings or (None, None)
        table.add_row(
            Text(named(each.spec)).append(f"\n{each.protocol}" if several else "", style="dim"),
            _method(each.first_mean, here, each.spec),
            _method(each.second_mean, there, each.spec),
            _difference(each),
            _chance(each),
            _verdict(each),
        )
    show(table)
    for sentence in _explanations(comparisons):
        show(Text(sentence))
    _show_aggregations(comparisons)


def show_elo(preferred: Preferred) -> None:
    """The Elo of every method by a judge's choices."""
    if not preferred.elo:
        show(Text("No pair has an answer, so there is no Elo."))
        return
    title = f"{preferred.figure} by {preferred.judge}, {format_count(preferred.pairs, 'pair')}: 95% interval"
    table = new_table(title, ["method"], [preferred.figure, "answers"])
    for method, each in preferred.elo.items():
        interval = "" if each.low is None or each.high is None else f" [{each.low:.0f}, {each.high:.0f}]"
        table.add_row(method, f"{each.value:.0f}{interval}", str(each.n))
    show(table)
    show(Text("Higher is better; Elo averages 1000. Ties by Davidson, each order of a pair is an answer."))


def stars(p: float) -> str:
    """One for p < 0.05, two for 0.01, three for 0.001.

    >>> stars(0.02), stars(0.0001), stars(0.3)
    ('*', '***', '')
    """
    return next((marks for limit, marks in STARS if p < limit), "")


def _method(mean: float | None, standing: Standing | None, spec: ScoreSpec) -> Text:
    """The mean of the compared edits, the place among all methods, and what the unscored could make of it."""
    text = Text(number(mean, spec))
    if standing is None:
        return text
    if place := standing.ranks.get(ALL):
        text.append(f"\n{place}", style="dim")
    if standing.bounds and standing.bounds.missing:
        low, high = sorted((standing.bounds.worst, standing.bounds.best))
        text.append(f"\n{number(low, spec)}…{number(high, spec)}", style="dim italic")
    return text


def _difference(each: Comparison) -> Text:
    result = each.difference
    if result is None:
        return Text("no edit has both", style="dim")
    few = "†" if result.clusters < FEW_SOURCES else ""
    text = Text(("-" if result.value is None else number(result.value, each.spec, "+")) + few)
    if result.low is not None:
        text.append(f"\n{number(result.low, each.spec, '+')} … {number(result.high, each.spec, '+')}", style="dim")
    return text


def _verdict(each: Comparison) -> Text:
    """Who is significantly better, whether that depends on what is missing, and what the margin says."""
    names = {"first": each.first, "second": each.second, "neither": "not significant"}
    text = Text(names[each.verdict], style="bold" if each.verdict != "neither" else "dim")
    if each.survives_missing is False:
        text.append("\nnot in the worst case", style="dim italic")
    if each.within_margin:
        words = each.within_margin.replace("first", each.first).replace("second", each.second)
        text.append(f"\n{words}", style="dim")
    return text


def _chance(each: Comparison) -> Text:
    text = Text("-" if each.p is None else f"{each.p:.4f}{stars(each.p)}")
    text.append(f"\nn {each.difference.n if each.difference else 0}", style="dim")
    return text


def _explanations(comparisons: Sequence[Comparison]) -> list[str]:
    notes = [
        "Paired on the same edits, clustered by source image; 95% confidence intervals and p, both adjusted for all "
        "pairs of methods of the run: * below 0.05, ** 0.01, *** 0.001. Each score is tested on its own."
    ]
    shown = [each for each in comparisons if each.verdict != "neither"]
    several = len({each.protocol for each in comparisons}) > 1
    lost = [
        f"{each.protocol}/{each.spec.name}" if several else each.spec.name
        for each in shown
        if each.p_over_scores is not None and each.p_over_scores >= ALPHA
    ]
    if lost:
        notes.append(f"Corrected for all {len(comparisons)} scores shown (Holm), not significant: {', '.join(lost)}.")
    if any(each.survives_missing is False for each in comparisons):
        notes.append("Not in the worst case: the verdict fails if all missing scores were the worst possible for it.")
    margins = {each.margin for each in comparisons if each.within_margin}
    if margins:
        notes.append(f"Margin {margins.pop():g}: by the same interval of the difference.")
    standings = [standing for each in comparisons for standing in each.standings or ()]
    if any(ALL in standing.ranks for standing in standings):
        notes.append("2 [1-3]: second of all methods on common edits; first to third at 95% confidence.")
    bounds = [standing.bounds for standing in standings if standing.bounds and standing.bounds.missing]
    if bounds:
        notes.append(_what_is_missing(bounds))
    if any(each.difference and each.difference.clusters < FEW_SOURCES for each in comparisons):
        notes.append(f"† fewer than {FEW_SOURCES} source images: too few for a test.")
    lonely = max((each.only_first + each.only_second for each in comparisons), default=0)
    if lonely:
        left_out = (
            "1 edit has a score for one method only and is"
            if lonely == 1
            else (f"Up to {lonely} edits have a score for one method only and are")
        )
        notes.append(f"{left_out} left out of the pairs.")
    return notes


def _what_is_missing(bounds: Sequence[Bounds]) -> str:
    most = max(each.missing for each in bounds)
    seen = "" if all(each.limits.declared for each in bounds) else " (of those seen, where the range has no end)"
    return f"0.2…0.9: the mean if all unscored outcomes, up to {most}, had the worst or the best value{seen}."


def _show_aggregations(comparisons: Sequence[Comparison]) -> None:
    """Only where the way of aggregating matters."""
    rows = [
        (each, method, standing.aggregated)
        for each in comparisons
        for method, standing in zip((each.first, each.second), each.standings or (), strict=False)
        if aggregations_differ(standing.aggregated)
    ]
    if not rows:
        return
    columns = [way.replace("_", " ") for way in METHOD_AGGREGATIONS]
    table = new_table("where the way of averaging matters, and 95% interval", ["score", "method"], columns)
    for each, method, result in rows:
        chosen = paper_aggregation(each.protocol)
        cells = (_aggregated(result[way], each.spec, marked=way == chosen) for way in METHOD_AGGREGATIONS)
        table.add_row(named(each.spec), method, *cells)
    show(table)
    show(Text("; ".join(f"{way.replace('_', ' ')}: {meaning}" for way, meaning in METHOD_AGGREGATIONS.items()) + "."))
    if any(paper_aggregation(each.protocol) for each, _, _ in rows):
        show(Text("◂ what the protocol's paper prints."))


def _aggregated(result: Estimate, spec: ScoreSpec, *, marked: bool) -> Text:
    text = Text(number(result.value, spec) + (" ◂" if marked else ""))
    if result.low is not None:
        text.append(f"\n{number(result.low, spec)} … {number(result.high, spec)}", style="dim")
    return text
