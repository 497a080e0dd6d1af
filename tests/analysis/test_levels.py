"""The levels at which scores and people are compared."""

from __future__ import annotations

import numpy as np
import pytest

from editgauge._stats.agreement import PEARSON, SPEARMAN, correlate
from editgauge._stats.levels import between, within
from editgauge._stats.resampling import Estimate


def value(found: Estimate) -> float:
    assert found.value is not None
    return found.value


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
    found = within(PEARSON, [1, 2, 3, 1, 1, 1], [1, 2, 3, 1, 2, 3], np.repeat(["told", "flat"], 3))
    assert found.average.value == pytest.approx(1)
    assert found.average.n == 3
    assert (found.parts["flat"].value, found.parts["flat"].reason) == (None, "all scores are equal")


def test_an_average_of_nothing_says_why() -> None:
    found = within(PEARSON, [1, 1, 1, 1], [1, 2, 3, 1], np.array(["a", "a", "a", "b"]))
    assert found.average.value is None
    assert found.average.reason == "all scores are equal; fewer than 3 pairs"


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
    found = between(PEARSON, [1, 2, 3, 4], [1, 2, 3, 4], np.array(["a", "a", "b", "b"]))
    assert (found.value, found.n, found.reason) == (None, 2, "fewer than 3 pairs")
