"""Significance of differences between the methods of a run, score by score; every view of a run uses these tests."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from editgauge._stats.intervals import INAPPLICABLE_REASONS, MIN_SOURCES, STUDENT, Limits, score_limits
from editgauge._stats.pairwise import (
    ALPHA,
    MCNEMAR,
    PairDifference,
    Rank,
    differences,
    edit_table,
    ranks,
    survives,
)
from editgauge.analysis.summary import ALL, untouched_methods
from editgauge.results import Rows, ScoreColumns

if TYPE_CHECKING:
    from editgauge._stats.intervals import Labels, Numbers
    from editgauge.results import Run
    from editgauge.types import ScoreSpec

TEST_DESCRIPTION = (
    f"Two methods are compared on the edits that both have. They differ significantly when the two-sided p-value, "
    f"adjusted for all pairs of methods (max-t), is below {ALPHA:g}, which is when the simultaneous confidence "
    f"interval of their difference excludes zero; ranks follow from the same tests. The test is {STUDENT}, for "
    f"yes-or-no scores {MCNEMAR}; with fewer than {MIN_SOURCES} source images there is no test. Every score is "
    "tested separately."
)


@dataclass(frozen=True)
class ScoreTests:
    """Pairwise tests of the methods of a run by one score."""

    spec: ScoreSpec
    methods: tuple[str, ...]
    """Those with at least one value, sorted by name; differences refer to rows."""
    values: Numbers
    """A row per method, a column per edit; NaN where there is no score."""
    sources: Labels
    """The source image of each edit."""
    missing: Labels
    """Whether a score is missing that applies to the edit."""
    limits: Limits | None
    """Limits assumed for missing scores."""
    untouched: frozenset[str] = frozenset()
    """Methods that return the source unchanged: compared, but not ranked."""

    @cached_property
    def differences(self) -> list[PairDifference]:
        """Return the tests of every two methods."""
        return differences(self.values, self.sources, self.spec.range)

    @cached_property
    def ranks(self) -> dict[str, Rank]:
        """Return the rank of each method that edits."""
        ranked = [index for index, method in enumerate(self.methods) if method not in self.untouched]
        pairs = [
            replace(pair, first=ranked.index(pair.first), second=ranked.index(pair.second))
            for pair in self.differences
            if pair.first in ranked and pair.second in ranked
        ]
        rank_list = ranks(len(ranked), pairs, higher_is_better=self.spec.higher_is_better)
        return {self.methods[method]: index for method, index in zip(ranked, rank_list, strict=True)}

    def between(self, first: str, second: str) -> PairDifference | None:
        """Return the first method against the second; None when one has no score, or both are the same."""
        if first == second or first not in self.methods or second not in self.methods:
            return None
        first_row, second_row = self.methods.index(first), self.methods.index(second)
        pair = next(
            candidate
            for candidate in self.differences
            if {candidate.first, candidate.second} == {first_row, second_row}
        )
        return pair if pair.first == first_row else pair.reversed

    def count(self, method: str) -> int:
        """Return the number of edits with a score of this method."""
        return int((~np.isnan(self.values[self.methods.index(method)])).sum()) if method in self.methods else 0

    def beats(self, first: str, second: str) -> bool:
        """Tell whether the first method is significantly better than the second."""
        pair = self.between(first, second)
        return pair is not None and pair.better(higher_is_better=self.spec.higher_is_better) == "first"

    def survives_missing(self, pair: PairDifference) -> bool | None:
        """Tell whether a significant result holds if missing scores were the worst possible for the winner.

        None without a significant result, or when the score has no limits.
        """
        if not pair.significant or pair.value is None:
            return None
        gaps = self.missing[pair.first], self.missing[pair.second]
        if not np.any(gaps):
            return True
        if self.limits is None:
            return None
        lower, upper = self.limits.low, self.limits.high
        ends = (lower, upper) if pair.value > 0 else (upper, lower)
        first, second = (
            np.where(gap & np.isnan(self.values[row]), end, self.values[row])
            for gap, row, end in zip(gaps, (pair.first, pair.second), ends, strict=True)
        )
        return survives(pair, first, second, self.sources, self.spec.range)

    @cached_property
    def fragile(self) -> frozenset[str]:
        """Return the methods with a significant result that missing scores could overturn."""
        pairs = [pair for pair in self.differences if self.survives_missing(pair) is False]
        return frozenset(self.methods[row] for pair in pairs for row in (pair.first, pair.second))


class RunTests:
    """The tests of a run, computed on demand."""

    def __init__(self, run: Run, columns: ScoreColumns | None = None) -> None:
        self.run = run
        self.columns = columns or run.score_columns
        self.untouched = untouched_methods(run)
        self._cache: dict[tuple[str, str, str], ScoreTests | None] = {}

    def of(self, protocol: str, name: str, edit_type: str = ALL) -> ScoreTests | None:
        """Return the tests of one score, over all edits or one edit type; None when no method has it."""
        key = protocol, name, edit_type
        if key not in self._cache:
            rows = self.columns.rows(protocol, name)
            rows = rows if edit_type == ALL else rows[self.columns.edit_type.equals(edit_type)[rows]]
            self._cache[key] = _score_tests(self.columns, rows, self.run.spec(protocol, name), self.untouched)
        return self._cache[key]

    def ranks(self, edit_types: Sequence[str] = (ALL,)) -> dict[tuple[str, str, str, str], Rank]:
        """Return all ranks by protocol, score, edit type and method."""
        return {
            (protocol, spec.name, edit_type, method): rank
            for protocol, entry in self.run.manifest.protocols.items()
            for spec in entry.scores
            for edit_type in edit_types
            if (tests := self.of(protocol, spec.name, edit_type))
            for method, rank in tests.ranks.items()
        }


def _score_tests(columns: ScoreColumns, rows: Rows, spec: ScoreSpec, untouched: frozenset[str]) -> ScoreTests | None:
    values = columns.value[rows]
    scored_methods = np.unique(columns.method.codes[rows][~np.isnan(values)])
    rows = rows[np.isin(columns.method.codes[rows], scored_methods)]
    if not rows.size:
        return None
    values, methods, edits = columns.value[rows], columns.method.codes[rows], columns.edit.codes[rows]
    table, _, first = edit_table(values, methods, edits)
    inapplicable = [index for index, reason in enumerate(columns.reason.labels) if reason in INAPPLICABLE_REASONS]
    is_applicable = ~np.isin(columns.reason.codes[rows], inapplicable)
    expected_table, _, _ = edit_table(np.where(np.isnan(values) & ~is_applicable, np.nan, 1.0), methods, edits)
    return ScoreTests(
        spec,
        tuple(columns.method.labels[code] for code in scored_methods),
        table,
        columns.source.codes[rows][first],
        np.isnan(table) & ~np.isnan(expected_table),
        score_limits(spec, values),
        untouched,
    )


def merge_tests(
    spec: ScoreSpec,
    values_by_label: Mapping[str, Mapping[str, float]],
    sources: Mapping[str, str],
    *,
    unscored: Mapping[str, Collection[str]] = MappingProxyType({}),
    untouched: frozenset[str] = frozenset(),
) -> ScoreTests:
    """Return the tests of methods of several runs.

    Args:
        spec: the score.
        values_by_label: label of a method to edit to value.
        sources: source image of every edit.
        unscored: label to the edits with a missing score.
        untouched: labels of methods that return the source unchanged.

    """
    edits = sorted(
        {edit for edits_of_label in (*values_by_label.values(), *unscored.values()) for edit in edits_of_label}
    )
    labels = sorted(label for label, values in values_by_label.items() if values)
    table = np.array([[values_by_label[label].get(edit, np.nan) for edit in edits] for label in labels])
    clusters = np.array([sources[edit] for edit in edits], dtype=np.str_)
    missing = np.array([[edit in unscored.get(label, ()) for edit in edits] for label in labels], dtype=np.bool_)
    return ScoreTests(spec, tuple(labels), table, clusters, missing, score_limits(spec, table), untouched)
