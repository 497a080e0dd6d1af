"""How sure a mean is: closed cases, laws, and small simulations of what the intervals and tests promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._stats.intervals import (
    BINOMIAL,
    NOTHING_VARIED,
    STUDENT,
    Labels,
    Limits,
    Mean,
    Numbers,
    bounds,
    clustered_mean,
    holm,
    score_limits,
    share_interval,
    student_interval,
    student_p,
)
from editgauge.analysis.summary import ALL, summarize
from editgauge.results import JournalEntry, Run
from editgauge.types import ScoreSpec

values = st.lists(st.floats(-100, 100), min_size=2, max_size=30).map(lambda some: np.array(some))


def own(numbers: Numbers) -> Labels:
    """Every number a cluster of its own."""
    return np.arange(len(numbers))


def width(mean: Mean) -> float:
    assert mean.low is not None
    assert mean.high is not None
    return mean.high - mean.low


# --- the mean and its interval -----------------------------------------------------------------------------------


def test_no_interval_has_zero_width_unless_nothing_could_vary() -> None:
    """0 of 20: the true share may well be 0.1."""
    never = clustered_mean(np.zeros(20), np.arange(20))
    assert (never.value, never.low, never.method) == (0, 0, BINOMIAL)
    assert never.high is not None
    assert 0.13 < never.high < 0.17
    always = clustered_mean(np.ones(20), np.arange(20) // 2)
    assert always.high == 1
    assert always.low is not None
    assert always.low < 0.75, "ten source images, however many edits each, say no more than ten"
    equal = clustered_mean(np.full(30, 0.1), np.arange(30) % 15, scale=(0.0, 1.0))
    assert equal.method == NOTHING_VARIED
    assert equal.low is not None
    assert equal.high is not None
    assert 0 < equal.low < 0.1 < equal.high < 0.3
    assert clustered_mean(np.full(30, 0.1), np.arange(30)).low is None, "without a scale nothing is known"


def test_intervals_stay_inside_the_scale() -> None:
    values = np.array([0.0, 0.02, 0.0, 0.01, 0.9, 0.03, 0.0, 0.01, 0.0, 0.0, 0.7, 0.0])
    result = clustered_mean(values, own(values), scale=(0.0, 1.0))
    assert result.low == 0
    assert result.method == STUDENT
    assert clustered_mean(values, own(values)).low < 0  # type: ignore[operator]


def test_one_cluster_has_no_interval() -> None:
    assert clustered_mean(np.array([0.0, 1.0]), np.array(["a", "a"])) == Mean(0.5, None, None, 2, 1)


def test_there_is_no_mean_of_nothing() -> None:
    with pytest.raises(ValueError, match="empty"):
        clustered_mean(np.array([]), np.array([]))


def test_the_interval_of_normal_values_is_about_that_of_student() -> None:
    from scipy.stats import ttest_1samp

    numbers = np.random.default_rng(8).normal(size=40)
    other = ttest_1samp(numbers, 0).confidence_interval(0.95)
    result = clustered_mean(numbers, own(numbers))
    assert (result.low, result.high) == pytest.approx((other.low, other.high), abs=0.03)


def test_a_skewed_score_has_more_room_on_its_long_side() -> None:
    numbers = np.random.default_rng(5).exponential(size=30)
    result = clustered_mean(numbers, own(numbers))
    assert result.high is not None
    assert result.low is not None
    assert result.high - result.value > 1.05 * (result.value - result.low)


@given(st.floats(-5, 5), st.floats(-1.5, 1.5), st.integers(5, 50))
def test_the_test_and_the_interval_agree(t: float, skew: float, freedom: int) -> None:
    low, high = student_interval(t, 1.0, skew, freedom, 0.95)
    p = student_p(t, skew, freedom)
    assert low <= t <= high
    if abs(p - 0.05) > 1e-6:
        assert (p < 0.05) == (low > 0 or high < 0)


def test_the_interval_of_a_share_is_that_of_wilson_but_for_few_yes() -> None:
    from scipy.stats import binomtest

    for yes, n in ((0, 10), (7, 15), (30, 100), (12, 12)):
        other = binomtest(yes, n).proportion_ci(0.95, "wilson")
        assert share_interval(yes / n, n, 0.95) == pytest.approx((other.low, other.high), abs=1e-9)
    low, _ = share_interval(3 / 50, 50, 0.95)
    assert low < binomtest(3, 50).proportion_ci(0.95, "wilson").low


def _coverage(share: float, n: int) -> float:
    """In how many of 100 runs the interval holds the share: exact, no simulation."""
    from scipy.stats import binom

    chances = binom.pmf(np.arange(n + 1), n, share)
    ends = [share_interval(yes / n, n, 0.95) for yes in range(n + 1)]
    return float(sum(chance for chance, (low, high) in zip(chances, ends, strict=True) if low <= share <= high))


def _nearest_possible(share: float, n: int) -> float:
    """The smallest coverage from 0.93 on that any interval could have, with counts that are whole numbers."""
    from scipy.stats import binom

    chances = binom.pmf(np.arange(n + 1), n, share)
    mirrored = share == 0.5  # yes and no are alike, so both ends move together
    sets = (
        float(chances[first:last].sum())
        for first in range(n + 1)
        for last in ([n + 1 - first] if mirrored else range(first + 1, n + 2))
    )
    return min(coverage for coverage in sets if coverage >= 0.93 - 1e-9)


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1, 0.5])
@pytest.mark.parametrize("n", [10, 20, 50, 100])
def test_the_interval_of_a_share_holds_as_often_as_it_says_or_as_whole_counts_allow(share: float, n: int) -> None:
    held = round(_coverage(share, n), 2)
    assert 0.93 <= held <= max(0.97, round(_nearest_possible(share, n), 2))


def test_dependent_answers_count_as_fewer() -> None:
    once = np.array([1.0] * 12 + [0.0] * 8)
    alone, copied = clustered_mean(once, own(once)), clustered_mean(np.repeat(once, 4), np.repeat(np.arange(20), 4))
    apart = clustered_mean(np.repeat(once, 4), np.arange(80))
    assert width(apart) < 0.6 * width(alone)
    assert width(copied) == pytest.approx(width(alone), rel=0.12)


@given(values, st.floats(0.01, 50), st.floats(-100, 100))
def test_scaling_and_shifting_the_scores_does_the_same_to_the_interval(
    numbers: Numbers, scale: float, shift: float
) -> None:
    clusters = np.arange(len(numbers)) // 2
    plain, moved = (clustered_mean(item, clusters) for item in (numbers, numbers * scale + shift))

    assert moved.value == pytest.approx(plain.value * scale + shift, abs=1e-8)
    if plain.low is None or plain.high is None:
        assert moved.low is None
    else:
        expected = (plain.low * scale + shift, plain.high * scale + shift)
        assert (moved.low, moved.high) == pytest.approx(expected, abs=1e-8)


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
    result = clustered_mean(np.array([1.0, 0.0, 0.0, 0.0]), np.array(["a", "b", "b", "b"]))

    assert result.value == 0.25


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """300 worlds of 40 photographs with one to five edits each, which share what the photograph is like."""
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(300):
        sizes = random.integers(1, 6, size=40)
        clusters = np.repeat(np.arange(40), sizes)
        numbers = random.normal(size=40)[clusters] + random.normal(size=len(clusters))
        result = clustered_mean(numbers, clusters)
        covered += result.low is not None and result.high is not None and result.low <= 0 <= result.high

    assert 0.88 <= covered / 300 <= 0.99


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


UNIT = Limits(0.0, 1.0, declared=True)


@pytest.mark.parametrize(("better", "worst", "best"), [(True, 0.3, 0.7), (False, 0.7, 0.3)])
def test_by_hand(better: bool, worst: float, best: float) -> None:
    """(0.2 + 0.9 + 0.4 + 2 x 0) / 5, and with 2 x 1."""
    result = bounds(ScoreSpec("x", better, (0, 1)), np.array([0.2, 0.9, 0.4]), {"crashed": 1, "refused": 1}, UNIT)
    assert result is not None
    assert (result.worst, result.best) == pytest.approx((worst, best))
    assert (result.scored, result.missing) == (3, 2)


def test_edits_that_the_score_was_never_meant_for_do_not_widen_it() -> None:
    spec = ScoreSpec("x", True, (0, 1))
    result = bounds(spec, np.array([0.5]), {"not_applicable": 7, "no_rule": 3}, UNIT)
    assert result is not None
    assert (result.worst, result.best, result.missing) == (0.5, 0.5, 0)
    assert bounds(spec, np.array([]), {"no_rule": 3}, UNIT) is None


def test_without_any_score_everything_is_possible() -> None:
    result = bounds(ScoreSpec("x", True, (0, 1)), np.array([]), {"crashed": 4}, UNIT)
    assert result is not None
    assert (result.worst, result.best) == (0, 1)


def test_a_range_without_an_end_takes_the_extremes_seen() -> None:
    seen = np.array([3.0, math.nan, -2.0, 8.0])
    assert score_limits(ScoreSpec("x", True, (-1.0, 1.0)), seen) == Limits(-1, 1, declared=True)
    assert score_limits(ScoreSpec("x", True, (-math.inf, math.inf)), seen) == Limits(-2, 8, declared=False)
    assert score_limits(ScoreSpec("x", True, (0.0, math.inf)), np.array([math.nan])) is None


@given(st.lists(st.floats(0, 1), max_size=20), st.integers(0, 20), st.booleans())
def test_the_mean_lies_between_and_more_missing_is_wider(values: list[float], missing: int, better: bool) -> None:
    spec, scores = ScoreSpec("x", better, (0, 1)), np.array(values)
    fewer, more = (bounds(spec, scores, {"crashed": count}, UNIT) for count in (missing, missing + 1))
    assert more is not None
    if fewer and values:
        low, high = sorted((fewer.worst, fewer.best))
        assert low - 1e-12 <= scores.mean() <= high + 1e-12
        assert abs(more.best - more.worst) >= high - low - 1e-12


def test_every_cell_of_a_summary_has_them(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    folder = make_run(
        make_record("a", {"gain": 0.5, "loss": 0.5}),
        make_record("b", {"gain": "crashed", "loss": "not_applicable"}, place=1),
        make_record("c", {"gain": 1.0, "loss": 0.1}, place=2, edit_type="size"),
    )
    cells = {(item.spec.name, item.edit_type): item.bounds for item in summarize(Run.open(folder))}
    result = {key: (item.worst, item.best) for key, item in cells.items() if item}
    assert result["gain", "color"] == pytest.approx((0.25, 0.75))
    assert result["gain", ALL] == pytest.approx((0.5, 2.5 / 3))
    assert result["loss", ALL] == pytest.approx((0.3, 0.3))


SCALES = [(0.0, 1.0), (0.0, 3.0), (1.0, 5.0), (-1.0, 1.0), (0.0, 100.0), (0.0, np.inf), (-np.inf, np.inf)]


@given(data=st.data(), scale=st.sampled_from(SCALES), whole=st.booleans())
def test_no_interval_leaves_its_scale(data: st.DataObject, scale: tuple[float, float], whole: bool) -> None:
    low, high = max(scale[0], -1000.0), min(scale[1], 1000.0)
    numbers = st.integers(int(low), int(high)).map(float) if whole else st.floats(low, high)
    values = np.array(data.draw(st.lists(numbers, min_size=2, max_size=40)))
    clusters = np.array(data.draw(st.lists(st.integers(0, 12), min_size=values.size, max_size=values.size)))

    mean = clustered_mean(values, clusters, scale=scale)

    if mean.low is not None and mean.high is not None:
        rounding = 1e-9 * max(1.0, abs(mean.value))
        assert scale[0] <= mean.low <= mean.value + rounding
        assert mean.value - rounding <= mean.high <= scale[1]


def test_a_few_large_counts_do_not_stretch_the_interval_of_a_mean_count_absurdly() -> None:
    counts = np.array([1.0, 2, 1, 2, 2, 1, 2, 1, 2, 6])
    mean = clustered_mean(counts, np.arange(10), scale=(0.0, np.inf))

    assert mean.low is not None
    assert mean.high is not None
    assert 1 < mean.low < mean.value == 2 < mean.high < 4


def test_counts_that_are_all_zero_may_still_be_above() -> None:
    mean = clustered_mean(np.zeros(20), np.arange(20), scale=(0.0, np.inf))
    assert mean.low == 0.0
    assert mean.high == pytest.approx(3.689 / 20, abs=1e-3)
