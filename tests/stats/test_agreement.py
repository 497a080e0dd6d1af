"""Measures of agreement, choices and verdicts: closed cases, laws, another library."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from sklearn.metrics import balanced_accuracy_score, precision_score, recall_score

from editgauge._stats.agreement import (
    COSINE,
    KENDALL,
    PEARSON,
    SPEARMAN,
    between,
    binary_rates,
    choice_agreement,
    correlate,
    within,
)
from editgauge._stats.intervals import Numbers
from editgauge._stats.resampling import Estimate

Measured = Callable[[ArrayLike, ArrayLike], Estimate]
whole = st.integers(-5, 5).map(float)
lists = st.lists(st.tuples(whole, whole), min_size=3, max_size=12).map(lambda some: np.array(some).T)
pearson, spearman, kendall, cosine = (partial(correlate, each) for each in (PEARSON, SPEARMAN, KENDALL, COSINE))
every_measure = pytest.mark.parametrize("measure", [pearson, spearman, kendall, cosine])


def value(found: Estimate) -> float:
    assert found.value is not None
    return found.value


@every_measure
def test_what_is_the_same_agrees_fully_and_its_opposite_not_at_all(measure: Measured) -> None:
    numbers = np.array([1.0, 2.0, 4.0, 3.0])
    assert value(measure(numbers, numbers)) == pytest.approx(1)
    assert value(measure(numbers, -numbers)) == pytest.approx(-1)


def test_ties_by_hand() -> None:
    """Ranks 1, 2.5, 2.5, 4 and 1.5, 1.5, 3.5, 3.5: Spearman 3 / sqrt(4.5 * 4). Pairs 4 alike, 0 not, tied 1 and 2."""
    scores, ratings = [1, 2, 2, 3], [0, 0, 1, 1]
    assert value(spearman(scores, ratings)) == pytest.approx(3 / np.sqrt(4.5 * 4))
    assert value(kendall(scores, ratings)) == pytest.approx(3 / np.sqrt(5 * 4))


def test_the_cosine_is_not_centered() -> None:
    assert value(cosine([1, 0, 1], [1, 1, 0])) == pytest.approx(0.5)
    assert value(cosine([5, 5, 5], [1, 1, 1])) == pytest.approx(1)
    assert cosine([0, 0, 0], [1, 1, 1]).reason == "all scores are zero"


@pytest.mark.parametrize("measure", [pearson, spearman, kendall])
@pytest.mark.parametrize(
    ("scores", "ratings", "reason"),
    [
        ([1, 1, 1], [1, 2, 3], "all scores are equal"),
        ([1, 2, 3], [0.1 + 0.2, 0.3, 0.3], "all ratings are equal"),
        ([0, 0, 0], [0, 0, 0], "all scores are equal"),
        ([1, 2], [1, 2], "fewer than 3 pairs"),
        ([], [], "fewer than 3 pairs"),
    ],
)
def test_where_there_is_no_answer_there_is_a_reason(
    measure: Measured, scores: list[float], ratings: list[float], reason: str
) -> None:
    assert measure(scores, ratings) == Estimate(None, None, None, len(scores), len(scores), reason)


def test_lists_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        pearson([1, 2, 3], [1, 2])


@given(lists)
def test_it_does_not_matter_who_is_asked_first(pair: Numbers) -> None:
    for measure in (pearson, spearman, cosine):
        forth, back = measure(*pair), measure(*pair[::-1])
        assert (forth.value is None) == (back.value is None)
        if forth.value is not None:
            assert back.value == pytest.approx(forth.value)
            assert -1 <= forth.value <= 1
    if not KENDALL.undefined(*pair):
        assert KENDALL.of_pairs(*pair) == pytest.approx(KENDALL.of_pairs(*pair[::-1]))


@given(lists)
def test_ranks_only_see_the_order(pair: Numbers) -> None:
    bent = np.stack([np.exp(pair[0]), pair[1] ** 3])
    assert spearman(*bent) == spearman(*pair)
    assert KENDALL.undefined(*bent) == KENDALL.undefined(*pair)
    if not KENDALL.undefined(*pair):
        assert KENDALL.of_pairs(*bent) == KENDALL.of_pairs(*pair)


@given(lists, st.floats(0.01, 100), st.floats(-100, 100))
def test_pearson_does_not_see_scale_and_shift(pair: Numbers, scale: float, shift: float) -> None:
    plain, moved = pearson(*pair), pearson(pair[0] * scale + shift, pair[1])
    assert moved.reason == plain.reason
    if plain.value is not None:
        assert moved.value == pytest.approx(plain.value, abs=1e-9)


def test_choices_by_hand() -> None:
    """Right, wrong, right, and a tie."""
    result = choice_agreement([0.9, 0.2, 0.1, 0.5], [0.1, 0.4, 0.3, 0.5], [True, True, False, True])
    assert result.value == (1 + 0 + 1 + 0.5) / 4
    assert (result.n, result.clusters) == (4, 4)
    assert choice_agreement([], [], []).reason == "no choice has both scores"


def test_naming_the_two_in_the_other_order_changes_nothing() -> None:
    first, second = np.random.default_rng(6).integers(0, 3, size=(2, 30)).astype(float)
    chose = np.random.default_rng(7).random(30) < 0.5
    assert choice_agreement(first, second, chose) == choice_agreement(second, first, ~chose)


def test_verdicts_are_those_of_scikit_learn() -> None:
    random = np.random.default_rng(8)
    called, good = random.random((2, 50)) < [[0.3], [0.6]]
    result = binary_rates(called, good)
    expected = {
        "balanced_accuracy": balanced_accuracy_score(good, called),
        "precision": precision_score(good, called),
        "recall": recall_score(good, called),
        "specificity": recall_score(~good, ~called),
        "negative_predictive_value": precision_score(~good, ~called),
    }
    for name, number in expected.items():
        told: Estimate = getattr(result, name)
        assert told.value == pytest.approx(number)
        assert told.low is not None
        assert told.high is not None
        assert told.low < number < told.high


def test_verdicts_that_cannot_be_told_say_why() -> None:
    result = binary_rates([True, True, False], [True, True, True])
    assert value(result.recall) == pytest.approx(2 / 3)
    assert (result.balanced_accuracy.value, result.balanced_accuracy.reason) == (
        None,
        "people rate all outcomes the same",
    )
    assert (result.specificity.value, result.specificity.reason) == (None, "people call none bad")
    assert value(result.precision) == 1
    assert value(result.negative_predictive_value) == 0


def test_levels_can_disagree_entirely() -> None:
    """Within each method the score is upside down, and yet it puts the methods into the right order."""
    scores = np.array([3, 2, 1, 13, 12, 11, 23, 22, 21])
    ratings = np.array([1, 2, 3, 11, 12, 13, 21, 22, 23])
    methods = np.repeat(["a", "b", "c"], 3)
    inside = within(SPEARMAN, scores, ratings, methods)
    assert inside.average.value == pytest.approx(-1)
    assert {name: part.value for name, part in inside.parts.items()} == pytest.approx({"a": -1, "b": -1, "c": -1})
    assert value(between(SPEARMAN, scores, ratings, methods)) == pytest.approx(1)
    assert between(SPEARMAN, scores, ratings, methods).n == 3
    assert value(correlate(SPEARMAN, scores, ratings)) > 0.7


def test_a_part_without_an_answer_is_not_in_the_average() -> None:
    result = within(PEARSON, [1, 2, 3, 1, 1, 1], [1, 2, 3, 1, 2, 3], np.repeat(["told", "flat"], 3))
    assert result.average.value == pytest.approx(1)
    assert result.average.n == 3
    assert (result.parts["flat"].value, result.parts["flat"].reason) == (None, "all scores are equal")


def test_an_average_of_nothing_says_why() -> None:
    result = within(PEARSON, [1, 1, 1, 1], [1, 2, 3, 1], np.array(["a", "a", "a", "b"]))
    assert result.average.value is None
    assert result.average.reason == "all scores are equal; fewer than 3 pairs"


def test_fisher_s_average_is_drawn_towards_the_strong() -> None:
    random = np.random.default_rng(5)
    x = random.normal(size=60)
    y = np.concatenate([x[:30] + 0.2 * random.normal(size=30), random.normal(size=30)])
    groups = np.repeat(["strong", "weak"], 30)
    plain, fisher = (value(within(PEARSON, x, y, groups, fisher_z=each).average) for each in (False, True))
    apart = [np.corrcoef(x[rows], y[rows])[0, 1] for rows in (slice(30), slice(30, None))]
    expected = np.tanh(np.arctanh(apart).mean())
    assert fisher == pytest.approx(expected)
    assert fisher > plain


def test_two_methods_are_no_system_level() -> None:
    result = between(PEARSON, [1, 2, 3, 4], [1, 2, 3, 4], np.array(["a", "a", "b", "b"]))
    assert (result.value, result.n, result.reason) == (None, 2, "fewer than 3 pairs")
