"""How many edits are needed: by hand, monotone, and true in simulated evaluations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import nct, t

from editgauge._stats.intervals import MIN_SOURCES, Labels, Numbers
from editgauge._stats.pairwise import differences as differences_of
from editgauge.analysis.power import (
    SMALL_SAMPLE,
    SMALL_SAMPLE_EXTRA,
    Spread,
    power,
    sources_for_width,
    sources_to_detect,
    spread,
)
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import JournalEntry

Make = Callable[..., JournalEntry]
MakeRun = Callable[..., Path]


def differences(
    random: np.random.Generator, mean: float, between: float, within: float, sizes: list[int]
) -> tuple[Numbers, Labels]:
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    shared = random.normal(0, np.sqrt(between), size=len(sizes))[clusters]
    return mean + shared + random.normal(0, np.sqrt(within), size=clusters.size), clusters


def found_share(evaluations: int, sources: int, each: int, mean: float, between: float, within: float) -> float:
    """How often the test of `compare` finds the difference."""
    random = np.random.default_rng(2)
    trials = (differences(random, mean, between, within, [each] * sources) for _ in range(evaluations))
    tests = (differences_of(np.stack([values, np.zeros(values.size)]), clusters)[0] for values, clusters in trials)
    return sum(each.significant for each in tests) / evaluations


# --- the spread ----------------------------------------------------------------------------------------------------


def test_the_spread_by_hand() -> None:
    """Within: (1 + 1 + 1 + 1) / 2 = 2. Among: 2 x (2^2 + 2^2) / 1 = 16. Between: (16 - 2) / 2 = 7."""
    assert spread(np.array([1.0, 3.0, 5.0, 7.0]), np.array(["a", "a", "b", "b"])) == Spread(7.0, 2.0, 2, 4)


def test_the_spread_is_found_again_in_sources_of_unequal_size() -> None:
    random = np.random.default_rng(0)
    found = [spread(*differences(random, 0.3, 2.0, 1.0, random.integers(1, 7, size=40).tolist())) for _ in range(300)]

    assert np.mean([each.between for each in found if each]) == pytest.approx(2.0, rel=0.05)
    assert np.mean([each.within for each in found if each and each.within]) == pytest.approx(1.0, rel=0.05)


def test_single_edits_cannot_tell_between_from_within() -> None:
    values = np.random.default_rng(1).normal(size=30)

    assert spread(values, np.arange(30)) == Spread(values.var(ddof=1), None, 30, 30)


def test_sources_that_do_not_differ_have_no_spread_between() -> None:
    found = spread(np.array([0.0, 2.0, 0.0, 2.0]), np.array([0, 0, 1, 1]))

    assert found is not None
    assert (found.between, found.within) == pytest.approx((0, 4 / 3))


def test_one_source_has_no_spread() -> None:
    assert spread(np.array([1.0, 2.0]), np.array(["a", "a"])) is None


# --- how many ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("difference", [0.1, 0.2, 0.35, 0.5, 0.8])
def test_the_number_of_sources_is_that_of_the_exact_t_test(difference: float) -> None:
    def exact(sources: int) -> float:
        return float(nct.sf(t.ppf(0.975, sources - 1), sources - 1, difference * np.sqrt(sources)))

    sources = sources_to_detect(difference, 1.0)
    sources -= SMALL_SAMPLE_EXTRA if sources < SMALL_SAMPLE else 0
    assert exact(sources + 1) >= 0.8
    assert exact(sources - 2) < 0.8


@pytest.mark.parametrize("half_width", [0.05, 0.3, 1.0, 4.0])
def test_the_interval_is_as_narrow_as_asked_and_one_source_less_is_not_enough(half_width: float) -> None:
    def reach(sources: int) -> float:
        return float(t.ppf(0.975, sources - 1) / np.sqrt(sources))

    sources = sources_for_width(half_width, 1.0)
    assert reach(sources) <= half_width
    assert sources == MIN_SOURCES or reach(sources - 1) > half_width


def test_smaller_differences_and_larger_variances_and_more_power_need_more() -> None:
    by_difference = [sources_to_detect(each, 1.0) for each in (1.0, 0.5, 0.2, 0.1)]
    by_variance = [sources_to_detect(0.3, each) for each in (0.1, 0.5, 1.0, 3.0)]
    by_chance = [sources_to_detect(0.3, 1.0, each) for each in (0.5, 0.8, 0.9, 0.99)]

    for numbers in (by_difference, by_variance, by_chance):
        assert numbers == sorted(set(numbers))


def test_no_plan_has_fewer_sources_than_are_tested() -> None:
    assert sources_to_detect(100.0, 1.0) == sources_for_width(100.0, 1.0) == MIN_SOURCES


def test_planned_evaluations_find_the_difference() -> None:
    sources = sources_to_detect(0.5, 1.0 + 1.0 / 4)

    assert found_share(400, sources, 4, 0.5, 1.0, 1.0) == pytest.approx(0.8, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("each", [1, 2, 8])
@pytest.mark.parametrize(("mean", "between", "within"), [(0.5, 1.0, 1.0), (0.3, 0.1, 1.0), (1.0, 1.0, 0.2)])
def test_many_planned_evaluations_find_the_difference(each: int, mean: float, between: float, within: float) -> None:
    """Never much below what was asked; above it only where the fewest sources are more than enough."""
    sources = sources_to_detect(mean, between + within / each)
    share = found_share(3_000, sources, each, mean, between, within)

    assert share > 0.77
    assert share < 0.85 or sources < 10


@pytest.mark.slow
def test_cautious_numbers_are_mostly_enough_and_plain_ones_half_of_the_time() -> None:
    """Of 2,000 pilots with 15 sources of one to four edits: how often the plan has the chance it promises."""
    random = np.random.default_rng(3)
    needed = sources_to_detect(0.5, 1.0 + 1.0 / 2)
    plain = cautious = 0
    for _ in range(2_000):
        pilot = spread(*differences(random, 0.5, 1.0, 1.0, random.integers(1, 5, size=15).tolist()))
        assert pilot is not None
        plain += sources_to_detect(0.5, pilot.per_source(2)) >= needed
        cautious += sources_to_detect(0.5, pilot.per_source(2) * pilot.caution) >= needed

    assert 0.35 < plain / 2_000 < 0.6
    assert 0.72 < cautious / 2_000 < 0.9


# --- the verb ------------------------------------------------------------------------------------------------------


def pilot(make_run: MakeRun, make_record: Make, sources: int, each: int) -> Path:
    random = np.random.default_rng(0)
    records = []
    for source in range(sources):
        easy = random.uniform(0.2, 0.6)
        for number in range(each):
            place = source * each + number
            for method, plus in (("mine", 0.1), ("theirs", 0.0)):
                gain = easy + plus + random.uniform(-0.15, 0.15)
                records.append(make_record(f"e{place}", {"gain": gain}, method=method, place=place, source=f"{source}"))
    return make_run(*records)


def test_a_pilot_tells_what_two_methods_need(make_run: MakeRun, make_record: Make) -> None:
    folder = pilot(make_run, make_record, 15, 3)
    (plan,) = power(folder, detect=0.02, methods=("mine", "theirs"), score="gain")

    assert plan.methods == ("mine", "theirs")
    assert [need.edits_per_source for need in plan.needs] == [1, 2, 4, 8]
    sources = [need.sources for need in plan.needs]
    assert sources == sorted(sources, reverse=True)
    assert [need.edits for need in plan.needs] == sorted(need.edits for need in plan.needs)
    assert all(need.cautious_sources > need.sources for need in plan.needs)
    assert plan.note == ""


def test_without_methods_each_mean_is_planned(make_run: MakeRun, make_record: Make) -> None:
    plans = power(pilot(make_run, make_record, 12, 3), detect=0.05, score="toy/gain", edits_per_source=[3, 1, 3])

    assert [plan.methods for plan in plans] == [("mine",), ("theirs",)]
    assert [need.edits_per_source for need in plans[0].needs] == [1, 3]


def test_pairing_saves_edits_when_sources_are_what_differs(make_run: MakeRun, make_record: Make) -> None:
    folder = pilot(make_run, make_record, 12, 3)
    (paired,) = power(folder, detect=0.05, methods=("mine", "theirs"), score="gain")
    alone = power(folder, detect=0.05, score="gain")[0]

    assert paired.spread is not None
    assert alone.spread is not None
    assert paired.spread.between < alone.spread.between


def test_a_small_pilot_is_warned_of(make_run: MakeRun, make_record: Make) -> None:
    (plan,) = power(pilot(make_run, make_record, 5, 1), detect=0.05, methods=("mine", "theirs"), score="gain")

    assert "only 5 source images" in plan.note
    assert "one edit per source image" in plan.note
    assert [need.edits_per_source for need in plan.needs] == [1]


def test_a_pilot_that_tells_nothing_says_so(make_run: MakeRun, make_record: Make) -> None:
    equal = [make_record(f"e{place}", {"gain": 0.5}, place=place, source=f"{place}") for place in range(4)]
    folder = make_run(*equal)

    assert "All values of the pilot are equal" in power(folder, detect=0.1, score="gain")[0].note
    assert "fewer than two source images" in power(folder, detect=0.1, score="loss")[0].note
    assert power(folder, detect=0.1, score="gain")[0].needs == ()


def test_wrong_words_are_told(make_run: MakeRun, make_record: Make) -> None:
    folder = pilot(make_run, make_record, 4, 1)

    with pytest.raises(BadInputError, match="2 matching scores; choose one"):
        power(folder, detect=0.1)
    with pytest.raises(UnknownNameError, match="Did you mean 'gain'"):
        power(folder, detect=0.1, score="gian")
    with pytest.raises(UnknownNameError, match="Did you mean 'mine'"):
        power(folder, detect=0.1, methods=("mien", "theirs"), score="gain")
    with pytest.raises(BadInputError, match="two different methods"):
        power(folder, detect=0.1, methods=("mine", "mine"), score="gain")
    for wrong in ({"detect": 0.0}, {"detect": float("nan")}, {"chance": 1.0}, {"edits_per_source": [0]}):
        with pytest.raises(BadInputError):
            power(folder, **{"detect": 0.1, "score": "gain", **wrong})  # type: ignore[arg-type]
