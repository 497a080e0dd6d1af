"""EditVal: the public shape, its words, its faults, and the real file where it is available."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.editval import EDIT_COLUMNS, PROMPT_COLUMNS, load, load_pixlens
from editgauge.errors import BadInputError
from editgauge.methods.outcomes import find_outcomes
from editgauge.types import Benchmark, Edit, Position, id_problem

COUNTS = {
    "shape": 95, "positional_addition": 91, "object_addition": 90, "color": 62, "background": 56, "style": 51,
    "size": 50, "texture": 33, "position_replacement": 32, "viewpoint": 32, "object_replacement": 26,
    "alter_parts": 14, "action": 14,
}  # fmt: skip
CLASSES: dict[str, Any] = {
    "pizza": {
        "113": {
            "object-addition": {"from": [""], "to": ["wine glass"]},
            "positional_addition": {"from": [""], "to": ["wine glass to left", "cake on top", "salt below"]},
            "alter_parts": {"from": [""], "to": ["add tomato toppings"]},
            "Size": {"from": [""], "to": ["small", "large"]},
        }
    },
    "stop_sign": {
        "7": {
            "position_replacement": {"from": ["right"], "to": ["left", "center"]},
            "object_replacement": {"from": ["sign"], "to": ["flower", "Flower!"]},
        },
    },
}


@pytest.fixture
def data(tmp_path: Path) -> Callable[[Any], Path]:
    def write(value: Any) -> Path:
        (tmp_path / "object.json").write_text(json.dumps(value))
        return tmp_path

    return write


@pytest.fixture
def photographs(tmp_path: Path, draw: Callable[..., Path]) -> Path:
    draw(tmp_path / "coco" / "000000000113.jpg")
    draw(tmp_path / "coco" / "train2017" / "000000000007.jpg")
    return tmp_path / "coco"


def by_id(benchmark: Benchmark) -> dict[str, Edit]:
    return {edit.id: edit for edit in benchmark.edits}


def test_the_parts_of_each_edit(data: Callable[[Any], Path], photographs: Path) -> None:
    benchmark = open_benchmark("editval", data=data(CLASSES) / "object.json", images=photographs)
    edits = by_id(benchmark)
    assert list(edits) == [
        "pizza-113-object_addition-wine-glass",
        "pizza-113-positional_addition-wine-glass-to-left",
        "pizza-113-positional_addition-cake-on-top",
        "pizza-113-positional_addition-salt-below",
        "pizza-113-alter_parts-add-tomato-toppings",
        "pizza-113-size-small",
        "pizza-113-size-large",
        "stop_sign-7-position_replacement-left",
        "stop_sign-7-position_replacement-center",
        "stop_sign-7-object_replacement-flower",
        "stop_sign-7-object_replacement-flower-2",
    ]
    left = edits["pizza-113-positional_addition-wine-glass-to-left"]
    assert (left.type, left.subject, left.from_, left.to) == ("positional_addition", "pizza", None, "wine glass")
    assert left.position == Position("left", "pizza")
    assert left.extras == {"image_id": "113", "class": "pizza", "to": "wine glass to left"}
    assert left.source.name == "000000000113.jpg"
    assert left.source.path == photographs / "000000000113.jpg"
    assert edits["pizza-113-positional_addition-cake-on-top"].position == Position("on", "pizza")
    assert edits["pizza-113-positional_addition-salt-below"].position == Position("below", "pizza")
    assert edits["pizza-113-alter_parts-add-tomato-toppings"].to == "tomato toppings"
    assert edits["pizza-113-size-large"].to == "large"
    moved = edits["stop_sign-7-position_replacement-center"]
    assert (moved.subject, moved.from_, moved.to, moved.position) == (
        "stop sign",
        "right",
        "center",
        Position("center"),
    )
    assert moved.instruction == "Move the stop sign from the right to the center of the image."
    assert moved.extras["class"] == "stop_sign"
    assert benchmark.about == "11 edits of 2 images (the paper says 648 of 92)"
    assert "no license" in benchmark.license


@pytest.mark.parametrize(
    "name",
    [
        "113.jpg",
        "000000000113.jpg",
        "COCO_train2014_000000000113.jpg",
        "train2017/000000000113.jpg",
        "train2014/COCO_train2014_000000000113.jpg",
        "images/113.jpg",
    ],
)
def test_photographs_are_found_under_several_names(
    data: Callable[[Any], Path], draw: Callable[..., Path], tmp_path: Path, name: str
) -> None:
    draw(tmp_path / "coco" / name)
    benchmark = load(data(CLASSES), tmp_path / "coco")
    assert benchmark.edits[0].source.path == tmp_path / "coco" / name
    assert benchmark.edits[0].source.name == "000000000113.jpg"
    assert "1 of 2 images are missing, such as '000000000007.jpg'" in benchmark.about


def test_photographs_may_lie_beside_the_file(data: Callable[[Any], Path], draw: Callable[..., Path]) -> None:
    folder = data(CLASSES)
    draw(folder / "113.jpg")
    draw(folder / "images" / "7.jpg")
    assert "missing" not in load(folder).about


def test_an_edit_without_its_photograph_stays(
    data: Callable[[Any], Path], draw: Callable[..., Path], tmp_path: Path
) -> None:
    draw(tmp_path / "coco" / "113.jpg")
    draw(tmp_path / "coco" / "000000000007.PNG")
    benchmark = load(data(CLASSES), tmp_path / "coco")
    assert len(benchmark.edits) == 11
    assert benchmark.edits[-1].source.path == tmp_path / "coco" / "000000000007.jpg"
    assert benchmark.about.endswith(
        "; 1 of 2 images are missing, such as '000000000007.jpg'; "
        "there is '000000000007.PNG', with another extension or other capitals"
    )


def test_no_photograph_at_all_is_refused(data: Callable[[Any], Path], tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"'editval' finds none of its images in .*coco'\. Give --images: a folder"):
        load(data(CLASSES), tmp_path / "coco")


def test_pixlens_adds_a_removal_for_each_image(data: Callable[[Any], Path], photographs: Path) -> None:
    benchmark = load_pixlens(data(CLASSES), photographs)
    assert benchmark.name == "editval-pixlens"
    assert len(benchmark.edits) == 13
    removal = benchmark.edits[-1]
    assert (removal.id, removal.type) == ("stop_sign-7-object_removal", "object_removal")
    assert (removal.instruction, removal.subject, removal.to) == ("Remove the stop sign.", "stop sign", None)
    assert removal.extras == {"image_id": "7", "class": "stop_sign", "to": ""}
    assert "11 edits of 2 images (the paper says 648 of 92), and 2 object removals that PixLens adds" in benchmark.about


def test_all_faults_are_told_with_their_record(data: Callable[[Any], Path], told: Callable[..., Any]) -> None:
    classes = {
        "pizza": {
            "113": {
                "colour": {"from": [""], "to": ["red"]},
                "object_removal": {"from": [""], "to": ["pizza"]},
                "size": {"from": [""], "to": ["huge", "small", "small"]},
                "position_replacement": {"from": ["left"], "to": ["middle"]},
                "positional_addition": {"from": [""], "to": ["cake", " to left"]},
                "style": {"from": [""], "to": []},
                "texture": {"from": [3], "to": ["wooden"]},
                "shape": {"from": [""], "to": ["  "]},
                "action": [{"to": ["sit"]}, 3],
            },
            "12a": {"color": {"from": [""], "to": ["red"]}},
        },
        "cup": 12,
    }
    assert list(told(load, data(classes))) == [
        "object.json: record 'pizza/113': unknown edit type 'colour'. Did you mean 'color'?",
        "object.json: record 'pizza/113': unknown edit type 'object_removal'. Did you mean 'object_replacement'?",
        "object.json: record 'pizza/113/size': unknown wish 'huge'. There are: large, small.",
        "object.json: record 'pizza/113/size': 'small' is given twice",
        "object.json: record 'pizza/113/position_replacement': unknown wish 'middle'. There are: center, left, right.",
        "object.json: record 'pizza/113/positional_addition': 'cake' names a thing without a place",
        "object.json: record 'pizza/113/positional_addition': 'to left' names a place without a thing",
        "object.json: record 'pizza/113/style/to': must be a list of texts, got []",
        "object.json: record 'pizza/113/texture/from': must be a list of texts, got [3]",
        "object.json: record 'pizza/113/shape': 'to' holds an empty text",
        "object.json: record 'pizza/113/action': must be a mapping that is not empty, got 3",
        "object.json: record 'pizza/12a': the key of an image must be its MS-COCO number",
        "object.json: record 'cup': must be a mapping that is not empty, got 12",
    ]


def test_an_empty_file_is_refused(data: Callable[[Any], Path]) -> None:
    with pytest.raises(BadInputError, match="holds no edits"):
        load(data({}))


LISTING = """\
// editval.json template
{"bench": {
  "240698": {
    "object-addition": [{"to": ["bag", "cup"]}],
    "positional-addition": [{"to": ["bag below"]}, {"to": ["cup on top"]}],
    "texture": [{"to": ["steel"]}]
  }
}}
"""


def test_the_printed_forms_give_the_edits_of_the_released_one(tmp_path: Path, draw: Callable[..., Path]) -> None:
    changes = {
        "object_addition": ["bag", "cup"],
        "positional_addition": ["bag below", "cup on top"],
        "texture": ["steel"],
    }
    released = {kind: {"from": [""], "to": targets} for kind, targets in changes.items()}
    forms = {
        "object.json": json.dumps({"bench": {"240698": released}}),
        "plain.json": json.dumps({"bench": {"240698": changes}}),
        "editval.json": LISTING,
    }
    loaded = {}
    for name, text in forms.items():
        folder = tmp_path / name.partition(".")[0]
        draw(folder / "240698.jpg")
        (folder / name).write_text(text)
        file = folder if name == "editval.json" else folder / name
        loaded[name] = [(edit.id, edit.instruction, edit.extras) for edit in load(file).edits]
    assert len(loaded["object.json"]) == 5
    assert loaded["object.json"] == loaded["plain.json"] == loaded["editval.json"]


def test_images_of_the_pixlens_archive_are_found(data: Callable[[Any], Path], draw: Callable[..., Path]) -> None:
    folder = data(CLASSES)
    draw(folder / "pizza" / "000000000113.jpg")
    draw(folder / "editval_instances" / "stop_sign" / "000000000007.jpg")
    assert "missing" not in load(folder).about


def test_outcomes_of_pixlens_are_found_by_its_prompts(tmp_path: Path, draw: Callable[..., Path]) -> None:
    table = tmp_path / "EditVal_edits.csv"
    rows = [
        ("color", "stop_sign", "7", "", "blue", 'Color the "sign" blue?', "blue sign"),
        ("object_removal", "stop_sign", "7", "", "", "Remove it", "Remove sign"),
    ]
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow((*EDIT_COLUMNS, *PROMPT_COLUMNS))
        writer.writerows(rows)
    draw(tmp_path / "stop_sign" / "000000000007.jpg")
    draw(tmp_path / "LCM_1" / "EditVal" / "000000000007" / "Color the _sign_ blueQQ.png")
    draw(tmp_path / "LCM_1" / "EditVal" / "000000000007" / "Remove sign.png")
    benchmark = load_pixlens(table)
    assert [edit.type for edit in benchmark.edits] == ["color", "object_removal"]
    result = find_outcomes("lcm", tmp_path / "LCM_1", benchmark.edits)
    assert (result.layout, result.present, result.unexpected) == ("pixlens", 2, ())


def test_a_table_without_the_columns_of_pixlens_is_refused(tmp_path: Path) -> None:
    (tmp_path / "edits.csv").write_text("edit_type,category\n")
    with pytest.raises(BadInputError, match="lacks the columns image_id"):
        load_pixlens(tmp_path / "edits.csv")


@pytest.fixture
def real(shared: Path, tmp_path: Path, draw: Callable[..., Path]) -> tuple[Path, Path]:
    draw(tmp_path / "coco" / "000000100166.jpg")
    return shared / "editval" / "object.json", tmp_path / "coco"


def test_the_real_file_is_read_whole(real: tuple[Path, Path]) -> None:
    benchmark = load(*real)
    assert benchmark.about.startswith("646 edits of 91 images (the paper says 648 of 92); 90 of 91 images are missing")
    assert len({edit.extras["class"] for edit in benchmark.edits}) == 19
    assert len({edit.extras["image_id"] for edit in benchmark.edits}) == 91
    assert Counter(edit.type for edit in benchmark.edits) == COUNTS
    assert len({edit.id.casefold() for edit in benchmark.edits}) == 646
    for edit in benchmark.edits:
        assert id_problem(edit.id) is None
        assert not re.search(r"-\d$", edit.id), "no two edits of the real file share a name"
        assert edit.instruction.endswith(".")
        assert "  " not in edit.instruction
        assert "None" not in edit.instruction
        assert edit.subject
        assert "_" not in edit.subject
        assert edit.to
        assert (edit.type in {"positional_addition", "position_replacement"}) == (edit.position is not None)


def test_the_real_file_with_the_removals_of_pixlens(real: tuple[Path, Path]) -> None:
    benchmark = load_pixlens(*real)
    assert len(benchmark.edits) == 737
    evaluated = {"object_addition", "size", "positional_addition", "position_replacement", "object_replacement"}
    evaluated |= {"object_removal", "alter_parts", "color"}
    assert sum(edit.type in evaluated for edit in benchmark.edits) == 456


def test_every_edit_is_one_of_those_pixlens_lists(shared: Path, real: tuple[Path, Path]) -> None:
    with (shared / "pixlens" / "editval_edits_expanded.csv").open(newline="") as file:
        theirs = [
            (row["edit_type"], row["category"], row["image_id"], row["to_attribute"]) for row in csv.DictReader(file)
        ]
    ours = [
        (edit.type, edit.extras["class"], edit.extras["image_id"], edit.extras["to"])
        for edit in load_pixlens(*real).edits
    ]
    assert ours[646:] == theirs[646:]
    assert ours[:646] == theirs[:646]


def test_the_table_of_pixlens_gives_the_edits_of_the_real_file(shared: Path, real: tuple[Path, Path]) -> None:
    from_table = load_pixlens(shared / "pixlens" / "editval_edits_expanded.csv", real[1])
    from_json = load_pixlens(*real)
    assert {edit.id for edit in from_table.edits} == {edit.id for edit in from_json.edits}
    assert all(len(edit.extras["prompts"]) == 1 for edit in from_table.edits)
