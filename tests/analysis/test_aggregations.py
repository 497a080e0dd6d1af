"""One number in several ways, each by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from editgauge.analysis.aggregates.aggregations import (
    OF_A_METHOD,
    OF_ALL_METHODS,
    aggregate_method,
    aggregate_methods,
    aggregations,
    apart,
    chosen_by_paper,
)
from editgauge.results import JournalEntry, Run


def test_by_hand() -> None:
    """Color is easy and has three edits, two of them of one source image; size is hard and has one."""
    values, types = np.array([0.9, 0.7, 0.8, 0.0]), np.array(["color", "color", "color", "size"])
    found = aggregate_method(values, types, np.array(["a", "a", "b", "c"]))
    assert list(found) == list(OF_A_METHOD)
    assert {way: each.value for way, each in found.items()} == pytest.approx(
        {"count_weighted": 0.6, "by_type": 0.4, "by_source": 1.6 / 3}
    )
    assert found["by_source"].n == 3


def test_over_methods_by_hand() -> None:
    """`big` has three outcomes, `small` one."""
    values, methods = np.array([0.9, 0.9, 0.9, 0.1]), np.array(["big", "big", "big", "small"])
    found = aggregate_methods(values, methods, np.array(["a", "b", "c", "a"]))
    assert list(found) == list(OF_ALL_METHODS)
    assert {way: each.value for way, each in found.items()} == pytest.approx(
        {"pooled": 0.7, "per_method": 0.5, "system": 0.5}
    )
    assert found["system"].n == 2


def test_methods_as_a_sample_are_less_sure_than_these_methods() -> None:
    random = np.random.default_rng(0)
    values = (np.array([0.2, 0.5, 0.8]) + random.normal(size=(50, 3)) * 0.1).ravel()
    found = aggregate_methods(values, np.tile(["a", "b", "c"], 50), np.repeat(np.arange(50), 3))
    kept, sampled = ((found[way].high or 0) - (found[way].low or 0) for way in ("per_method", "system"))
    assert sampled > 5 * kept > 0


def test_only_where_it_matters() -> None:
    random = np.random.default_rng(1)
    types, sources = np.repeat(["color", "size"], [90, 10]), np.arange(100)
    alike = random.normal(0.5, 0.1, size=100)
    assert not apart(aggregate_method(alike, types, sources))
    assert apart(aggregate_method(np.where(types == "size", alike - 0.4, alike), types, sources))
    assert not apart({})


@pytest.mark.parametrize("protocol", ["editval", "editval@released", "editval[delta=200]"])
def test_a_rule_set_or_variant_has_the_choice_of_its_paper(protocol: str) -> None:
    assert chosen_by_paper(protocol) == "by_type"
    assert chosen_by_paper("preservation") is None
    assert chosen_by_paper("pixlens") in OF_A_METHOD


def test_of_a_run(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]) -> None:
    folder = make_run(
        make_record("a", {"gain": 1.0}),
        make_record("b", {"gain": 0.0}, place=1, edit_type="size", source="dog.png"),
        make_record("c", {"gain": "crashed"}, place=2),
        make_record("a", {"gain": 0.2}, method="theirs"),
    )
    found = aggregations(Run.open(folder), "toy", "gain")
    assert found["mine"]["count_weighted"].value == 0.5
    assert found["all"]["pooled"].value == pytest.approx(0.4)
    assert found["all"]["per_method"].value == pytest.approx(0.35)
    assert aggregations(Run.open(folder), "toy", "loss") == {"mine": {}, "theirs": {}, "all": {}}
