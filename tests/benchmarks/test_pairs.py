"""Public sets of compared outcomes become a benchmark, outcomes and choices."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from editgauge.analysis.ratings import read_choices
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.pairs import pairs
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.methods.outcomes import find_outcomes


@pytest.fixture
def picture(tmp_path: Path, draw: Callable[..., Path]) -> Callable[[int], dict[str, Any]]:
    return lambda shade: {"bytes": draw(tmp_path / f"{shade}.png", color=(shade, 0, 0)).read_bytes(), "path": None}


def _table(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows), folder / "test-0.parquet")
    return folder


def test_votes_of_genai_bench(tmp_path: Path, picture: Any) -> None:
    votes = ("leftvote", "rightvote", "tievote", "bothbad_vote")
    rows = [
        {
            "instruct_prompt": "Add a hat.",
            "source_image": picture(1),
            "vote_type": vote,
            "conv_id": f"c{number}",
            "left_output_image": picture(2),
            "right_output_image": picture(3),
            "left_model": "MagicBrush",
            "right_model": "Pix2PixZero",
        }
        for number, vote in enumerate(votes)
    ]
    made = pairs("genai-bench", data=_table(tmp_path, rows), out=tmp_path / "out")
    assert (made.edits, made.methods, made.both_bad) == (4, ("magicbrush", "pix2pixzero"), 1)
    choices = read_choices(tmp_path / "out" / "choices.jsonl")
    assert [choice.choice for choice in choices] == ["first", "second", "tie", "tie"]
    benchmark = open_benchmark(tmp_path / "out" / "benchmark")
    assert {choice.edit for choice in choices} == {edit.id for edit in benchmark.edits}
    for method in made.methods:
        assert find_outcomes(method, tmp_path / "out" / "outcomes" / method, benchmark.edits).present == 4


def test_rankings_of_editreward_bench_are_taken_pair_by_pair(tmp_path: Path, picture: Any) -> None:
    row = {
        "id": "r1",
        "instruction": "Add a hat.",
        "source_image": picture(1),
        "dataset": "3pair",
        "ranking": "B>A=C",
        **{f"candidate_{place}": picture(place + 1) for place in (1, 2, 3)},
        **{f"model_{place}": f"model {place}" for place in (1, 2, 3)},
    }
    pairs("editreward-bench", data=_table(tmp_path, [row]), out=tmp_path / "out")
    choices = read_choices(tmp_path / "out" / "choices.jsonl")
    assert [(item.first, item.second, item.choice) for item in choices] == [
        ("model-1", "model-2", "second"),
        ("model-1", "model-3", "tie"),
        ("model-2", "model-3", "first"),
    ]


def test_the_better_one_of_editscores_bench_is_known_and_its_place_says_nothing(tmp_path: Path, picture: Any) -> None:
    shared = {"instruction": "Add a hat.", "input_image": picture(1), "task_type": "subject-add"}
    rows = [
        {**shared, "key": ["k2", "k1"], "dimension": "overall", "output_images": [picture(2), picture(3)]},
        {**shared, "key": ["k1", "k2"], "dimension": "consistency", "output_images": [picture(3), picture(2)]},
    ]
    made = pairs("editscore-bench", data=_table(tmp_path, rows), out=tmp_path / "out")
    assert (made.edits, dict(made.choices)) == (1, {"choices-overall.jsonl": 1, "choices-consistency.jsonl": 1})
    chosen = {name: read_choices(tmp_path / "out" / name)[0].choice for name in made.choices}
    assert chosen == {"choices-overall.jsonl": "second", "choices-consistency.jsonl": "first"}
    [entry] = map(json.loads, (tmp_path / "out" / "benchmark" / "edits.jsonl").read_text().splitlines())
    assert entry["groups"] == {"task": "subject-add"}


def test_all_faults_are_told_at_once(tmp_path: Path, picture: Any) -> None:
    rows = [
        {"id": "1", "instruction": "Add.", "source_image": picture(1), "candidate_1": picture(2), "ranking": "A>B"},
        {"id": "2", "instruction": "", "source_image": None, "candidate_1": picture(2), "ranking": "first"},
    ]
    with pytest.raises(BadInputError) as caught:
        pairs("editreward-bench", data=_table(tmp_path, rows), out=tmp_path / "out")
    assert len(caught.value.problems) == 4
    assert not (tmp_path / "out").exists()
    with pytest.raises(UnknownNameError, match="genai-bench"):
        pairs("genai", data=tmp_path, out=tmp_path / "out")
