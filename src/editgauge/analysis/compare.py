"""Compare methods of a run in pairs on the same edits, clustered by source image."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from editgauge._stats.intervals import Bounds
from editgauge._stats.pairwise import PairDifference, Rank
from editgauge._stats.resampling import Estimate
from editgauge.analysis._groups import columns_of, read_selection
from editgauge.analysis.aggregation import aggregate_columns
from editgauge.analysis.outcomes import select_scores
from editgauge.analysis.significance import RunTests
from editgauge.analysis.summary import ALL, Cell, edit_types, headlines, summarize
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import Run, RunSource
from editgauge.results.tables import data_frame
from editgauge.types import ScoreSpec

if TYPE_CHECKING:
    import pandas as pd

Margin = Literal["equivalent", "first not inferior", "second not inferior", "undecided"]


@dataclass(frozen=True, slots=True)
class Standing:
    """A method by one score: over all its outcomes, and compared with all methods of the run."""

    bounds: Bounds | None
    """Lowest and highest mean that is possible if all outcomes were scored."""
    ranks: Mapping[str, Rank]
    """Rank by edit type and over `all`; only types with a score."""
    aggregated: Mapping[str, Estimate]
    """Aggregate scores by the aggregation methods that papers use; empty without scores."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One score of two methods on the edits that both have; where an edit has several seeds, their mean counts."""

    protocol: str
    spec: ScoreSpec
    first: str
    second: str
    difference: PairDifference | None
    """Mean of first minus second, with its test and interval, adjusted for all pairs of methods of the run; None when
    no edit has both scores."""
    only_first: int
    only_second: int
    """Edits that have this score for one method only: they cannot be compared."""
    verdict: Literal["first", "second", "neither"] = "neither"
    """The significantly better method: the adjusted p-value is below 0.05, so the interval excludes zero."""
    survives_missing: bool | None = None
    """Whether the result holds if all missing scores were the worst possible for the winner; None without a significant
    result, or for a score without limits."""
    p_over_scores: float | None = None
    """The adjusted p-value, also corrected for the other compared scores (Holm)."""
    margin: float | None = None
    within_margin: Margin | None = None
    """Whether the two are equivalent, or one is not inferior, by the margin; None without a margin or a test."""
    standings: tuple[Standing, ...] | None = None
    """Standings of the first and the second; None for a pair outside a run."""

    @property
    def p(self) -> float | None:
        """Return the two-sided p-value, adjusted for all pairs of methods of the run."""
        return self.difference.adjusted if self.difference else None

    @property
    def first_mean(self) -> float | None:
        """Return the mean of the first method on the edits that both have."""
        return self.difference.first_mean if self.difference else None

    @property
    def second_mean(self) -> float | None:
        """Return the mean of the second method on the edits that both have."""
        return self.difference.second_mean if self.difference else None


class Comparisons(tuple[Comparison, ...]):
    """Comparisons of methods, by score and pair."""

    __slots__ = ()

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame with a row per score and pair; needs `pip install pandas`."""
        rows = [_row(comparison) for comparison in self]
        return data_frame({name: [row[name] for row in rows] for name in rows[0]} if rows else {})


def _row(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as a row of the data frame."""
    difference = comparison.difference
    return {
        "protocol": comparison.protocol,
        "score": comparison.spec.name,
        "first": comparison.first,
        "second": comparison.second,
        "first_mean": comparison.first_mean,
        "second_mean": comparison.second_mean,
        "difference": difference.value if difference else None,
        "low": difference.low if difference else None,
        "high": difference.high if difference else None,
        "p": comparison.p,
        "p_over_scores": comparison.p_over_scores,
        "better": {"first": comparison.first, "second": comparison.second}.get(comparison.verdict),
        "n": difference.n if difference else 0,
        "sources": difference.clusters if difference else 0,
    }


def compare(
    run: RunSource | Sequence[RunSource],
    *,
    methods: Sequence[str] | None = None,
    score: Sequence[str] = (),
    group: Sequence[str] = (),
    margin: float | None = None,
) -> Comparisons:
    """Test whether methods differ significantly, score by score and pair by pair, on the edits that both have.

    Example:
        $ editgauge compare run
        $ editgauge compare run --methods mine theirs --score ssim --margin 0.02
        $ editgauge compare run --methods mine theirs --group language=en --group task=text_change
        $ editgauge compare before after
        >>> editgauge.compare("run", methods=("mine", "theirs")).to_frame()

    Args:
        run: run folder, or several of the same benchmark to compare methods of different runs.
        methods: two or more methods of the run; default: all of them, in pairs.
        score: score to compare, such as `edit`, `pixlens/edit` or `*`; repeat for several. Default: the primary scores.
        group: limit to the edits of one of the benchmark's own groups, as NAME=VALUE; repeat for edits in all of them.
        margin: smallest difference that matters: tests equivalence and non-inferiority.

    """
    opened_run = Run.open(run)
    pairs = list(combinations(_check_methods(opened_run, methods), 2))
    if margin is not None and not (margin > 0 and np.isfinite(margin)):
        raise BadInputError(f"`margin` must be a positive number, such as 0.02; got {margin}.")
    columns = columns_of(opened_run, read_selection(group, opened_run))
    tests, cells = RunTests(opened_run, columns), summarize(opened_run, columns)
    if score:
        scores = select_scores(opened_run, score)
    else:
        primary = headlines(cell for cell in cells if cell.edit_type == ALL)
        scores = [(protocol, opened_run.spec(protocol, name)) for protocol, name in primary]
    by_score = [[_compare_pair(tests, protocol, spec, pair, margin) for pair in pairs] for protocol, spec in scores]
    standings = _compute_standings(tests, cells, scores, {method for pair in pairs for method in pair})
    return Comparisons(
        replace(
            comparison,
            standings=tuple(standings[comparison.protocol, comparison.spec.name, method] for method in pair),
        )
        for comparisons in _adjust_over_scores(by_score)
        for pair, comparison in zip(pairs, comparisons, strict=True)
    )


def _check_methods(run: Run, methods: Sequence[str] | None) -> list[str]:
    available = list(run.manifest.methods)
    names = available if methods is None else list(methods)
    for method in names:
        if method not in available:
            raise UnknownNameError("method in this run", method, available)
    if methods is None and len(names) < 2:
        raise BadInputError(f"The run has one method, '{names[0]}': there is nothing to compare it with.")
    if len(names) < 2 or len(set(names)) < len(names):
        raise BadInputError(f"`methods` takes two or more different methods; got {names}.")
    return names


def _adjust_over_scores(by_score: Sequence[Sequence[Comparison]]) -> list[list[Comparison]]:
    """Correct the p-values of all pairs for the number of scores: Holm, ordered by the smallest p-value per score."""
    min_p_values = {
        index: min(p_values)
        for index, comparisons in enumerate(by_score)
        if (p_values := [comparison.p for comparison in comparisons if comparison.p is not None])
    }
    adjusted = [list(comparisons) for comparisons in by_score]
    floor = 0.0  # adjusted p-values never decrease from one rank to the next
    for rank, index in enumerate(sorted(min_p_values, key=min_p_values.__getitem__)):
        factor = len(min_p_values) - rank
        adjusted[index] = [
            comparison
            if comparison.p is None
            else replace(comparison, p_over_scores=max(floor, min(1.0, comparison.p * factor)))
            for comparison in adjusted[index]
        ]
        floor = max(floor, min(1.0, min_p_values[index] * factor))
    return adjusted


def _compare_pair(
    tests: RunTests, protocol: str, spec: ScoreSpec, methods: tuple[str, str], margin: float | None
) -> Comparison:
    score_tests = tests.of(protocol, spec.name)
    first_count, second_count = (score_tests.count(method) if score_tests else 0 for method in methods)
    difference = score_tests.between(*methods) if score_tests else None
    paired = difference.n if difference else 0
    unpaired = first_count - paired, second_count - paired
    if score_tests is None or difference is None or difference.value is None:
        return Comparison(protocol, spec, *methods, None, *unpaired)
    return Comparison(
        protocol,
        spec,
        *methods,
        difference,
        *unpaired,
        verdict=difference.better(higher_is_better=spec.higher_is_better),
        survives_missing=score_tests.survives_missing(difference),
        margin=margin,
        within_margin=None if margin is None else _compare_with_margin(difference, margin, spec),
    )


def _compare_with_margin(difference: PairDifference, margin: float, spec: ScoreSpec) -> Margin | None:
    """Compare the confidence interval of the difference with the margin."""
    if difference.low is None or difference.high is None:
        return None
    low, high = (difference.low, difference.high) if spec.higher_is_better else (-difference.high, -difference.low)
    if low > -margin and high < margin:
        return "equivalent"
    if low > -margin:
        return "first not inferior"
    return "second not inferior" if high < margin else "undecided"


def _compute_standings(
    tests: RunTests, cells: Sequence[Cell], scores: Sequence[tuple[str, ScoreSpec]], methods: Iterable[str]
) -> dict[tuple[str, str, str], Standing]:
    """Return the standing of each method by protocol, score and method."""
    types = (*edit_types(tests.run), ALL)
    bounds = {(cell.protocol, cell.spec.name, cell.method): cell.bounds for cell in cells if cell.edit_type == ALL}
    standings = {}
    for protocol, spec in scores:
        ranks = {edit_type: result.ranks for edit_type in types if (result := tests.of(protocol, spec.name, edit_type))}
        for method in methods:
            standings[protocol, spec.name, method] = Standing(
                bounds.get((protocol, spec.name, method)),
                {edit_type: by_method[method] for edit_type, by_method in ranks.items() if method in by_method},
                aggregate_columns(tests.columns, protocol, spec.name, method, spec.range),
            )
    return standings
