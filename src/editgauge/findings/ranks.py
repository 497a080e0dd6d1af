"""Which place has a method among all of a run, and how sure is that?

A method is placed by its mean. Its interval leaves out the places of those that are surely better or surely worse: the
difference of the means, over draws of whole source images that are the same for all methods, must be larger than what
the largest of the method's differences would be by chance (Mogstad, Romano, Shaikh and Wilhelm, 2024: "Inference for
Ranks", marginal sets). So the interval holds the true place in at least 95 % of runs, also when methods tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from editgauge.findings.columns import Columns
from editgauge.findings.summary import ALL
from editgauge.stats.intervals import LEVEL, RESAMPLES, Labels, Numbers, cluster_draws, reach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from editgauge.core.run import Run
    from editgauge.core.types import ScoreSpec

FEWEST_TO_RANK = 6
"""Below this many source images no paired test can say that one method is better: every place remains possible."""
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Rank:
    """A place among the methods, 1 for the best, with the places it may have instead."""

    value: int
    low: int
    high: int
    methods: int
    """How many methods have this score."""

    def __str__(self) -> str:
        return f"{self.value} [{self.low}-{self.high}]"


def ranks(run: Run, edit_types: Sequence[str] = (ALL,)) -> dict[tuple[str, str, str, str], Rank]:
    """The places of all methods by protocol, name of the score, edit type and method; `all` is over every edit."""
    columns = Columns.of(run)
    found: dict[tuple[str, str, str, str], Rank] = {}
    for edit_type in edit_types:
        of_this_type = columns.edit_type.are(edit_type)
        for protocol, spec in _scores(run):
            rows = columns.scored(protocol, spec.name)
            rows = rows if edit_type == ALL else rows[of_this_type[rows]]
            places = rank_methods(
                columns.value[rows],
                columns.method.codes[rows],
                columns.source.codes[rows],
                higher_is_better=spec.higher_is_better,
            )
            names = (columns.method.words[code] for code in np.unique(columns.method.codes[rows]))
            found |= {(protocol, spec.name, edit_type, name): place for name, place in zip(names, places, strict=True)}
    return found


def _scores(run: Run) -> list[tuple[str, ScoreSpec]]:
    return [(protocol, spec) for protocol, entry in run.manifest.protocols.items() for spec in entry.scores]


def rank_methods(
    values: Numbers, methods: Labels, clusters: Labels, *, higher_is_better: bool = True, seed: int = 0
) -> list[Rank]:
    """The place of each method, in the order of their sorted names; methods of equal means share the better place.

    >>> [str(rank) for rank in rank_methods(np.tile([0.9, 0.2], 9), np.tile(["a", "b"], 9), np.repeat(np.arange(9), 2))]
    ['1 [1-1]', '2 [2-2]']
    """
    sums, counts = _by_method_and_cluster(values if higher_is_better else -values, methods, clusters)
    if not sums.size:
        return []
    means = sums.sum(axis=1) / counts.sum(axis=1)
    ahead = means[:, None] - means
    ahead[np.abs(ahead) <= ROUNDING * np.abs(means).max()] = 0
    surely = _surely_apart(ahead, sums, counts, seed)
    better, worse = (ahead < 0), (ahead > 0)
    lows, highs = 1 + (better & surely).sum(axis=1), means.size - (worse & surely).sum(axis=1)
    values_of = 1 + better.sum(axis=1)
    return [Rank(int(v), int(lo), int(hi), means.size) for v, lo, hi in zip(values_of, lows, highs, strict=True)]


def _by_method_and_cluster(values: Numbers, methods: Labels, clusters: Labels) -> tuple[Numbers, Numbers]:
    names, who = np.unique(methods, return_inverse=True)
    sources, where = np.unique(clusters, return_inverse=True)
    cell, shape = who * sources.size + where, (names.size, sources.size)
    totals = (np.bincount(cell, weights=w, minlength=names.size * sources.size) for w in (values, np.ones(values.size)))
    sums, counts = (np.asarray(total, dtype=np.float64).reshape(shape) for total in totals)
    return sums, counts


def _surely_apart(ahead: Numbers, sums: Numbers, counts: Numbers, seed: int) -> Labels:
    """Row by row, which other methods are further away than chance explains for any of them."""
    methods, sources = sums.shape
    nobody: Labels = np.zeros((methods, methods), dtype=np.bool_)
    if methods < 2 or sources < FEWEST_TO_RANK:
        return nobody
    drawn = np.concatenate([_means(portion, sums, counts) for portion in cluster_draws(sources, RESAMPLES, seed)])
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    if drawn.shape[0] < LEVEL * RESAMPLES:  # a method with scores of very few source images: anything may be
        return nobody
    wider = reach(sources) / ndtri((1 + LEVEL) / 2)
    return np.stack([_apart(drawn[:, [mine]] - drawn, ahead[mine], wider) for mine in range(methods)])


def _means(portion: Labels, sums: Numbers, counts: Numbers) -> Numbers:
    scored = portion @ counts.T
    means: Numbers = np.divide(portion @ sums.T, scored, out=np.full(scored.shape, np.nan), where=scored > 0)
    return means


def _apart(drawn: Numbers, ahead: Numbers, wider: float) -> Labels:
    error = drawn.std(axis=0)
    varies = error > ROUNDING * np.abs(drawn).max()
    if not varies.any():
        return np.not_equal(ahead, 0)
    by_chance = np.abs(drawn[:, varies] - ahead[varies]) / error[varies]
    needed = wider * np.quantile(by_chance.max(axis=1), LEVEL) * np.where(varies, error, 0)
    further: Labels = np.greater(np.abs(ahead), needed)
    return further
