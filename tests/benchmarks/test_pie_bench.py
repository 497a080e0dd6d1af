"""PIE-Bench: the public shape, its masks, and its faults."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks._format import RunLengths
from editgauge.benchmarks.pie_bench import TYPES, load

RECORD: dict[str, Any] = {
    "image_path": "0_random_140/000000000000.jpg",
    "original_prompt": "a boat on a lake",
    "editing_prompt": "a [red]  boat on a lake",
    "editing_instruction": "Paint the boat red",
    "editing_type_id": "6",
    "blended_word": "boat boat",
    "mask": [513, 3, 1025, 2],
}


@pytest.fixture
def data(tmp_path: Path, draw: Callable[..., Path]) -> Callable[[Any], Path]:
    def write(mapping: Any) -> Path:
        (tmp_path / "mapping_file.json").write_text(json.dumps(mapping))
        draw(tmp_path / "annotation_images" / "0_random_140" / "000000000000.jpg")
        return tmp_path

    return write


def test_a_record_becomes_an_edit(data: Callable[[Any], Path]) -> None:
    benchmark = open_benchmark("pie_bench", data=data({"000000000000": RECORD}))
    (edit,) = benchmark.edits
    assert (edit.id, edit.type, edit.instruction) == ("000000000000", "color", "Paint the boat red")
    assert (edit.source_caption, edit.target_caption) == ("a boat on a lake", "a red boat on a lake")
    assert edit.source.name == "0_random_140/000000000000.jpg"
    assert edit.source.path.is_file()
    assert edit.extras == {
        "key": "000000000000",
        "image_path": "0_random_140/000000000000.jpg",
        "editing_type_id": "6",
        "original_prompt": "a boat on a lake",
        "editing_prompt": "a [red]  boat on a lake",
        "blended_word": "boat boat",
    }
    assert edit.mask == RunLengths(((513, 3), (1025, 2)), 512, 512, frame=1)
    inside = edit.mask.render(512, 512)
    expected = np.zeros((512, 512), dtype=bool)
    expected[1, 1:4] = expected[2, 1:3] = True
    expected[0, :] = expected[-1, :] = expected[:, 0] = expected[:, -1] = True
    assert (inside == expected).all()


@pytest.mark.parametrize(("mask", "pixels"), [([0, 262144], 262144), ("0 262144", 262144), ([], 2044)])
def test_the_forms_a_mask_may_have(data: Callable[[Any], Path], mask: Any, pixels: int) -> None:
    (edit,) = load(data({"1": {**RECORD, "mask": mask}})).edits
    assert edit.mask is not None
    assert edit.mask.render(512, 512).sum() == pixels


def test_each_type_of_the_set_has_one_of_ours(data: Callable[[Any], Path]) -> None:
    mapping = {f"{key}{n:011}": {**RECORD, "editing_type_id": key} for key in TYPES for n in range(TYPES[key][1])}
    benchmark = load(data(mapping))
    assert len(benchmark.edits) == 700
    assert Counter(edit.type for edit in benchmark.edits) == {
        "object_replacement": 80, "object_addition": 80, "object_removal": 80, "action": 40,
        "color": 220, "texture": 40, "background": 80, "style": 80,
    }  # fmt: skip
    assert benchmark.about == "700 edits in ten types, as many of each as the paper says"
    del mapping["300000000000"]
    mapping["x"] = {**RECORD, "editing_instruction": "", "editing_type_id": 0}
    assert load(data(mapping)).about == (
        "700 edits: 141 of type 0 'random' (the paper says 140), 79 of type 3 'delete object' (the paper says 80); "
        "1 have no instruction, their target prompt is used"
    )


def test_without_an_instruction_the_target_prompt_stands_in(data: Callable[[Any], Path]) -> None:
    (edit,) = load(data({"1": {key: value for key, value in RECORD.items() if key != "editing_instruction"}})).edits
    assert edit.instruction == "a red boat on a lake"


def test_all_faults_are_told_with_their_record(data: Callable[[Any], Path], told: Callable[..., Any]) -> None:
    mapping = {
        "a": {**RECORD, "editing_type_id": "10"},
        "b": {**RECORD, "mask": [1, 2, 3]},
        "c": {**RECORD, "mask": "1 two"},
        "d": {**RECORD, "mask": [262144, 1]},
        "e": {**RECORD, "mask": None},
        "f": {**RECORD, "image_path": "0_random_140/000000000000.png"},
        "g": {**RECORD, "image_path": "/etc/passwd"},
        "h": {**RECORD, "original_prompt": None, "editing_prompt": 4, "editing_instruction": 5},
        "i": [],
    }
    assert list(told(load, data(mapping))) == [
        "mapping_file.json: record 'a': 'editing_type_id' is one of 0 to 9, got '10'",
        "mapping_file.json: record 'b': 'mask': run lengths are pairs of start and length, got 3 numbers",
        "mapping_file.json: record 'c': 'mask': run lengths are pairs of start and length, got 1 numbers",
        "mapping_file.json: record 'd': 'mask': a run starts at 262144, outside a picture of 512 x 512",
        "mapping_file.json: record 'e': 'mask': run lengths are a list of whole numbers",
        "mapping_file.json: record 'f': the image 'annotation_images/0_random_140/000000000000.png' does not exist; "
        "there is '000000000000.jpg', with another extension or other capitals",
        "mapping_file.json: record 'g': the path '/etc/passwd' leaves the benchmark folder; "
        "give one relative to it, without '..'",
        "mapping_file.json: record 'h': 'original_prompt' is missing",
        "mapping_file.json: record 'h': 'editing_prompt' must be a text, got 4",
        "mapping_file.json: record 'h': 'editing_instruction' must be a text, got 5",
        "mapping_file.json: record 'i': must be a mapping, got []",
    ]


def test_keys_that_differ_by_capitals_give_different_ids(data: Callable[[Any], Path]) -> None:
    assert [edit.id for edit in load(data({"a": RECORD, "A": RECORD})).edits] == ["a", "a-2"]
