"""What stands beside a mean: its place, what it could have been, and where its rules come from."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge.reports.report import report
from editgauge.results import JournalEntry, Run

if TYPE_CHECKING:
    from tests.reports.conftest import Page


def test_places_and_bounds_stand_beside_the_means(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
    as_page: Callable[[Path], Page],
) -> None:
    """`two` is better; one of its twenty outcomes crashed and might have had any value."""
    records = [
        make_record(
            f"e{n}",
            {"gain": "crashed" if (method, n) == ("two", 0) else value + 0.01 * (n % 3)},
            method=method,
            source=f"{n}.png",
            place=n,
        )
        for method, value in {"one": 0.2, "two": 0.8}.items()
        for n in range(20)
    ]
    page = as_page(report(make_run(*records), out=tmp_path / "report", quiet=True))
    one, two = (row.said() for row in page.section("overview").all("tbody")[0].all("tr"))
    assert "place 2 20 scored" in one
    assert "place 1 19 scored, 1 not" in two
    summary = page.section("summary").said()
    assert "1 unscored: crashed" in summary
    assert re.findall(r"0\.7\d\d to 0\.8\d\d if the 1 missing had scores", summary)


def test_under_every_table_stand_its_paper_and_deviations(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    tmp_path: Path,
    as_page: Callable[[Path], Page],
) -> None:
    toy = Run.open(make_run(make_record(), name="plain")).manifest.protocols["toy"]
    told = replace(toy, paper="Doe and Roe, 2024.", deviations=("It rounds `<up>` here.", "It skips."))
    run = make_run(make_record(scores={"gain": 0.5, "loss": 0.5}), protocols={"toy": told})
    section = as_page(report(run, out=tmp_path / "report", quiet=True)).section("summary")
    lines = [each.said() for each in section.all("p", "source")]
    assert lines == ["toy, version 1. Paper: Doe and Roe, 2024. Deviations: It rounds <up> here. It skips."] * 2
    assert [each.said() for each in section.all("code") if each.said() == "<up>"] == ["<up>"] * 2
