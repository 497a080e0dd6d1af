"""The order of methods by people and by scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from editgauge._stats.resampling import kendall_of_columns
from editgauge.analysis.agree import agree
from editgauge.results import JournalEntry

MakeRun = Callable[..., Path]
Make = Callable[..., JournalEntry]
METHODS = ("best", "middle", "worst")
EDITS = 12


@pytest.fixture
def run(make_run: MakeRun, make_record: Make) -> Path:
    """`gain` has people's order; `loss` calls the last one the best."""
    gains, losses = {"best": 0.9, "middle": 0.6, "worst": 0.2}, {"best": 0.5, "middle": 0.8, "worst": 0.1}
    return make_run(
        *(
            make_record(
                f"e{edit}",
                {"gain": gains[method] + 0.01 * (edit % 5), "loss": losses[method]},
                method=method,
                place=edit,
                source=f"{edit}.png",
            )
            for edit in range(EDITS)
            for method in METHODS
        )
    )


def test_ranks_stand_side_by_side_by_choices(run: Path, tmp_path: Path) -> None:
    order = {"best": 0, "middle": 1, "worst": 2}
    told = [
        {"edit": f"e{edit}", "first": one, "second": two, "chosen": "first" if order[one] < order[two] else "second"}
        for edit in range(EDITS)
        for one, two in (("best", "middle"), ("worst", "best"), ("middle", "worst"))
    ]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps(item) + "\n" for item in told))
    (ranking,) = agree(run, choices=tmp_path / "c.jsonl").rankings
    assert ranking.by == "choices"
    assert {name: str(rank) for name, rank in ranking.people.items()} == {
        "best": "1 [1-1]", "middle": "2 [2-2]", "worst": "3 [3-3]"
    }  # fmt: skip
    assert {name: mean.value for name, mean in ranking.means.items()} == {"best": 1.0, "middle": 0.5, "worst": 0.0}
    gain, loss = ranking.scores
    assert gain.spec.name == "gain"
    assert gain.kendall.value == pytest.approx(1)
    assert gain.spearman.value == pytest.approx(1)
    assert {name: rank.value for name, rank in gain.ranks.items()} == {"best": 1, "middle": 2, "worst": 3}
    assert {name: rank.value for name, rank in loss.ranks.items()} == {"best": 2, "middle": 3, "worst": 1}
    assert loss.kendall.value == pytest.approx(-1 / 3)
    assert gain.kendall.low is not None


def test_ranks_stand_side_by_side_by_ratings(run: Path, tmp_path: Path) -> None:
    rows = [f"e{edit},{method},{3 - place}" for edit in range(EDITS) for place, method in enumerate(METHODS)]
    (tmp_path / "r.csv").write_text("\n".join(["edit,method,value", *rows]) + "\n")
    (ranking,) = agree(run, ratings=tmp_path / "r.csv").rankings
    assert (ranking.by, list(ranking.people)) == ("", list(METHODS))
    assert ranking.scores[0].spec.name == "gain"


def test_one_method_has_no_order(run: Path, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("edit,method,value\n" + "".join(f"e{n},best,{n}\n" for n in range(EDITS)))
    assert agree(run, ratings=tmp_path / "r.csv").rankings == ()


def test_kendall_of_many_draws_is_that_of_each() -> None:
    random = np.random.default_rng(3)
    x, y = random.integers(0, 4, (7, 200)).astype(float), random.integers(0, 4, (7, 200)).astype(float)
    one_by_one = [stats.kendalltau(*columns).statistic for columns in zip(x.T, y.T, strict=True)]
    np.testing.assert_allclose(kendall_of_columns(x, y), one_by_one, atol=1e-12)
