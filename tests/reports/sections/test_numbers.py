"""The report's sections of UniBench: methods side by side, and repeated trials."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from editgauge.analysis.captions import caption_groups
from editgauge.analysis.outcomes import scored_outcomes
from editgauge.reports.context import Context
from editgauge.reports.report import report
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
    output = trials.render(context)
    assert output is not None
    assert "2 sets of tasks" in output
    assert '<h3><code>edit</code> <span class="n">unibench-detect</span></h3>' in output
    assert '0.300 ± 0.141 <span class="interval">[0.000, 1.000]</span>' in output


def test_other_protocols_and_single_trials_have_no_such_sections(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    plain = Context(Run.open(make_run(make_record(), make_record(method="other"))))
    assert side_by_side.render(plain) is None
    assert trials.render(plain) is None


NAME = "difference-captions[gpt]"
SCORES = tuple(ScoreSpec(name, True, (0.0, 100.0)) for name in ("mp", "hr", "objects"))
ENTRY = ProtocolEntry(about="", paper="", version="1", deviations=(), scores=SCORES)


def test_captions_are_drawn_by_the_number_of_objects(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    records = [
        make_record(f"e{n}", {"mp": n / 20, "hr": 0.5, "objects": float(n)}, protocol=NAME, source=f"{n}.png", place=n)
        for n in range(20)
    ]
    report(make_run(*records, protocols={NAME: ENTRY}), out=tmp_path / "report", quiet=True)
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    section = page[page.index('id="captions"') :]
    assert f"Difference captions of {NAME} for mine" in section


def test_captions_are_grouped_by_action_and_by_what_people_say(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    scores = tuple(ScoreSpec(name, True, (0.0, 100.0)) for name in ("main_matched", "mp", "hr", "differences"))
    entry = ProtocolEntry(about="", paper="", version="1", deviations=(), scores=scores)
    output = {
        "done": ({"main_matched": 1.0, "mp": 0.5, "hr": 0.0, "differences": 3.0}, ("Add", 3)),
        "unexpected": ({"main_matched": 0.0, "mp": 0.1, "hr": 1.0, "differences": 1.0}, ("Remove", 2)),
        "not done": ({"main_matched": 0.0, "mp": 0.0, "hr": "not_applicable", "differences": 0.0}, ("Remove", 0)),
        "disputed": ({"main_matched": 0.0, "mp": 0.0, "hr": 1.0, "differences": 1.0}, ("Remove", None)),
    }
    records = [
        make_record(edit, values, protocol=NAME, source=f"{edit}.png", place=index)
        for index, (edit, (values, _)) in enumerate(output.items())
    ]
    extras = {
        edit: {"action": action, "majority": {"accuracy": level}} for edit, (_, (action, level)) in output.items()
    }
    run = Run.open(make_run(*records, protocols={NAME: entry}, extras=extras))

    means = {
        group.name: {name: mean and mean.value for name, mean in group.means.items()}
        for group in caption_groups(run, scored_outcomes(run))
    }

    assert list(means) == ["Add", "people: done", "Remove", "people: not done"]
    assert means["people: done"] == {"main_matched": 0.5, "mp": 0.3, "hr": 0.5, "differences": 2, "none named": 0}
    assert means["people: not done"] == {"main_matched": 0, "mp": 0, "hr": None, "differences": 0, "none named": 1}
    assert means["Remove"]["none named"] == pytest.approx(1 / 3)

    report(run.folder, out=run.folder.parent / "report", quiet=True)
    assert "people: not done" in (run.folder.parent / "report" / "index.html").read_text("utf-8")


def test_other_runs_have_no_such_section(
    make_run: Callable[..., Path], make_record: Callable[..., JournalEntry], tmp_path: Path
) -> None:
    report(make_run(make_record()), out=tmp_path / "report", quiet=True)
    assert 'id="captions"' not in (tmp_path / "report" / "index.html").read_text("utf-8")
