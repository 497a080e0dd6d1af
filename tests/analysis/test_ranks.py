"""Places of methods: by hand, in laws, and of a run. What the intervals promise is simulated elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._stats.intervals import FEWEST_SOURCES
from editgauge._stats.pairwise import rank_methods
from editgauge.analysis.summary import ALL
from editgauge.analysis.verdicts import RunVerdicts
from editgauge.results import JournalEntry, Run


def table(*columns: list[float], better: bool = True) -> list[str]:
    """A column of scores per method, a row per source image."""
    values = np.array(columns).T
    sources, methods = values.shape
    found = rank_methods(
        values.ravel(),
        np.tile(np.arange(methods), sources),
        *[np.repeat(np.arange(sources), methods)] * 2,
        higher_is_better=better,
        scale=(0.0, 1.0),
    )
    return [str(each) for each in found]


def test_clear_places() -> None:
    random = np.random.default_rng(0)
    good, fair, poor = ([float(mean + random.normal() * 0.05) for _ in range(30)] for mean in (0.9, 0.5, 0.1))
    assert table(fair, good, poor) == ["2 [2-2]", "1 [1-1]", "3 [3-3]"]
    assert table(fair, good, poor, better=False) == ["2 [2-2]", "3 [3-3]", "1 [1-1]"]


def test_methods_that_do_the_same_share_a_place_and_may_have_either() -> None:
    same = [0.1, 0.5, 0.3, 0.9, 0.2, 0.4, 0.8] * 2
    assert table(same, same) == ["1 [1-2]", "1 [1-2]"]


def test_a_difference_that_never_varies_is_significant_when_unseen_images_could_not_undo_it() -> None:
    """Of 14 images that agree, up to a fifth of all others may not."""
    some = [0.7, 0.5, 0.6, 0.9, 0.8, 0.6, 0.8] * 2
    assert table(some, [each - 0.4 for each in some]) == ["1 [1-1]", "2 [2-2]"]
    assert table(some, [each - 0.1 for each in some]) == ["1 [1-2]", "2 [1-2]"]


def test_pairing_by_source_image_tells_methods_apart_that_their_means_do_not() -> None:
    random = np.random.default_rng(1)
    hard = random.normal(size=40)
    assert table(list(hard + 0.1 + random.normal(size=40) * 0.05), list(hard)) == ["1 [1-1]", "2 [2-2]"]


def test_few_source_images_leave_every_place_possible() -> None:
    rows = FEWEST_SOURCES - 1
    assert table([0.9] * rows, [0.1] * rows) == ["1 [1-2]", "2 [1-2]"]


def test_one_method_and_none() -> None:
    assert table([0.3, 0.4]) == ["1 [1-1]"]
    assert rank_methods(*[np.array([])] * 4) == []


@given(st.integers(2, 5), st.integers(2, 16), st.integers(0, 1000))
def test_the_place_lies_in_its_interval_and_intervals_in_the_field(methods: int, sources: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    values, who = random.choice(5, size=methods * sources) / 4, np.tile(np.arange(methods), sources)
    for each in rank_methods(values, who, *[np.repeat(np.arange(sources), methods)] * 2):
        assert 1 <= each.low <= each.value <= each.high <= each.methods == methods


def test_of_a_run_by_edit_type(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]) -> None:
    random = np.random.default_rng(2)
    records = []
    for place in range(40):
        kind = ("color", "size")[place % 2]
        for method, plus in (("mine", 0.3), ("theirs", 0.0)):
            gain = 0.3 + random.uniform(0, 0.1) + (plus if kind == "color" else 0)
            scores: dict[str, float | str] = {"gain": gain, "loss": 0.5 if method == "mine" else "crashed"}
            records.append(
                make_record(f"e{place}", scores, method=method, place=place, source=f"{place}", edit_type=kind)
            )
    found = RunVerdicts(Run.open(make_run(*records))).ranks(["color", "size", ALL])
    assert str(found["toy", "gain", "color", "mine"]) == "1 [1-1]"
    assert found["toy", "gain", "size", "mine"].high == 2
    assert str(found["toy", "gain", ALL, "theirs"]) == "2 [2-2]"
    assert str(found["toy", "loss", ALL, "mine"]) == "1 [1-1]"
    assert ("toy", "loss", ALL, "theirs") not in found


def test_a_method_with_scores_of_a_single_source_image_is_not_placed_for_sure() -> None:
    values = np.concatenate([np.random.default_rng(3).uniform(0, 0.1, size=20), [0.9]])
    found = rank_methods(values, np.array(["a"] * 20 + ["b"]), *[np.append(np.arange(20), 0)] * 2)
    assert [(each.low, each.high) for each in found] == [(1, 2), (1, 2)]
    assert [each.value for each in found] == pytest.approx([2, 1])
