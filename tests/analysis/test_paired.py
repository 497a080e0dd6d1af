"""Two evaluators on the same questions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from editgauge._stats.intervals import Numbers
from editgauge._stats.paired import against_the_first, paired_difference


def credits_of(only_first: int, only_second: int, both: int) -> tuple[Numbers, Numbers]:
    first = np.array([1.0] * only_first + [0.0] * only_second + [1.0] * both)
    second = np.array([0.0] * only_first + [1.0] * only_second + [1.0] * both)
    return first, second


@pytest.mark.parametrize(("only_first", "only_second"), [(9, 1), (12, 5), (6, 6), (3, 0)])
def test_with_one_question_per_image_it_is_mcnemars_exact_test(only_first: int, only_second: int) -> None:
    first, second = credits_of(only_first, only_second, both=10)
    found = paired_difference(first, second, np.arange(first.size))
    exact = stats.binomtest(only_first, only_first + only_second).pvalue
    assert found is not None
    assert found.p == pytest.approx(exact)
    assert (found.only_first, found.only_second) == (only_first, only_second)
    assert found.difference.value == pytest.approx((only_first - only_second) / first.size)


def test_questions_of_one_image_are_no_further_evidence() -> None:
    """Twelve wins on twelve images convince; the same twelve on two images cannot be tested."""
    first, second = credits_of(12, 0, both=0)
    apart = paired_difference(first, second, np.arange(12))
    together = paired_difference(first, second, np.repeat([0, 1], 6))
    assert apart is not None
    assert together is not None
    assert apart.p is not None
    assert apart.p < 0.01
    assert together.p is None


def test_only_what_both_can_answer_counts() -> None:
    first, second = np.array([1.0, np.nan, 0.5]), np.array([np.nan, 1.0, 0.0])
    found = paired_difference(first, second, np.arange(3))
    assert found is not None
    assert (found.difference.n, found.only_first, found.only_second, found.p) == (1, 1, 0, None)
    assert paired_difference(first[:2], second[:2], np.arange(2)) is None


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=2, max_size=30))
def test_who_comes_first_only_turns_the_sign(answers: list[tuple[float, float]]) -> None:
    first, second = (np.array(side) for side in zip(*answers, strict=True))
    there, back = (
        paired_difference(*two, np.arange(first.size)) for two in ((first, second), (second, first))
    )  # fmt: skip
    assert there is not None
    assert back is not None
    assert there.p == back.p
    assert there.difference.value == pytest.approx(-back.difference.value)
    assert (there.only_first, there.only_second) == (back.only_second, back.only_first)


def test_many_comparisons_raise_the_p_values() -> None:
    good, fair, poor = np.ones(10), np.array([1.0] * 5 + [0.0] * 5), np.zeros(10)
    over_fair, over_poor = against_the_first([("good", good), ("fair", fair), ("poor", poor)], np.arange(10))
    assert [over_fair.second, over_poor.second] == ["fair", "poor"]
    assert over_poor.p is not None
    assert over_poor.adjusted == pytest.approx(2 * over_poor.p)
    assert over_fair.adjusted == over_fair.p
    assert against_the_first([], np.arange(0)) == ()
