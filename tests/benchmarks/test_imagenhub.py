"""ImagenHub's text-guided editing: the public shape and its faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.imagenhub import load

RECORD = {
    "source_global_caption": "A lake.",
    "instruction": "add a boat",
    "target_global_caption": "A lake with a boat.",
}


@pytest.fixture
def data(tmp_path: Path, draw: Callable[..., Path]) -> Callable[[Any], Path]:
    def write(lookup: Any) -> Path:
        (tmp_path / "dataset_lookup.json").write_text(json.dumps(lookup))
        for uid in ("sample_1_1.jpg", "sample_1_2.jpg"):
            draw(tmp_path / "input" / uid)
        draw(tmp_path / "GroundTruth" / "sample_1_1.jpg")
        return tmp_path

    return write


def test_records_become_edits(data: Callable[[Any], Path]) -> None:
    lookup = {"sample_1_1.jpg": RECORD, "sample_1_2.jpg": {**RECORD, "instruction": "let the man smile"}}
    benchmark = open_benchmark("imagenhub", data=data(lookup))
    first, second = benchmark.edits
    assert (first.id, first.type, first.instruction) == ("sample_1_1", "object_addition", "add a boat")
    assert (first.source_caption, first.target_caption) == ("A lake.", "A lake with a boat.")
    assert first.extras == {"uid": "sample_1_1.jpg"}
    assert first.reference is not None
    assert first.reference.path.is_file()
    assert first.origin == second.origin == "sample_1"
    assert (second.type, second.subject, second.to, second.reference) == ("action", "man", "smiling", None)
    assert benchmark.about == (
        "2 edits of 2 images (the paper says 179 of 179); instructions understood: 2 of 2, 2 of them without doubt"
    )


def test_all_faults_are_told_with_their_record(data: Callable[[Any], Path], told: Callable[..., Any]) -> None:
    lookup = {
        "sample_1_1.png": RECORD,
        "sample_1_2.jpg": {"instruction": ""},
        "../sample_1_1.jpg": RECORD,
        "sample_1_1.jpg": 3,
    }
    assert list(told(load, data(lookup))) == [
        "dataset_lookup.json: record 'sample_1_1.png': the image 'input/sample_1_1.png' does not exist; "
        "there is 'sample_1_1.jpg', with another extension or other capitals",
        "dataset_lookup.json: record 'sample_1_2.jpg': 'instruction' must be a text, got ''",
        "dataset_lookup.json: record 'sample_1_2.jpg': 'source_global_caption' is missing",
        "dataset_lookup.json: record 'sample_1_2.jpg': 'target_global_caption' is missing",
        "dataset_lookup.json: record '../sample_1_1.jpg': the path '../sample_1_1.jpg' leaves the benchmark folder; "
        "give one relative to it, without '..'",
        "dataset_lookup.json: record 'sample_1_1.jpg': must be a mapping, got 3",
    ]


def test_the_ratings_are_of_edits_the_set_has(
    shared: Path, data: Callable[[Any], Path], draw: Callable[..., Path]
) -> None:
    """The public ratings name their rows by uid: what is loaded can be joined with them by `extras`."""
    table = shared / "imagenhub_viescore" / "human_ratings" / "Text-Guided_IE" / "Text-Guided_IE_rater1.tsv"
    uids = [line.split("\t")[0] for line in table.read_text().splitlines()[1:]]
    folder = data(dict.fromkeys(uids, RECORD))
    for uid in uids:
        draw(folder / "input" / uid)
    benchmark = load(folder)
    assert [edit.extras["uid"] for edit in benchmark.edits] == uids
    assert len({edit.id for edit in benchmark.edits}) == len(uids) >= 178
