"""A report of very many edits shows a sample of them, and says everything else of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from editgauge.reports import context as contexts
from editgauge.reports.context import Context
from editgauge.reports.report import report
from editgauge.reports.sections.overview import sentences
from editgauge.reports.sections.standard import failures
from editgauge.results import JournalEntry, Run
from editgauge.results import edits as run_edits

Make = Callable[..., Path]
MakeRecord = Callable[..., JournalEntry]
EDITS, SHOWN = 8, 3


@pytest.fixture
def run(make_run: Make, make_record: MakeRecord) -> Path:
    """Eight edits by two methods: some have all scores, some one, some none, some all that apply to them."""
    given: list[Mapping[str, float | str]] = [
        {"gain": 0.5, "loss": 0.25},
        {"gain": 0.5, "loss": "not_detected"},
        {"gain": "missing_outcome", "loss": "missing_outcome"},
        {"gain": 0.5, "loss": "not_applicable"},
    ]
    records = [
        make_record(f"edit-{number}", place=number, source=f"{number}.png", method=method, scores=given[number % 4])
        for method in ("mine", "yours")
        for number in range(EDITS)
    ]
    return make_run(*records)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets eight edits be very many."""
    monkeypatch.setattr(contexts, "MAX_OUTCOMES", 2 * EDITS - 1)
    monkeypatch.setattr(contexts, "SAMPLE_SIZE", SHOWN)
    monkeypatch.setattr(run_edits, "MAX_EDITS_IN_MEMORY", 2)


def output(run: Path) -> dict[str, object]:
    """What a report says about all outcomes."""
    context = Context(Run.open(run))
    return {
        "counts": context.counts,
        "of methods": [context.counts_of(method) for method in context.methods],
        "failures": [
            (item.missing.reason, item.missing.scores, item.missing.outcomes, item.methods, item.details)
            for item in failures(context)
        ],
        "sentences": sentences(context),
    }


def test_few_edits_are_all_shown(run: Path) -> None:
    context = Context(Run.open(run))
    assert (context.sample, context.sample_note) == (None, "")
    assert len(context.by_edit) == EDITS
    assert (context.counts.scored, context.counts.partly, context.counts.unscored) == (8, 4, 4)
    assert (context.counts.records, context.counts.planned) == (16, 16)


@pytest.mark.usefixtures("many")
def test_of_many_edits_some_are_shown(run: Path) -> None:
    context = Context(Run.open(run))
    assert len(context.by_edit) == SHOWN
    assert len(context.outcomes) == 2 * SHOWN
    assert list(context.by_edit) == sorted(context.by_edit)
    assert Context(Run.open(run)).sample == context.sample


def test_a_sample_changes_no_number(run: Path, request: pytest.FixtureRequest) -> None:
    all_shown = output(run)
    request.getfixturevalue("many")
    assert output(run) == all_shown


@pytest.mark.usefixtures("many")
def test_the_page_says_that_it_is_a_sample(run: Path, tmp_path: Path) -> None:
    page = report(run, out=tmp_path / "report", quiet=True).read_text("utf-8")
    assert "A sample of 3 of 8 edits, drawn at random" in page


@pytest.mark.usefixtures("many")
def test_edits_that_stay_on_disk_are_the_same(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_disk = Run.open(run).edits
    assert isinstance(on_disk, run_edits.ManyEdits)
    monkeypatch.undo()
    in_memory = Run.open(run).edits
    assert dict(on_disk) == dict(on_disk.items()) == in_memory
    assert list(on_disk.values()) == list(in_memory.values())
    assert len(on_disk) == EDITS
    assert "edit-8" not in on_disk
    assert on_disk.get("edit-3") == in_memory["edit-3"]
