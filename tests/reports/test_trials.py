"""The report's sections of UniBench: methods side by side, and repeated trials."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge.reports.context import Context
from editgauge.reports.sections.numbers import side_by_side, trials
from editgauge.results import JournalEntry, Run
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

DETECT = ProtocolEntry("For tests.", "none", "1", (), (ScoreSpec("edit", True, (0.0, 1.0)),))
KINDS = ("object_replacement", "color", "positional_addition", "position_replacement")


@pytest.fixture
def context(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> Context:
    records = [
        make_record(
            f"{kind}-{trial}",
            {"edit": 0.1 * number + 0.2 * trial},
            method=method,
            protocol="unibench-detect",
            edit_type=kind,
            source=f"{kind}.png",
        )
        for number, method in enumerate(("mine", "<b>other"))
        for kind in KINDS
        for trial in (1, 2)
    ]
    folder = make_run(*records, protocols={"unibench-detect": DETECT})
    run = Run.open(folder)
    lines = [json.dumps({**edit, "extras": {"trial": int(name[-1])}}) for name, edit in run.edits.items()]
    (folder / "edits.jsonl").write_text("\n".join(lines) + "\n")
    return Context(Run.open(folder))


def test_methods_stand_side_by_side_with_the_total_last(context: Context) -> None:
    drawn = side_by_side.render(context)
    assert drawn is not None
    assert "mine: change class 0.300, change color 0.300, generate 0.300, move 0.300, total 0.300" in drawn
    assert "total 0.400" in drawn
    assert "<b>other" not in drawn
    assert drawn.count('r="3.6"') == 10  # two methods, four types of tasks and the total


def test_trials_are_told_with_deviation_and_interval(context: Context) -> None:
    told = trials.render(context)
    assert told is not None
    assert "2 sets of tasks" in told
    assert '<h3><code>edit</code> <span class="n">unibench-detect</span></h3>' in told
    assert '0.300 ± 0.141 <span class="interval">[0.000, 1.000]</span>' in told


def test_other_protocols_and_single_trials_have_no_such_sections(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    plain = Context(Run.open(make_run(make_record(), make_record(method="other"))))
    assert side_by_side.render(plain) is None
    assert trials.render(plain) is None
