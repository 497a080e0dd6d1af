"""What intervals of measures promise: draws are exact and of whole source images, and the truth is covered."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from editgauge._stats import intervals, resampling
from editgauge._stats.agreement import COSINE, KENDALL, PEARSON, SPEARMAN, Measure, correlate
from editgauge._stats.resampling import resampled

MEASURES = (PEARSON, SPEARMAN, KENDALL, COSINE)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_a_draw_is_the_measure_of_what_was_drawn(measure: Measure) -> None:
    random = np.random.default_rng(0)
    x, y = random.integers(0, 4, size=20).astype(float), random.normal(size=20)
    weights = random.integers(0, 4, size=(20, 30)).astype(float)
    for column, result in zip(weights.astype(int).T, measure.of_draws(x, y, weights), strict=True):
        assert result == pytest.approx(measure.of_pairs(np.repeat(x, column), np.repeat(y, column)))


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)
def test_columns_are_measured_one_by_one(measure: Measure) -> None:
    x, y = np.random.default_rng(1).integers(0, 5, size=(2, 9, 12)).astype(float)
    expected = [measure.of_pairs(*columns) for columns in zip(x.T, y.T, strict=True)]
    assert measure.of_columns(x, y) == pytest.approx(expected)


def test_a_draw_without_variety_has_no_answer_and_is_left_out() -> None:
    one_source = np.array([[3.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    for measure in (PEARSON, SPEARMAN, KENDALL):
        lost, result = measure.of_draws(np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0]), one_source)
        assert np.isnan(lost)
        assert result == pytest.approx(1)


def test_the_interval_is_that_of_all_possible_draws() -> None:
    """Six pairs can be drawn in 6^6 ways, which can be listed."""
    x, y = np.array([0.94, 0.96, 0.09, 0.28, 0.26, 0.71]), np.array([0.8, 0.7, 0.06, 0.27, 0.1, 1.0])
    draws = np.array(list(product(range(6), repeat=6))).T
    every = PEARSON.of_columns(x[draws], y[draws])
    result = correlate(PEARSON, x, y)
    assert result.value is not None
    wider = 2.571 * np.sqrt(6 / 5) / 1.96  # Student's t for six, and a bootstrap of six varies too little
    ends = [result.value + (end - result.value) * wider for end in np.nanquantile(every, [0.025, 0.975])]
    assert (result.low, result.high) == pytest.approx(np.clip(ends, -1, 1), abs=0.04)


def test_copies_of_a_pair_add_no_certainty_when_they_share_a_source() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=40)
    y = x + random.normal(size=40)
    once = correlate(SPEARMAN, x, y)
    together = correlate(SPEARMAN, np.repeat(x, 4), np.repeat(y, 4), np.repeat(np.arange(40), 4))
    assert (together.n, together.clusters) == (160, 40)
    assert (together.low, together.high) == pytest.approx((once.low, once.high), abs=1e-9)


def test_one_source_image_gives_no_interval() -> None:
    result = correlate(PEARSON, [1, 2, 3], [1, 3, 2], np.array(["a", "a", "a"]))
    assert result.value == pytest.approx(0.5)
    assert (result.low, result.high) == (None, None)


def test_two_source_images_of_which_one_says_nothing_give_no_interval() -> None:
    """A quarter of the draws has only the image whose pairs are all alike."""
    result = correlate(PEARSON, [1, 2, 3, 0, 0], [1, 2, 3, 0, 0], np.array(["a", "a", "a", "b", "b"]))
    assert result.value == pytest.approx(1)
    assert result.low is None


def test_working_in_small_portions_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(3).normal(size=(2, 30))
    at_once = correlate(SPEARMAN, x, y)
    monkeypatch.setattr(intervals, "NUMBERS_AT_ONCE", 100)
    assert correlate(SPEARMAN, x, y) == at_once


def test_of_very_many_pairs_fewer_resamples_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "MAX_PAIRS_DRAWN", 10)
    assert resampled(lambda weights: weights.sum(axis=0), np.arange(50)).tolist() == [50.0] * 500


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """200 worlds of 40 photographs with three edits each, which share what the photograph is like."""
    random = np.random.default_rng(4)
    clusters = np.repeat(np.arange(40), 3)
    covered = 0
    for _ in range(200):
        shared = random.normal(size=(2, 40))[:, clusters]
        x = shared[0] + random.normal(size=120)
        y = 0.5 * x + shared[1] + random.normal(size=120)  # variances 2 and 0.5 + 2: correlation sqrt(0.5 / 2.5)
        result = correlate(PEARSON, x, y, clusters)
        assert result.low is not None
        assert result.high is not None
        covered += result.low <= np.sqrt(0.2) <= result.high
    assert 0.87 <= covered / 200 <= 0.99
