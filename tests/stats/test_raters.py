"""How far raters agree: the worked example of Krippendorff's paper, hand-made panels, laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._stats.intervals import Numbers
from editgauge._stats.raters import Scale, ceiling, human_ceiling, krippendorff, panel

_: float = math.nan
EXAMPLE = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
).T
"""Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C: four observers, twelve units."""


@pytest.mark.parametrize(("scale", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_krippendorff_s_own_example(scale: Scale, alpha: float) -> None:
    result = krippendorff(EXAMPLE, scale)
    assert result.value == pytest.approx(alpha, abs=0.0005)
    assert result.n == 11, "one unit has a single answer, and tells nothing of agreement"
    assert result.low is not None
    assert result.high is not None
    assert result.low < alpha < result.high


def direct(answers: Numbers, scale: Scale) -> float:
    """By the definition: every pair of answers of a unit, against every pair of answers at all."""
    rows = [[one for one in row if not math.isnan(one)] for row in answers]
    rows = [row for row in rows if len(row) > 1]
    every = [one for row in rows for one in row]

    def apart(a: float, b: float) -> float:
        if scale == "ordinal":
            low, high = min(a, b), max(a, b)
            between = sum(low <= one <= high for one in every)
            return float(between - (every.count(a) + every.count(b)) / 2) ** 2 if a != b else 0.0
        return float(a != b) if scale == "nominal" else (a - b) ** 2

    observed = sum(sum(apart(a, b) for a in row for b in row) / (len(row) - 1) for row in rows) / len(every)
    expected = sum(apart(a, b) for a in every for b in every) / len(every) / (len(every) - 1)
    return 1 - observed / expected


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
@given(st.integers(0, 10_000))
def test_it_is_what_the_definition_says(scale: Scale, seed: int) -> None:
    random = np.random.default_rng(seed)
    answers = random.integers(0, 5, size=(8, 3)).astype(np.float64)
    answers[random.uniform(size=answers.shape) < 0.2] = math.nan
    answers[0] = [1, 2, 3]  # two of a kind are needed to say anything
    assert krippendorff(answers, scale).value == pytest.approx(direct(answers, scale))


def test_agreement_as_by_chance_is_about_zero() -> None:
    answers = np.random.default_rng(0).integers(0, 4, size=(400, 3))
    assert krippendorff(answers, "nominal").value == pytest.approx(0, abs=0.06)


def test_what_has_no_answer_has_a_reason() -> None:
    assert krippendorff([[1, 1], [1, 1]]).reason == "all answers are equal"
    assert krippendorff([[1, math.nan]]).reason == "no outcome has two answers"
    with pytest.raises(ValueError, match="scale is one of nominal, ordinal, interval"):
        krippendorff([[1, 2]], "ratio")  # type: ignore[arg-type]


def test_units_of_one_source_are_drawn_together() -> None:
    answers = np.random.default_rng(1).integers(0, 3, size=(30, 3))
    thrice, sources = np.repeat(answers, 3, axis=0), np.repeat(np.arange(30), 3)
    together, apart = krippendorff(thrice, "nominal", sources), krippendorff(thrice, "nominal")
    assert (together.n, together.clusters, apart.clusters) == (90, 30, 90)
    assert (together.high or 0) - (together.low or 0) > 1.4 * ((apart.high or 0) - (apart.low or 0))


def test_panels_by_hand() -> None:
    result = panel(np.array([[1, 1, 1], [2, 2, 3], [1, 2, 3], [1, 2, math.nan], [5, math.nan, math.nan]]))
    assert result is not None
    assert (result.majority.value, result.full_agreement.value, result.without_majority) == (0.5, 0.25, 2)
    assert result.modal_share.value == pytest.approx((1 + 2 / 3 + 1 / 3 + 1 / 2) / 4)
    assert result.majority.n == 4
    assert panel([[1, math.nan]]) is None


def test_the_ceiling_is_each_rater_against_the_others() -> None:
    random = np.random.default_rng(2)
    truth = random.normal(size=(300, 1))
    sure, unsure = (truth + noise * random.normal(size=(300, 3)) for noise in (0.2, 2.0))
    high, low = human_ceiling(sure), human_ceiling(unsure)
    assert high.value is not None
    assert low.value is not None
    assert high.value > 0.95 > 0.5 > low.value > 0.1
    assert human_ceiling([[1, math.nan]]).value is None


def test_it_is_what_the_truth_itself_reaches() -> None:
    """Three raters of different levels, each the truth plus noise; some answers are missing."""
    random = np.random.default_rng(0)
    truth = random.normal(size=2_000)
    answers = truth[:, None] + random.normal(size=(2_000, 3)) * 0.8 + np.array([0.0, 1.0, -2.0])
    result = ceiling(answers)
    one = np.mean([np.corrcoef(truth, answers[:, rater])[0, 1] for rater in range(3)])
    both = np.corrcoef(truth, answers.mean(axis=1))[0, 1]
    assert result.with_one_rater.value == pytest.approx(one, abs=0.02)
    assert result.with_their_mean.value == pytest.approx(both, abs=0.02)
    answers[random.random(answers.shape) < 0.2] = np.nan
    assert ceiling(answers).with_one_rater.value == pytest.approx(one, abs=0.03)


def test_raters_who_guess_have_none() -> None:
    answers = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [2.0, 1.0]])
    assert ceiling(answers).with_one_rater.reason == "raters do not agree more than by chance"
    assert ceiling(answers[:2]).with_one_rater.value is None
