"""Worlds in which the truth is known: do intervals hold it, do tests keep quiet when there is nothing to find?

Small versions run always; those marked slow are large enough to tell 93 % from 95 %.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import beta, expon, norm

from editgauge.findings.ranks import Rank, rank_methods
from editgauge.findings.summary import FEW_SOURCES
from editgauge.stats.intervals import Labels, Mean, Numbers, clustered_mean, holm, sign_flip_p
from editgauge.stats.levels import mean_of_groups
from editgauge.stats.raters import krippendorff
from editgauge.stats.resampling import Estimate

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
        hits += holds(clustered_mean(spread(shares), clusters, resamples=1_000), truth)
    return hits / worlds


# --- means --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SCORES)
def test_intervals_hold_the_mean(kind: str) -> None:
    assert 0.90 <= coverage(kind, 30, 400, uneven=True) <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("uneven", [False, True], ids=["even", "uneven"])
@pytest.mark.parametrize("sources", [FEW_SOURCES, 30, 100])
@pytest.mark.parametrize("kind", SCORES)
def test_intervals_hold_the_mean_in_93_to_97_percent(kind: str, sources: int, uneven: bool) -> None:
    """4,000 worlds: chance alone moves the share by 0.7 % to either side."""
    assert 0.923 <= coverage(kind, sources, 4_000, uneven=uneven, seed=sources) <= 0.977


@pytest.mark.slow
def test_below_the_mark_they_do_not() -> None:
    """The reason for the mark: ten source images of which few have any success."""
    assert coverage("seldom yes", 10, 4_000, uneven=True) < 0.923


def test_every_type_counts_once_and_the_interval_holds() -> None:
    random = np.random.default_rng(2)
    hits = 0
    for _ in range(200):
        shares, clusters = world(random, 40, uneven=False)
        types = np.tile([0, 0, 1], 40)  # twice as many edits of one type, which is easier
        hits += holds(mean_of_groups(shares + 0.3 * types, types, clusters), 0.65)
    assert 0.90 <= hits / 200 <= 0.985


# --- tests --------------------------------------------------------------------------------------------------------


def false_alarms(worlds: int, differences: Callable[[Random, int], Numbers], sources: int = 20) -> float:
    random = np.random.default_rng(4)
    alarms = 0
    for place in range(worlds):
        clusters = np.repeat(np.arange(sources), random.integers(1, 5, size=sources))
        p = sign_flip_p(differences(random, sources)[clusters], clusters, resamples=499, seed=place)
        alarms += p is not None and p < 0.05
    return alarms / worlds


WINS_AND_LOSSES: dict[str, Callable[[Random, int], Numbers]] = {
    "normal": lambda random, n: random.normal(size=n),
    "heavy": lambda random, n: random.standard_t(2, size=n),
    "wins, draws, losses": lambda random, n: random.choice([-1.0, 0.0, 1.0], size=n, p=[0.1, 0.8, 0.1]),
}


@pytest.mark.parametrize("kind", WINS_AND_LOSSES)
def test_equal_methods_seldom_seem_different(kind: str) -> None:
    assert false_alarms(300, WINS_AND_LOSSES[kind]) <= 0.09


@pytest.mark.slow
@pytest.mark.parametrize("sources", [6, 20, 100])
@pytest.mark.parametrize("kind", WINS_AND_LOSSES)
def test_equal_methods_seem_different_in_5_percent_at_most(kind: str, sources: int) -> None:
    assert false_alarms(4_000, WINS_AND_LOSSES[kind], sources) <= 0.057


def any_alarm(worlds: int) -> tuple[float, float]:
    """How often one of eight correlated scores of equal methods is called different, plainly and by Holm."""
    random = np.random.default_rng(5)
    plain = adjusted = 0
    for place in range(worlds):
        shared = random.normal(size=(25, 1))
        columns = (shared + random.normal(size=(25, 8))).T
        p_values = [sign_flip_p(column, np.arange(25), resamples=999, seed=place) for column in columns]
        plain += any(p is not None and p < 0.05 for p in p_values)
        adjusted += any(p is not None and p < 0.05 for p in holm(p_values))
    return plain / worlds, adjusted / worlds


def test_holm_keeps_the_alarms_of_many_scores_together_rare() -> None:
    plain, adjusted = any_alarm(150)
    assert adjusted <= 0.10 < plain


@pytest.mark.slow
def test_holm_keeps_them_at_5_percent() -> None:
    plain, adjusted = any_alarm(3_000)
    assert plain > 0.15
    assert adjusted <= 0.058


# --- ranks --------------------------------------------------------------------------------------------------------

QUALITY = np.array([0.50, 0.50, 0.52, 0.60, 0.60, 0.80])


def ranked(random: Random, sources: int) -> list[Rank]:
    difficulty = random.normal(size=(sources, 1)) * 0.2
    values = QUALITY + difficulty + random.normal(size=(sources, 6)) * 0.2
    return rank_methods(values.ravel(), np.tile(np.arange(6), sources), np.repeat(np.arange(sources), 6))


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
