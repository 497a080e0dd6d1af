"""EditInspector: its CSV files with MagicBrush's pictures, its ratings, and what can be wrong with them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from editgauge.analysis.ratings import read_ratings
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.datasets import ratings
from editgauge.benchmarks.editinspector import load, read_inspected
from editgauge.errors import BadInputError, UnknownNameError

SESSIONS = {
    "42": [
        {
            "input": f"42-{'input' if turn == 1 else 'output1'}.png",
            "mask": f"42-mask{turn}.png",
            "output": f"42-output{turn}.png",
            "instruction": told,
        }
        for turn, told in enumerate(("add a boat", "make the boat red"), start=1)
    ]
}


def row(turn: int, told: str, action: str, **changes: Any) -> dict[str, Any]:
    people = {
        "is_accurate_level": [3, 2, 0],
        "is_artifacts_level": [2, 2, 0],
        "is_visualy_consistence": [True, False, True],
        "is_good_quality": [False, False, False],
        "is_extensive_difference_caption_accurate": [True, True, True],
        "visualy_consistence_explanation": ["", " Too \n large. ", ""],
        "good_quality_explanation": ["Blurred.", "", ""],
        "difference_caption_explanation": ["A boat appeared.", "A boat.", ""],
        "is_accurate": "stale, and never read",
    }
    usual: dict[str, Any] = {f"metadata_annotated_{name}": value for name, value in people.items()}
    usual |= {"id": f"42_{told}_{turn}", "instruction": told, "rich_instruction": "", "action": action}
    usual |= {"caption": "A boat.", "extensive_caption": "A boat was added.", "annotators": [4, 2, 12]}
    return {**usual, "artifacts_bboxes": [{"class": "cup", "detail1_bbox": [], "detail2_bbox": []}], **changes}


ROWS = row(1, "add a boat", "Add"), row(2, "make the boat red", "Change Attribute", extensive_caption="")


def write(folder: Path, *rows: Mapping[str, Any], name: str = "editinspector_benchmark.csv") -> Path:
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return folder / name


@pytest.fixture
def magicbrush(tmp_path: Path, draw: Callable[..., Path]) -> Path:
    folder = tmp_path / "test"
    for turn in SESSIONS["42"]:
        for key in ("input", "output"):
            draw(folder / "images" / "42" / turn[key], (10, 10))
        mask = Image.new("RGBA", (10, 10), (0, 0, 0, 255))
        mask.paste((0, 0, 0, 0), (2, 2, 4, 4))
        mask.save(folder / "images" / "42" / turn["mask"])
    (folder / "edit_sessions.json").write_text(json.dumps(SESSIONS))
    return folder


def test_an_edit_has_the_pictures_of_magicbrush_and_what_people_said(tmp_path: Path, magicbrush: Path) -> None:
    benchmark = open_benchmark("editinspector", data=write(tmp_path, *ROWS), images=magicbrush)
    first, second = benchmark.edits
    assert [edit.id for edit in benchmark.edits] == ["42-1", "42-2"]
    assert first.extras["original_id"] == "42_add a boat_1"
    assert [edit.type for edit in benchmark.edits] == ["object_addition", "color"]
    assert first.source.path == magicbrush / "images" / "42" / "42-input.png"
    assert second.source.path == magicbrush / "images" / "42" / "42-output1.png"
    assert second.reference is not None
    assert second.reference.name == "42/42-output2.png"
    assert first.mask is not None
    assert first.mask.render(10, 10).sum() == 4
    told = first.extras
    assert (told["action"], told["difference_caption"]) == ("Add", "A boat was added.")
    assert told["people"]["accuracy"] == [3, 2, 0]
    assert told["people"]["artifacts"] == [0, 0, 2]
    assert told["majority"] == {"accuracy": None, "consistent": 1, "precise": 0, "artifacts": 0, "caption_right": 1}
    assert told["feedback"] == {"consistent": ["Too large."], "precise": ["Blurred."]}
    assert told["differences"] == ["A boat appeared.", "A boat."]
    assert "difference_caption" not in second.extras
    assert (
        benchmark.about
        == "2 edits of 1 photograph, judged by three people each (editinspector_benchmark.csv has 783 of 398)"
    )


def test_magicbrush_may_lie_beside_the_file(magicbrush: Path) -> None:
    write(magicbrush, *ROWS)
    assert len(load(magicbrush).edits) == len(load(magicbrush / "editinspector_benchmark.csv").edits) == 2


def test_other_words_of_magicbrush_are_told(tmp_path: Path, magicbrush: Path) -> None:
    file = write(tmp_path, row(1, "insert a boat", "Add"))
    assert load(file, magicbrush).about.endswith("; MagicBrush words 1 otherwise, such as 42-1")


def test_without_magicbrush_it_says_what_to_give(tmp_path: Path, magicbrush: Path) -> None:
    file = write(tmp_path, *ROWS)
    with pytest.raises(BadInputError, match="Give --images: the folder `dev` or `test` of MagicBrush"):
        load(file)
    with pytest.raises(BadInputError, match="lacks 1 of 3 turns") as caught:
        load(write(tmp_path, *ROWS, row(3, "remove it", "Remove")), magicbrush)
    assert caught.value.problems == ("42, turn 3",)


def test_every_answer_becomes_a_rating_that_is_better_when_it_is_higher(tmp_path: Path) -> None:
    out = tmp_path / "ratings.csv"
    assert ratings("editinspector", data=write(tmp_path, *ROWS), method="imagen3", out=out) == 2 * 5 * 3
    told = [one for one in read_ratings(out) if one.edit == "42-1" and one.rater == "12"]
    assert {one.question: one.value for one in told} == {
        "accuracy": 0,
        "consistent": 1,
        "precise": 0,
        "artifacts": 2,
        "caption_right": 1,
    }
    assert {one.method for one in told} == {"imagen3"}


def test_ratings_are_asked_for_by_name_and_written_as_csv(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="editinspector"):
        ratings("editinspektor", data=tmp_path, method="mine", out=tmp_path / "r.csv")
    with pytest.raises(BadInputError, match=r"must end with \.csv"):
        ratings("editinspector", data=tmp_path, method="mine", out=tmp_path / "r.txt")


def test_all_faults_are_reported_at_once(tmp_path: Path, told: Callable[..., tuple[str, ...]]) -> None:
    levels = "metadata_annotated_is_accurate_level"
    file = write(
        tmp_path,
        row(1, "add a boat", "Paint", **{levels: [3, 4, 2]}),
        row(2, "", "Add", id="boat", annotators=[1, 2], **{levels: "[1, 2"}, artifacts_bboxes="none"),
    )
    problems = told(read_inspected, file)
    assert len(problems) == 7
    for line, column in ((2, "action"), (2, levels), (3, levels), (3, "id")):
        assert any(f"line {line}: '{column}'" in problem for problem in problems)


def test_another_table_is_not_taken_for_it(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="it lacks columns") as caught:
        read_inspected(write(tmp_path, {"id": 1}, name="other.csv"))
    assert "metadata_annotated_is_accurate_level" in caught.value.problems
    assert "metadata_annotated_is_accurate" not in caught.value.problems


def test_the_command_line_writes_ratings_and_the_figure(tmp_path: Path, editgauge: Callable[..., Any]) -> None:
    file = write(tmp_path, *ROWS)
    out, plot = tmp_path / "people.csv", tmp_path / "issues.svg"
    said = editgauge("data", "ratings", "editinspector", "--data", file, "--method", "magicbrush", "--out", out).stdout
    assert "30 ratings" in "".join(said.splitlines())
    assert len(read_ratings(out)) == 30
    shown = editgauge("data", "feedback", "editinspector", "--data", file, "--plot", plot).stdout
    assert "consistent: kinds of issue in 2 remarks" in shown
    assert plot.read_text("utf-8").startswith("<svg")
