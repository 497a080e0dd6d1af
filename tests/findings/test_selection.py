"""Ratings of chosen outcomes are noticed, intervals stay on the scale, a promise can hold with high probability."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from editgauge.core.run import Record
from editgauge.findings.accept import accept
from editgauge.findings.estimate import estimate
from editgauge.stats.conformal import acceptance_threshold, high_probability_threshold
from editgauge.stats.prediction_powered import CHOSEN, selection_p

MakeRun = Callable[..., Path]
Make = Callable[..., Record]


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
    assert "not picked at random" in " ".join(chosen.notes)
    assert not at_random.warning
    assert chosen.mean is not None
    assert chosen.mean.high is not None
    assert chosen.mean.high <= 3, "no mean rating lies above the highest rating"


def test_accept_notices_it_too(world: Callable[[str], tuple[Path, Path]]) -> None:
    best, at_random = (
        accept(run, ratings=ratings, level=3, score="gain") for run, ratings in (world("best"), world("random"))
    )
    assert "not picked at random" in best.warning
    assert not at_random.warning


def test_random_samples_raise_few_alarms() -> None:
    random = np.random.default_rng(1)
    alarms = 0
    for _ in range(400):
        scores, clusters = random.exponential(size=120), np.arange(120) // 2
        picked = random.permutation(60)[:20]
        here = np.isin(clusters, picked)
        p = selection_p(scores[here], clusters[here], scores[~here], clusters[~here])
        alarms += p is not None and p < CHOSEN
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
    found = high_probability_threshold(np.arange(20.0), np.zeros(20, dtype=np.bool_), np.arange(20), alpha=0.1)
    assert found.value is None
    assert "22 source images" in found.note
