"""CelebA with swapped attributes: drawn the same everywhere, fitting the face, and its faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.celeba import SWAPS, load
from editgauge.errors import BadInputError
from editgauge.types import Edit

NAMES = sorted({swap.attribute.lstrip("-") for swap in SWAPS} | {"Male", "Young"})
FACES = {
    f"{number:06}.jpg": {name: 1 if (number * 7 + place * place) % 3 == 0 else -1 for place, name in enumerate(NAMES)}
    for number in range(1, 31)
}


@pytest.fixture
def data(tmp_path: Path, draw: Callable[..., Path]) -> Callable[..., Path]:
    """The table as the authors write it (columns lined up with blanks), or as the Kaggle copy does."""

    def write(file: str = "list_attr_celeba.txt", folder: str = "img_align_celeba", change: Any = None) -> Path:
        rows = {name: [str(value) for value in values.values()] for name, values in FACES.items()}
        if file.endswith(".csv"):
            lines = [",".join(["image_id", *NAMES]), *(",".join([name, *values]) for name, values in rows.items())]
        else:
            lines = [str(len(rows)), " ".join(NAMES) + " "]
            lines += [f"{name}  {' '.join(value.rjust(2) for value in values)}" for name, values in rows.items()]
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("\n".join(change(lines) if change else lines) + "\n")
        for name in FACES:
            draw(tmp_path / folder / name)
        return tmp_path

    return write


def swap_of(edit: Edit) -> Any:
    return next(
        swap
        for swap in SWAPS
        if swap.attribute == edit.extras["attribute"] and str(edit.target_caption).endswith(f" {swap.after}")
    )


def test_swaps_fit_the_face(data: Callable[..., Path]) -> None:
    benchmark = open_benchmark("celeba", data=data())
    assert len(benchmark.edits) == 30
    for edit in benchmark.edits:
        attribute = edit.extras["attribute"]
        wanted = -1 if attribute.startswith("-") else 1
        assert FACES[edit.extras["image"]][attribute.lstrip("-")] == wanted
        swap = swap_of(edit)
        assert edit.source_caption == f"a photo of a person {swap.before}"
        assert edit.target_caption == f"a photo of a person {swap.after}"
        assert (edit.type, edit.instruction, edit.to) == (swap.type, swap.instruction, swap.to)
    uses = Counter(edit.extras["attribute"] for edit in benchmark.edits)
    assert len(uses) > len({swap.attribute for swap in SWAPS}) * 0.8, "swaps are used about equally often"
    assert benchmark.about == (
        "30 edits drawn from 30 faces with seed 0 (50 were wanted); "
        "swaps by EditGauge, the 50 of AugCLIP are not public"
    )


def test_a_seed_means_the_same_edits_everywhere(data: Callable[..., Path]) -> None:
    folder = data()
    ten = load(folder, edits=10)
    assert [edit.id for edit in ten.edits[:3]] == [edit.id for edit in load(folder, edits=3).edits]
    assert ten == load(data(change=lambda lines: [*lines[:2], *reversed(lines[2:])]), edits=10)
    assert [edit.id for edit in load(folder, edits=10, seed=1).edits] != [edit.id for edit in ten.edits]
    assert [edit.source.name for edit in ten.edits[:2]] == ["000006.jpg", "000009.jpg"]


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        ("Anno/list_attr_celeba.txt", "Img/img_align_celeba"),
        ("list_attr_celeba.csv", "img_align_celeba/img_align_celeba"),
    ],
)
def test_other_copies_of_the_set_give_the_same(data: Callable[..., Path], file: str, folder: str) -> None:
    other = data(file, folder)
    assert [edit.id for edit in load(other).edits][:2] == [edit.id for edit in load(other, edits=2).edits]
    assert load(other).edits[0].source.name == "000006.jpg"


def test_all_faults_are_told_with_their_line(data: Callable[..., Path], told: Callable[..., Any]) -> None:
    def spoil(lines: list[str]) -> list[str]:
        lines[0] = "202599"
        lines[3] = lines[3].replace("-1", "0", 1)
        lines[4] = lines[2]
        lines[5] = "000004.jpg 1 -1"
        return lines

    assert list(told(load, data(change=spoil))) == [
        f"list_attr_celeba.txt: line 4: '000002.jpg' needs {len(NAMES)} values that are 1 or -1",
        "list_attr_celeba.txt: line 5: '000001.jpg' is given twice",
        f"list_attr_celeba.txt: line 6: '000004.jpg' needs {len(NAMES)} values that are 1 or -1",
        "list_attr_celeba.txt: line 1: announces 202599 images, and 29 follow",
    ]


def test_missing_attributes_and_pictures(data: Callable[..., Path], told: Callable[..., Any], tmp_path: Path) -> None:
    folder = data(change=lambda lines: [lines[0], lines[1].replace("Bangs", "Fringe"), *lines[2:]])
    assert told(load, folder) == ("list_attr_celeba.txt: line 1: the attributes Bangs are missing",)
    data()
    (folder / "img_align_celeba" / "000006.jpg").rename(folder / "img_align_celeba" / "000006.png")
    assert told(load, folder) == (
        "list_attr_celeba.txt: record '000006.jpg': the image 'img_align_celeba/000006.jpg' does not exist; "
        "there is '000006.png', with another extension or other capitals",
    )


def test_an_empty_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list_attr_celeba.txt").write_text("")
    with pytest.raises(BadInputError):
        load(tmp_path)
