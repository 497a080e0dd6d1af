"""Does method A really beat method B? Paired differences on the same edits, clustered by source image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from editgauge._stats.intervals import Bounds, holm
from editgauge._stats.pairwise import PairDifference, Rank
from editgauge._stats.resampling import Estimate
from editgauge.analysis._groups import columns_of, read_selection
from editgauge.analysis.aggregation import aggregate_columns
from editgauge.analysis.outcomes import select_scores
from editgauge.analysis.significance import RunTests
from editgauge.analysis.summary import ALL, Cell, edit_types, headlines, summarize
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import Run
from editgauge.types import ScoreSpec

Margin = Literal["equivalent", "first not inferior", "second not inferior", "undecided"]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a method stands by one score: over all its own outcomes, and compared with all methods of the run."""

    bounds: Bounds | None
    """The mean at worst and at best, had everything been scored."""
    ranks: Mapping[str, Rank]
    """Its place by edit type, and over `all`; without the types of which it has no score."""
    aggregated: Mapping[str, Estimate]
    """Its scores as one number, in every way that papers use; empty without scores."""


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
    """Who is significantly better: the adjusted p-value is below 0.05, so the interval excludes zero."""
    survives_missing: bool | None = None
    """Whether the verdict holds if all missing scores were the worst possible for the winner; None without a verdict,
    or for a score without limits."""
    p_over_scores: float | None = None
    """The adjusted p-value, corrected for the scores shown next to it too (Holm)."""
    margin: float | None = None
    within_margin: Margin | None = None
    """Whether the two are equivalent, or one is not inferior, by the margin; None without a margin or a test."""
    standings: tuple[Standing, Standing] | None = None
    """How the first and the second stand; None for a pair that was not taken from a run."""

    @property
    def p(self) -> float | None:
        """Two-sided, adjusted for all pairs of methods of the run."""
        return self.difference.adjusted if self.difference else None

    @property
    def first_mean(self) -> float | None:
        """Of the first method, on the edits that both have."""
        return self.difference.first_mean if self.difference else None

    @property
    def second_mean(self) -> float | None:
        """Of the second method, on the edits that both have."""
        return self.difference.second_mean if self.difference else None


def compare(
    run: str | Path,
    *,
    methods: tuple[str, str] | None = None,
    score: Sequence[str] = (),
    group: Sequence[str] = (),
    margin: float | None = None,
) -> list[Comparison]:
    """Test whether two methods differ significantly, score by score, on the edits that both have.

    Example:
        $ editgauge compare run --methods mine theirs
        $ editgauge compare run --methods mine theirs --score ssim --margin 0.02
        $ editgauge compare run --methods mine theirs --group language=en --group task=text_change
        >>> editgauge.compare("run", methods=("mine", "theirs"))

    Args:
        run: run folder.
        methods: two methods of the run; may be left out if it has only two.
        score: score to compare, such as `edit`, `pixlens/edit` or `*`; repeat for several. Default: the primary scores.
        group: limit to the edits of one of the benchmark's own groups, as NAME=VALUE; repeat for edits in all of them.
        margin: smallest difference that matters: tests equivalence and non-inferiority.

    """
    opened = Run.open(Path(run))
    if methods is None:
        methods = _only_two(opened)
    if len(methods) != 2 or methods[0] == methods[1]:
        raise BadInputError(f"--methods takes two different methods, got {list(methods)}.")
    for method in methods:
        if method not in opened.manifest.methods:
            raise UnknownNameError("method in this run", method, opened.manifest.methods)
    if margin is not None and not (margin > 0 and np.isfinite(margin)):
        raise BadInputError(f"--margin is a positive number, such as 0.02; got {margin}.")
    columns = columns_of(opened, read_selection(group, opened))
    verdicts, cells = RunTests(opened, columns), summarize(opened, columns)
    primary = headlines(cell for cell in cells if cell.edit_type == ALL)
    chosen = select_scores(opened, score) if score else [(key[0], opened.spec(*key)) for key in primary]
    comparisons = [_compared(verdicts, protocol, spec, (methods[0], methods[1]), margin) for protocol, spec in chosen]
    over_scores = holm([each.p for each in comparisons])
    standings = _standings(verdicts, cells, chosen, methods)
    return [
        replace(each, p_over_scores=p, standings=standings[each.protocol, each.spec.name])
        for each, p in zip(comparisons, over_scores, strict=True)
    ]


def _only_two(run: Run) -> tuple[str, str]:
    names = list(run.manifest.methods)
    if len(names) != 2:
        example = f", such as --methods {names[0]} {names[1]}" if len(names) > 1 else ""
        raise BadInputError(f"The run has {len(names)} methods ({', '.join(names)}); name two to compare{example}.")
    return names[0], names[1]


def _compared(
    verdicts: RunTests, protocol: str, spec: ScoreSpec, methods: tuple[str, str], margin: float | None
) -> Comparison:
    score_verdicts = verdicts.of(protocol, spec.name)
    scored = [
        ~np.isnan(score_verdicts.values[score_verdicts.methods.index(method)])
        if score_verdicts and method in score_verdicts.methods
        else np.zeros(0, bool)
        for method in methods
    ]
    difference = score_verdicts.between(*methods) if score_verdicts else None
    both = difference.n if difference else 0
    lonely = int(scored[0].sum()) - both, int(scored[1].sum()) - both
    if score_verdicts is None or difference is None or difference.value is None:
        return Comparison(protocol, spec, *methods, None, *lonely)
    return Comparison(
        protocol,
        spec,
        *methods,
        difference,
        *lonely,
        verdict=difference.better(higher_is_better=spec.higher_is_better),
        survives_missing=score_verdicts.survives_missing(difference),
        margin=margin,
        within_margin=None if margin is None else _within(difference, margin, spec),
    )


def _within(difference: PairDifference, margin: float, spec: ScoreSpec) -> Margin | None:
    """By the interval of the difference, the same from which the verdict follows."""
    if difference.low is None or difference.high is None:
        return None
    low, high = (difference.low, difference.high) if spec.higher_is_better else (-difference.high, -difference.low)
    if low > -margin and high < margin:
        return "equivalent"
    if low > -margin:
        return "first not inferior"
    return "second not inferior" if high < margin else "undecided"


def _standings(
    verdicts: RunTests, cells: Sequence[Cell], scores: Sequence[tuple[str, ScoreSpec]], methods: Sequence[str]
) -> dict[tuple[str, str], tuple[Standing, Standing]]:
    """Protocol and name to how the two methods stand."""
    types = (*edit_types(verdicts.run), ALL)
    limits = {(c.protocol, c.spec.name, c.method): c.bounds for c in cells if c.edit_type == ALL}

    def standing(protocol: str, spec: ScoreSpec, method: str) -> Standing:
        by_type = {kind: verdicts.of(protocol, spec.name, kind) for kind in types}
        places = {kind: score_verdicts.ranks.get(method) for kind, score_verdicts in by_type.items() if score_verdicts}
        return Standing(
            limits.get((protocol, spec.name, method)),
            {kind: place for kind, place in places.items() if place},
            aggregate_columns(verdicts.columns, protocol, spec.name, method, spec.range),
        )

    return {
        (protocol, spec.name): (standing(protocol, spec, methods[0]), standing(protocol, spec, methods[1]))
        for protocol, spec in scores
    }
