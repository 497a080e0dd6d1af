"""The mean rating of each method: matched to outcomes, averaged over raters, helped by the score."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from editgauge._stats.conformal import acceptance_threshold, high_probability_threshold
from editgauge._stats.prediction_powered import SELECTION_ALPHA, prediction_powered_mean, selection_p
from editgauge.analysis.accept import accept
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
    assert [item.method for item in estimate(rated[0], ratings=rated[1], score="gain", method="mine")] == ["mine"]
    with pytest.raises(UnknownNameError, match="Did you mean 'mine'"):
        estimate(rated[0], ratings=rated[1], score="gain", method="mien")


def test_rated_outcomes_without_a_score_are_counted(make_run: MakeRun, make_record: Make, tmp_path: Path) -> None:
    folder = make_run(make_record("a", {"gain": 0.5}), make_record("b", {"gain": "crashed"}, place=1))
    ratings = tmp_path / "ratings.jsonl"
    ratings.write_text("".join(f'{{"edit": "{edit}", "method": "mine", "value": 4}}\n' for edit in "ab"))
    (result,) = estimate(folder, ratings=ratings, score="gain")

    assert result.mean is not None
    assert (result.mean.value, result.mean.low, result.unscored) == (4.0, None, 1)
    assert result.notes[1] == "1 rated outcome left out: no score"


def test_strangers_are_told_and_left_out(
    rated: tuple[Path, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    more = tmp_path / "more.csv"
    more.write_text(rated[1].read_text() + "\ne0,others,5,ann\n")

    assert estimate(rated[0], ratings=more, score="gain") == estimate(rated[0], ratings=rated[1], score="gain")
    assert "Left out: 1 ratings of no outcome of the run" in caplog.text


def test_ratings_of_another_run_are_refused(rated: tuple[Path, Path], tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text("edit,method,value\nx,mine,3\n")

    with pytest.raises(BadInputError, match="of an outcome of this run"):
        estimate(rated[0], ratings=other, score="gain")


def test_a_rating_belongs_to_its_seed(make_run: MakeRun, make_record: Make, tmp_path: Path) -> None:
    folder = make_run(*(make_record("a", {"gain": 0.5}, seed=seed) for seed in (1, 2)))
    ratings = tmp_path / "ratings.csv"

    ratings.write_text("edit,method,value,seed\na,mine,3,2\n")
    (result,) = estimate(folder, ratings=ratings, score="gain")
    assert result.mean is not None
    assert (result.mean.labels_alone.n, result.mean.n_unlabeled) == (1, 1)
    ratings.write_text("edit,method,value\na,mine,3\n")
    with pytest.raises(BadInputError, match="several seeds"):
        estimate(folder, ratings=ratings, score="gain")


def test_two_questions_are_not_mixed(rated: tuple[Path, Path], tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.csv"
    mixed.write_text("edit,method,value,question\ne0,mine,3,quality\ne0,mine,1,success\n")

    with pytest.raises(BadInputError, match="several questions"):
        estimate(rated[0], ratings=mixed, score="gain")
    with pytest.raises(BadInputError, match="no ratings for the question 'beauty'"):
        estimate(rated[0], ratings=mixed, score="gain", question="beauty")
    for question, value in {"quality": 3, "success": 1}.items():
        (result,) = estimate(rated[0], ratings=mixed, score="gain", method="mine", question=question)
        assert result.mean is not None
        assert result.mean.labels_alone.value == value


@pytest.fixture
def world(make_run: MakeRun, make_record: Make, tmp_path: Path) -> Callable[[str], tuple[Path, Path]]:
    """200 outcomes with a score that follows people; 60 of them rated: the best, or a random lot."""

    def make(which: str) -> tuple[Path, Path]:
        random = np.random.default_rng(0)
        gains = random.uniform(size=200)
        given = np.clip(np.round(1 + 2 * gains + random.normal(0, 0.4, size=200)), 1, 3)
        rated = np.argsort(-gains)[:60] if which == "best" else random.permutation(200)[:60]
        records = [
            make_record(f"e{i}", {"gain": float(gain)}, method="m", place=i, source=f"{i}.png")
            for i, gain in enumerate(gains)
        ]
        lines = ["edit,method,value", *(f"e{i},m,{given[i]}" for i in rated)]
        (tmp_path / f"{which}.csv").write_text("\n".join(lines) + "\n")
        return make_run(*records, name=f"run-{which}"), tmp_path / f"{which}.csv"

    return make


def test_estimate_notices_that_the_best_were_rated(world: Callable[[str], tuple[Path, Path]]) -> None:
    (chosen,), (at_random,) = (
        estimate(run, ratings=ratings, score="gain") for run, ratings in (world("best"), world("random"))
    )
    assert "no random sample" in " ".join(chosen.notes)
    assert not at_random.warning
    assert chosen.mean is not None
    assert chosen.mean.high is not None
    assert chosen.mean.high <= 3, "no mean rating lies above the highest rating"


def test_accept_notices_it_too(world: Callable[[str], tuple[Path, Path]]) -> None:
    best, at_random = (
        accept(run, ratings=ratings, level=3, score="gain") for run, ratings in (world("best"), world("random"))
    )
    assert "no random sample" in best.warning
    assert not at_random.warning


@pytest.fixture
def unequal(make_run: MakeRun, make_record: Make, tmp_path: Path) -> tuple[Path, Path, float]:
    """400 outcomes; of the better half one in three was rated, of the worse half one in fifteen. And the true mean."""
    random = np.random.default_rng(3)
    gains = np.sort(random.uniform(size=400))
    given = np.clip(np.round(1 + 2 * gains + random.normal(0, 0.4, size=400)), 1, 3)
    chances = np.where(gains > np.median(gains), 1 / 3, 1 / 15)
    rated = np.concatenate([random.permutation(200)[:14], 200 + random.permutation(200)[:66]])
    records = [
        make_record(f"e{i}", {"gain": float(gain)}, method="m", place=i, source=f"{i}.png")
        for i, gain in enumerate(gains)
    ]
    file = tmp_path / "weighted.csv"
    lines = ["edit,method,value,probability", *(f"e{i},m,{given[i]},{chances[i]}" for i in rated)]
    file.write_text("\n".join(lines) + "\n")
    return make_run(*records, name="unequal"), file, float(given.mean())


def test_ratings_with_their_chances_estimate_the_mean_of_all(unequal: tuple[Path, Path, float]) -> None:
    run, file, truth = unequal
    (weighted,) = estimate(run, ratings=file, score="gain")
    plain = file.with_name("plain.csv")
    plain.write_text("\n".join(line.rpartition(",")[0] for line in file.read_text().splitlines()) + "\n")
    (biased,) = estimate(run, ratings=plain, score="gain")
    assert weighted.mean is not None
    assert biased.mean is not None
    assert weighted.mean.low is not None
    assert weighted.mean.high is not None
    assert weighted.mean.low < truth < weighted.mean.high
    assert not weighted.warning
    assert weighted.mean.labels_alone.value == pytest.approx(truth, abs=0.15)
    assert biased.mean.labels_alone.value > truth + 0.2
    assert biased.warning


def test_accept_counts_what_seldom_was_picked_more_often(unequal: tuple[Path, Path, float]) -> None:
    run, file, _ = unequal
    weighted = accept(run, ratings=file, level=3, score="gain", share=0.2)
    assert weighted.threshold.value is not None
    assert not weighted.warning
    assert weighted.sure.value is not None
    assert weighted.sure.value > weighted.threshold.value


def test_the_chance_must_be_known_of_all_or_of_none(unequal: tuple[Path, Path, float]) -> None:
    run, file, _ = unequal
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:-1], lines[-1].rpartition(",")[0] + ","]))
    with pytest.raises(BadInputError, match="no probability for 1 of"):
        estimate(run, ratings=file, score="gain")
    file.write_text("\n".join([*lines[:-1], lines[-1].rpartition(",")[0] + ",0"]))
    with pytest.raises(BadInputError) as refused:
        estimate(run, ratings=file, score="gain")
    assert "'probability' must be above 0" in str(refused.value)


def test_weighted_intervals_hold_as_often_as_they_say() -> None:
    held, random = 0, np.random.default_rng(1)
    for _ in range(300):
        truth = random.normal(size=300)
        scores = truth + random.normal(size=300)
        chances = np.where(truth > 0, 0.4, 0.1)
        taken = random.random(300) < chances
        sources = np.arange(300)
        mean = prediction_powered_mean(
            truth[taken], scores[taken], sources[taken], scores[~taken], sources[~taken], probabilities=chances[taken]
        )
        assert mean.low is not None
        assert mean.high is not None
        held += mean.low <= truth.mean() <= mean.high
    assert held / 300 > 0.92


def test_random_samples_raise_few_alarms() -> None:
    random = np.random.default_rng(1)
    alarms = 0
    for _ in range(400):
        scores, clusters = random.exponential(size=120), np.arange(120) // 2
        picked = random.permutation(60)[:20]
        here = np.isin(clusters, picked)
        p = selection_p(scores[here], clusters[here], scores[~here], clusters[~here])
        alarms += p is not None and p < SELECTION_ALPHA
    assert alarms / 400 <= 0.03


def test_the_high_probability_threshold_is_stricter_and_keeps_its_promise() -> None:
    random = np.random.default_rng(2)
    broken = 0
    for _ in range(200):
        scores = random.normal(size=120)
        accepted = random.random(size=120) < 1 / (1 + np.exp(-2 * scores))
        average = acceptance_threshold(scores, accepted, np.arange(120), alpha=0.2)
        sure = high_probability_threshold(scores, accepted, np.arange(120), alpha=0.2)
        assert sure.value is not None
        assert average.value is not None
        assert sure.value >= average.value
        later = random.normal(size=4_000)
        bad = later[random.random(size=4_000) >= 1 / (1 + np.exp(-2 * later))]
        broken += (bad > sure.value).mean() > 0.2
    assert broken / 200 <= 0.12


def test_too_few_labels_give_no_such_threshold() -> None:
    result = high_probability_threshold(np.arange(20.0), np.zeros(20, dtype=np.bool_), np.arange(20), alpha=0.1)
    assert result.value is None
    assert "22 source images" in result.note
