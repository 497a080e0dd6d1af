"""Sixty ratings of ImagenHub and a judge's 1,432 scores (VIEScore): the interval holds, and is shorter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from editgauge._stats.intervals import Labels, Numbers
from editgauge._stats.prediction_powered import PoweredMean, in_units_of, prediction_powered_mean
from tests.golden.published import JUDGES, imagenhub_ratings, viescore_answers

RATED, DRAWS = 60, 200


@dataclass(frozen=True)
class Judged:
    human: Numbers
    """Mean over three raters of sqrt(SC x PQ), as in the paper."""
    judge: Numbers
    source: Labels


@pytest.fixture(scope="module", params=JUDGES)
def judged(request: pytest.FixtureRequest) -> Judged:
    ratings, answers = imagenhub_ratings(), viescore_answers(request.param)
    human = [np.mean([np.sqrt(consistency * quality) for consistency, quality in ratings[key]]) for key in answers]
    judge = [np.sqrt(consistency * quality) / 10 for consistency, quality in answers.values()]
    source = [edit.split("_")[1] for _, edit in answers]  # sample_100081_3.jpg is the third edit of image 100081
    return Judged(np.array(human), np.array(judge), np.array(source))


def draw(judged: Judged, random: np.random.Generator) -> PoweredMean:
    chosen = np.zeros(judged.human.size, dtype=np.bool_)
    chosen[random.choice(chosen.size, RATED, replace=False)] = True
    labels = judged.human[chosen]
    here, there = in_units_of(labels, judged.judge[chosen], judged.judge[~chosen])
    return prediction_powered_mean(labels, here, judged.source[chosen], there, judged.source[~chosen])


def test_sixty_ratings_and_a_judge(judged: Judged) -> None:
    assert judged.human.size == 1_432
    random = np.random.default_rng(0)
    result = [draw(judged, random) for _ in range(DRAWS)]
    truth = float(judged.human.mean())
    covered = np.mean(
        [item.low is not None and item.high is not None and item.low <= truth <= item.high for item in result]
    )
    ratio = float(np.mean([item.width_ratio for item in result if item.width_ratio is not None]))

    print(f"60 ratings: covers {covered:.3f}, width {ratio:.3f} of ratings alone")  # noqa: T201
    assert 0.91 <= covered <= 0.985
    assert ratio < 0.95
