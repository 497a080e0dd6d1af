"""Verdicts are counted by method and listed for every outcome."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from editgauge.reports.context import Context
from editgauge.reports.report import report
from editgauge.reports.sections.verdicts import answers_by_method, section
from editgauge.results import ImageStamp, JournalEntry, Run
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

if TYPE_CHECKING:
    from tests.reports.conftest import Page

SPECS = tuple(ScoreSpec(name, True, (0.0, 1.0)) for name in ("edit", "kept", "quality"))


@pytest.fixture
def run(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> Path:
    records = [
        make_record(
            f"e{index}",
            {"edit": edit, "kept": 0.9, "quality": 0.9},
            protocol="editgauge",
            place=index,
            source=f"{index}.png",
            edited_image=ImageStamp("/nowhere/edited.png"),
        )
        for index, edit in enumerate((0.95, 0.9, 0.05))
    ]
    return make_run(*records, protocols={"editgauge": ProtocolEntry("Rules.", "none", "1", (), SPECS)})


def test_answers_are_counted_by_method(run: Path) -> None:
    done, remaining, quality = answers_by_method(Context(Run.open(run)))["mine"]
    assert done == {"yes": 2, "no": 1}
    assert remaining == {"well": 3}
    assert quality == {"good": 3}


def test_every_outcome_has_a_row(run: Path, tmp_path: Path, as_page: Callable[[Path], Page]) -> None:
    page = as_page(report(run, out=tmp_path / "report", quiet=True))
    _, rows = page.section("verdicts").all("tbody")
    assert [row.all("td")[1].full_text() for row in rows.all("tr")] == ["yes", "yes", "no"]
    assert [outcome["verdict"]["done"] for edit in page.gallery["edits"] for outcome in edit["outcomes"]] == [
        "yes",
        "yes",
        "no",
    ]


def test_without_a_judging_protocol_there_is_no_section(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    assert section.render(Context(Run.open(make_run(make_record())))) is None
