"""How many edits are needed? Planned from the spread that a pilot run shows between and within source images.

A mean over m source images with k edits each has the variance (between + within / k) / m: further edits of one source
image help less and less. `between` and `within` come from an analysis of variance with unequal groups; the number of
source images from the usual formula for a t-test, with Guenther's correction (1981) for the unknown variance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.stats import chi2, norm
from scipy.stats import t as student

from editgauge._stats.intervals import MIN_SOURCES, Labels, Numbers
from editgauge._stats.pairwise import ALPHA
from editgauge.analysis.outcomes import OneScore
from editgauge.errors import BadInputError

if TYPE_CHECKING:
    from editgauge.types import ScoreSpec

USUAL_EDITS_PER_SOURCE = (1, 2, 4, 8)
FEW, MORE_OF_FEW = 20, 2
"""Measured: with 10 to 12 sources the plan of a t-test finds the difference in 66 to 71% instead of 80%."""
CAUTION_LEVEL = 0.8
"""For this share of pilots with normal differences the cautious numbers suffice; with skewed ones for fewer."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How much scores vary from source image to source image, and among the edits of one."""

    between: float
    within: float | None
    """None when every source image of the pilot has a single edit: the two cannot be distinguished."""
    sources: int
    edits: int

    def per_source(self, edits: int) -> float:
        """The variance of the mean of that many edits of one source image."""
        return self.between + (self.within or 0.0) / edits

    @property
    def caution(self) -> float:
        """By how much the true variance may exceed what the pilot shows."""
        return float((self.sources - 1) / chi2.ppf(1 - CAUTION_LEVEL, self.sources - 1))


@dataclass(frozen=True, slots=True)
class Need:
    """What is needed with that many edits per source image."""

    edits_per_source: int
    sources: int
    cautious_sources: int
    """The same, allowing for a pilot that happened to vary little."""

    @property
    def edits(self) -> int:
        """Edits in all."""
        return self.sources * self.edits_per_source

    @property
    def cautious_edits(self) -> int:
        """Edits in all, to be cautious."""
        return self.cautious_sources * self.edits_per_source


@dataclass(frozen=True, slots=True)
class Plan:
    """What is needed to tell two methods apart, or to know the mean of one."""

    protocol: str
    spec: ScoreSpec
    methods: tuple[str, ...]
    detect: float
    chance: float
    comparisons: int
    """How many comparisons are planned: each must hold at 0.05 divided by their number."""
    spread: Spread | None
    needs: tuple[Need, ...]
    note: str = ""


def power(
    run: str | Path,
    *,
    detect: float,
    methods: tuple[str, str] | None = None,
    score: str | None = None,
    edits_per_source: Sequence[int] = (),
    chance: float = 0.8,
    comparisons: int = 1,
) -> list[Plan]:
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
    chosen = OneScore.read(Path(run), score)
    if methods is None:
        means = ((method, chosen.by_edit(method)) for method in chosen.values)
        return [_plan(chosen, (method,), values, goal, edits_per_source) for method, values in means]
    for method in methods:
        chosen.check(method)
    mine, theirs = map(chosen.by_edit, methods)
    differences = {edit: mine[edit] - theirs[edit] for edit in mine if edit in theirs}
    return [_plan(chosen, tuple(methods), differences, goal, edits_per_source)]


class _Goal(NamedTuple):
    detect: float
    chance: float
    comparisons: int


def _check(goal: _Goal, methods: Sequence[str] | None, edits_per_source: Sequence[int]) -> None:
    detect, chance, comparisons = goal
    if not (math.isfinite(detect) and detect > 0):
        raise BadInputError(f"--detect is a difference above 0, in the unit of the score; got {detect}.")
    if methods is not None and len(set(methods)) != 2:
        raise BadInputError(f"--methods takes two different methods, got {list(methods)}.")
    if min(edits_per_source, default=1) < 1:
        raise BadInputError(f"--edits-per-source takes numbers of at least 1, got {list(edits_per_source)}.")
    if not 0.5 <= chance < 1:
        raise BadInputError(f"--chance must be between 0.5 and 1, such as 0.8; got {chance}.")
    if comparisons < 1:
        raise BadInputError(f"--comparisons is a number of at least 1; got {comparisons}.")
    if methods is None and comparisons > 1:
        raise BadInputError("--comparisons counts comparisons of methods: give two with --methods.")


def _plan(
    chosen: OneScore,
    methods: tuple[str, ...],
    values: Mapping[str, float],
    goal: _Goal,
    edits_per_source: Sequence[int],
) -> Plan:
    sources = np.array([chosen.sources[edit] for edit in values])
    pilot = spread(np.array(list(values.values()), dtype=np.float64), sources)
    note = _note(pilot)
    if pilot is None or not pilot.per_source(1):
        return Plan(chosen.protocol, chosen.spec, methods, *goal, pilot, (), note)
    sizes = sorted(set(edits_per_source or USUAL_EDITS_PER_SOURCE)) if pilot.within is not None else [1]
    needs = tuple(_need(pilot, size, goal, paired=len(methods) == 2) for size in sizes)
    return Plan(chosen.protocol, chosen.spec, methods, *goal, pilot, needs, note)


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
    plain, cautious = (
        sources_to_detect(goal.detect, each, goal.chance, goal.comparisons)
        if paired
        else sources_for_width(goal.detect, each)
        for each in (variance, variance * pilot.caution)
    )
    return Need(edits_per_source, plain, cautious)


def spread(values: Numbers, clusters: Labels) -> Spread | None:
    """The variance between and within clusters, by analysis of variance; None with fewer than two clusters.

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
    among = float((sizes * (means - values.mean()) ** 2).sum() / (names.size - 1))
    typical_size = (n - float((sizes**2).sum()) / n) / (names.size - 1)
    if among <= within:  # source images do not differ more than edits do: all edits are alike
        return Spread(0.0, total, names.size, n)
    return Spread((among - within) / typical_size, within, names.size, n)


def sources_to_detect(difference: float, variance: float, chance: float = 0.8, comparisons: int = 1) -> int:
    """How many source images a paired test at 0.05 needs to find a difference with this chance.

    Of several comparisons, each is planned for 0.05 divided by their number (Bonferroni). Never fewer than are tested.
    Below 20 sources two are added: the interval of few sources has a longer tail than Student's.

    >>> sources_to_detect(0.5, 1.0), sources_to_detect(1.0, 1.2)
    (34, 14)
    """
    sure = float(norm.ppf(1 - ALPHA / comparisons / 2))
    sources = (sure + norm.ppf(chance)) ** 2 * variance / difference**2 + sure**2 / 2
    return max(MIN_SOURCES, math.ceil(float(sources)) + (MORE_OF_FEW if sources < FEW else 0))


def sources_for_width(half_width: float, variance: float) -> int:
    """How many source images make the 95% interval of a mean reach no further than this to either side.

    >>> sources_for_width(0.5, 1.0)
    18
    """
    start = max(MIN_SOURCES, math.floor(float(norm.ppf(1 - ALPHA / 2)) ** 2 * variance / half_width**2))
    return next(m for m in count(start) if student.ppf(1 - ALPHA / 2, m - 1) ** 2 * variance <= half_width**2 * m)
