"""`compare` as users type it: intervals, stars, places, what is missing, and depend on the way of averaging."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from editgauge._cli._show_runs import show_comparison
from editgauge.analysis.compare import Comparison
from editgauge.results import JournalEntry, Run
from editgauge.types import ScoreSpec

Command = Callable[..., subprocess.CompletedProcess[str]]
METHODS = ("instruct-pix2pix", "another-method", "third")


@pytest.fixture
def run(make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]) -> Path:
    """Many color edits, few of size, which are harder; the first method is better; the second has no picture of some.

    The protocol has the name of a paper's.
    """
    random = np.random.default_rng(0)
    records = []
    for edit in range(60):
        size = edit % 10 == 0
        for place, method in enumerate(METHODS):
            gain = float(np.clip(random.normal(0.9 - 0.2 * place - 0.3 * size, 0.05), 0, 1))
            lost = method == "another-method" and edit % 6 == 0
            scores: dict[str, float | str] = {"gain": "missing_outcome" if lost else gain, "loss": 0.5}
            kind = "size" if size else "color"
            told = {"place": edit, "source": f"{edit}.png", "edit_type": kind, "protocol": "pixlens"}
            records.append(make_record(f"e{edit}", scores, method=method, **told))
    toy = Run.open(make_run(make_record("a"), name="toy")).manifest.protocols["toy"]
    return make_run(*records, protocols={"pixlens": toy})


def test_everything_in_a_hundred_columns(editgauge: Command, run: Path) -> None:
    told = editgauge("compare", run, "--methods", *METHODS[:2]).stdout
    assert max(map(len, told.splitlines())) <= 100
    lines = told.splitlines()
    row = next(index for index, line in enumerate(lines) if line.startswith("gain ↑") and "0.0000***" in line)
    assert lines[row].split()[-1] == METHODS[0]
    places = lines[row + 1]
    assert "rank 1 [1-1]" in places
    assert "2 [2-2]" in places
    assert "n 50" in places
    low, _, high = lines[row + 2].split()[0].partition("…")
    assert float(high) - float(low) == pytest.approx(10 / 60, abs=0.002)
    assert "the mean if all unscored outcomes, up to 10, had the worst or the best value." in told


def test_the_way_of_averaging_is_shown_where_it_matters(editgauge: Command, run: Path) -> None:
    told = editgauge("compare", run, "--methods", METHODS[0], METHODS[2]).stdout
    below = told.partition("depend on the way of averaging")[2]
    (row, *_) = [line for line in below.splitlines() if line.startswith("gain ↑")]
    count_weighted, by_type = (float(word) for word in row.replace("◂", "").split()[3:5])
    assert count_weighted - by_type > 0.05
    assert "◂" in row.split(str(by_type))[0], "the paper of PixLens counts every edit once"
    assert "loss" not in below


def test_it_is_not_shown_where_it_does_not(
    editgauge: Command, make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    records = [
        make_record(f"e{edit}", {"gain": edit / 20}, method=method, place=edit, source=f"{edit // 2}.png")
        for method in METHODS[:2]
        for edit in range(20)
    ]
    told = editgauge("compare", make_run(*records), "--methods", *METHODS[:2]).stdout
    assert "averaging" not in told
    assert "not significant" in " ".join(told.split())


def test_scores_of_several_protocols_are_told_apart(
    editgauge: Command, make_run: Callable[..., Path], make_record: Callable[..., JournalEntry]
) -> None:
    toy = Run.open(make_run(make_record("a"), name="toy")).manifest.protocols["toy"]
    records = [
        make_record("a", {"gain": 0.5}, method=method, protocol=protocol)
        for method in METHODS[:2]
        for protocol in ("one-way", "other-way")
    ]
    protocols = {name: replace(toy, scores=toy.scores[:1]) for name in ("one-way", "other-way")}
    told = editgauge("compare", make_run(*records, protocols=protocols), "--methods", *METHODS[:2]).stdout
    assert "one-way" in told
    assert "other-way" in told


def test_what_the_correction_takes_back_is_named_with_its_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    """Three protocols have a score `edit`: the name alone does not say which one."""
    spec = ScoreSpec("edit", True, (0.0, 1.0))
    shared = Comparison("editval", spec, "mine", "theirs", None, only_first=0, only_second=0)
    lost = replace(shared, protocol="pixlens", verdict="first", p_over_scores=0.09)
    show_comparison([shared, lost])
    assert "not significant: pixlens/edit." in " ".join(capsys.readouterr().out.split())
