"""File names of outcomes, and the list that grows with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import editgauge
from editgauge._util.images import pixel_hash, read_image, write_png
from editgauge.engine._outcomes import OutcomeId, OutcomeLine, OutcomeList
from editgauge.errors import BadInputError
from editgauge.methods._layout_files import read_seed
from editgauge.types import id_problem

IDS = st.text(st.sampled_from("ab_sed1 é"), min_size=1, max_size=12).filter(lambda name: id_problem(name) is None)


@given(IDS, st.integers(1, 10**18 - 1))
def test_the_finder_of_outcomes_reads_back_what_a_file_is_called(edit_id: str, seed: int) -> None:
    assert read_seed(OutcomeId(edit_id, seed).name) == (edit_id, seed)


def test_what_is_added_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    (tmp_path / "cat.png").touch()
    listed = OutcomeList(tmp_path)
    lines = [
        OutcomeLine(id="cat", seed=0, prompt="a\u2028b", image_path="cat.png", seconds=1.5),
        OutcomeLine(id="cat", seed=1, prompt="two", source_prompt="one", absence="refused: no"),
    ]
    for line in lines:
        listed.add(line)
    assert list(OutcomeList(tmp_path)) == lines


@pytest.mark.parametrize(
    "damage", ["", "nonsense", "3", "[]", '{"id": "x"}', '{"id": "x", "seed": 0, "prompt": "", "odd": 1}']
)
def test_a_line_that_cannot_be_read_is_left_out(tmp_path: Path, damage: str) -> None:
    whole = OutcomeLine(id="cat", seed=0, prompt="p", absence="there is no cat").written()
    (tmp_path / "outcomes.jsonl").write_text(f"{damage}\n{whole}{damage}")
    assert [line.id for line in OutcomeList(tmp_path)] == ["cat"]


def test_a_line_whose_picture_is_gone_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "outcomes.jsonl").write_text(OutcomeLine(id="cat", seed=0, prompt="p", image_path="cat.png").written())
    assert list(OutcomeList(tmp_path)) == []


def test_the_whole_list_is_in_the_order_of_the_benchmark(tmp_path: Path) -> None:
    listed = OutcomeList(tmp_path)
    for edit_id, seed in (("b", 1), ("stranger", 0), ("a", 0), ("b", 0)):
        listed.add(OutcomeLine(id=edit_id, seed=seed, prompt="p", absence="x"))
    listed.write(["a", "b"])
    assert [line.key for line in OutcomeList(tmp_path)] == [("a", 0), ("b", 0), ("b", 1), ("stranger", 0)]


def test_a_list_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    listed = OutcomeList(tmp_path / "gone")
    with pytest.raises(BadInputError, match="cannot be written: No such file or directory"):
        listed.add(OutcomeLine(id="a", seed=0, prompt="p", absence="x"))


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
