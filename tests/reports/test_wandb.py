"""Means go to Weights & Biases when asked, and its absence is reported with the line that repairs it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.analysis.summary import MEAN_COLUMNS, mean_row
from editgauge.errors import BadInputError
from editgauge.reports.context import Context
from editgauge.reports.report import report
from editgauge.results import JournalEntry, Run


@pytest.fixture
def run(make_record: Callable[..., JournalEntry], make_run: Callable[..., Path]) -> Path:
    return make_run(
        make_record("a", {"gain": 0.5, "loss": "refused"}), make_record("b", {"gain": 0.7, "loss": "refused"})
    )


def test_a_row_for_every_mean(run: Path) -> None:
    told = [dict(zip(MEAN_COLUMNS, mean_row(cell), strict=True)) for cell in Context(Run.open(run)).cells]

    gain = next(row for row in told if (row["score"], row["edit_type"]) == ("gain", "all"))
    loss = next(row for row in told if (row["score"], row["edit_type"]) == ("loss", "all"))
    assert (gain["mean"], gain["n"], gain["unscored"]) == (0.6, 2, 0)
    assert (loss["mean"], loss["n"], loss["unscored"]) == (None, 0, 2)


def test_without_the_library_the_line_to_paste_is_told(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(BadInputError, match=r"pip install 'editgauge\[wandb\]'"):
        report(run, out=tmp_path / "report", quiet=True, wandb="project")
    assert (tmp_path / "report" / "index.html").is_file()


def test_offline_logging(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library: Any = pytest.importorskip("wandb", reason="NOT TESTED: needs pip install 'editgauge[wandb]'")
    library.teardown()  # what an earlier test set up does not read the environment again
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_SILENT", "true")
    report(run, out=tmp_path / "report", quiet=True, wandb="project")
    assert list((tmp_path / "wandb").glob("offline-run-*/*.wandb"))
