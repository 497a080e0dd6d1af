"""File names of outcomes, and the list that grows with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
