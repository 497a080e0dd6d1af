"""Comparing two methods: on the edits both have, clustered by source, in the direction of the score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from editgauge.analysis.compare import Comparison, compare
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import JournalEntry, Run

Make = Callable[..., JournalEntry]
MakeRun = Callable[..., Path]


def by_name(comparisons: Sequence[Comparison]) -> dict[str, Comparison]:
    return {item.spec.name: item for item in comparisons}


@pytest.fixture
def clear(make_run: MakeRun, make_record: Make) -> Path:
    """Thirty edits of thirty sources; `mine` has 0.2 more of both scores, give or take."""
    random = np.random.default_rng(0)
    records = []
    for place in range(30):
        base, extra = random.uniform(0.2, 0.5), random.uniform(0.1, 0.3)
        for method, plus in (("mine", extra), ("theirs", 0.0)):
            scores = {"gain": base + plus, "loss": base + plus}
            records.append(make_record(f"e{place}", scores, method=method, place=place, source=f"{place}.png"))
    return make_run(*records)


def test_a_clear_difference_is_told_in_the_direction_of_the_score(clear: Path) -> None:
    result = by_name(compare(clear, methods=("mine", "theirs")))

    for item in result.values():
        assert item.difference is not None
        assert item.difference.value is not None
        assert 0.15 < item.difference.value < 0.25
        assert item.difference.low is not None
        assert item.difference.low > 0
        assert item.p is not None
        assert item.p < 0.001
        assert item.first_mean is not None
        assert item.second_mean is not None
        assert item.first_mean - item.second_mean == pytest.approx(item.difference.value)
    assert result["gain"].verdict == "first"
    assert result["loss"].verdict == "second"


def test_swapping_the_methods_swaps_everything(clear: Path) -> None:
    forth, back = (
        by_name(compare(clear, methods=methods))["gain"] for methods in (("mine", "theirs"), ("theirs", "mine"))
    )

    assert forth.difference is not None
    assert forth.difference.value is not None
    assert back.difference is not None
    assert back.difference.value == -forth.difference.value
    assert (back.first_mean, back.second_mean, back.p) == (forth.second_mean, forth.first_mean, forth.p)
    assert back.verdict == "second"


def test_the_correction_for_the_scores_shown_stands_beside_the_verdict(clear: Path) -> None:
    gain, loss = compare(clear, methods=("mine", "theirs"))
    (alone,) = compare(clear, methods=("mine", "theirs"), score=["gain"])
    assert gain.p == alone.p == alone.p_over_scores
    assert gain.p_over_scores == pytest.approx(2 * (gain.p or 0))
    assert loss.p_over_scores is not None


def test_only_edits_that_both_have_are_compared(make_run: MakeRun, make_record: Make) -> None:
    folder = make_run(
        make_record("both", {"gain": 0.9}),
        make_record("both", {"gain": 0.1}, method="theirs"),
        make_record("mine-only", {"gain": 1.0}, place=1),
        make_record("mine-scored", {"gain": 1.0}, place=2),
        make_record("mine-scored", {"gain": "crashed"}, place=2, method="theirs"),
        make_record("theirs-only", {"gain": 1.0}, place=3, method="theirs"),
    )
    gain, loss = compare(folder, methods=("mine", "theirs"), score=["*"])

    assert gain.difference is not None
    assert gain.difference.value == pytest.approx(0.8)
    assert (gain.difference.n, gain.only_first, gain.only_second) == (1, 2, 1)
    assert (gain.first_mean, gain.second_mean) == (0.9, 0.1)
    assert gain.p is None
    assert gain.verdict == "neither"
    assert (loss.difference, loss.p, loss.verdict) == (None, None, "neither")


def test_edits_are_paired_whatever_the_seeds(make_run: MakeRun, make_record: Make) -> None:
    """Seed 7 of one method has nothing to do with seed 7 of another: the mean over its seeds is what a method did."""
    folder = make_run(
        make_record("a", {"gain": 0.2}, seed=1),
        make_record("a", {"gain": 0.4}, seed=2),
        make_record("a", {"gain": 0.1}, seed=77, method="theirs"),
        make_record("b", {"gain": 0.5}, seed=1, place=1, source="dog.png"),
        make_record("b", {"gain": "crashed"}, seed=2, place=1, source="dog.png"),
        make_record("b", {"gain": 0.1}, seed=77, place=1, source="dog.png", method="theirs"),
    )
    gain = compare(folder, methods=("mine", "theirs"))[0]

    assert gain.difference is not None
    assert gain.difference.value == pytest.approx((0.2 + 0.4) / 2)
    assert (gain.difference.n, gain.difference.clusters, gain.only_first, gain.only_second) == (2, 2, 0, 0)


def test_scores_of_one_source_are_one_cluster(make_run: MakeRun, make_record: Make) -> None:
    records = [
        make_record(f"e{place}", {"gain": value}, method=method, place=place, source="the-only.png")
        for method, value in (("mine", 0.9), ("theirs", 0.1))
        for place in range(20)
    ]
    gain = compare(make_run(*records), methods=("mine", "theirs"))[0]

    assert gain.difference is not None
    assert (gain.difference.n, gain.difference.clusters, gain.difference.low) == (20, 1, None)
    assert gain.verdict == "neither"


def test_methods_that_do_the_same_are_not_told_apart(make_run: MakeRun, make_record: Make) -> None:
    records = [
        make_record(f"e{place}", {"gain": place / 30}, method=method, place=place, source=f"{place}.png")
        for method in ("mine", "theirs")
        for place in range(30)
    ]
    gain = compare(make_run(*records), methods=("mine", "theirs"))[0]

    assert gain.p == 1
    assert gain.verdict == "neither"


def test_an_unknown_method_gets_a_suggestion(clear: Path) -> None:
    with pytest.raises(
        UnknownNameError,
        match=r"no method in this run called 'thiers'\. Did you mean 'theirs'\? There are: mine, theirs\.",
    ):
        compare(clear, methods=("mine", "thiers"))


@pytest.mark.parametrize("methods", [["mine", "mine"], ["mine"], [], ["mine", "theirs", "mine"]])
def test_two_different_methods_are_needed(methods: list[str], clear: Path) -> None:
    with pytest.raises(BadInputError, match="different methods"):
        compare(clear, methods=methods)


def test_without_names_all_methods_are_compared(clear: Path) -> None:
    first, second = Run.open(clear).manifest.methods
    assert compare(clear) == compare(clear, methods=(first, second))


@pytest.fixture
def three(make_run: MakeRun, make_record: Make) -> Path:
    """Twenty edits; `a` is best, `c` worst, and both scores say so."""
    random = np.random.default_rng(1)
    levels = {"a": 0.8, "b": 0.5, "c": 0.2}
    records = [
        make_record(
            f"e{n}",
            {"gain": level + random.uniform(-0.1, 0.1), "loss": 1 - level},
            method=method,
            place=n,
            source=f"{n}",
        )
        for n in range(20)
        for method, level in levels.items()
    ]
    return make_run(*records)


def test_several_methods_are_compared_in_all_pairs(three: Path) -> None:
    comparisons = compare(three, score=["gain"])
    assert [(item.first, item.second, item.verdict) for item in comparisons] == [
        ("a", "b", "first"),
        ("a", "c", "first"),
        ("b", "c", "first"),
    ]
    assert compare(three, methods=["c", "a", "b"], score=["gain"])[0].verdict == "second"


def test_a_pair_has_the_same_result_alone_and_among_others(three: Path) -> None:
    among = next(item for item in compare(three, score=["gain"]) if (item.first, item.second) == ("a", "b"))
    (alone,) = compare(three, methods=("a", "b"), score=["gain"])
    assert (among.p, among.difference) == (alone.p, alone.difference)


def test_comparisons_become_a_frame_with_a_row_per_pair_and_score(three: Path) -> None:
    pandas = pytest.importorskip("pandas")
    comparisons = compare(three)
    frame = comparisons.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == len(comparisons) == 6
    assert {"protocol", "score", "first", "second", "difference", "low", "high", "p", "better", "n"} <= set(frame)
    assert set(frame["better"]) == {"a", "b"}


def test_methods_of_several_runs_are_compared(make_run: MakeRun, make_record: Make) -> None:
    runs = []
    for name, gain in (("old", 0.4), ("new", 0.6)):
        records = [make_record(f"e{n}", {"gain": gain + n / 1000}, place=n, source=f"{n}.png") for n in range(20)]
        runs.append(make_run(*records, name=name))

    comparison = by_name(compare([runs[0], Run(runs[1])]))["gain"]
    assert (comparison.first, comparison.second) == ("mine (old)", "mine (new)")
    assert comparison.difference is not None
    assert comparison.difference.value == pytest.approx(-0.2)
    assert comparison.verdict == "second"
