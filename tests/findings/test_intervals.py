"""How sure a mean is: closed cases, laws, and small simulations of what the intervals and tests promise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from editgauge.stats import intervals
from editgauge.stats.intervals import Labels, Mean, Numbers, clustered_mean, holm, sign_flip_p

few = settings(max_examples=40, deadline=None)
values = st.lists(st.floats(-100, 100), min_size=2, max_size=30).map(lambda some: np.array(some))


def own(numbers: Numbers) -> Labels:
    """Every number a cluster of its own."""
    return np.arange(len(numbers))


def width(mean: Mean) -> float:
    assert mean.low is not None
    assert mean.high is not None
    return mean.high - mean.low


# --- the mean and its interval -----------------------------------------------------------------------------------


def test_two_clusters_give_their_means_as_ends() -> None:
    found = clustered_mean(np.array([1.0, 1.0, 0.0, 0.0]), np.array(["a", "a", "b", "b"]))

    assert found == Mean(value=0.5, low=0.0, high=1.0, n=4, clusters=2)


def test_equal_values_leave_no_doubt() -> None:
    found = clustered_mean(np.full(30, 0.1), np.arange(30) % 7)

    assert (found.low, found.high) == pytest.approx((0.1, 0.1))
    assert (found.n, found.clusters) == (30, 7)


def test_one_cluster_has_no_interval() -> None:
    assert clustered_mean(np.array([0.0, 1.0]), np.array(["a", "a"])) == Mean(0.5, None, None, 2, 1)


def test_there_is_no_mean_of_nothing() -> None:
    with pytest.raises(ValueError, match="mean of nothing"):
        clustered_mean(np.array([]), np.array([]))


def test_many_clusters_of_one_have_the_interval_of_another_library() -> None:
    """BCa of scipy; with 400 clusters the wider tails of Student's t make a difference of half a percent."""
    from scipy.stats import bootstrap

    numbers = np.random.default_rng(5).gamma(0.5, size=400)
    other = bootstrap((numbers,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(6))

    found = clustered_mean(numbers, own(numbers), resamples=20_000)

    assert (found.low, found.high) == pytest.approx(tuple(other.confidence_interval), rel=0.006)


def test_few_clusters_reach_further() -> None:
    """About as far as Student's t, where the scores are normal."""
    from scipy.stats import t

    numbers = np.random.default_rng(8).normal(size=12)
    half = t.ppf(0.975, 11) * numbers.std(ddof=1) / np.sqrt(12)

    assert width(clustered_mean(numbers, own(numbers), resamples=20_000)) == pytest.approx(2 * half, rel=0.06)


@pytest.mark.parametrize("sizes", [(1, 1), (5, 1), (1, 1, 9), (3, 1, 1)])
def test_two_or_three_clusters_reach_to_the_means_of_their_own(sizes: tuple[int, ...]) -> None:
    clusters = np.repeat(np.arange(len(sizes)), sizes)

    found = clustered_mean(clusters.astype(np.float64), clusters)

    assert (found.low, found.high) == (0, len(sizes) - 1)


def test_a_binary_score_has_the_binomial_interval() -> None:
    """The bootstrap of n yes-or-no scores is a binomial distribution, which is known in closed form."""
    from scipy.stats import binom

    # BCa moves both ends of a skewed distribution up; for 30 of 100 by about one.
    found = clustered_mean(np.array([1.0] * 30 + [0.0] * 70), np.arange(100), resamples=20_000)

    assert (found.low, found.high) == pytest.approx(tuple(binom.ppf([0.025, 0.975], 100, 0.3) / 100), abs=0.011)


@few
@given(values, st.floats(0.01, 50), st.floats(-100, 100))
def test_scaling_and_shifting_the_scores_does_the_same_to_the_interval(
    numbers: Numbers, scale: float, shift: float
) -> None:
    clusters = np.arange(len(numbers)) // 2
    plain, moved = (clustered_mean(each, clusters, resamples=200) for each in (numbers, numbers * scale + shift))

    assert moved.value == pytest.approx(plain.value * scale + shift, abs=1e-8)
    if plain.low is None or plain.high is None:
        assert moved.low is None
    else:
        expected = (plain.low * scale + shift, plain.high * scale + shift)
        assert (moved.low, moved.high) == pytest.approx(expected, abs=1e-8)


@few
@given(values)
def test_the_order_of_the_scores_does_not_matter(numbers: Numbers) -> None:
    order = np.random.default_rng(len(numbers)).permutation(len(numbers))
    clusters = np.array([f"photo {place // 3}" for place in range(len(numbers))])

    plain, shuffled = clustered_mean(numbers, clusters), clustered_mean(numbers[order], clusters[order])

    assert shuffled.value == pytest.approx(plain.value)
    if plain.low is not None:
        assert (shuffled.low, shuffled.high) == pytest.approx((plain.low, plain.high))


def test_copies_of_a_score_add_no_certainty_when_they_share_a_source() -> None:
    """Four edits of one photograph that all go the same way are worth one, four photographs are worth four."""
    numbers = np.random.default_rng(0).normal(size=40)
    copies = np.repeat(numbers, 4)
    once = clustered_mean(numbers, own(numbers))
    together = clustered_mean(copies, np.repeat(np.arange(40), 4))
    apart = clustered_mean(copies, own(copies))

    assert width(together) == pytest.approx(width(once))
    assert width(apart) == pytest.approx(width(once) / 2, rel=0.15)


def test_a_large_cluster_weighs_by_its_size() -> None:
    found = clustered_mean(np.array([1.0, 0.0, 0.0, 0.0]), np.array(["a", "b", "b", "b"]))

    assert found.value == 0.25


def test_the_same_data_gives_the_same_interval_and_another_seed_another() -> None:
    numbers = np.random.default_rng(1).normal(size=50)

    assert clustered_mean(numbers, own(numbers)) == clustered_mean(numbers, own(numbers))
    assert clustered_mean(numbers, own(numbers), seed=1) != clustered_mean(numbers, own(numbers), seed=2)


def test_working_in_small_portions_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(2).normal(size=50)
    at_once = clustered_mean(numbers, own(numbers)), sign_flip_p(numbers + 0.3, own(numbers))

    monkeypatch.setattr(intervals, "NUMBERS_AT_ONCE", 777)

    in_portions = clustered_mean(numbers, own(numbers)), sign_flip_p(numbers + 0.3, own(numbers))
    assert in_portions[0] == at_once[0]
    assert in_portions[1] == pytest.approx(at_once[1], abs=0.02)


def test_more_clusters_than_fit_into_a_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "NUMBERS_AT_ONCE", 10)
    numbers = np.arange(50.0)

    assert width(clustered_mean(numbers, own(numbers), resamples=50)) > 0


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """300 worlds of 40 photographs with one to five edits each, which share what the photograph is like."""
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(300):
        sizes = random.integers(1, 6, size=40)
        clusters = np.repeat(np.arange(40), sizes)
        numbers = random.normal(size=40)[clusters] + random.normal(size=len(clusters))
        found = clustered_mean(numbers, clusters, resamples=400)
        covered += found.low is not None and found.high is not None and found.low <= 0 <= found.high

    assert 0.88 <= covered / 300 <= 0.99


# --- the paired test ---------------------------------------------------------------------------------------------


def test_a_strong_effect_has_a_small_p_but_never_zero() -> None:
    strong = np.random.default_rng(0).normal(3, 1, size=40)

    assert sign_flip_p(strong, own(strong)) == 1 / 10_000


def test_no_difference_at_all_is_no_evidence() -> None:
    assert sign_flip_p(np.zeros(20), np.arange(20)) == 1


def test_one_cluster_cannot_be_tested() -> None:
    assert sign_flip_p(np.array([1.0, 2.0]), np.array(["a", "a"])) is None


def test_a_few_equal_clusters_have_the_exact_p() -> None:
    """Of the 2^5 ways to flip five equal clusters, two are as extreme."""
    assert sign_flip_p(np.ones(5), np.arange(5)) == pytest.approx(2 / 32, abs=0.01)


@pytest.mark.parametrize("unit", [1e-15, 1e-12, 1e-3, 0.1, 3.7, 1e6, 1e12, -1.0])
def test_the_unit_of_a_score_does_not_matter(unit: float) -> None:
    """Small whole numbers have many ties, of which no rounding error may lose or win one."""
    numbers = np.random.default_rng(0).integers(-2, 5, size=24).astype(np.float64)

    assert sign_flip_p(numbers * unit, np.arange(24) // 2) == sign_flip_p(numbers, np.arange(24) // 2)


def test_false_alarms_are_as_rare_as_promised() -> None:
    """Photographs differ, methods do not: among 300 worlds about 5 % have p < 0.05."""
    random = np.random.default_rng(3)
    alarms = 0
    for _ in range(300):
        clusters = np.repeat(np.arange(20), random.integers(1, 5, size=20))
        numbers = random.normal(size=20)[clusters] + 0.5 * random.normal(size=len(clusters))
        p = sign_flip_p(numbers, clusters, resamples=199)
        assert p is not None
        alarms += p < 0.05

    assert alarms / 300 <= 0.09


def test_ignoring_the_clusters_would_raise_false_alarms() -> None:
    """The reason for clustering, and a proof that the simulation above can fail."""
    random = np.random.default_rng(3)
    alarms = 0
    for _ in range(300):
        clusters = np.repeat(np.arange(20), 4)
        numbers = random.normal(size=20)[clusters] + 0.5 * random.normal(size=len(clusters))
        p = sign_flip_p(numbers, own(numbers), resamples=199)
        assert p is not None
        alarms += p < 0.05

    assert alarms / 300 > 0.2


# --- many tests at once ------------------------------------------------------------------------------------------

p_values = st.lists(st.none() | st.floats(0, 1), max_size=12)


def test_holm_by_hand() -> None:
    """0.005 x 4 = 0.02; 0.01 x 3 = 0.03; 0.03 x 2 = 0.06; and 0.04 x 1 may not be below the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_agrees_with_another_library_s_bonferroni_for_one() -> None:
    assert holm([0.2]) == [0.2]
    assert holm([]) == []
    assert holm([None, 0.04, None]) == [None, 0.04, None]
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(p_values)
def test_holm_keeps_the_order_and_never_makes_a_p_smaller(given_p: list[float | None]) -> None:
    adjusted = holm(given_p)

    pairs = [(p, after) for p, after in zip(given_p, adjusted, strict=True) if p is not None and after is not None]
    assert len(pairs) == sum(p is not None for p in given_p)
    assert all(p <= after <= 1 for p, after in pairs)
    assert [after for _, after in sorted(pairs)] == sorted(after for _, after in pairs)


@given(p_values.flatmap(lambda some: st.tuples(st.just(some), st.permutations(range(len(some))))))
def test_holm_does_not_care_in_which_order_the_tests_come(case: tuple[list[float | None], list[int]]) -> None:
    given_p, order = case
    adjusted = holm(given_p)

    assert holm([given_p[place] for place in order]) == [adjusted[place] for place in order]
