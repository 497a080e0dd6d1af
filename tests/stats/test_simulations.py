"""Worlds in which the truth is known: do intervals hold it, do tests keep quiet when there is nothing to find?

Small versions run always; those marked slow are large enough to tell 93 % from 95 %.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import beta, expon, norm

from editgauge._stats.agreement import nested_mean
from editgauge._stats.intervals import MIN_SOURCES, Labels, Mean, Numbers, clustered_mean
from editgauge._stats.pairwise import Rank, differences, rank_methods
from editgauge._stats.raters import krippendorff
from editgauge._stats.resampling import Estimate

Random = np.random.Generator
SCORES: dict[str, tuple[Callable[[Numbers], Numbers], float]] = {
    "normal": (norm.ppf, 0.0),
    "skewed": (lambda share: beta.ppf(share, 1, 5), 1 / 6),
    "heavy": (expon.ppf, 1.0),
    "yes or no": (lambda share: (share < 0.5).astype(np.float64), 0.5),
    "seldom yes": (lambda share: (share < 0.1).astype(np.float64), 0.1),
}
"""How a score spreads, from shares spread evenly; and its true mean."""


def world(random: Random, sources: int, *, uneven: bool) -> tuple[Numbers, Labels]:
    """Shares spread evenly between 0 and 1; those of one source image have a correlation of 0.5."""
    sizes = random.integers(1, 6, size=sources) if uneven else np.full(sources, 3)
    clusters = np.repeat(np.arange(sources), sizes)
    parts = random.normal(size=sources)[clusters], random.normal(size=clusters.size)
    return norm.cdf((parts[0] + parts[1]) / np.sqrt(2)), clusters


def holds(found: Mean | Estimate, truth: float) -> bool:
    return found.low is not None and found.high is not None and found.low - 1e-9 <= truth <= found.high + 1e-9


def coverage(kind: str, sources: int, worlds: int, *, uneven: bool, seed: int = 0) -> float:
    spread, truth = SCORES[kind]
    random = np.random.default_rng(seed)
    hits = 0
    for _ in range(worlds):
        shares, clusters = world(random, sources, uneven=uneven)
        hits += holds(clustered_mean(spread(shares), clusters), truth)
    return hits / worlds


# --- means --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SCORES)
def test_intervals_hold_the_mean(kind: str) -> None:
    assert 0.90 <= coverage(kind, 30, 400, uneven=True) <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("uneven", [False, True], ids=["even", "uneven"])
@pytest.mark.parametrize("sources", [MIN_SOURCES, 30, 100])
@pytest.mark.parametrize("kind", SCORES)
def test_intervals_hold_the_mean_in_93_percent_at_least(kind: str, sources: int, uneven: bool) -> None:
    """4,000 worlds: chance alone moves the share by 0.7 % to either side."""
    assert 0.923 <= coverage(kind, sources, 4_000, uneven=uneven, seed=sources) <= 0.985


def test_every_type_counts_once_and_the_interval_holds() -> None:
    random = np.random.default_rng(2)
    hits = 0
    for _ in range(200):
        shares, clusters = world(random, 40, uneven=False)
        types = np.tile([0, 0, 1], 40)  # twice as many edits of one type, which is easier
        hits += holds(nested_mean(shares + 0.3 * types, [types], clusters), 0.65)
    assert 0.90 <= hits / 200 <= 0.985


# --- tests --------------------------------------------------------------------------------------------------------


Make = Callable[[Random, tuple[int, int]], Numbers]
EQUAL_METHODS: dict[str, Make] = {
    "normal": lambda random, shape: random.normal(size=shape),
    "heavy": lambda random, shape: random.standard_t(2, size=shape),
    "rare": lambda random, shape: (random.random(size=shape) < 0.05).astype(np.float64),
    "skewed": lambda random, shape: random.exponential(size=shape),
}
ONE_SKEWED: dict[str, Make] = {
    "skewed against constant": lambda random, shape: np.stack([np.ones(shape[1]), random.exponential(size=shape[1])]),
    "yes or no against constant": lambda random, shape: np.stack(
        [np.full(shape[1], 0.1), (random.random(size=shape[1]) < 0.1).astype(np.float64)]
    ),
}
"""Two methods with equal means whose differences are not symmetric: the reason not to flip signs."""


def false_alarms(worlds: int, make: Make, methods: int, sources: int = 30) -> float:
    """How often any two of equal methods seem different."""
    random = np.random.default_rng(4)
    found = (differences(make(random, (methods, sources)), np.arange(sources), (0.0, 1.0)) for _ in range(worlds))
    return sum(any(each.significant for each in some) for some in found) / worlds


@pytest.mark.slow
@pytest.mark.parametrize("methods", [2, 5])
@pytest.mark.parametrize("kind", EQUAL_METHODS)
def test_equal_methods_seldom_seem_different(kind: str, methods: int) -> None:
    """However many there are: over all pairs together."""
    assert false_alarms(150, EQUAL_METHODS[kind], methods) <= 0.1


@pytest.mark.parametrize("kind", ONE_SKEWED)
def test_skewed_differences_do_not_raise_alarms(kind: str) -> None:
    assert false_alarms(300, ONE_SKEWED[kind], 2) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("methods", [2, 3, 5, 8])
@pytest.mark.parametrize("kind", EQUAL_METHODS)
def test_equal_methods_seem_different_in_about_5_percent_at_most(kind: str, methods: int) -> None:
    assert false_alarms(2_000, EQUAL_METHODS[kind], methods) <= 0.066


# --- ranks --------------------------------------------------------------------------------------------------------

QUALITY = np.array([0.50, 0.50, 0.52, 0.60, 0.60, 0.80])


def ranked(random: Random, sources: int) -> list[Rank]:
    difficulty = random.normal(size=(sources, 1)) * 0.2
    values = QUALITY + difficulty + random.normal(size=(sources, 6)) * 0.2
    return rank_methods(values.ravel(), np.tile(np.arange(6), sources), *[np.repeat(np.arange(sources), 6)] * 2)


def rank_coverage(worlds: int, sources: int) -> tuple[float, float]:
    """How often an interval holds every place that a method truly has (equal ones share some); and its mean width."""
    random = np.random.default_rng(6)
    first, last = (np.array(some) for some in zip(*(_true_places(each) for each in QUALITY), strict=True))
    hits, width = 0, 0
    for _ in range(worlds):
        found = ranked(random, sources)
        hits += sum(r.low <= a and b <= r.high for r, a, b in zip(found, first, last, strict=True))
        width += sum(r.high - r.low for r in found)
    return hits / worlds / 6, width / worlds / 6


def _true_places(quality: float) -> tuple[int, int]:
    return int(1 + (quality < QUALITY).sum()), int(6 - (quality > QUALITY).sum())


def test_rank_intervals_hold_the_place_and_shrink() -> None:
    (few, wide), (many, narrow) = rank_coverage(60, 15), rank_coverage(60, 150)
    assert min(few, many) >= 0.93
    assert narrow < 0.7 * wide


@pytest.mark.slow
@pytest.mark.parametrize("sources", [10, 30, 100])
def test_rank_intervals_hold_the_place_in_95_percent_at_least(sources: int) -> None:
    assert rank_coverage(600, sources)[0] >= 0.945


# --- raters -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_intervals_of_alpha_hold_it() -> None:
    """Numbers with a share of 0.6 that raters have in common: that is the alpha of an interval scale."""
    random = np.random.default_rng(7)
    hits = 0
    for _ in range(500):
        truth, noise = random.normal(size=(60, 1)) * np.sqrt(0.6), random.normal(size=(60, 3)) * np.sqrt(0.4)
        hits += holds(krippendorff(truth + noise, "interval"), 0.6)
    assert 0.92 <= hits / 500 <= 0.98
