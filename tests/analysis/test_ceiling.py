"""What a perfect score could reach against raters of known reliability."""

from __future__ import annotations

import numpy as np
import pytest

from editgauge._stats.raters import ceiling


def test_it_is_what_the_truth_itself_reaches() -> None:
    """Three raters of different levels, each the truth plus noise; some answers are missing."""
    random = np.random.default_rng(0)
    truth = random.normal(size=2_000)
    answers = truth[:, None] + random.normal(size=(2_000, 3)) * 0.8 + np.array([0.0, 1.0, -2.0])
    found = ceiling(answers)
    one = np.mean([np.corrcoef(truth, answers[:, rater])[0, 1] for rater in range(3)])
    both = np.corrcoef(truth, answers.mean(axis=1))[0, 1]
    assert found.with_one_rater.value == pytest.approx(one, abs=0.02)
    assert found.with_their_mean.value == pytest.approx(both, abs=0.02)
    answers[random.random(answers.shape) < 0.2] = np.nan
    assert ceiling(answers).with_one_rater.value == pytest.approx(one, abs=0.03)


def test_raters_who_guess_have_none() -> None:
    answers = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    assert ceiling(answers).with_one_rater.reason == "raters do not agree more than by chance"
    assert ceiling(answers[:2]).with_one_rater.value is None
