"""The report of a protocol under several options, of scores with one name, and of scores of whole sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from editgauge.reports.context import Context
from editgauge.reports.report import report
from editgauge.results import JournalEntry, Run
from editgauge.results.manifest import ProtocolEntry
from editgauge.results.sets import SetScore, write_sets
from editgauge.types import ScoreSpec

if TYPE_CHECKING:
    from tests.reports.conftest import Page

EDIT = ProtocolEntry("A rule.", "none", "1", (), (ScoreSpec("edit", True, (0.0, 1.0)),))
VARIANTS = ("rule", "rule[delta=25]", "other")


def made(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path], far: float) -> Path:
    records = [
        make_record(
            f"e{number}",
            {"edit": far if "25" in protocol else float(number % 2)},
            protocol=protocol,
            place=number,
            source=f"{number}.png",
            edit_type="size" if number < 8 else "color",
        )
        for protocol in VARIANTS
        for number in range(16)
    ]
    return make_run(*records, protocols=dict.fromkeys(VARIANTS, EDIT))


def test_options_that_make_a_difference_stand_side_by_side(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    as_page: Callable[[Path], Page],
    tmp_path: Path,
) -> None:
    page = as_page(report(made(make_record, make_run, 1.0), out=tmp_path / "out", quiet=True))
    told = page.section("variants").said()

    assert "as it is" in told
    assert "[delta=25]" in told
    assert "0.50" in told
    assert "1.00" in told
    assert "other" not in told  # it has no other options


def test_scores_of_one_name_are_told_apart_by_their_protocol(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]
) -> None:
    context = Context(Run.open(made(make_record, make_run, 1.0)))

    assert set(context.titles.values()) == {"rule edit", "rule[delta=25] edit", "other edit"}


def test_scores_of_sets_have_a_table_with_their_n_and_warnings(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    as_page: Callable[[Path], Page],
    tmp_path: Path,
) -> None:
    run = make_run(make_record())
    cell = ("toy", "fid", "mine")
    about = False, "Far or near."
    write_sets(
        run,
        [
            SetScore(*cell, "all", 12.3456, 40, *about, detail="40 pictures are few."),
            SetScore(*cell, "color", None, 1, *about, reason="not_applicable", detail="one is no set"),
        ],
    )

    told = as_page(report(run, out=tmp_path / "out", quiet=True)).section("sets").said()
    assert "12.346 n 40" in told
    assert "unscored" in told
    assert "40 pictures are few." in told
    assert Run.open(run).sets[0].value == 12.3456


def test_ways_of_aggregating_stand_side_by_side_with_the_papers_own_marked(
    make_record: Callable[..., JournalEntry],
    make_run: Callable[..., Path],
    as_page: Callable[[Path], Page],
    tmp_path: Path,
) -> None:
    kinds = ["size"] * 18 + ["color"] * 2
    records = [
        make_record(
            f"e{place}",
            {"edit": float(kind == "size")},
            protocol="editval",
            place=place,
            source=f"{place}.png",
            edit_type=kind,
        )
        for place, kind in enumerate(kinds)
    ]
    run = make_run(*records, protocols={"editval": EDIT})

    told = as_page(report(run, out=tmp_path / "out", quiet=True)).section("aggregations").said()
    assert "0.900" in told  # every outcome counts once
    assert "0.500" in told  # every edit type counts once
    assert "by type the paper's" in told
