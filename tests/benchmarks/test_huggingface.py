"""Any table by a mapping of its columns: local ones through pyarrow, those of the hub through `datasets`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from editgauge._util.masks import MaskFile
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks._format import Erased
from editgauge.errors import BadInputError

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "benchmarks.md"
IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
COLUMNS = {"id": "name", "source": "before", "instruction": "told", "type": "kind"}


@pytest.fixture(autouse=True)
def cache(english_parser: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def rows(tmp_path: Path, draw: Callable[..., Path]) -> list[dict[str, Any]]:
    """Two edits of the same picture, with bytes in them."""
    image = {"bytes": draw(tmp_path / "boat.png").read_bytes(), "path": "boat.png"}
    return [
        {"name": "a", "before": image, "told": "Remove the boat.", "kind": "remove", "round": 1, "unused": image},
        {"name": "b", "before": image, "told": "Make it red.", "kind": "color", "round": 2, "unused": image},
    ]


@pytest.fixture
def mapping(tmp_path: Path) -> Callable[..., Path]:
    def write(**fields: Any) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(yaml.safe_dump({"dataset": "rows.jsonl", "columns": COLUMNS, **fields}, sort_keys=False))
        return path

    return write


def write_parquet(rows: list[dict[str, Any]], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    schema = pa.schema(
        [
            ("name", pa.string()),
            ("before", IMAGE),
            ("told", pa.string()),
            ("kind", pa.string()),
            ("round", pa.int64()),
            ("unused", IMAGE),
        ]
    )
    pq.write_table(pa.Table.from_pylist(rows, schema), path)


def write_lines(rows: list[dict[str, Any]], path: Path) -> None:
    path.write_text("\n".join(json.dumps(row) for row in rows))


def test_parquet_with_images_inside(
    rows: list[dict[str, Any]], mapping: Callable[..., Path], tmp_path: Path, cache: Path
) -> None:
    write_parquet(rows, tmp_path / "rows.parquet")
    path = mapping(
        name="boats",
        dataset="rows.parquet",
        columns={**COLUMNS, "turn": "round", "subject": {"value": "boat"}, "reference": "unused"},
        types={"remove": "object-removal"},
        extras=["round"],
        license="CC0-1.0",
    )
    benchmark = open_benchmark(path)
    first, second = benchmark.edits
    assert (benchmark.name, benchmark.about, benchmark.license) == ("boats", "2 edits of 'rows.parquet'", "CC0-1.0")
    assert (first.id, first.type, first.instruction) == ("a", "object_removal", "Remove the boat.")
    assert (second.type, second.turn, second.subject, second.extras) == ("color", 2, "boat", {"round": 2})
    assert first.source == second.source == first.reference
    assert first.source.path.is_relative_to(cache / "benchmarks" / "boats")
    assert first.source.path.read_bytes() == rows[0]["before"]["bytes"]


def test_lines_with_paths(mapping: Callable[..., Path], tmp_path: Path, draw: Callable[..., Path]) -> None:
    draw(tmp_path / "images" / "a.png")
    draw(tmp_path / "masks" / "a.png")
    row = {"before": "images/a.png", "told": "x", "kind": "add", "cut": "masks/a.png", "n": 3, "m": "a/b"}
    write_lines([row], tmp_path / "rows.jsonl")
    columns = {**COLUMNS, "id": ["m", "n"], "mask": "cut", "type": {"value": "unspecified"}}
    (edit,) = open_benchmark(mapping(columns=columns)).edits
    assert (edit.id, edit.type) == ("a-b-3", "unspecified")
    assert edit.source.path == tmp_path / "images" / "a.png"
    assert edit.mask == MaskFile(tmp_path / "masks" / "a.png", "masks/a.png")
    (edit,) = open_benchmark(mapping(columns={**columns, "mask": {"erased": "cut"}})).edits
    assert edit.mask == Erased(tmp_path / "masks" / "a.png", "masks/a.png")


def test_a_mapping_may_lie_in_its_folder(rows: list[dict[str, Any]], mapping: Callable[..., Path]) -> None:
    path = mapping(dataset="data", columns={**COLUMNS, "type": {"value": "unspecified"}}, split="dev")
    write_parquet(rows[:1], path.parent / "data" / "dev-00000-of-00002.parquet")
    write_parquet(rows[1:], path.parent / "data" / "dev-00001-of-00002.parquet")
    write_parquet(rows, path.parent / "data" / "train-00000-of-00001.parquet")
    path = path.rename(path.with_name("huggingface.yaml"))
    benchmark = open_benchmark(path.parent)
    assert [edit.id for edit in benchmark.edits] == ["a", "b"]
    assert benchmark.about == "2 edits of 'data', split 'dev'"
    (path.parent / "benchmark.yaml").write_text("edits: []")
    with pytest.raises(BadInputError, match=r"has both huggingface\.yaml and benchmark\.yaml; keep one of them"):
        open_benchmark(path.parent)


def test_a_split_that_is_not_there(rows: list[dict[str, Any]], mapping: Callable[..., Path]) -> None:
    path = mapping(dataset="data", split="test")
    write_parquet(rows, path.parent / "data" / "dev-00000-of-00001.parquet")
    write_parquet(rows, path.parent / "data" / "train.parquet")
    with pytest.raises(BadInputError, match=r"has no split 'test'\. There are: dev, train\."):
        open_benchmark(path)


def test_without_an_id_the_row_names_the_edit(rows: list[dict[str, Any]], mapping: Callable[..., Path]) -> None:
    path = mapping(dataset="rows.parquet", columns={**COLUMNS, "type": {"value": "color"}} | {"id": {"value": "x"}})
    write_parquet(rows[:1], path.parent / "rows.parquet")
    assert open_benchmark(path).edits[0].id == "x"
    columns = {key: value for key, value in COLUMNS.items() if key != "id"}
    path = mapping(dataset="rows.parquet", columns={**columns, "type": {"value": "color"}})
    assert open_benchmark(path).edits[0].id == "row-000001"


def test_faults_of_the_mapping_are_told_with_their_line(tmp_path: Path, told: Callable[..., Any]) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "datset: rows.jsonl\ndataset: rows.jsonl\ncolumns:\n  id: [1]\n  sorce: before\n  source: {value: a.png}\n"
        "  instruction: 3\n  mask: {column: cut}\n"
    )
    assert list(told(open_benchmark, path)) == ["mine.yaml:1: unknown key 'datset'. Did you mean 'dataset'?"]
    path.write_text(path.read_text().partition("\n")[2])
    assert list(told(open_benchmark, path)) == [
        "mine.yaml:2: 'type' is missing",
        "mine.yaml:3: 'id' is the name of a column or {value: ...}, got [1]",
        "mine.yaml:4: unknown part of an edit 'sorce'. Did you mean 'source'?",
        "mine.yaml:5: 'source' is the name of a column or {value: ...}, got {'value': 'a.png'}",
        "mine.yaml:6: 'instruction' is the name of a column or {value: ...}, got 3",
        "mine.yaml:7: 'mask' is the name of a column or {value: ...}, got {'column': 'cut'}",
    ]


def test_columns_that_are_not_there_are_told_once(
    rows: list[dict[str, Any]], mapping: Callable[..., Path], told: Callable[..., Any]
) -> None:
    path = mapping(dataset="rows.parquet", columns={**COLUMNS, "source": "befor"}, extras=["colour"])
    write_parquet(rows, path.parent / "rows.parquet")
    assert list(told(open_benchmark, path)) == [
        "unknown column 'befor'. Did you mean 'before'?",
        "unknown column 'colour'. There are: before, kind, name, round, told, unused.",
    ]


def test_faults_of_the_rows_are_told_with_their_line(
    mapping: Callable[..., Path], tmp_path: Path, draw: Callable[..., Path], told: Callable[..., Any]
) -> None:
    draw(tmp_path / "a.png")
    good = {"name": "a", "before": "a.png", "told": "x", "kind": "color"}
    write_lines(
        [
            good,
            {**good, "name": "A"},
            {**good, "name": "b", "kind": "colour"},
            {**good, "name": "c", "before": "a.PNG"},
            {**good, "name": "d", "before": "../a.png"},
            {**good, "name": "e", "told": None},
            {**good, "name": "f", "told": 3},
        ],
        tmp_path / "rows.jsonl",
    )
    with (tmp_path / "rows.jsonl").open("a") as file:
        file.write("\n{\n")
    assert list(told(open_benchmark, mapping())) == [
        "rows.jsonl:8: not valid JSON: Expecting property name enclosed in double quotes (column 2)",
        "rows.jsonl:2: edit 'A': the id is used twice, on lines 1 and 2",
        "rows.jsonl:3: edit 'b': unknown edit type 'colour'. Did you mean 'color'?",
        "rows.jsonl:4: edit 'c': the image 'a.PNG' does not exist",
        "rows.jsonl:5: edit 'd': the path '../a.png' leaves the benchmark folder; "
        "give one relative to it, without '..'",
        "rows.jsonl:6: edit 'e': 'instruction' is missing",
        "rows.jsonl:7: edit 'f': 'instruction' must be text, got 3; write it in quotes",
    ]


@pytest.mark.parametrize("dataset", ["gone.jsonl", "../gone", "a/b/c", "gone/rows.parquet"])
def test_a_local_file_that_is_not_there(mapping: Callable[..., Path], dataset: str) -> None:
    with pytest.raises(BadInputError, match=r"There is no file or folder .* and it is no id of the hub"):
        open_benchmark(mapping(dataset=dataset))


def test_the_hub_needs_a_library_and_says_which(mapping: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(BadInputError, match=r"needs the library `datasets`: pip install 'editgauge\[hub\]'"):
        open_benchmark(mapping(dataset="some/edits"))


class FakeImage:
    """Stands for `datasets.Image`; for tests only."""

    def __init__(self, decode: bool = True) -> None:
        self.decode = decode


class FakeDataset:
    """Stands for a `datasets.Dataset` with one column of images; for tests only."""

    def __init__(self, rows: list[dict[str, Any]], features: dict[str, Any]) -> None:
        self.rows = rows
        self.features = features
        self.column_names = list(features)

    def select_columns(self, names: list[str]) -> FakeDataset:
        rows = [{name: row[name] for name in names} for row in self.rows]
        return FakeDataset(rows, {name: self.features[name] for name in names})

    def cast_column(self, name: str, feature: FakeImage) -> FakeDataset:
        return FakeDataset(self.rows, {**self.features, name: feature})

    def __iter__(self) -> Any:
        undecoded = [n for n, feature in self.features.items() if not isinstance(feature, FakeImage)]
        assert all(not f.decode for f in self.features.values() if isinstance(f, FakeImage)), "images are not decoded"
        assert undecoded
        return iter(self.rows)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Stands for the library; says how it was asked."""
    asked: dict[str, Any] = {}
    features = {name: FakeImage() if name in {"before", "unused"} else "string" for name in rows[0]}
    whole = FakeDataset(rows, features)

    def load_dataset(name: str, split: str | None, revision: str | None) -> Any:
        asked.update(name=name, split=split, revision=revision)
        if name == "some/broken":
            raise RuntimeError("the hub is out of reach")
        return whole if split else {"dev": whole, "train": whole} if name == "some/splits" else {"dev": whole}

    library: Any = ModuleType("datasets")
    library.load_dataset = load_dataset
    library.Image = FakeImage
    monkeypatch.setitem(sys.modules, "datasets", library)
    return asked


def test_a_data_set_of_the_hub(mapping: Callable[..., Path], hub: dict[str, Any], cache: Path) -> None:
    types = {"remove": "object_removal"}
    benchmark = open_benchmark(mapping(dataset="some/edits", split="dev", revision="abc", types=types))
    assert hub == {"name": "some/edits", "split": "dev", "revision": "abc"}
    assert [edit.type for edit in benchmark.edits] == ["object_removal", "color"]
    assert (benchmark.name, benchmark.about) == ("some-edits", "2 edits of 'some/edits', split 'dev'")
    assert benchmark.edits[0].source.path.is_relative_to(cache / "benchmarks" / "some-edits")
    assert len(open_benchmark(mapping(dataset="some/edits", types=types)).edits) == 2


def test_a_split_must_be_chosen_and_faults_of_the_hub_are_told(
    mapping: Callable[..., Path], hub: dict[str, Any]
) -> None:
    with pytest.raises(BadInputError, match=r"Give a 'split' of 'some/splits'\. There are: dev, train\."):
        open_benchmark(mapping(dataset="some/splits"))
    with pytest.raises(BadInputError, match="The data set 'some/broken' could not be loaded: the hub is out of reach"):
        open_benchmark(mapping(dataset="some/broken"))


def test_the_example_of_the_page_fits_a_table(tmp_path: Path, draw: Callable[..., Path]) -> None:
    example = PAGE.read_text("utf-8").split("```yaml\n")[1].split("```")[0]
    (tmp_path / "mapping.yaml").write_text(example)
    image = {"bytes": draw(tmp_path / "a.png").read_bytes(), "path": None}
    fields = yaml.safe_load(example)
    row: dict[str, Any] = dict.fromkeys(("img_id", "instruction"), "x") | {"turn_index": 1}
    row |= dict.fromkeys(("source_img", "mask_img", "target_img"), image)
    place = tmp_path / fields["dataset"] / f"{fields['split']}.parquet"
    place.parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([row]), place)
    (edit,) = open_benchmark(tmp_path / "mapping.yaml").edits
    assert (edit.id, edit.turn, edit.type) == ("x-1", 1, "unspecified")
    assert isinstance(edit.mask, Erased)
    assert edit.reference is not None
