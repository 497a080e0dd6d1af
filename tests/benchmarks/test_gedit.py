"""GEdit-Bench: the hub's tables and exported folders, and their faults."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.gedit import TASKS, load
from editgauge.errors import BadInputError
from editgauge.types import Benchmark

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
SCHEMA = pa.schema(
    [
        ("task_type", pa.string()),
        ("key", pa.string()),
        ("instruction", pa.string()),
        ("instruction_language", pa.string()),
        ("input_image", IMAGE),
        ("input_image_raw", IMAGE),
        ("Intersection_exist", pa.bool_()),
    ]
)


@pytest.fixture(autouse=True)
def cache(english_parser: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def records(tmp_path: Path, draw: Callable[..., Path]) -> list[dict[str, Any]]:
    """The same picture asked about in two languages, and another one."""
    boat = draw(tmp_path / "pictures" / "boat.png").read_bytes()
    cat = draw(tmp_path / "pictures" / "cat.jpg", color=(9, 9, 9)).read_bytes()
    small = draw(tmp_path / "pictures" / "small.png", (2, 2)).read_bytes()
    return [
        record("k1", "subject-remove", "Remove the boat.", "en", boat, small),
        record("k1", "subject-remove", "去掉船", "cn", boat, small),
        record("k2", "tone_transfer", "Make it autumn.", "en", cat, small),
    ]


def record(key: str, task: str, told: str, language: str, raw: bytes, small: bytes) -> dict[str, Any]:
    return {
        "task_type": task,
        "key": key,
        "instruction": told,
        "instruction_language": language,
        "input_image": {"bytes": small, "path": None},
        "input_image_raw": {"bytes": raw, "path": "ignored.png"},
        "Intersection_exist": language == "en",
    }


def as_stream(table: Any, folder: Path) -> None:
    """As the `datasets` library keeps it: an Arrow stream beside its own notes."""
    with pa.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as file, pa.ipc.new_stream(file, SCHEMA) as writer:
        writer.write_table(table, max_chunksize=2)
    (folder / "dataset_info.json").write_text("{}")
    (folder / "state.json").write_text("{}")


def as_arrow_file(table: Any, folder: Path) -> None:
    with pa.OSFile(str(folder / "all.arrow"), "wb") as file, pa.ipc.new_file(file, SCHEMA) as writer:
        writer.write_table(table)


def as_parquet(table: Any, folder: Path) -> None:
    (folder / "data").mkdir()
    pq.write_table(table.slice(0, 2), folder / "data" / "train-00000-of-00002.parquet")
    pq.write_table(table.slice(2), folder / "data" / "train-00001-of-00002.parquet")


@pytest.mark.parametrize("write", [as_stream, as_arrow_file, as_parquet])
def test_tables_of_the_hub(write: Any, records: list[dict[str, Any]], tmp_path: Path, cache: Path) -> None:
    folder = tmp_path / "snapshot"
    folder.mkdir()
    write(pa.Table.from_pylist(records, SCHEMA), folder)
    benchmark = open_benchmark("gedit", data=folder)
    check(benchmark)
    english, chinese, tone = benchmark.edits
    assert english.source == chinese.source
    assert english.source.path.is_relative_to(cache / "benchmarks" / "gedit")
    assert english.source.path.read_bytes() == records[0]["input_image_raw"]["bytes"]
    assert len(list((cache / "benchmarks" / "gedit").iterdir())) == 2
    assert tone.source.path.suffix == ".jpg"
    assert english.extras["intersection"] is True
    assert load(folder) == benchmark


def check(benchmark: Benchmark) -> None:
    assert [edit.id for edit in benchmark.edits] == [
        "subject-remove-en-k1",
        "subject-remove-cn-k1",
        "tone_transfer-en-k2",
    ]
    assert [edit.type for edit in benchmark.edits] == ["object_removal", "object_removal", "style"]
    assert benchmark.edits[1].instruction == "去掉船"
    assert {key: benchmark.edits[1].extras[key] for key in ("key", "task", "language")} == {
        "key": "k1",
        "task": "subject-remove",
        "language": "cn",
    }
    assert benchmark.about.startswith("3 edits (2 in 'en', 1 in 'cn'): 0 background_change in 'en' (published: 40), ")
    assert "1 subject-remove in 'cn' (published: 57)" in benchmark.about


def as_paths(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kept = ("task_type", "key", "instruction", "instruction_language")
    return [
        {**{key: item[key] for key in kept}, "image_path": path}
        for item, path in zip(records, ("boat.png", "boat.png", "cat.jpg"), strict=True)
    ]


@pytest.mark.parametrize("form", ["jsonl", "list", "mapping"])
def test_records_with_paths(form: str, records: list[dict[str, Any]], tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    given = as_paths(records)
    if form == "jsonl":
        (folder / "gedit.jsonl").write_text("\n".join(json.dumps(item) for item in given))
    elif form == "list":
        (folder / "gedit.json").write_text(json.dumps(given))
    else:
        (folder / "gedit.json").write_text(json.dumps({f"row {n}": item for n, item in enumerate(given)}))
    benchmark = load(folder)
    check(benchmark)
    assert benchmark.edits[2].source.path == folder / "cat.jpg"
    assert load(next(folder.glob("gedit.json*"))) == benchmark


def test_pictures_where_the_script_of_the_authors_exports_them(
    records: list[dict[str, Any]], tmp_path: Path, draw: Callable[..., Path]
) -> None:
    lines = [{key: value for key, value in item.items() if key != "image_path"} for item in as_paths(records)]
    (tmp_path / "gedit.jsonl").write_text("\n".join(json.dumps(item) for item in lines))
    for place in ("subject-remove/en/k1", "subject-remove/cn/k1", "tone_transfer/en/k2"):
        draw(tmp_path / "fullset" / f"{place}_SRCIMG.png")
    assert load(tmp_path).edits[2].source.name == "fullset/tone_transfer/en/k2_SRCIMG.png"


def test_as_many_as_published(tmp_path: Path, draw: Callable[..., Path]) -> None:
    draw(tmp_path / "a.png")
    lines = [
        {"key": f"{n}", "task_type": task, "instruction": "x", "instruction_language": language, "image": "a.png"}
        for task, count in TASKS.items()
        for language in ("en", "cn")
        for n in range(count)
    ]
    (tmp_path / "gedit.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    benchmark = load(tmp_path)
    assert benchmark.about == "1,212 edits (606 in 'en', 606 in 'cn'), as many of each task as published"
    assert Counter(edit.type for edit in benchmark.edits)["unspecified"] == 140
    assert len(TASKS) == 11


def test_all_faults_are_told_with_their_record(
    records: list[dict[str, Any]], tmp_path: Path, told: Callable[..., Any]
) -> None:
    one, two, three = as_paths(records)
    lines = [
        one,
        one,
        {**two, "task_type": "subject_remove"},
        {**three, "image_path": "Cat.JPG"},
        {**three, "key": "k4", "image_path": 3},
        {**three, "key": None, "instruction": ""},
    ]
    text = "\n".join([*(json.dumps(line) for line in lines), "{", "[]"])
    (tmp_path / "pictures" / "gedit.jsonl").write_text(text)
    assert list(told(load, tmp_path / "pictures")) == [
        "pictures/gedit.jsonl:7: not valid JSON: Expecting property name enclosed in double quotes (column 2)",
        "pictures/gedit.jsonl: record 'k1': the key is used twice for the task 'subject-remove' in 'en'",
        "pictures/gedit.jsonl: record 'k1': unknown task 'subject_remove'. Did you mean 'subject-remove'?",
        "pictures/gedit.jsonl: record 'k2': the image 'pictures/Cat.JPG' does not exist; there is 'cat.jpg', "
        "with another extension or other capitals",
        "pictures/gedit.jsonl: record 'k4': the image is neither bytes nor a path, got 3",
        "pictures/gedit.jsonl: record 'gedit.jsonl, row 6': 'key' is missing",
        "pictures/gedit.jsonl: record 'gedit.jsonl, row 6': 'instruction' must be a text, got ''",
        "pictures/gedit.jsonl: line 8: must be a mapping, got []",
    ]


@pytest.mark.parametrize("name", ["all.parquet", "all.arrow"])
def test_a_broken_table_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"PAR1 and no more")
    with pytest.raises(BadInputError, match=rf"{name}' cannot be read as .*Is the file complete\?"):
        load(tmp_path)


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        BadInputError, match=r"holds no records: no file that ends with \.arrow, \.parquet, \.jsonl, \.json"
    ):
        load(tmp_path)
