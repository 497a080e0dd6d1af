"""What the unscored could make of a mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._stats.bounds import Limits, bounds, extremes
from editgauge.analysis.summary import ALL, summarize
from editgauge.results import JournalEntry, Run
from editgauge.types import ScoreSpec

UNIT = Limits(0.0, 1.0, declared=True)


@pytest.mark.parametrize(("better", "worst", "best"), [(True, 0.3, 0.7), (False, 0.7, 0.3)])
def test_by_hand(better: bool, worst: float, best: float) -> None:
    """(0.2 + 0.9 + 0.4 + 2 x 0) / 5, and with 2 x 1."""
    found = bounds(ScoreSpec("x", better, (0, 1)), np.array([0.2, 0.9, 0.4]), {"crashed": 1, "refused": 1}, UNIT)
    assert found is not None
    assert (found.worst, found.best) == pytest.approx((worst, best))
    assert (found.scored, found.missing) == (3, 2)


def test_edits_that_the_score_was_never_meant_for_do_not_widen_it() -> None:
    spec = ScoreSpec("x", True, (0, 1))
    found = bounds(spec, np.array([0.5]), {"not_applicable": 7, "no_rule": 3}, UNIT)
    assert found is not None
    assert (found.worst, found.best, found.missing) == (0.5, 0.5, 0)
    assert bounds(spec, np.array([]), {"no_rule": 3}, UNIT) is None


def test_without_any_score_everything_is_possible() -> None:
    found = bounds(ScoreSpec("x", True, (0, 1)), np.array([]), {"crashed": 4}, UNIT)
    assert found is not None
    assert (found.worst, found.best) == (0, 1)


def test_a_range_without_an_end_takes_the_extremes_seen() -> None:
    seen = np.array([3.0, math.nan, -2.0, 8.0])
    assert extremes(ScoreSpec("x", True, (-1.0, 1.0)), seen) == Limits(-1, 1, declared=True)
    assert extremes(ScoreSpec("x", True, (-math.inf, math.inf)), seen) == Limits(-2, 8, declared=False)
    assert extremes(ScoreSpec("x", True, (0.0, math.inf)), np.array([math.nan])) is None


@given(st.lists(st.floats(0, 1), max_size=20), st.integers(0, 20), st.booleans())
def test_the_mean_lies_between_and_more_missing_is_wider(values: list[float], missing: int, better: bool) -> None:
    spec, scores = ScoreSpec("x", better, (0, 1)), np.array(values)
    fewer, more = (bounds(spec, scores, {"crashed": count}, UNIT) for count in (missing, missing + 1))
    assert more is not None
    if fewer and values:
        low, high = sorted((fewer.worst, fewer.best))
        assert low - 1e-12 <= scores.mean() <= high + 1e-12
        assert abs(more.best - more.worst) >= high - low - 1e-12


def test_every_cell_of_a_summary_has_them(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    folder = make_run(
        make_record("a", {"gain": 0.5, "loss": 0.5}),
        make_record("b", {"gain": "crashed", "loss": "not_applicable"}, place=1),
        make_record("c", {"gain": 1.0, "loss": 0.1}, place=2, edit_type="size"),
    )
    cells = {(each.spec.name, each.edit_type): each.bounds for each in summarize(Run.open(folder))}
    found = {key: (each.worst, each.best) for key, each in cells.items() if each}
    assert found["gain", "color"] == pytest.approx((0.25, 0.75))
    assert found["gain", ALL] == pytest.approx((0.5, 2.5 / 3))
    assert found["loss", ALL] == pytest.approx((0.3, 0.3))
