"""The report shows where time went, for runs that were made with a profile."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge._util.profiling import FOLDER, Profile, Spent, begin, gather
from editgauge.reports.context import Context
from editgauge.reports.sections.time import model_usage, plot_time, time_bars, time_section
from editgauge.results import JournalEntry, Run

PROFILE = Profile(
    2,
    30.0,
    (
        Spent("<clip>", "forward", 6.0, 4),
        Spent("<clip>", "load", 1.0, 2),
        Spent("<clip>", "prepare", 2.0, 8),
        Spent("<clip>", "queue", 4.0, 10),
        Spent("<clip>", "recalled", 0.0, 30),
        Spent("<clip>", "remember", 1.0, 40),
        Spent("<clip>", "unknown", 0.0, 10),
        Spent("editval", "score", 5.0, 100),
        Spent("pictures", "decode", 0.5, 20),
    ),
)


def test_the_longest_comes_first_and_waiting_is_no_work() -> None:
    assert [(bar.of, bar.total) for bar in time_bars(PROFILE)] == [
        ("<clip>", 10.0),
        ("editval", 5.0),
        ("pictures", 0.5),
    ]


def test_what_a_model_was_asked_is_told_for_one_request() -> None:
    (row,) = model_usage(PROFILE)
    assert row[:4] == ("<clip>", 40, 0.75, 10)
    assert row[4:] == pytest.approx((0.4, 0.2, 0.6))


def test_a_model_that_was_never_reached_has_no_times() -> None:
    (row,) = model_usage(Profile(1, 1.0, (Spent("clip", "recalled", 0.0, 5),)))
    assert row == ("clip", 5, 1.0, 0, None, None, None)


def test_the_bars_are_as_long_as_their_seconds() -> None:
    drawn = str(plot_time(time_bars(PROFILE)))
    assert "<clip>" not in drawn
    assert 'class="spent-forward" x="326.00" y="8" width="252.00"' in drawn
    assert 'class="spent-work" x="200.00" y="34" width="210.00"' in drawn


def test_only_a_run_with_a_profile_has_the_section(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    folder = make_run(make_record("e", {"gain": 0.5, "loss": 0.5}))
    assert time_section.render(Context(Run.open(folder))) is None
    part = begin(folder) / "part-1.json"
    part.write_text(
        '{"traceEvents": [], "left_out": 1200, "process": 1, "host": "h", "seconds": 2.5, "sums": '
        '[{"of": "pictures", "stage": "decode", "seconds": 1.5, "times": 3}]}'
    )
    gather(folder / FOLDER)
    rendered = time_section.render(Context(Run.open(folder)))
    assert rendered is not None
    assert "1.5 seconds of work in 1 process with 2.5 seconds" in rendered
    assert "decoding images" in rendered
    assert "omits 1,200 spans" in rendered
    assert "<table" not in rendered, "no model was asked"
