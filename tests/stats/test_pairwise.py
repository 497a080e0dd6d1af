"""Places of methods: by hand, in laws, and of a run. What the intervals promise is simulated elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from editgauge._stats.intervals import MIN_SOURCES, Numbers
from editgauge._stats.pairwise import compare_with_first, complementarity, differences, paired_difference, rank_methods
from editgauge.analysis.agree import agree
from editgauge.analysis.significance import RunTests
from editgauge.analysis.summary import ALL
from editgauge.results import JournalEntry, Run


def table(*columns: list[float], better: bool = True) -> list[str]:
    """A column of scores per method, a row per source image."""
    values = np.array(columns).T
    sources, methods = values.shape
    result = rank_methods(
        values.ravel(),
        np.tile(np.arange(methods), sources),
        *[np.repeat(np.arange(sources), methods)] * 2,
        higher_is_better=better,
        scale=(0.0, 1.0),
    )
    return [str(item) for item in result]


def test_clear_places() -> None:
    random = np.random.default_rng(0)
    good, fair, poor = ([float(mean + random.normal() * 0.05) for _ in range(30)] for mean in (0.9, 0.5, 0.1))
    assert table(fair, good, poor) == ["2 [2-2]", "1 [1-1]", "3 [3-3]"]
    assert table(fair, good, poor, better=False) == ["2 [2-2]", "3 [3-3]", "1 [1-1]"]


def test_methods_that_do_the_same_share_a_place_and_may_have_either() -> None:
    same = [0.1, 0.5, 0.3, 0.9, 0.2, 0.4, 0.8] * 2
    assert table(same, same) == ["1 [1-2]", "1 [1-2]"]


def test_a_difference_that_never_varies_is_significant_when_unseen_images_could_not_undo_it() -> None:
    """Of 14 images that agree, up to a fifth of all others may not."""
    some = [0.7, 0.5, 0.6, 0.9, 0.8, 0.6, 0.8] * 2
    assert table(some, [item - 0.4 for item in some]) == ["1 [1-1]", "2 [2-2]"]
    assert table(some, [item - 0.1 for item in some]) == ["1 [1-2]", "2 [1-2]"]


def test_pairing_by_source_image_tells_methods_apart_that_their_means_do_not() -> None:
    random = np.random.default_rng(1)
    hard = random.normal(size=40)
    assert table(list(hard + 0.1 + random.normal(size=40) * 0.05), list(hard)) == ["1 [1-1]", "2 [2-2]"]


def test_few_source_images_leave_every_place_possible() -> None:
    rows = MIN_SOURCES - 1
    assert table([0.9] * rows, [0.1] * rows) == ["1 [1-2]", "2 [1-2]"]


def test_one_method_and_none() -> None:
    assert table([0.3, 0.4]) == ["1 [1-1]"]
    assert rank_methods(*[np.array([])] * 4) == []


@given(st.integers(2, 5), st.integers(2, 16), st.integers(0, 1000))
def test_the_place_lies_in_its_interval_and_intervals_in_the_field(methods: int, sources: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    values, who = random.choice(5, size=methods * sources) / 4, np.tile(np.arange(methods), sources)
    for rank_method in rank_methods(values, who, *[np.repeat(np.arange(sources), methods)] * 2):
        assert 1 <= rank_method.low <= rank_method.value <= rank_method.high <= rank_method.methods == methods


def test_of_a_run_by_edit_type(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]) -> None:
    random = np.random.default_rng(2)
    records = []
    for place in range(40):
        kind = ("color", "size")[place % 2]
        for method, plus in (("mine", 0.3), ("theirs", 0.0)):
            gain = 0.3 + random.uniform(0, 0.1) + (plus if kind == "color" else 0)
            scores: dict[str, float | str] = {"gain": gain, "loss": 0.5 if method == "mine" else "crashed"}
            records.append(
                make_record(f"e{place}", scores, method=method, place=place, source=f"{place}", edit_type=kind)
            )
    result = RunTests(Run.open(make_run(*records))).ranks(["color", "size", ALL])
    assert str(result["toy", "gain", "color", "mine"]) == "1 [1-1]"
    assert result["toy", "gain", "size", "mine"].high == 2
    assert str(result["toy", "gain", ALL, "theirs"]) == "2 [2-2]"
    assert str(result["toy", "loss", ALL, "mine"]) == "1 [1-1]"
    assert ("toy", "loss", ALL, "theirs") not in result


def test_a_method_with_scores_of_a_single_source_image_is_not_placed_for_sure() -> None:
    values = np.concatenate([np.random.default_rng(3).uniform(0, 0.1, size=20), [0.9]])
    result = rank_methods(values, np.array(["a"] * 20 + ["b"]), *[np.append(np.arange(20), 0)] * 2)
    assert [(item.low, item.high) for item in result] == [(1, 2), (1, 2)]
    assert [item.value for item in result] == pytest.approx([2, 1])


def credits_of(only_first: int, only_second: int, both: int) -> tuple[Numbers, Numbers]:
    first = np.array([1.0] * only_first + [0.0] * only_second + [1.0] * both)
    second = np.array([0.0] * only_first + [1.0] * only_second + [1.0] * both)
    return first, second


@pytest.mark.parametrize(("only_first", "only_second"), [(9, 1), (12, 5), (6, 6), (3, 0)])
def test_with_one_question_per_image_it_is_mcnemars_exact_test(only_first: int, only_second: int) -> None:
    first, second = credits_of(only_first, only_second, both=10)
    result = paired_difference(first, second, np.arange(first.size))
    exact = stats.binomtest(only_first, only_first + only_second).pvalue
    assert result is not None
    assert result.p == pytest.approx(exact)
    assert (result.only_first, result.only_second) == (only_first, only_second)
    assert result.difference.value == pytest.approx((only_first - only_second) / first.size)


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
    result = paired_difference(first, second, np.arange(3))
    assert result is not None
    assert (result.difference.n, result.only_first, result.only_second, result.p) == (1, 1, 0, None)
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
    over_fair, over_poor = compare_with_first([("good", good), ("fair", fair), ("poor", poor)], np.arange(10))
    assert [over_fair.second, over_poor.second] == ["fair", "poor"]
    assert over_poor.p is not None
    assert over_poor.adjusted == pytest.approx(2 * over_poor.p)
    assert over_fair.adjusted == over_fair.p
    assert compare_with_first([], np.arange(0)) == ()


credit = st.lists(st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 2), min_size=1, max_size=30)


@given(credit)
def test_the_four_cases_are_all_there_are(earned: list[tuple[float, float]]) -> None:
    first, second = np.array(earned).T
    result = complementarity(first, second)
    four = [result.both, result.only_first, result.only_second, result.neither]
    assert sum(item.value for item in four) == pytest.approx(1)
    assert result.both.value + result.only_first.value == pytest.approx(first.mean())
    assert result.both.value + result.only_second.value == pytest.approx(second.mean())
    assert result.oracle.value >= max(first.mean(), second.mean()) - 1e-12


def test_an_evaluator_adds_nothing_to_itself() -> None:
    result = complementarity([1, 0, 1, 1], [1, 0, 1, 1], average=[1, 0, 1, 1])
    assert (result.only_first.value, result.only_second.value, result.oracle.value) == (0, 0, 0.75)
    assert result.average is not None
    assert result.average.value == 0.75


def test_lists_of_two_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(1,\)"):
        complementarity([1, 0], [1])


def test_two_scores_that_know_different_things_are_better_together(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    """People weigh two things alike; each score knows one of them."""
    random = np.random.default_rng(0)
    records, choices = [], []
    for edit in range(80):
        one, two = random.uniform(size=(2, 2))
        for place, method in enumerate(("mine", "theirs")):
            scores = {"gain": float(one[place]), "loss": float(1 - two[place])}
            records.append(make_record(f"e{edit}", scores, method=method, place=edit, source=f"{edit}.png"))
        better = "first" if one[0] + two[0] > one[1] + two[1] else "second"
        choices.append(json.dumps({"edit": f"e{edit}", "first": "mine", "second": "theirs", "chosen": better}))
    (tmp_path / "choices.jsonl").write_text("\n".join(choices))
    chosen = agree(make_run(*records), choices=tmp_path / "choices.jsonl").choice_scores
    assert chosen is not None
    (pair,) = chosen.pairs
    shares = {f"{score.protocol}/{score.spec.name}": score.share.value for score in chosen.scores if score.share}
    assert pair.average is not None
    assert pair.average.value > 0.95 > max(shares.values()) > 0.6
    assert pair.neither.value == 0, "what both get wrong, people would have to get wrong too"
    assert (pair.both.value + pair.only_first.value) == pytest.approx(shares[pair.first])


@pytest.mark.parametrize(("scale", "high"), [((0.0, 1.0), 0.05), ((0.0, 100.0), 40.0), ((0.0, np.inf), 40.0)])
def test_identical_methods_differ_by_zero_within_the_observed_range(scale: tuple[float, float], high: float) -> None:
    values = np.linspace(0.01, high, 12)
    (pair,) = differences(np.stack([values, values]), np.arange(12), scale)

    assert pair.value == 0
    assert pair.low is not None
    assert pair.high is not None
    assert pair.low == -pair.high
    assert 0 < pair.high < high / 3
    assert not pair.significant
