"""Choices between methods: strengths, who beats whom, and what cannot be determined."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Literal

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from editgauge.analysis.preferences import PairAnswer, PairwisePreferences, elo, fit_together, pairwise
from editgauge.analysis.ratings import PreferredOutcome

Random = np.random.Generator
TRUE = {"a": 0.9, "b": 0.3, "c": -0.2, "d": -1.0}


def world(
    random: Random, edits: int, strengths: dict[str, float], *, spread: float = 0.0
) -> tuple[list[PreferredOutcome], list[str]]:
    """Choices between any two methods on every edit; with a spread, methods do better on some edits than on others."""
    choices: list[PreferredOutcome] = []
    for edit in range(edits):
        here = {name: value + spread * random.normal() for name, value in strengths.items()}
        for first, second in combinations(strengths, 2):
            odds = np.exp(here[first] - here[second])
            chosen: Literal["first", "second"] = "first" if random.random() < odds / (1 + odds) else "second"
            choices.append(PreferredOutcome(f"edit-{edit}", first, second, chosen))
    return choices, [choice.edit for choice in choices]


def values(found: PairwisePreferences) -> dict[str, float | None]:
    return {name: strength.value for name, strength in found.strengths.items()}


def of(*told: str) -> PairwisePreferences:
    """Choices written as `a>b`, or `a=b` for a tie; each of an edit of its own."""
    choices = []
    for place, words in enumerate(told):
        chosen: Literal["tie", "first"] = "tie" if "=" in words else "first"
        choices.append(PreferredOutcome(str(place), words[0], words[2], chosen))
    return pairwise(choices, [choice.edit for choice in choices])


def test_strengths_are_those_by_hand() -> None:
    """Two methods, three to one: the odds are 3, so the strengths are half of log 3 apart from zero."""
    found = of("a>b", "a>b", "a>b", "b>a")
    assert found.strengths["a"].value == pytest.approx(np.log(3) / 2)
    assert found.strengths["b"].value == pytest.approx(-np.log(3) / 2)
    assert found.wins["a", "b"].value == pytest.approx(0.75)
    assert found.wins["b", "a"].value == pytest.approx(0.25)


def test_a_tie_is_half_a_win_for_each() -> None:
    assert values(of("a=b", "a>b")) == pytest.approx(values(of("a>b", "a>b", "a>b", "b>a")))
    assert of("a=b").strengths["a"].value == pytest.approx(0)
    assert of("a=b", "a>b").ties == 1


def test_true_strengths_are_recovered() -> None:
    choices, sources = world(np.random.default_rng(0), 1500, TRUE)
    found = pairwise(choices, sources, resamples=500)
    for name, truth in TRUE.items():
        strength = found.strengths[name]
        assert strength.value == pytest.approx(truth, abs=0.1)
        assert strength.low is not None
        assert strength.high is not None
        assert strength.low < strength.value < strength.high  # type: ignore[operator]
        assert strength.high - strength.low < 0.25


def test_a_method_that_never_lost_has_no_strength_and_the_others_keep_theirs() -> None:
    among = ("a>b", "b>a", "b>c", "c>a", "a>b")
    found = of(*among, "z>a", "z>b", "z>c")
    assert found.strengths["z"].value is None
    assert found.strengths["z"].reason == "never lost to the others: its strength has no upper end"
    assert values(found)["a"] == pytest.approx(values(of(*among))["a"]), "as if it were infinitely strong"
    assert found.won["z"].value == 1
    never = of(*among, "a>z")
    assert never.strengths["z"].reason == "never won against the others: its strength has no lower end"


def test_methods_that_were_never_compared_are_not_ordered() -> None:
    found = of("a>b", "b>a", "c>d", "d>c")
    assert set(values(found).values()) == {None}
    assert ("a", "c") not in found.wins
    alone = of("a>b", "b>a", "b>c", "c>b", "x>y", "y>x")
    assert alone.strengths["a"].value is not None
    assert alone.strengths["x"].reason == "never compared with those that have one"


def test_without_any_upset_there_are_shares_and_no_strengths() -> None:
    found = of("a>b", "b>c", "a>c", "a>b")
    assert set(values(found).values()) == {None}
    assert found.strengths["a"].reason.startswith("never lost")
    assert found.strengths["b"].reason.startswith("too few upsets")
    assert found.wins["a", "b"].value == 1


def test_one_source_image_gives_no_interval() -> None:
    choices = [PreferredOutcome("e", "a", "b", "first"), PreferredOutcome("e", "a", "b", "second")]
    found = pairwise(choices, ["same", "same"])
    assert found.strengths["a"].value == pytest.approx(0)
    assert found.strengths["a"].low is None


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from(["first", "second", "tie"])))
)
def test_whoever_stands_first_does_not_matter(
    told: Sequence[tuple[str, str, Literal["first", "second", "tie"]]],
) -> None:
    choices = [PreferredOutcome(str(place), *one) for place, one in enumerate(told) if one[0] != one[1]]
    if not choices:
        return
    turned: dict[str, Literal["first", "second", "tie"]] = {"first": "second", "second": "first", "tie": "tie"}
    other = [PreferredOutcome(one.edit, one.second, one.first, turned[one.choice]) for one in choices]
    sources = [choice.edit for choice in choices]
    here, there = (pairwise(each, sources) for each in (choices, other))
    for name in here.methods:
        one, same = here.strengths[name].value, there.strengths[name].value
        assert one == (None if same is None else pytest.approx(same, abs=1e-6))
    strengths = [value for value in values(here).values() if value is not None]
    assert sum(strengths) == pytest.approx(0, abs=1e-6)


def test_draws_are_fitted_as_the_library_fits_them() -> None:
    random = np.random.default_rng(3)
    tables = random.integers(0, 4, size=(60, 5, 5)).astype(np.float64) * (1 - np.eye(5))
    fitted = fit_together(tables, np.zeros(5))
    decided = ~np.isnan(fitted).any(axis=1)
    assert 30 <= decided.sum() < 60, "some tables decide nothing, and that is said"
    for table, strengths in zip(tables[decided], fitted[decided], strict=True):
        assert strengths == pytest.approx(choix.ilsr_pairwise_dense(table, max_iter=1000), abs=1e-5)
    for table in tables[~decided]:
        assert connected_components(table > 0, directed=True, connection="strong")[0] > 1


@pytest.mark.slow
@pytest.mark.parametrize("edits", [20, 60])
def test_intervals_hold_the_true_strength(edits: int) -> None:
    """Methods do better on some edits than on others, which flattens strengths: the truth is that of many edits."""
    truth = values(pairwise(*world(np.random.default_rng(1), 20_000, TRUE, spread=1.0), resamples=2))
    random, worlds = np.random.default_rng(edits), 250
    hits = 0
    for _ in range(worlds):
        found = pairwise(*world(random, edits, TRUE, spread=1.0), resamples=400)
        for name, strength in found.strengths.items():
            value = truth[name]
            assert value is not None
            hits += strength.low is not None and strength.high is not None and strength.low <= value <= strength.high
    assert 0.92 <= hits / (worlds * len(TRUE)) <= 0.98


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
        PairAnswer(each.question, each.source, each.second, each.first, turned[each.choice]) for each in _answers()
    ]
    values, others = (elo(some, resamples=2) for some in (_answers(), swapped))
    assert [each.value for each in values.values()] == pytest.approx([each.value for each in others.values()], abs=0.05)


def test_as_many_wins_as_losses_are_a_thousand_and_who_never_loses_has_an_end() -> None:
    even = [PairAnswer("", f"p{n}", "a", "b", ("first", "second", "tie")[n % 3]) for n in range(12)]
    assert [each.value for each in elo(even, resamples=2).values()] == pytest.approx([1000, 1000])
    won = elo([PairAnswer("", f"p{n}", "a", "b", "first") for n in range(12)], resamples=2)
    assert list(won) == ["a", "b"]
    assert 1100 < (won["a"].value or 0) < 1400
