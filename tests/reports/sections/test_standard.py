"""What has no score is counted from every side, quoted without the machine's folders, and shown by examples."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from editgauge.reports.context import Context
from editgauge.reports.report import report
from editgauge.reports.sections.standard import MAX_DETAILS, failures
from editgauge.results import JournalEntry, Run

if TYPE_CHECKING:
    from tests.reports.conftest import Page


Make = Callable[..., JournalEntry]
MakeRun = Callable[..., Path]
ABSENT = "There is no image at '/home/ada/secret/outcomes/a.png'."


@pytest.fixture
def run(make_run: MakeRun, make_record: Make) -> Path:
    gone = {"gain": "missing_outcome", "loss": "missing_outcome"}
    return make_run(
        make_record("a", gone, method="one", detail=ABSENT),
        make_record("b", gone, method="one", place=1, detail="refused by <b>a filter</b>"),
        make_record("c", {"gain": 0.5, "loss": "no_rule"}, method="one", place=2),
        make_record("a", {"gain": 0.5, "loss": "no_rule"}, method="two"),
    )


def test_every_reason_is_counted_by_method_and_protocol(run: Path) -> None:
    missing, no_rule = failures(Context(Run.open(run)))

    assert (missing.missing.reason, missing.missing.outcomes, missing.missing.scores) == ("missing_outcome", 2, 4)
    assert (dict(missing.methods), dict(missing.protocols)) == ({"one": 4}, {"toy": 4})
    assert dict(no_rule.methods) == {"one": 1, "two": 1}
    assert no_rule.top_details == []


def test_what_was_said_is_quoted_without_folders(run: Path) -> None:
    missing, _ = failures(Context(Run.open(run)))

    assert missing.top_details == [("There is no image at '…/outcomes/a.png'.", 2), ("refused by <b>a filter</b>", 2)]
    assert missing.more_details == 0


def test_many_different_texts_are_cut_short_and_counted(make_run: MakeRun, make_record: Make) -> None:
    records = [make_record(f"e{n}", {"gain": "crashed"}, place=n, detail=f"error {n}") for n in range(9)]
    (crashed,) = failures(Context(Run.open(make_run(*records))))

    assert (len(crashed.top_details), crashed.more_details) == (MAX_DETAILS, 9 - MAX_DETAILS)


def test_the_section_shows_counts_texts_and_links(run: Path, tmp_path: Path, as_page: Callable[[Path], Page]) -> None:
    section = as_page(report(run, out=tmp_path / "report", quiet=True)).section("unscored")

    output = section.full_text()
    assert "missing_outcome 4 scores of 2 outcomes" in output
    assert "refused by <b>a filter</b> 2 times" in output
    assert "The protocol has no automatic rule for this edit type." in output
    links = [element.attributes["href"] for element in section.all("a")]
    assert {"#edit-a", "#edit-b", "#edit-c", "#reason-missing_outcome"} <= set(links)
    counts = [cell.full_text() for cell in section.all("tbody")[0].all("tr")[0].all("td")]
    assert counts == ["2", "4", "4", "0"]


def test_no_page_tells_whose_machine_it_was(run: Path, tmp_path: Path) -> None:
    text = report(run, out=tmp_path / "report", quiet=True).read_text("utf-8")
    text += report(run, out=tmp_path / "one.html", quiet=True, single_file=True).read_text("utf-8")

    assert "secret" not in text
    assert str(tmp_path) not in text
