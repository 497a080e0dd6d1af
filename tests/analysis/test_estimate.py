"""The mean rating of each method: matched to outcomes, averaged over raters, helped by the score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from editgauge.analysis.estimate import estimate
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import JournalEntry

Make = Callable[..., JournalEntry]
MakeRun = Callable[..., Path]


@pytest.fixture
def rated(make_run: MakeRun, make_record: Make, tmp_path: Path) -> tuple[Path, Path]:
    """120 edits of 60 sources; people rate every fourth edit of `mine` from 1 to 5, twice; both scores follow them."""
    random = np.random.default_rng(0)
    records, lines = [], ["edit,method,value,rater"]
    for place in range(120):
        good = random.uniform()
        scores = {"gain": min(1.0, max(0.0, good + random.normal(0, 0.05))), "loss": 1 - good}
        records.append(make_record(f"e{place}", scores, place=place, source=f"{place // 2}.png"))
        records.append(make_record(f"e{place}", scores, place=place, source=f"{place // 2}.png", method="theirs"))
        if place % 4 == 0:
            lines += [f"e{place},mine,{1 + 4 * good + shift},{rater}" for rater, shift in (("ann", 0.2), ("bob", -0.2))]
    ratings = tmp_path / "ratings.csv"
    ratings.write_text("\n".join(lines))
    return make_run(*records), ratings


@pytest.mark.parametrize("score", ["gain", "toy/loss"])
def test_a_good_score_narrows_the_interval_in_either_direction(rated: tuple[Path, Path], score: str) -> None:
    mine, theirs = estimate(rated[0], ratings=rated[1], score=score)

    assert mine.mean is not None
    assert (mine.mean.labels_alone.n, mine.mean.labels_alone.clusters, mine.mean.n_unlabeled) == (30, 30, 90)
    assert mine.mean.width_ratio is not None
    assert mine.mean.width_ratio < 0.75
    assert 2 < mine.mean.value < 4
    assert mine.notes == ()
    assert (theirs.mean, theirs.notes) == (None, ("no outcome has both a rating and this score",))


def test_one_method_can_be_asked_for(rated: tuple[Path, Path]) -> None:
    assert [each.method for each in estimate(rated[0], ratings=rated[1], score="gain", method="mine")] == ["mine"]
    with pytest.raises(UnknownNameError, match="Did you mean 'mine'"):
        estimate(rated[0], ratings=rated[1], score="gain", method="mien")


def test_rated_outcomes_without_a_score_are_counted(make_run: MakeRun, make_record: Make, tmp_path: Path) -> None:
    folder = make_run(make_record("a", {"gain": 0.5}), make_record("b", {"gain": "crashed"}, place=1))
    ratings = tmp_path / "ratings.jsonl"
    ratings.write_text("".join(f'{{"edit": "{edit}", "method": "mine", "value": 4}}\n' for edit in "ab"))
    (found,) = estimate(folder, ratings=ratings, score="gain")

    assert found.mean is not None
    assert (found.mean.value, found.mean.low, found.unscored) == (4.0, None, 1)
    assert found.notes[1] == "1 rated outcome left out: no score"


def test_strangers_are_told_and_left_out(
    rated: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = tmp_path / "more.csv"
    more.write_text(rated[1].read_text() + "\ne0,others,5,ann\n")

    assert estimate(rated[0], ratings=more, score="gain") == estimate(rated[0], ratings=rated[1], score="gain")
    assert "Left out: 1 ratings of no outcome of the run" in capsys.readouterr().err


def test_ratings_of_another_run_are_refused(rated: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("edit,method,value\nx,mine,3\n")

    with pytest.raises(BadInputError, match="of an outcome of this run"):
        estimate(rated[0], ratings=other, score="gain")


def test_a_rating_belongs_to_its_seed(make_run: MakeRun, make_record: Make, tmp_path: Path) -> None:
    folder = make_run(*(make_record("a", {"gain": 0.5}, seed=seed) for seed in (1, 2)))
    ratings = tmp_path / "ratings.csv"

    ratings.write_text("edit,method,value,seed\na,mine,3,2\n")
    (found,) = estimate(folder, ratings=ratings, score="gain")
    assert found.mean is not None
    assert (found.mean.labels_alone.n, found.mean.n_unlabeled) == (1, 1)
    ratings.write_text("edit,method,value\na,mine,3\n")
    with pytest.raises(BadInputError, match="several seeds"):
        estimate(folder, ratings=ratings, score="gain")


def test_two_questions_are_not_mixed(rated: tuple[Path, Path], tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.csv"
    mixed.write_text("edit,method,value,question\ne0,mine,3,quality\ne0,mine,1,success\n")

    with pytest.raises(BadInputError, match="choose one with --question"):
        estimate(rated[0], ratings=mixed, score="gain")
    with pytest.raises(BadInputError, match="no ratings for the question 'beauty'"):
        estimate(rated[0], ratings=mixed, score="gain", question="beauty")
    for question, value in {"quality": 3, "success": 1}.items():
        (found,) = estimate(rated[0], ratings=mixed, score="gain", method="mine", question=question)
        assert found.mean is not None
        assert found.mean.labels_alone.value == value
