"""Plan the number of edits from the variance between and within source images in a pilot run.

A mean over m source images with k edits each has the variance (between + within / k) / m: further edits of one source
image help less and less. `between` and `within` come from an analysis of variance with unequal groups; the number of
source images from the usual formula for a t-test, with Guenther's correction (1981) for the unknown variance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaincinv, ndtri, stdtrit

from editgauge._stats.intervals import MIN_SOURCES, Labels, Numbers
from editgauge._stats.pairwise import ALPHA
from editgauge.analysis.outcomes import select_methods, select_score, values_by_edit
from editgauge.errors import BadInputError
from editgauge.results import Run, RunSource

if TYPE_CHECKING:
    from editgauge.types import ScoreSpec

DEFAULT_EDITS_PER_SOURCE = (1, 2, 4, 8)
SMALL_SAMPLE, SMALL_SAMPLE_EXTRA = 20, 2
"""Measured: with 10 to 12 sources the plan of a t-test has a power of 66 to 71% instead of 80%."""
CAUTION_LEVEL = 0.8
"""Share of pilots with normal differences for which the cautious numbers suffice."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Variance of scores between source images and among the edits of one."""

    between: float
    within: float | None
    """None when every source image of the pilot has a single edit: the two cannot be distinguished."""
    sources: int
    edits: int

    def per_source(self, edits: int) -> float:
        """Return the variance of the mean of that many edits of one source image."""
        return self.between + (self.within or 0.0) / edits

    @property
    def caution(self) -> float:
        """Return by how much the true variance may exceed that of the pilot."""
        return float((self.sources - 1) / (2 * gammaincinv((self.sources - 1) / 2, 1 - CAUTION_LEVEL)))


@dataclass(frozen=True, slots=True)
class Need:
    """The sample size for a number of edits per source image."""

    edits_per_source: int
    sources: int
    cautious_sources: int
    """The same, allowing for a pilot with a small variance by chance."""

    @property
    def edits(self) -> int:
        """Return the total number of edits."""
        return self.sources * self.edits_per_source

    @property
    def cautious_edits(self) -> int:
        """Return the cautious total number of edits."""
        return self.cautious_sources * self.edits_per_source


@dataclass(frozen=True, slots=True)
class PowerPlan:
    """The sample sizes that distinguish two methods, or estimate the mean of one."""

    protocol: str
    spec: ScoreSpec
    methods: tuple[str, ...]
    detect: float
    chance: float
    comparisons: int
    """Number of planned comparisons; each is tested at 0.05 divided by it."""
    spread: Spread | None
    needs: tuple[Need, ...]
    note: str = ""


def power(
    run: RunSource,
    *,
    detect: float,
    methods: tuple[str, str] | None = None,
    score: str | None = None,
    edits_per_source: Sequence[int] = (),
    chance: float = 0.8,
    comparisons: int = 1,
) -> list[PowerPlan]:
    """Compute the sample size a study needs, from the spread in a pilot run.

    Example:
        $ editgauge power pilot --detect 0.05 --methods mine theirs --score ssim
        >>> editgauge.power("pilot", detect=0.05, methods=("mine", "theirs"), score="ssim")

    Args:
        run: run folder of the pilot.
        detect: difference of two methods to detect; without `methods`, the half-width of a confidence interval.
        methods: two methods; default: the mean of each method.
        score: `NAME` or `PROTOCOL/NAME`; default: the verdict `edit`, or the only score.
        edits_per_source: number of edits per source image to plan for; repeat for several. Default: 1, 2, 4 and 8.
        chance: power of the test: probability of detecting the difference (p < 0.05).
        comparisons: number of pairs of methods that will be compared; p is adjusted for it.

    """
    goal = _Goal(detect, chance, comparisons)
    _check(goal, methods, edits_per_source)
    opened = Run.open(run)
    protocol, spec = select_score(opened, score)
    means = {
        method: values_by_edit(opened.score_columns, protocol, spec.name, method)
        for selected in (methods or [None])
        for method in select_methods(opened, selected)
    }
    values: dict[tuple[str, ...], Mapping[str, float]] = {(method,): by_edit for method, by_edit in means.items()}
    if methods is not None:
        first, second = (means[method] for method in methods)
        values = {tuple(methods): {edit: first[edit] - second[edit] for edit in first if edit in second}}
    sources = opened.score_columns.sources
    spreads = {
        names: spread(np.array(list(by_edit.values()), dtype=np.float64), np.array([sources[edit] for edit in by_edit]))
        for names, by_edit in values.items()
    }
    return [
        PowerPlan(protocol, spec, names, *goal, pilot, _needs(pilot, goal, edits_per_source, names), _note(pilot))
        for names, pilot in spreads.items()
    ]


class _Goal(NamedTuple):
    detect: float
    chance: float
    comparisons: int


def _check(goal: _Goal, methods: Sequence[str] | None, edits_per_source: Sequence[int]) -> None:
    detect, chance, comparisons = goal
    if not (math.isfinite(detect) and detect > 0):
        raise BadInputError(f"`detect` must be above 0, in the unit of the score; got {detect}.")
    if methods is not None and len(set(methods)) != 2:
        raise BadInputError(f"`methods` takes two different methods; got {list(methods)}.")
    if min(edits_per_source, default=1) < 1:
        raise BadInputError(f"`edits_per_source` takes numbers of at least 1; got {list(edits_per_source)}.")
    if not 0.5 <= chance < 1:
        raise BadInputError(f"`chance` must be between 0.5 and 1, such as 0.8; got {chance}.")
    if comparisons < 1:
        raise BadInputError(f"`comparisons` must be at least 1; got {comparisons}.")
    if methods is None and comparisons > 1:
        raise BadInputError("`comparisons` needs two `methods`.")


def _needs(
    pilot: Spread | None, goal: _Goal, edits_per_source: Sequence[int], methods: Sequence[str]
) -> tuple[Need, ...]:
    if pilot is None or not pilot.per_source(1):
        return ()
    sizes = sorted(set(edits_per_source or DEFAULT_EDITS_PER_SOURCE)) if pilot.within is not None else [1]
    return tuple(_need(pilot, size, goal, paired=len(methods) == 2) for size in sizes)


def _note(pilot: Spread | None) -> str:
    if pilot is None:
        return "The pilot has scores of fewer than two source images: nothing can be planned from it."
    if not pilot.per_source(1):
        return "All values of the pilot are equal: nothing can be planned from it."
    notes = []
    if pilot.sources < MIN_SOURCES:
        notes.append(f"The pilot has only {pilot.sources} source images: take the cautious numbers, or a larger pilot.")
    if pilot.within is None:
        notes.append("It has one edit per source image, so the effect of further edits per source image is unknown.")
    return " ".join(notes)


def _need(pilot: Spread, edits_per_source: int, goal: _Goal, *, paired: bool) -> Need:
    variance = pilot.per_source(edits_per_source)
    sources, cautious = (
        sources_to_detect(goal.detect, assumed, goal.chance, goal.comparisons)
        if paired
        else sources_for_width(goal.detect, assumed)
        for assumed in (variance, variance * pilot.caution)
    )
    return Need(edits_per_source, sources, cautious)


def spread(values: Numbers, clusters: Labels) -> Spread | None:
    """Return the variance between and within clusters by analysis of variance; None with fewer than two clusters.

    >>> spread(np.array([1.0, 3.0, 5.0, 7.0]), np.array(["a", "a", "b", "b"]))
    Spread(between=7.0, within=2.0, sources=2, edits=4)
    """
    names, index, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    if names.size < 2:
        return None
    n, total = values.size, float(values.var(ddof=1))
    if n == names.size:
        return Spread(total, None, names.size, n)
    means = np.bincount(index, weights=values) / sizes
    within = float(((values - means[index]) ** 2).sum() / (n - names.size))
    between_squares = float((sizes * (means - values.mean()) ** 2).sum() / (names.size - 1))
    typical_size = (n - float((sizes**2).sum()) / n) / (names.size - 1)
    if between_squares <= within:  # source images do not differ more than edits do
        return Spread(0.0, total, names.size, n)
    return Spread((between_squares - within) / typical_size, within, names.size, n)


def sources_to_detect(difference: float, variance: float, chance: float = 0.8, comparisons: int = 1) -> int:
    """Return the number of source images a paired test at 0.05 needs to detect a difference.

    Each of several comparisons is planned for 0.05 divided by their number (Bonferroni). At least the minimum that is
    tested. Below 20 sources two are added, because intervals of few sources have longer tails than Student's.

    >>> sources_to_detect(0.5, 1.0), sources_to_detect(1.0, 1.2)
    (34, 14)
    """
    quantile = float(ndtri(1 - ALPHA / comparisons / 2))
    sources = (quantile + ndtri(chance)) ** 2 * variance / difference**2 + quantile**2 / 2
    return max(MIN_SOURCES, math.ceil(float(sources)) + (SMALL_SAMPLE_EXTRA if sources < SMALL_SAMPLE else 0))


def sources_for_width(half_width: float, variance: float) -> int:
    """Return the number of source images that gives a 95% interval of a mean this half-width.

    >>> sources_for_width(0.5, 1.0)
    18
    """
    start = max(MIN_SOURCES, math.floor(float(ndtri(1 - ALPHA / 2)) ** 2 * variance / half_width**2))
    return next(m for m in count(start) if stdtrit(m - 1, 1 - ALPHA / 2) ** 2 * variance <= half_width**2 * m)
