"""Ground truth that changes: scores that were made with it are made again, and `verify` tells."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from editgauge._util.images import read_image, write_png
from editgauge.engine.run import run
from editgauge.engine.verify import verify
from editgauge.results import Run

Make = Callable[..., Path]
EDITS = 3


@pytest.fixture
def home(tmp_path: Path, make_benchmark: Make, make_outcomes: Make) -> Path:
    """Three edits of photographs; what two of them should become is in `truth`."""
    truth = [f"truth/{number}.png" if number else None for number in range(EDITS)]
    make_benchmark(tmp_path / "photos", edits=EDITS, size=32, reference=truth)
    make_outcomes(tmp_path / "photos", tmp_path / "mine")
    (tmp_path / "photos" / "truth").mkdir()
    for number in range(1, EDITS):
        write_png(read_image(tmp_path / "mine" / f"edit-{number:03d}.png"), tmp_path / "photos" / f"truth/{number}.png")
    return tmp_path


def score(home: Path) -> dict[str, float | None]:
    """The distance of each outcome to its ground truth."""
    made = run(
        home / "photos",
        outcomes={"mine": home / "mine"},
        protocol=["reference"],
        out=home / "run",
        quiet=True,
        processes=1,
    )
    columns = (made.scores[column].to_pylist() for column in ("edit", "name", "value"))
    return {edit: value for edit, name, value in zip(*columns, strict=True) if name == "l1"}


def test_another_ground_truth_makes_another_score(home: Path) -> None:
    assert score(home) == {"edit-000": None, "edit-001": 0.0, "edit-002": 0.0}
    truth = home / "photos" / "truth" / "2.png"
    write_png(np.zeros_like(read_image(truth)), truth)
    os.utime(truth, (1, 1))

    assert [problem for problem in verify(home / "run", recompute=0, quiet=True).problems if str(truth) in problem]
    again = score(home)
    assert (again["edit-000"], again["edit-001"]) == (None, 0.0)
    assert again["edit-002"] is not None
    assert again["edit-002"] > 0
    assert verify(home / "run", recompute=0, quiet=True).sound


def test_ground_truth_that_is_the_same_is_not_scored_again(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    score(home)
    run(home / "photos", outcomes={"mine": home / "mine"}, protocol=["reference"], out=home / "run", processes=1)

    assert f"{EDITS} of {EDITS} outcomes were scored before; nothing is left to do." in caplog.text
    assert Run.open(home / "run").scores["reference_path"].null_count > 0
