"""The same outcomes scored again with other attributes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge.analysis.agree import agree
from editgauge.analysis.evaluators.robustness import lists_alike, rouge_l
from editgauge.benchmarks.attributes import Attributes
from editgauge.errors import BadInputError
from editgauge.results import JournalEntry

MakeRun = Callable[..., Path]
Make = Callable[..., JournalEntry]
EDITS = 10
PHRASES = st.lists(st.lists(st.sampled_from(["red", "cap", "tan", "dog"]), min_size=1).map(" ".join), min_size=1)


def scored_again(make_run: MakeRun, make_record: Make, name: str, shift: float, wrong: int = 0) -> Path:
    """`gain` moves up by `shift` at every second edit, and prefers b on the first `wrong` edits; `loss` never moves."""
    return make_run(
        *(
            make_record(
                f"e{edit}",
                {"gain": 0.3 + 0.1 * (method == ("b" if edit < wrong else "a")) + shift * (edit % 2), "loss": 0.1},
                method=method,
                place=edit,
                source=f"{edit}.png",
            )
            for edit in range(EDITS)
            for method in ("a", "b")
        ),
        name=name,
    )


def test_scores_and_agreement_move_as_far_as_they_were_moved(
    make_run: MakeRun, make_record: Make, tmp_path: Path
) -> None:
    runs = [scored_again(make_run, make_record, f"run{n}", 0.2 * n, wrong=n) for n in range(3)]
    told = [{"edit": f"e{n}", "first": "a", "second": "b", "chosen": "first"} for n in range(EDITS)]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(each) + "\n" for each in told))
    found = agree(runs[0], choices=tmp_path / "c.jsonl", rerun=runs[1:])
    gain, loss = found.steadiness
    assert (gain.score, gain.runs, gain.outcomes) == ("toy/gain", 3, 2 * EDITS)
    (moved,) = gain.agreement
    assert moved.values == pytest.approx((1.0, 0.9, 0.8))
    assert moved.variance == pytest.approx(np.var([1.0, 0.9, 0.8], ddof=1))
    assert moved.deviation == pytest.approx(0.1)
    assert loss.variance is not None
    assert loss.variance.value == pytest.approx(0, abs=1e-12)
    assert loss.of_all is None
    assert found.attributes == (), "these edits bring no attributes"


def test_the_variance_of_a_score_over_runs(make_run: MakeRun, make_record: Make) -> None:
    """Half of the outcomes have 0.3, 0.5, 0.7, whose variance is 0.04; the others stay where they are."""
    runs = [scored_again(make_run, make_record, f"run{n}", 0.2 * n) for n in range(3)]
    gain = agree(runs[0], choices=_choices(runs[0].parent), rerun=runs[1:]).steadiness[0]
    assert gain.variance is not None
    assert gain.variance.value == pytest.approx(0.02)
    values = np.array([[0.3 + 0.1 * a + 0.2 * n * odd for n in range(3)] for a in (0, 1) for odd in (0, 1)])
    assert gain.of_all == pytest.approx(values.var(axis=1).mean() / values.var())


def _choices(folder: Path) -> Path:
    (folder / "c.jsonl").write_text(json.dumps({"edit": "e0", "first": "a", "second": "b", "chosen": "first"}) + "\n")
    return folder / "c.jsonl"


def test_runs_without_a_common_score_cannot_be_compared(make_run: MakeRun, make_record: Make, tmp_path: Path) -> None:
    run = scored_again(make_run, make_record, "run", 0.0)
    other = make_run(make_record("e0", {"gain": "refused", "loss": "refused"}, method="a"), name="other")
    with pytest.raises(BadInputError, match="no score in common"):
        agree(run, choices=_choices(tmp_path), rerun=[other])


def test_attributes_in_another_order_are_alike_one_by_one_but_not_as_a_text() -> None:
    joined, each = rouge_l(["red cap", "tan shorts", "low ledge"], ["low ledge", "red cap", "tan shorts"])
    assert each == 1.0
    assert joined == pytest.approx(4 / 6), "the longest common run of words in order is 'red cap tan shorts'"
    assert rouge_l(["red cap"], ["green field"]) == (0.0, 0.0)


@given(PHRASES, PHRASES)
def test_rouge_l_is_the_same_both_ways_and_one_only_for_the_same_words(one: list[str], two: list[str]) -> None:
    there, back = rouge_l(one, two), rouge_l(two, one)
    assert there == pytest.approx(back)
    assert all(0 <= value <= 1 for value in there)
    assert rouge_l(one, one) == pytest.approx((1.0, 1.0))


def test_lists_of_three_seeds_are_compared_two_by_two() -> None:
    seeds = [
        {"e0": Attributes(("red cap",), ("black cat",)), "e1": Attributes(("dog",), ("cat",))},
        {"e0": Attributes(("red cap",), ("black dog",))},
        {"e0": Attributes(("red cap",), ("white dog",)), "once": Attributes(("sky",), ("sea",))},
    ]
    source, target = lists_alike(seeds)
    assert (source.side, source.edits, source.joined.n, source.joined.value) == ("source", 1, 3, 1.0)
    assert target.joined.value == pytest.approx((0.5 + 0 + 0.5) / 3)
    assert lists_alike([{"once": Attributes(("sky",), ("sea",))}]) == []
