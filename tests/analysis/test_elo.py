"""Elo from choices with ties, as GEditBench v2's script gives it."""

from __future__ import annotations

import pytest

from editgauge.analysis.people.elo import PairAnswer, elo

METHODS = "abcd"


def _answers() -> list[PairAnswer]:
    """Four methods, two questions with different numbers of prompts; made by a rule, so that anyone can repeat it."""
    answers = []
    for question, prompts in (("following", 40), ("quality", 25)):
        for prompt in range(prompts):
            for one in range(4):
                for two in range(one + 1, 4):
                    drawn = (7 * prompt + 3 * one + 5 * two + len(question) * prompt * one) % 11
                    chosen = "first" if drawn < 5 else "second" if drawn < 9 else "tie"
                    answers.append(PairAnswer(question, f"p{prompt}", METHODS[one], METHODS[two], chosen))
    return answers


def test_it_is_the_number_of_the_authors_script() -> None:
    """Expected: what `calculate_joint_leaderboard` of the public repository fits on these answers."""
    found = elo(_answers(), resamples=20)
    assert {name: each.value for name, each in found.items()} == pytest.approx(
        {"a": 1026.441, "b": 1006.310, "c": 992.744, "d": 974.504}, abs=0.02
    )
    assert {each.n for each in found.values()} == {3 * 65}
    for each in found.values():
        assert each.low is not None
        assert each.high is not None
        assert each.value is not None
        assert each.low < each.value < each.high


def test_which_comes_first_in_a_pair_does_not_matter() -> None:
    turned = {"first": "second", "second": "first", "tie": "tie"}
    swapped = [
        PairAnswer(each.question, each.source, each.second, each.first, turned[each.chosen]) for each in _answers()
    ]
    values, others = (elo(some, resamples=2) for some in (_answers(), swapped))
    assert [each.value for each in values.values()] == pytest.approx([each.value for each in others.values()], abs=0.05)


def test_as_many_wins_as_losses_are_a_thousand_and_who_never_loses_has_an_end() -> None:
    even = [PairAnswer("", f"p{n}", "a", "b", ("first", "second", "tie")[n % 3]) for n in range(12)]
    assert [each.value for each in elo(even, resamples=2).values()] == pytest.approx([1000, 1000])
    won = elo([PairAnswer("", f"p{n}", "a", "b", "first") for n in range(12)], resamples=2)
    assert list(won) == ["a", "b"]
    assert 1100 < (won["a"].value or 0) < 1400
