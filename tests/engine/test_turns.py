"""Multi-turn edits: from the second turn on, the source is the method's own last picture."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import editgauge
from editgauge._util.images import pixel_hash, read_image, write_png

FOLLOWS = [None, "edit-000"]


def test_the_second_turn_is_scored_against_the_first_outcome(
    tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]
) -> None:
    benchmark = make_benchmark(tmp_path / "turns", edits=2, follows=FOLLOWS, turn=[1, 2])
    outcomes = make_outcomes(benchmark, tmp_path / "mine")
    run = editgauge.run(
        benchmark, protocol=["preservation"], outcomes={"mine": outcomes}, out=tmp_path / "run", quiet=True
    )
    second = next(row for row in run.scores.to_pylist() if row["edit"] == "edit-001")
    assert second["source_path"] == str(outcomes / "edit-000.png")
    assert second["source"] == "0.png", "scores stay clustered by the benchmark's own image"


def test_a_second_turn_without_a_first_outcome_is_a_missing_outcome(
    tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]
) -> None:
    benchmark = make_benchmark(tmp_path / "turns", edits=2, follows=FOLLOWS, turn=[1, 2])
    outcomes = make_outcomes(benchmark, tmp_path / "mine")
    (outcomes / "edit-000.png").unlink()
    run = editgauge.run(
        benchmark, protocol=["preservation"], outcomes={"mine": outcomes}, out=tmp_path / "run", quiet=True
    )
    rows = [row for row in run.scores.to_pylist() if row["edit"] == "edit-001"]
    assert {row["reason"] for row in rows} == {"missing_outcome"}
    assert "edit-000" in rows[0]["detail"]


def test_a_method_edits_its_own_last_picture(tmp_path: Path, make_benchmark: Callable[..., Path]) -> None:
    benchmark = make_benchmark(tmp_path / "turns", edits=2, follows=FOLLOWS, turn=[1, 2])
    out = tmp_path / "out"
    editgauge.edit(benchmark, method="identity", out=out, quiet=True)
    marked = read_image(out / "edit-000.png").copy()
    marked[:5] = 0
    (out / "edit-001.png").unlink()
    write_png(marked, out / "edit-000.png")
    editgauge.edit(benchmark, method="identity", out=out, quiet=True)
    assert pixel_hash(read_image(out / "edit-001.png")) == pixel_hash(marked)


def test_following_an_edit_that_does_not_exist_is_a_problem_of_the_benchmark(
    tmp_path: Path, make_benchmark: Callable[..., Path], editgauge: Callable[..., object]
) -> None:
    benchmark = make_benchmark(tmp_path / "turns", edits=2, follows=[None, "nobody"])
    ended = editgauge("edit", benchmark, "--method", "identity", "--out", tmp_path / "out", code=2)
    assert "edits.jsonl:2" in getattr(ended, "stderr", "")
    assert json.dumps("nobody")[1:-1] in getattr(ended, "stderr", "")


def test_edits_of_one_photograph_count_as_one_source(
    tmp_path: Path, make_benchmark: Callable[..., Path], make_outcomes: Callable[..., Path]
) -> None:
    benchmark = make_benchmark(tmp_path / "turns", edits=2, photograph=["kitchen", "kitchen"])
    outcomes = make_outcomes(benchmark, tmp_path / "mine")
    run = editgauge.run(
        benchmark, protocol=["preservation"], outcomes={"mine": outcomes}, out=tmp_path / "run", quiet=True
    )
    assert set(run.scores["source"].to_pylist()) == {"kitchen"}
