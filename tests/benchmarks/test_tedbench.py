"""TEdBench: the public shape, the types we read off it, and the real list where it is available."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.benchmarks import open_benchmark, tedbench
from editgauge.benchmarks.tedbench import fingerprint, load
from editgauge.errors import BadInputError
from editgauge.types import id_problem

ENTRIES = [
    {"img_name": "cat.jpeg", "target_text": "A photo of my cat."},
    {"img_name": "cat.png", "target_text": "A photo of my cat."},
    {"img_name": "cat.png", "target_text": "A  red cat."},
]


@pytest.fixture
def data(tmp_path: Path, draw: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Path]:
    """A folder of the public shape with photographs of our own; a table of types that knows the captions above."""
    known: dict[str, str] = {fingerprint(e["img_name"], e["target_text"]): "action" for e in ENTRIES[:2]}
    known[fingerprint("cat.png", "a red cat")] = "color"
    monkeypatch.setattr(tedbench, "_types", lambda: known)

    def write(entries: Any) -> Path:
        (tmp_path / "input_list.json").write_text(json.dumps(entries))
        draw(tmp_path / "originals" / "cat.jpeg")
        draw(tmp_path / "originals" / "cat.png")
        return tmp_path

    return write


def test_captions_become_edits(data: Callable[[Any], Path]) -> None:
    benchmark = open_benchmark("tedbench", data=data(ENTRIES))
    first, second, third = benchmark.edits
    assert [edit.id for edit in benchmark.edits] == [
        "cat-a-photo-of-my-cat",
        "cat-a-photo-of-my-cat-2",
        "cat-a-red-cat",
    ]
    assert first.instruction == first.target_caption == "A photo of my cat."
    assert (first.type, third.type) == ("action", "color")
    assert second.source.name == "cat.png"
    assert second.source.path.is_file()
    assert third.instruction == "A red cat."
    assert third.extras == {"image": "cat.png", "target_text": "A  red cat."}
    assert benchmark.about == (
        "3 edits of 2 images (the paper says 100 of 40); edit types by EditGauge, "
        "instructions understood: 1 of 1, 1 of them without doubt"
    )


def test_missing_photographs_are_told(data: Callable[[Any], Path]) -> None:
    folder = data(ENTRIES)
    (folder / "originals" / "cat.png").rename(folder / "originals" / "cat.PNG")
    assert "1 of 2 images are missing, such as 'cat.png'; there is 'cat.PNG'" in load(folder).about
    (folder / "originals" / "cat.jpeg").unlink()
    (folder / "originals" / "cat.PNG").unlink()
    with pytest.raises(BadInputError, match="'tedbench' finds none of its images"):
        load(folder)


def test_all_faults_are_told_with_their_record(data: Callable[[Any], Path], told: Callable[..., Any]) -> None:
    entries = [
        ENTRIES[0],
        ENTRIES[0],
        {"img_name": "cat.jpeg", "target_text": "A blue cat."},
        {"img_name": "cat.jpeg"},
        {"img_name": "../cat.jpeg", "target_text": "x"},
        "cat",
        {"img_name": 3, "target_text": " "},
    ]
    assert list(told(load, data(entries))) == [
        "input_list.json: record 'cat.jpeg: A photo of my cat.': is given twice",
        "input_list.json: record 'cat.jpeg: A blue cat.': has no edit type: it is not one of the 100 edits published "
        "in 2023",
        "input_list.json: record 'number 4': 'target_text' is missing",
        "input_list.json: record '../cat.jpeg: x': 'img_name' must be a file name without a folder",
        "input_list.json: record 'number 6': must be a mapping, got 'cat'",
        "input_list.json: record 'number 7': 'img_name' must be a text, got 3",
        "input_list.json: record 'number 7': 'target_text' must be a text, got ' '",
    ]


def test_small_differences_in_writing_do_not_matter() -> None:
    assert fingerprint("a.png", "A  Photo.") == fingerprint("a.png", "a photo")
    assert fingerprint("a.png", "a photo") != fingerprint("b.png", "a photo")


def test_the_table_of_types_has_a_hundred_keys() -> None:
    table = tedbench._types()
    assert len(table) == 100
    assert all(len(key) == 10 for key in table)
    assert Counter(table.values())["unspecified"] == 4


def test_the_real_list_is_read_whole(shared: Path) -> None:
    benchmark = load(shared / "tedbench")
    assert len(benchmark.edits) == 100
    assert len({edit.source.name for edit in benchmark.edits}) == 40
    assert len({edit.id for edit in benchmark.edits}) == 100
    assert not any(id_problem(edit.id) for edit in benchmark.edits)
    assert benchmark.about == (
        "100 edits of 40 images; edit types by EditGauge, "
        "instructions understood: 76 of 76, 76 of them without doubt; "
        "37 of 40 images are missing, such as 'dog2_standing.png'"
    )
    kinds = {edit.target_caption: edit.type for edit in benchmark.edits if edit.source.name == "white_horse2.png"}
    assert kinds["A photo of a zebra."] == "object_replacement"
    assert kinds["A jumping horse."] == "action"
    assert kinds["A girl riding a horse."] == "object_addition"
