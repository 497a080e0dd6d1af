"""What the loaders of public sets share, and what all of them must do."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._util.datasets import Faults, Ids, find_data_file, read_json, read_text, skip_broken_records, slug
from editgauge._util.images import ImageFile
from editgauge.benchmarks import BUILT_IN, benchmarks, open_benchmark
from editgauge.benchmarks.image_store import ImageFolder, store_image
from editgauge.errors import BadInputError
from editgauge.types import id_problem

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "benchmarks.md"
PUBLIC = sorted(set(BUILT_IN) - {"demo", "sample", "unibench-photos", "unibench-sample"})


@given(st.lists(st.lists(st.text(max_size=300), min_size=1, max_size=3), max_size=20))
def test_ids_are_valid_and_unique_and_always_the_same(names: list[list[str]]) -> None:
    ids, again = Ids(), Ids()
    given_ids = [ids.give(*parts) for parts in names]
    assert [again.give(*parts) for parts in names] == given_ids
    assert not any(id_problem(name) for name in given_ids)
    assert len({name.casefold() for name in given_ids}) == len(given_ids)


def test_ids_that_collide_are_counted_in_the_order_of_the_file() -> None:
    ids = Ids()
    assert [ids.give("cat", text) for text in ("To left", "to-left", "TO LEFT", "to right")] == [
        "cat-to-left",
        "cat-to-left-2",
        "cat-to-left-3",
        "cat-to-right",
    ]


def test_long_texts_stay_different() -> None:
    assert slug("a" * 100) != slug("a" * 101)
    assert len(slug("猫" * 100).encode()) <= 48


def test_images_are_stored_once_by_their_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, draw: Callable[..., Path]
) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path / "cache"))
    content = draw(tmp_path / "a.png").read_bytes()
    first = store_image(content, "some-set")
    changed = first.path.stat().st_mtime_ns
    assert store_image(content, "some-set") == first
    assert first.path.stat().st_mtime_ns == changed
    assert first.path.is_relative_to(tmp_path / "cache" / "benchmarks" / "some-set")
    assert first.path.read_bytes() == content
    assert first.name == f"{first.path.stem[:16]}.png"
    first.path.write_bytes(content[:-3])
    assert store_image(content, "some-set").path.read_bytes() == content


def test_a_missing_picture_is_told_with_its_neighbor(tmp_path: Path, draw: Callable[..., Path]) -> None:
    draw(tmp_path / "a" / "Cat.PNG")
    faults = Faults("some-set", tmp_path / "list.json")
    image_folder = ImageFolder(tmp_path, faults)
    assert image_folder.picture("a/cat.jpg", "x") is None
    assert image_folder.picture("a/dog.jpg", "y") is None
    assert image_folder.picture("../a/Cat.PNG", "z") is None
    assert faults.problems == [
        f"{tmp_path}/list.json: record 'x': the image '{tmp_path}/a/cat.jpg' does not exist; there is 'Cat.PNG', "
        "with another extension or other capitals",
        f"{tmp_path}/list.json: record 'y': the image '{tmp_path}/a/dog.jpg' does not exist",
        f"{tmp_path}/list.json: record 'z': the path '../a/Cat.PNG' leaves the benchmark folder; "
        "give one relative to it, without '..'",
    ]


def test_a_missing_picture_of_skipped_records_stays(tmp_path: Path) -> None:
    faults = Faults("some-set", tmp_path / "list.json")
    image_folder = ImageFolder(tmp_path, faults)
    with skip_broken_records() as problems:
        assert image_folder.picture("cat.jpg", "x") == ImageFile("cat.jpg", tmp_path / "cat.jpg")
        assert image_folder.picture("mask.jpg", "x", optional=True) is None
        assert image_folder.picture("../cat.jpg", "x") is None
    assert [problem.partition(": the ")[2].partition(" ")[0] for problem in problems] == ["image", "image"]
    assert len(faults.problems) == 1


def test_a_download_may_be_a_folder_of_links(tmp_path: Path, draw: Callable[..., Path]) -> None:
    """The cache of the hub keeps blobs, and links to them under the names of the files."""
    blob = draw(tmp_path / "blobs" / "1234.png")
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "snapshot" / "cat.png").symlink_to(blob)
    faults = Faults("some-set", tmp_path / "list.json")
    picture = ImageFolder(tmp_path / "snapshot", faults).picture("cat.png", "x")
    assert picture == ImageFile("cat.png", tmp_path / "snapshot" / "cat.png")
    assert faults.problems == []


def test_a_missing_folder_is_told_once(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"There is no folder .*; the benchmark 'some-set' has its pictures there"):
        ImageFolder(tmp_path / "images", Faults("some-set", tmp_path / "list.json"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a": 1,}', r"is not valid JSON: .* \(line 1, column 9\)"),
        (b"[1, 2]", r"must hold a JSON mapping, got \[1, 2\]"),
        (b'{"a": "\xff"}', "is not UTF-8 text"),
        (b'{"a":' * 100_000, "is nested too deep"),
    ],
)
def test_json_that_cannot_be_used(tmp_path: Path, content: bytes, words: str) -> None:
    file = tmp_path / "list.json"
    file.write_bytes(content)
    with pytest.raises(BadInputError, match=words):
        read_json(file, Faults("some-set", file), dict)


def test_a_key_given_twice_is_a_fault(tmp_path: Path) -> None:
    file = tmp_path / "list.json"
    file.write_text('{"a": {"x": 1, "x": 2}, "a": 3}')
    faults = Faults("some-set", file)
    read_json(file, faults, dict)
    assert faults.problems == [
        f"{file}: record 'x': the key is given twice",
        f"{file}: record 'a': the key is given twice",
    ]


def test_files_are_given_themselves_or_by_their_folder(tmp_path: Path) -> None:
    (tmp_path / "object.json").write_text("{}")
    assert find_data_file("s", tmp_path, "object.json", "it") == tmp_path / "object.json"
    assert find_data_file("s", tmp_path / "object.json", "object.json", "it") == tmp_path / "object.json"
    with pytest.raises(BadInputError, match=r"has no 'other\.json'\. The benchmark 's' needs: it"):
        find_data_file("s", tmp_path, "other.json", "it")
    with pytest.raises(BadInputError, match="Is a directory"):
        read_text(tmp_path)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_set_says_what_it_needs(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=f"The benchmark '{name}' is not shipped with EditGauge. Pass `data`: "):
        open_benchmark(name)
    with pytest.raises(BadInputError, match=r"does not exist.*needs `data`"):
        open_benchmark(name, data=tmp_path / "nowhere")
    (tmp_path / "notes.txt").touch()
    for useless in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(BadInputError):
            open_benchmark(name, data=useless)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_set_has_a_line_in_the_list_and_on_the_page(name: str) -> None:
    about = (benchmarks.get(name).__doc__ or "").partition("\n")[0]
    assert 20 < len(about) <= 98, "longer ones are cut in the list"
    assert about.endswith(".")
    assert re.search(rf"^\| `{re.escape(name)}` \|", PAGE.read_text("utf-8"), re.MULTILINE)


def test_an_option_a_set_has_no_use_for_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="The benchmark 'tedbench' takes no --images"):
        open_benchmark("tedbench", data=tmp_path, images=tmp_path)


def test_listing_the_sets_imports_nothing_heavy() -> None:
    program = (
        "import sys; from editgauge.benchmarks import benchmarks, BUILT_IN\n"
        "for name in BUILT_IN: benchmarks.get(name)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not {"pyarrow", "datasets", "torch", "skimage", "scipy"} & set(done.stdout.split())


def test_extras_can_be_written_as_json(tmp_path: Path, draw: Callable[..., Path]) -> None:
    (tmp_path / "dataset_lookup.json").write_text(
        json.dumps({"a.png": dict.fromkeys(("instruction", "source_global_caption", "target_global_caption"), "x")})
    )
    draw(tmp_path / "input" / "a.png")
    (edit,) = open_benchmark("imagenhub", data=tmp_path).edits
    assert json.loads(json.dumps(dict(edit.extras))) == {"uid": "a.png"}
