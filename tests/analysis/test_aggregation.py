"""One number in several ways, each by its name."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from editgauge.analysis.aggregation import (
    METHOD_AGGREGATIONS,
    OVERALL_AGGREGATIONS,
    TOTAL,
    TrialCell,
    aggregate_method,
    aggregate_methods,
    aggregations,
    aggregations_differ,
    count_trials,
    paper_aggregation,
    trial_cells,
)
from editgauge.results import JournalEntry, Run


def test_by_hand() -> None:
    """Color is easy and has three edits, two of them of one source image; size is hard and has one."""
    values, types = np.array([0.9, 0.7, 0.8, 0.0]), np.array(["color", "color", "color", "size"])
    result = aggregate_method(values, types, np.array(["a", "a", "b", "c"]))
    assert list(result) == list(METHOD_AGGREGATIONS)
    assert {way: item.value for way, item in result.items()} == pytest.approx(
        {"count_weighted": 0.6, "by_type": 0.4, "by_source": 1.6 / 3}
    )
    assert result["by_source"].n == 3


def test_over_methods_by_hand() -> None:
    """`big` has three outcomes, `small` one."""
    values, methods = np.array([0.9, 0.9, 0.9, 0.1]), np.array(["big", "big", "big", "small"])
    result = aggregate_methods(values, methods, np.array(["a", "b", "c", "a"]))
    assert list(result) == list(OVERALL_AGGREGATIONS)
    assert {way: item.value for way, item in result.items()} == pytest.approx(
        {"pooled": 0.7, "per_method": 0.5, "system": 0.5}
    )
    assert result["system"].n == 2


def test_methods_as_a_sample_are_less_sure_than_these_methods() -> None:
    random = np.random.default_rng(0)
    values = (np.array([0.2, 0.5, 0.8]) + random.normal(size=(50, 3)) * 0.1).ravel()
    result = aggregate_methods(values, np.tile(["a", "b", "c"], 50), np.repeat(np.arange(50), 3))
    kept, sampled = ((result[way].high or 0) - (result[way].low or 0) for way in ("per_method", "system"))
    assert sampled > 5 * kept > 0


def test_only_where_it_matters() -> None:
    random = np.random.default_rng(1)
    types, sources = np.repeat(["color", "size"], [90, 10]), np.arange(100)
    alike = random.normal(0.5, 0.1, size=100)
    assert not aggregations_differ(aggregate_method(alike, types, sources))
    assert aggregations_differ(aggregate_method(np.where(types == "size", alike - 0.4, alike), types, sources))
    assert not aggregations_differ({})


@pytest.mark.parametrize("protocol", ["editval", "editval@released", "editval[delta=200]"])
def test_a_rule_set_or_variant_has_the_choice_of_its_paper(protocol: str) -> None:
    assert paper_aggregation(protocol) == "by_type"
    assert paper_aggregation("preservation") is None
    assert paper_aggregation("pixlens") in METHOD_AGGREGATIONS


def test_of_a_run(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]) -> None:
    folder = make_run(
        make_record("a", {"gain": 1.0}),
        make_record("b", {"gain": 0.0}, place=1, edit_type="size", source="dog.png"),
        make_record("c", {"gain": "crashed"}, place=2),
        make_record("a", {"gain": 0.2}, method="theirs"),
    )
    result = aggregations(Run.open(folder), "toy", "gain")
    assert result["mine"]["count_weighted"].value == 0.5
    assert result["all"]["pooled"].value == pytest.approx(0.4)
    assert result["all"]["per_method"].value == pytest.approx(0.35)
    assert aggregations(Run.open(folder), "toy", "loss") == {"mine": {}, "theirs": {}, "all": {}}


VALUES = {
    1: {"color": [0.2, 0.4], "size": [1.0]},
    2: {"color": [0.6, 0.8], "size": [0.5]},
    3: {"color": [0.1, 0.1], "size": [0.0]},
}


@pytest.fixture
def run(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> Run:
    records = [
        make_record(f"{kind}-{trial}-{place}", {"gain": value}, edit_type=kind, source=f"{kind}{place}.png")
        for trial, kinds in VALUES.items()
        for kind, values in kinds.items()
        for place, value in enumerate(values)
    ]
    return _with_trials(Run.open(make_run(*records)), lambda edit: {"trial": int(edit.split("-")[1])})


def _with_trials(run: Run, extras: Callable[[str], dict[str, object]]) -> Run:
    """The run as if its benchmark had said to which trial each edit belongs."""
    lines = [json.dumps({**edit, "extras": extras(name)}) for name, edit in run.edits.items()]
    (run.folder / "edits.jsonl").write_text("\n".join(lines) + "\n")
    return dataclasses.replace(run)


def test_every_cell_has_its_mean_deviation_and_interval(run: Run) -> None:
    cells = {cell.edit_type: cell for cell in trial_cells(run)}
    assert count_trials(run) == 3
    assert cells["color"].means == pytest.approx((0.3, 0.7, 0.1))
    assert cells["color"].mean == pytest.approx(11 / 30)
    assert cells["color"].deviation == pytest.approx(np.std([0.3, 0.7, 0.1], ddof=1))
    assert cells["color"].interval == (0.0, 1.0), "an interval stays on the scale of the score"
    assert replace(cells["color"], scale=(-np.inf, np.inf)).interval == pytest.approx(
        stats.t.interval(0.95, 2, loc=11 / 30, scale=stats.sem([0.3, 0.7, 0.1]))
    )


def test_in_the_total_every_edit_type_counts_once(run: Run) -> None:
    (total,) = (cell for cell in trial_cells(run) if cell.edit_type == TOTAL)
    assert total.means == pytest.approx((0.65, 0.6, 0.05))


def test_a_run_of_one_trial_and_one_that_says_nothing_have_no_cells(run: Run) -> None:
    one = _with_trials(run, lambda edit: {"trial": 1})
    assert (count_trials(one), trial_cells(one)) == (1, [])
    none = _with_trials(run, lambda edit: {})
    assert (count_trials(none), trial_cells(none)) == (0, [])


def test_one_trial_has_no_deviation() -> None:
    cell = TrialCell("toy", "gain", "mine", "color", (0.5,))
    assert (cell.mean, cell.deviation, cell.interval) == (0.5, None, None)


def test_trials_that_differ_by_rounding_alone_do_not_deviate() -> None:
    cell = TrialCell("toy", "gain", "mine", "color", (0.8, 0.7999999999999999, 0.8))
    assert cell.deviation == 0


def test_a_trial_that_lacks_an_edit_type_is_left_out_of_the_total(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    records = [
        make_record("a-1", {"gain": 0.2}, edit_type="color"),
        make_record("b-1", {"gain": 0.4}, edit_type="size"),
        make_record("a-2", {"gain": 0.9}, edit_type="color"),
        make_record("b-2", {"gain": "not_detected"}, edit_type="size"),
    ]
    run = _with_trials(Run.open(make_run(*records)), lambda edit: {"trial": int(edit[-1])})
    means = {cell.edit_type: cell.means for cell in trial_cells(run)}
    assert means["size"] == (0.4,)
    assert means[TOTAL] == pytest.approx((0.3,))


@pytest.mark.parametrize(("reason", "has_total"), [("not_applicable", True), ("no_model", False)])
def test_a_type_without_the_score_is_no_part_of_the_total_and_one_that_lacks_it_takes_the_total_away(
    reason: str, has_total: bool, make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    records = [
        record
        for trial in (1, 2)
        for record in (
            make_record(f"a-{trial}", {"gain": 0.2 * trial}, edit_type="color"),
            make_record(f"b-{trial}", {"gain": reason}, edit_type="size"),
        )
    ]
    run = _with_trials(Run.open(make_run(*records)), lambda edit: {"trial": int(edit[-1])})
    assert (TOTAL in {cell.edit_type for cell in trial_cells(run)}) == has_total
