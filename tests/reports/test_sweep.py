"""The report of a swept option, and of what making outcomes took."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from editgauge.methods.card import read_card
from editgauge.reports._paper_figures import write_figures
from editgauge.reports.report import report
from editgauge.reports.sections.methods import swept
from editgauge.results import JournalEntry, Run

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
    assert "imagic" in as_page(tmp_path / "out" / "index.html").section("sweep").said()


def test_the_plot_is_a_figure_of_its_own_too(run: Path) -> None:
    found = write_figures(Run.open(run))
    drawn = found["figures/toy-gain/sweep-1-imagic-eta.svg"].decode()
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
    told = as_page(report(run, out=tmp_path / "out", quiet=True)).section("methods").said()
    line = "1.5 s per edit (median), 2.50 GB of memory, 2 of 12 failed (2 refused), cost 0.4"
    assert told.count("Editing:") == 1
    assert line in told


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"card": 3}', '{"card": {"outcomes": 1}}'])
def test_a_manifest_without_a_card_shows_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "method.json").write_text(content)
    assert read_card(tmp_path) is None
