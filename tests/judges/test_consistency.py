"""Position bias and self-consistency, by hand and by their properties."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.errors import UnscorableError
from editgauge.judges._panel import combine_orders, position_bias, self_consistency
from editgauge.judges._questions import Choice

CHOICES: st.SearchStrategy[Any] = st.sampled_from(["one", "two", "tie"])


def test_a_judge_that_only_sees_the_order_is_found_out() -> None:
    always_first = position_bias([("one", "two")] * 10)
    assert (always_first.consistent, always_first.towards_first) == (0.0, 1.0)
    always_second = position_bias([("two", "one")] * 10)
    assert (always_second.consistent, always_second.towards_first) == (0.0, -1.0)


@given(st.lists(CHOICES, min_size=1))
def test_a_judge_that_sees_the_edits_alone_has_no_bias(verdicts: list[Choice]) -> None:
    found = position_bias([(verdict, verdict) for verdict in verdicts])
    assert (found.consistent, found.towards_first) == (1.0, 0.0)


@given(st.lists(st.tuples(CHOICES, CHOICES), min_size=1))
def test_showing_all_pairs_the_other_way_round_turns_the_bias(verdicts: list[tuple[Choice, Choice]]) -> None:
    found, turned = position_bias(verdicts), position_bias([(after, given) for given, after in verdicts])
    assert found.towards_first == -turned.towards_first
    assert found.consistent == turned.consistent


@given(st.lists(st.lists(st.integers(0, 2), min_size=2, max_size=6), min_size=1, max_size=5))
def test_agreement_is_the_share_of_equal_pairs(answers: list[list[int]]) -> None:
    shares = [sum(a == b for a, b in combinations(each, 2)) / len(list(combinations(each, 2))) for each in answers]
    found = self_consistency(answers)
    assert found.agreement == pytest.approx(sum(shares) / len(shares))
    assert found.unanimous == sum(share == 1 for share in shares) / len(shares)


def test_nothing_is_said_of_nothing() -> None:
    with pytest.raises(UnscorableError, match="both orders"):
        position_bias([])
    with pytest.raises(UnscorableError, match="more than once"):
        self_consistency([[1], []])


def test_two_orders_settle_a_verdict_unless_they_contradict() -> None:
    assert [combine_orders("one", "one"), combine_orders("tie", "two"), combine_orders("tie", "tie")] == [
        "one",
        "two",
        "tie",
    ]
    assert combine_orders("one", "two") is None
