"""Two evaluators together: who agrees with people where the other does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._stats.paired import complementarity
from editgauge.analysis.agree import agree
from editgauge.results import JournalEntry

credit = st.lists(st.tuples(*[st.sampled_from([0.0, 0.5, 1.0])] * 2), min_size=1, max_size=30)


@given(credit)
def test_the_four_cases_are_all_there_are(earned: list[tuple[float, float]]) -> None:
    first, second = np.array(earned).T
    found = complementarity(first, second)
    four = [found.both, found.only_first, found.only_second, found.neither]
    assert sum(each.value for each in four) == pytest.approx(1)
    assert found.both.value + found.only_first.value == pytest.approx(first.mean())
    assert found.both.value + found.only_second.value == pytest.approx(second.mean())
    assert found.oracle.value >= max(first.mean(), second.mean()) - 1e-12


def test_an_evaluator_adds_nothing_to_itself() -> None:
    found = complementarity([1, 0, 1, 1], [1, 0, 1, 1], average=[1, 0, 1, 1])
    assert (found.only_first.value, found.only_second.value, found.oracle.value) == (0, 0, 0.75)
    assert found.average is not None
    assert found.average.value == 0.75


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
    chosen = agree(make_run(*records), choices=tmp_path / "choices.jsonl").chosen
    assert chosen is not None
    (pair,) = chosen.pairs
    shares = {f"{each.protocol}/{each.spec.name}": each.share.value for each in chosen.scores if each.share}
    assert pair.average is not None
    assert pair.average.value > 0.95 > max(shares.values()) > 0.6
    assert pair.neither.value == 0, "what both get wrong, people would have to get wrong too"
    assert (pair.both.value + pair.only_first.value) == pytest.approx(shares[pair.first])
