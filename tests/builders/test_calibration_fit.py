"""Curves from numbers to what people say: they keep every order, leave alone what is right, and find what is so."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from editgauge._stats.intervals import Numbers
from editgauge.builders._calibration_fit import PRIOR, binned, calibrated, compare, fit, fitted_curve, is_bent, left_out
from editgauge.protocols.editgauge._calibration import NEAREST, CalibrationCurve, read_curve

chances = st.floats(0, 1)
rated = st.lists(st.tuples(chances, chances), min_size=2, max_size=40)


def once(values: Numbers, shares: Numbers, *, bent: bool) -> Numbers:
    return fit(values, shares, np.ones((values.size, 1)), bent=bent)


def curve(values: Numbers, shares: Numbers, *, bent: bool) -> CalibrationCurve:
    low, high, shift = once(values, shares, bent=bent)[:, 0]
    return CalibrationCurve("", float(low), float(high), float(shift), values.size)


def rise(line: Numbers, slopes: tuple[float, float], shift: float) -> Numbers:
    inside = np.clip(line, NEAREST, 1 - NEAREST)
    return np.asarray(expit(slopes[0] * np.log(inside) - slopes[1] * np.log1p(-inside) + shift))


@pytest.mark.slow
@pytest.mark.parametrize("bent", [False, True])
@given(pairs=rated, ordered=st.lists(chances, min_size=2, max_size=8).map(sorted))
def test_whatever_people_say_the_order_of_outcomes_stays(
    bent: bool, pairs: list[tuple[float, float]], ordered: list[float]
) -> None:
    values, shares = np.array(pairs).T
    made = [curve(values, shares, bent=bent)(item) for item in ordered]

    assert made == sorted(made)
    assert all(0 <= item <= 1 for item in made)


@pytest.mark.parametrize("bent", [False, True])
@given(values=st.lists(st.floats(0.01, 0.99), min_size=4, max_size=40, unique=True))
def test_numbers_that_people_agree_with_stay_as_they_are(bent: bool, values: list[float]) -> None:
    given_values = np.array(values)
    made = curve(given_values, given_values, bent=bent)

    for value in (0.02, 0.3, 0.5, 0.9):
        assert made(value) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize("bent", [False, True])
def test_a_number_that_parts_all_yes_from_all_no_has_a_finite_curve(bent: bool) -> None:
    values = np.linspace(0.05, 0.95, 40)
    made = curve(values, (values > 0.5).astype(np.float64), bent=bent)

    assert made(0.2) < 0.05
    assert made(0.8) > 0.95
    assert max(made.low, made.high) < 200


def test_people_who_say_the_contrary_make_a_flat_curve_and_not_a_falling_one() -> None:
    values = np.linspace(0.05, 0.95, 40)
    for bent in (False, True):
        made = curve(values, 1 - values, bent=bent)
        assert (made.low, made.high) == (0.0, 0.0)
        assert made(0.1) == made(0.9)


def test_the_best_allowed_curve_is_found_where_one_side_wants_to_fall() -> None:
    values = np.linspace(0.02, 0.98, 60)
    shares = rise(values, (1.5, -0.4), 0.3)
    low, high, shift = once(values, shares, bent=True)[:, 0]

    def loss(one: float, other: float, third: float) -> float:
        made = np.clip(rise(values, (one, other), third), 1e-12, 1 - 1e-12)
        said = (shares + PRIOR / 60 * values) / (1 + PRIOR / 60)
        return float(-(said * np.log(made) + (1 - said) * np.log(1 - made)).sum())

    assert high == 0
    here = loss(low, high, shift)
    for move in ((0.05, 0, 0), (-0.05, 0, 0), (0, 0.05, 0), (0, 0, 0.05), (0, 0, -0.05)):
        assert loss(low + move[0], high + move[1], shift + move[2]) > here


def test_a_weight_of_two_is_the_outcome_twice() -> None:
    random = np.random.default_rng(0)
    values, shares = random.uniform(size=30), random.integers(0, 2, 30).astype(np.float64)
    weights = random.integers(0, 3, 30)
    once_each = fit(values, shares, weights[:, None].astype(np.float64), bent=False)
    listed = once(np.repeat(values, weights), np.repeat(shares, weights), bent=False)

    assert once_each == pytest.approx(listed, abs=1e-6)


def test_a_line_is_the_logistic_regression_of_another_library() -> None:
    from sklearn.linear_model import LogisticRegression

    random = np.random.default_rng(1)
    values = random.uniform(0.02, 0.98, 4000)
    said = random.uniform(size=4000) < rise(values, (0.7, 0.7), 0.4)
    theirs = LogisticRegression(C=1e6).fit(logit(values)[:, None], said)
    low, high, shift = once(values, said.astype(np.float64), bent=False)[:, 0]

    assert low == high == pytest.approx(theirs.coef_[0, 0], abs=2e-3)  # ours adds two outcomes
    assert shift == pytest.approx(theirs.intercept_[0], abs=2e-3)


TRUTHS = {"unsure": ((0.5, 0.5), -0.6), "shifted": ((1.0, 1.0), 1.2), "bent": ((1.4, 0.5), 0.2)}


@pytest.mark.slow
@pytest.mark.parametrize("truth", TRUTHS)
def test_the_curve_of_simulated_raters_lies_in_its_interval_most_of_the_time(truth: str) -> None:
    slopes, shift = TRUTHS[truth]
    held, asked = 0, (0.2, 0.5, 0.8)
    for seed in range(6):
        random = np.random.default_rng(seed)
        values = random.beta(0.8, 0.8, 180)
        shares = random.binomial(3, rise(values, slopes, shift)) / 3
        result, _ = fitted_curve("q", values, shares, np.arange(180) // 3)
        for value in asked:
            ends = result.interval(value)
            assert ends is not None
            held += ends[0] - 1e-9 <= float(rise(np.array([value]), slopes, shift)[0]) <= ends[1] + 1e-9
            assert ends[1] - ends[0] < 0.35
        for step in range(101):
            around = result.interval(step / 100)
            assert around is not None
            assert around[0] - 2e-3 <= result(step / 100) <= around[1] + 2e-3
    assert held >= 6 * len(asked) - 3


def test_on_images_left_out_a_needed_curve_helps_and_a_needless_one_hardly_harms() -> None:
    random = np.random.default_rng(3)
    values, sources = random.beta(0.8, 0.8, 300), np.arange(300) // 3
    for slopes, shift, helps in (((0.5, 0.5), -0.8, True), ((1.0, 1.0), 0.0, False)):
        shares = random.binomial(2, rise(values, slopes, shift)) / 2
        result = compare(values, left_out(values, shares, sources), shares, sources)
        change = result.log_loss_change
        assert change.low is not None
        assert change.high is not None
        if helps:
            assert change.high < 0
            assert result.after.expected_error < result.before.expected_error / 2
        else:
            assert abs(change.value) < 0.02


def test_an_outcome_is_never_calibrated_by_its_own_source_image() -> None:
    random = np.random.default_rng(4)
    values, shares, sources = random.uniform(size=60), random.integers(0, 2, 60).astype(float), np.arange(60) // 3
    before = left_out(values, shares, sources)
    shares[:3] = 1 - shares[:3]
    after = left_out(values, shares, sources)

    assert after[:3] == pytest.approx(before[:3])
    assert np.abs(after[3:] - before[3:]).max() > 1e-3


def test_few_answers_of_one_kind_draw_a_line_and_many_a_bent_curve() -> None:
    assert not is_bent(np.repeat([0.0, 1.0], [500, 59]))
    assert is_bent(np.repeat([0.0, 1.0], [500, 60]))


def test_expected_error_and_costs_by_hand() -> None:
    numbers, shares, sources = np.repeat([0.2, 0.9], 10), np.repeat([0.5, 1.0], 10), np.arange(20)
    result = compare(numbers, shares, shares, sources)

    low, high = binned(numbers, shares, sources)
    assert (low.value, high.value) == pytest.approx((0.2, 0.9))
    assert (low.share.value, low.share.n, high.share.value, high.share.n) == (0.5, 10, 1.0, 10)
    assert result.before.expected_error == pytest.approx((0.3 + 0.1) / 2)
    assert result.before.brier.value == pytest.approx(((0.64 + 0.04) / 2 + 0.01) / 2)
    assert result.before.log_loss.value == pytest.approx(
        (-(math.log(0.2) + math.log(0.8)) / 2 - math.log(0.9)) / 2, abs=1e-9
    )
    assert result.after.expected_error == 0
    assert result.brier_change.value == pytest.approx(0.125 - result.before.brier.value)


@pytest.mark.parametrize("change", [{"low": -0.1}, {"low": 0.0, "high": 0.0}, {"shift": math.inf}])
def test_a_curve_that_does_not_rise_is_refused(change: dict[str, float]) -> None:
    told = {"question": "", "low": 1.0, "high": 1.0, "shift": 0.0, "outcomes": 40, "points": ()}
    assert read_curve(told)(0.3) == pytest.approx(0.3)
    with pytest.raises(ValueError, match=r"rise|finite"):
        read_curve({**told, **change})


def test_one_and_many_values_go_the_same_way() -> None:
    parameters = np.array([[0.7], [1.2], [-0.3]])
    line = np.array([0.0, 0.1, 0.5, 1.0])
    assert [CalibrationCurve("", 0.7, 1.2, -0.3, 9)(item) for item in line] == pytest.approx(
        calibrated(line, parameters)[:, 0]
    )
