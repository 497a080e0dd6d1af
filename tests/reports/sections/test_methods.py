"""The report of a swept option, and of what making outcomes took."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from editgauge.methods.card import read_card
from editgauge.reports._paper_figures import write_figures
from editgauge.reports.context import Context
from editgauge.reports.report import report
from editgauge.reports.sections.methods import swept
from editgauge.results import JournalEntry, Run
from editgauge.results._records import SetScore, write_sets
from editgauge.results.manifest import ProtocolEntry
from editgauge.types import ScoreSpec

if TYPE_CHECKING:
    from tests.reports.conftest import Page


VALUES = {"imagic[eta=0.8]": 0.2, "imagic[eta=1.2]": 0.9, "imagic[eta=1.0]": 0.5, "other": 0.4}
CARD = {"outcomes": 10, "failures": {"refused": 2}, "seconds_mean": 2.0, "seconds_median": 1.5}
REST = {"peak_memory": 2_500_000_000, "peak_gpu_memory": None, "cost": 0.4}


@pytest.fixture
def run(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path], tmp_path: Path) -> Path:
    records = [
        make_record(f"e{n}", {"gain": value + n / 100}, method=method, place=n, source=f"{n}.png")
        for method, value in VALUES.items()
        for n in range(10)
    ]
    return make_run(*records, methods={method: str(tmp_path / method) for method in VALUES})


def test_a_score_is_drawn_over_the_option_in_the_order_of_its_values(
    run: Path, as_page: Callable[[Path], Page], tmp_path: Path
) -> None:
    page = report(run, out=tmp_path / "out", quiet=True).read_text("utf-8")
    assert 'aria-label="gain over eta: 0.8 0.245, 1 0.545, 1.2 0.945"' in page
    assert "imagic" in as_page(tmp_path / "out" / "index.html").section("sweep").full_text()


def test_the_plot_is_a_figure_of_its_own_too(run: Path) -> None:
    results = write_figures(Run.open(run))
    drawn = results["figures/toy-gain/sweep-1-imagic-eta.svg"].decode()
    assert "gain over eta" in drawn
    assert drawn.count("<circle") == 3
    assert "class=" not in drawn


def test_without_a_swept_option_there_is_no_such_section(
    make_record: Callable[..., JournalEntry], make_run: Callable[..., Path], tmp_path: Path
) -> None:
    page = report(make_run(make_record()), out=tmp_path / "out", quiet=True).read_text("utf-8")
    assert 'id="sweep"' not in page


def test_only_numbers_of_one_option_with_all_else_the_same_are_a_sweep() -> None:
    assert swept(["a[n=1]", "b[n=2]", "c[model=x]", "c[model=y]", "d[n=1,m=1]", "d[n=2,m=2]", "e[n=inf]"]) == []
    names = [f"a[n={n},m={m}]" for n in (10, 9) for m in (1, 2)]
    by_n, by_m = swept([*names, "a[n=11,m=1]"])
    assert (by_n.option, list(by_n.series["m=1"]), list(by_n.series["m=2"])) == ("n", [9, 10, 11], [9, 10])
    assert (by_m.option, set(by_m.series)) == ("m", {"n=10", "n=9"})


def test_what_making_the_outcomes_took_stands_with_the_method(
    run: Path, as_page: Callable[[Path], Page], tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "method.json").write_text(json.dumps({"card": CARD | REST}))
    output = as_page(report(run, out=tmp_path / "out", quiet=True)).section("methods").full_text()
    line = "1.5 s per edit (median), 2.50 GB of memory, 2 of 12 failed (2 refused), cost 0.4"
    assert output.count("Editing:") == 1
    assert line in output


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"card": 3}', '{"card": {"outcomes": 1}}'])
def test_a_manifest_without_a_card_shows_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "method.json").write_text(content)
    assert read_card(tmp_path) is None


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
    output = page.section("variants").full_text()

    assert "as it is" in output
    assert "[delta=25]" in output
    assert "0.50" in output
    assert "1.00" in output
    assert "other" not in output  # it has no other options


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

    output = as_page(report(run, out=tmp_path / "out", quiet=True)).section("sets").full_text()
    assert "12.346 n 40" in output
    assert "unscored" in output
    assert "40 pictures are few." in output
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
            f"e{index}",
            {"edit": float(kind == "size")},
            protocol="editval",
            place=index,
            source=f"{index}.png",
            edit_type=kind,
        )
        for index, kind in enumerate(kinds)
    ]
    run = make_run(*records, protocols={"editval": EDIT})

    output = as_page(report(run, out=tmp_path / "out", quiet=True)).section("aggregations").full_text()
    assert "0.900" in output  # every outcome counts once
    assert "0.500" in output  # every edit type counts once
    assert "by type the paper's" in output
