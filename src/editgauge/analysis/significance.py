"""Which methods of a run differ significantly, score by score: what every view of a run says comes from here."""

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
from editgauge.analysis.columns import Columns, Rows
from editgauge.analysis.summary import ALL, untouched_methods

if TYPE_CHECKING:
    from editgauge._stats.intervals import Labels, Numbers
    from editgauge.results import Run
    from editgauge.types import ScoreSpec

TEST_DESCRIPTION = (
    f"Two methods are compared on the edits that both have. They differ significantly when the two-sided p-value, "
    f"adjusted for all pairs of methods (max-t), is below {ALPHA:g}, which is when the simultaneous confidence "
    f"interval of their difference excludes zero; places follow from the same verdicts. The test is {STUDENT}, for "
    f"yes-or-no scores {MCNEMAR}; with fewer than {MIN_SOURCES} source images there is no test. Every score is "
    "tested on its own."
)


@dataclass(frozen=True)
class ScoreTests:
    """All methods by one score: every pair with its verdict, and the places that follow."""

    spec: ScoreSpec
    methods: tuple[str, ...]
    """Those with at least one value, sorted by name; differences refer to their places here."""
    values: Numbers
    """A row per method, a column per edit; NaN where there is no score."""
    sources: Labels
    """The source image of each edit."""
    missing: Labels
    """Where a method should have a score and has none."""
    limits: Limits | None
    """Between what a missing score is thought to lie."""
    untouched: frozenset[str] = frozenset()
    """Methods that return the source as it is: compared like others, but without a place."""

    @cached_property
    def differences(self) -> list[PairDifference]:
        """Every two methods, tested together."""
        return differences(self.values, self.sources, self.spec.range)

    @cached_property
    def ranks(self) -> dict[str, Rank]:
        """Method to its place among those that edit."""
        ranked = [place for place, method in enumerate(self.methods) if method not in self.untouched]
        pairs = [
            replace(each, first=ranked.index(each.first), second=ranked.index(each.second))
            for each in self.differences
            if each.first in ranked and each.second in ranked
        ]
        places = ranks(len(ranked), pairs, higher_is_better=self.spec.higher_is_better)
        return {self.methods[method]: place for method, place in zip(ranked, places, strict=True)}

    def between(self, first: str, second: str) -> PairDifference | None:
        """The first method against the second; None when one of them has no score, or both are the same."""
        if first == second or first not in self.methods or second not in self.methods:
            return None
        one, two = self.methods.index(first), self.methods.index(second)
        pair = next(each for each in self.differences if {each.first, each.second} == {one, two})
        return pair if pair.first == one else pair.reversed

    def beats(self, first: str, second: str) -> bool:
        """Whether the first method is significantly better than the second."""
        pair = self.between(first, second)
        return pair is not None and pair.better(higher_is_better=self.spec.higher_is_better) == "first"

    def survives_missing(self, pair: PairDifference) -> bool | None:
        """Whether a verdict holds if all that is missing were the worst possible for the winner.

        None without a verdict, or when it cannot be said because the score has no limits.
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
        """Methods with a verdict that fails if all that is missing were the worst possible for the winner."""
        pairs = [each for each in self.differences if self.survives_missing(each) is False]
        return frozenset(self.methods[place] for each in pairs for place in (each.first, each.second))


class RunTests:
    """The verdicts of a run, each computed when it is first asked for."""

    def __init__(self, run: Run, columns: Columns | None = None) -> None:
        self.run = run
        self.columns = columns or Columns.of(run)
        self.untouched = untouched_methods(run)
        self._known: dict[tuple[str, str, str], ScoreTests | None] = {}

    def of(self, protocol: str, name: str, edit_type: str = ALL) -> ScoreTests | None:
        """One score over all edits, or over those of a type; None when no method has it."""
        key = protocol, name, edit_type
        if key not in self._known:
            rows = self.columns.rows(protocol, name)
            rows = rows if edit_type == ALL else rows[self.columns.edit_type.are(edit_type)[rows]]
            self._known[key] = _verdicts(self.columns, rows, self.run.spec(protocol, name), self.untouched)
        return self._known[key]

    def ranks(self, edit_types: Sequence[str] = (ALL,)) -> dict[tuple[str, str, str, str], Rank]:
        """The places of all methods by protocol, name of the score, edit type and method."""
        return {
            (protocol, spec.name, edit_type, method): place
            for protocol, entry in self.run.manifest.protocols.items()
            for spec in entry.scores
            for edit_type in edit_types
            if (score_verdicts := self.of(protocol, spec.name, edit_type))
            for method, place in score_verdicts.ranks.items()
        }


def _verdicts(columns: Columns, rows: Rows, spec: ScoreSpec, untouched: frozenset[str]) -> ScoreTests | None:
    values = columns.value[rows]
    with_scores = np.unique(columns.method.codes[rows][~np.isnan(values)])
    rows = rows[np.isin(columns.method.codes[rows], with_scores)]
    if not rows.size:
        return None
    values, methods, edits = columns.value[rows], columns.method.codes[rows], columns.edit.codes[rows]
    table, _, first = edit_table(values, methods, edits)
    not_meant = [place for place, reason in enumerate(columns.reason.words) if reason in INAPPLICABLE_REASONS]
    meant = ~np.isin(columns.reason.codes[rows], not_meant)
    wanted, _, _ = edit_table(np.where(np.isnan(values) & ~meant, np.nan, 1.0), methods, edits)
    return ScoreTests(
        spec,
        tuple(columns.method.words[code] for code in with_scores),
        table,
        columns.source.codes[rows][first],
        np.isnan(table) & ~np.isnan(wanted),
        score_limits(spec, values),
        untouched,
    )


def merge_tests(
    spec: ScoreSpec,
    of_each: Mapping[str, Mapping[str, float]],
    sources: Mapping[str, str],
    *,
    unscored: Mapping[str, Collection[str]] = MappingProxyType({}),
    untouched: frozenset[str] = frozenset(),
) -> ScoreTests:
    """Methods of several runs.

    Args:
        spec: the score.
        of_each: label of a method to edit to value.
        sources: the source image of every edit.
        unscored: label to the edits that should have a score and have none.
        untouched: labels of methods that return the source as it is.
    """
    edits = sorted({edit for known in (*of_each.values(), *unscored.values()) for edit in known})
    labels = sorted(label for label, values in of_each.items() if values)
    table = np.array([[of_each[label].get(edit, np.nan) for edit in edits] for label in labels])
    clusters = np.array([sources[edit] for edit in edits], dtype=np.str_)
    missing = np.array([[edit in unscored.get(label, ()) for edit in edits] for label in labels], dtype=np.bool_)
    return ScoreTests(spec, tuple(labels), table, clusters, missing, score_limits(spec, table), untouched)
