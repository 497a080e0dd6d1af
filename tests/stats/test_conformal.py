"""A threshold with a guarantee: by hand, at its edges, and by simulation; and the curve beside it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from editgauge._stats.conformal import acceptance_threshold, high_probability_threshold, reliability
from editgauge._stats.intervals import Labels, Numbers

World = tuple[Numbers, NDArray[np.bool_], Labels]


def world(random: np.random.Generator, sources: int) -> World:
    """Sources of one to five edits that share their luck; people accept what is good, the score sees it dimly."""
    clusters = np.repeat(np.arange(sources), random.integers(1, 6, size=sources))
    goodness, mood = random.normal(size=clusters.size), random.normal(size=sources)[clusters]
    scores = goodness + mood + random.normal(size=clusters.size)
    return scores, goodness + 0.5 * mood > 0, clusters


def false_acceptance(worlds: int, sources: int, alpha: float) -> float:
    """The mean share of rejected edits that pass, in a new source image for each calibration."""
    random = np.random.default_rng(5)
    shares: list[float] = []
    while len(shares) < worlds:
        threshold = acceptance_threshold(*world(random, sources), alpha=alpha)
        scores, accepted, _ = world(random, 1)
        if not accepted.all():
            shares.append(float(threshold.passes(scores[~accepted]).mean()))
    return float(np.mean(shares))


def test_by_hand() -> None:
    """Nine rejected edits at 0 to 8; (1 + edits above t) / 10 <= 0.3 holds from 6 on: 7 and 8 pass."""
    scores = np.arange(12.0)
    found = acceptance_threshold(scores, scores > 8, np.arange(12), alpha=0.3)

    assert (found.value, found.rejected, found.sources, found.passed) == (6.0, 9, 9, 1.0)
    assert found.passes(np.array([6.0, 6.1])).tolist() == [False, True]


def test_edits_of_one_source_count_as_one() -> None:
    """Sources a to d have one rejected edit, e has four, of which one above 5 counts a quarter."""
    scores = np.array([1.0, 2.0, 3.0, 4.0, 0.0, 0.5, 5.0, 6.0])
    clusters = np.array(["a", "b", "c", "d", "e", "e", "e", "e"])
    found = acceptance_threshold(scores, np.zeros(8, dtype=np.bool_), clusters, alpha=0.25)

    assert (found.value, found.sources, found.passed) == (4.0, 5, None)  # (1 + 2 / 4) / 6 = 0.25


@pytest.mark.parametrize(("alpha", "needed"), [(0.5, 1), (0.1, 9), (0.05, 19), (0.3, 3), (0.01, 99)])
def test_too_few_labels_give_no_threshold_and_say_how_many_are_needed(alpha: float, needed: int) -> None:
    few, enough = (
        acceptance_threshold(np.arange(float(n)), np.zeros(n, dtype=np.bool_), np.arange(n), alpha=alpha)
        for n in (needed - 1, needed)
    )
    assert few.value is None
    assert f"rejected edits of {needed} source images; there are {needed - 1}" in few.note
    assert not few.passes(np.array([1e9])).any()
    assert enough.value == needed - 1


def test_lower_is_better_mirrors_everything() -> None:
    scores, accepted, clusters = world(np.random.default_rng(0), 60)
    up = acceptance_threshold(scores, accepted, clusters)
    down = acceptance_threshold(-scores, accepted, clusters, higher_is_better=False)

    assert up.value is not None
    assert down.value == -up.value
    assert (down.passes(-scores) == up.passes(scores)).all()
    assert down.passed == up.passed


def test_a_stricter_share_never_lets_more_pass() -> None:
    labeled = world(np.random.default_rng(1), 200)
    values = [acceptance_threshold(*labeled, alpha=alpha).value for alpha in (0.02, 0.05, 0.1, 0.3, 0.6)]

    assert None not in values
    assert values == sorted(values, key=lambda value: -(value or 0.0))


def test_a_share_is_between_zero_and_one() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        acceptance_threshold(*world(np.random.default_rng(0), 5), alpha=1.0)


def test_no_more_is_falsely_accepted_than_promised() -> None:
    assert 0.1 < false_acceptance(1_500, 40, 0.2) < 0.22


@pytest.mark.slow
@pytest.mark.parametrize(("sources", "alpha"), [(30, 0.1), (60, 0.1), (60, 0.05), (200, 0.3)])
def test_no_more_is_falsely_accepted_than_promised_in_many_worlds(sources: int, alpha: float) -> None:
    """At most alpha; and not much less, which would let too few good edits pass."""
    assert alpha - 1.2 / (0.6 * sources) - 0.015 < false_acceptance(20_000, sources, alpha) < alpha + 0.006


def kept_with_unequal_chances(worlds: int, sources: int, alpha: float) -> float:
    """How often at most a share `alpha` of all rejected edits passes; high scores are labeled more often."""
    random = np.random.default_rng(6)
    scores, accepted, _ = world(random, 5_000)
    rejected, kept = scores[~accepted], 0
    for _ in range(worlds):
        some, good, clusters = world(random, sources)
        chances = np.where(some > 0, 0.8, 0.3)
        taken = random.random(some.size) < chances
        threshold = high_probability_threshold(
            some[taken], good[taken], clusters[taken], alpha=alpha, probabilities=chances[taken]
        )
        kept += threshold.passes(rejected).mean() <= alpha
    return kept / worlds


def test_the_strict_threshold_keeps_the_share_of_a_weighted_sample() -> None:
    """In at least 90 % of samples; and it is no threshold that lets nothing pass."""
    assert kept_with_unequal_chances(60, 80, 0.2) >= 0.9
    scores, accepted, clusters = world(np.random.default_rng(7), 200)
    chances = np.where(scores > 0, 0.8, 0.3)
    strict = high_probability_threshold(scores, accepted, clusters, alpha=0.2, probabilities=chances)
    average = acceptance_threshold(scores, accepted, clusters, alpha=0.2, probabilities=chances)
    assert strict.value is not None
    assert average.value is not None
    assert strict.passed is not None
    assert strict.value > average.value
    assert strict.passed > 0.3


def test_equal_chances_need_no_weights_and_very_unequal_ones_promise_less() -> None:
    """One source image that stands for a hundred times as many as the others leaves nothing to promise."""
    scores = np.arange(40.0)
    rejected, chances = np.zeros(40, dtype=np.bool_), np.full(40, 0.5)
    chances[0] = 0.005
    strict = high_probability_threshold(scores, rejected, np.arange(40), alpha=0.2, probabilities=chances)
    assert strict.value is None
    assert "too much weight" in strict.note


# --- the curve -----------------------------------------------------------------------------------------------------


def test_the_curve_never_falls_and_counts_every_edit_once() -> None:
    scores, accepted, _ = world(np.random.default_rng(2), 150)
    found = reliability(scores, accepted)

    assert len(found) == 10
    assert sum(each.n for each in found) == scores.size
    assert [each.score for each in found] == sorted(each.score for each in found)
    assert [each.fitted for each in found] == sorted(each.fitted for each in found)
    assert all(0 <= each.low <= each.accepted <= each.high <= 1 for each in found)
    assert sum(each.accepted * each.n for each in found) == pytest.approx(accepted.sum())


def test_equal_scores_share_a_bin_with_the_interval_of_wilson() -> None:
    """Wilson for 8 of 10: 0.4902 to 0.9433."""
    scores = np.array([0.0] * 10 + [1.0] * 10)
    found = reliability(scores, np.array([True] * 2 + [False] * 8 + [True] * 8 + [False] * 2))

    assert [(each.score, each.n, each.accepted, each.fitted) for each in found] == [
        (0, 10, 0.2, 0.2),
        (1, 10, 0.8, 0.8),
    ]
    assert (found[1].low, found[1].high) == pytest.approx((0.4902, 0.9433), abs=1e-4)


def test_a_score_where_lower_is_better_has_a_falling_curve() -> None:
    scores, accepted, _ = world(np.random.default_rng(3), 100)
    fitted = [each.fitted for each in reliability(-scores, accepted, higher_is_better=False)]

    assert fitted == sorted(fitted, reverse=True)
    assert fitted[0] > fitted[-1]


def test_no_labels_no_curve() -> None:
    assert reliability(np.array([]), np.array([], dtype=np.bool_)) == []
