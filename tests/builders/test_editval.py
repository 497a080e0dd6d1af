"""EditVal's construction: classes, the overlap filter, operations, people, and a file that the loader reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from editgauge._cli import groups
from editgauge._cli._show_manage import show_review
from editgauge._util.coco import read_coco
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks.editval import TYPES
from editgauge.builders.editval import FIXED, FORMS, editval, operations_for, table
from editgauge.builders.review.desk import Desk, UnfitCandidateError
from editgauge.builders.review.file import agreement, read_review
from editgauge.errors import BadInputError
from tests.builders.toys import CocoFiles
from tests.endpoint import MODEL, Served


def test_what_rules_build_is_read_by_the_loader(coco: CocoFiles, tmp_path: Path) -> None:
    built = editval(coco=coco.instances, images=coco.images, out=tmp_path / "object.json", per_type=2, quiet=True)
    result = open_benchmark("editval", data=built.file, images=coco.images)
    written = json.loads(built.file.read_text())
    told = {
        (class_, number, kind, to)
        for class_, pictures in written.items()
        for number, kinds in pictures.items()
        for kind, values in kinds.items()
        for to in values["to"]
    }
    assert {(e.extras["class"], e.extras["image_id"], e.type, e.extras["to"]) for e in result.edits} == told
    assert {edit.type for edit in result.edits} == set(TYPES)
    assert all(edit.source.path.is_file() for edit in result.edits)
    for edit in result.edits:
        assert edit.to != (edit.from_ if edit.type == "position_replacement" else edit.subject)


def test_all_tables_know_all_thirteen_types() -> None:
    assert len(TYPES) == 13
    assert set(table()) == set(TYPES) > set(FORMS) | set(FIXED)


def test_classes_that_suit_most_types_are_chosen(coco: CocoFiles, tmp_path: Path) -> None:
    everything = editval(coco=coco.instances, images=coco.images, out=tmp_path / "all.json", quiet=True)
    few = editval(coco=coco.instances, images=coco.images, out=tmp_path / "few.json", classes=3, quiet=True)

    def suited(file: Path) -> dict[str, int]:
        result = read_review(file)
        return {g.name: sum(e.field == "suits" for e in result.of_group(g.name)) for g in result.groups}

    counts = suited(everything.review)
    assert sorted(suited(few.review).values()) == sorted(counts.values())[-3:]
    assert min(counts[name] for name in suited(few.review)) >= max(
        count for name, count in counts.items() if name not in suited(few.review)
    )


def test_dropping_a_class_for_a_type_drops_its_operations(toys: CocoFiles, tmp_path: Path) -> None:
    built = editval(coco=toys.instances, images=toys.images, out=tmp_path / "object.json", quiet=True)
    desk = Desk(built.file)
    assert "color" in json.loads(built.file.read_text())["suitcase"]["1"]
    desk.decide("suitcase/color/suits/suitcase", "Ann", "drop")
    assert "color" not in json.loads(built.file.read_text())["suitcase"]["1"]
    desk.decide("suitcase/texture/operation/wooden", "Ann", "keep", "paper")
    with pytest.raises(UnfitCandidateError, match="'red' is an operation of color already"):
        desk.decide("suitcase/texture/operation/striped", "Ann", "keep", "red")
    with pytest.raises(UnfitCandidateError, match="unknown wish 'huge'"):
        desk.decide("suitcase/size/operation/large", "Ann", "keep", "huge")
    again = editval(
        coco=toys.instances, images=toys.images, out=tmp_path / "object.json", quiet=True
    )  # what people said stays
    assert again.reused == 2
    kept = {item.id: item for item in read_review(again.review).candidates}
    assert kept["suitcase/texture/operation/wooden"].value == "paper"
    assert "color" not in json.loads(built.file.read_text())["suitcase"]["1"]


def test_agreement_per_rater_and_type(toys: CocoFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    built = editval(coco=toys.instances, images=toys.images, out=tmp_path / "object.json", quiet=True)
    desk = Desk(built.file)
    for class_ in ("cat", "suitcase"):
        for rater in ("Ann", "Ben"):
            verdict: Any = "drop" if (class_, rater) == ("cat", "Ben") else "keep"
            desk.decide(f"{class_}/style/suits/{class_}", rater, verdict, class_)
    desk.decide("cat/style/operation/cartoon", "Ann", "keep", "cartoon")
    result = agreement(desk.review)
    assert result == {"style": {"Ann": (2, 2), "Ben": (1, 2)}, "style, operations": {"Ann": (1, 1)}}
    show_review(result)
    assert [line.split() for line in capsys.readouterr().out.splitlines()[-2:]] == [
        ["style", "100%", "of", "2", "50%", "of", "2"],
        ["style,", "operations", "100%", "of", "1", "-"],
    ]


def test_operations_come_from_what_is_seen_together(toys: CocoFiles) -> None:
    coco = read_coco(toys.instances)
    assert operations_for("object_addition", "cat", coco, 2) == ["bird", "suitcase"]
    assert operations_for("positional_addition", "cat", coco, 2) == ["bird to left", "suitcase to right"]
    assert operations_for("object_replacement", "cat", coco, 1) == ["dog"]


def test_a_judge_proposes_classes_and_operations(served: Served, toys: CocoFiles, tmp_path: Path) -> None:
    def plan(text: str, seen: int) -> str:
        if "Which of these kinds" in text:
            if "edit is: viewpoint" in text:
                return "I'm sorry, but I can't assist with that."
            return json.dumps({"classes": ["cat", "unicorn"]})
        if "edit is: positional addition" in text:
            return json.dumps({"operations": ["ball to left", "ball somewhere"]})
        return json.dumps({"operations": ["red", "a thing"]})

    served.plan = plan
    judge = f"openai:{MODEL}@{served.url}"
    built = editval(coco=toys.instances, images=toys.images, out=tmp_path / "object.json", judge=judge, quiet=True)
    review = read_review(built.review)
    assert review.by == f"{MODEL} (editval_classes.v1, editval_operations.v1)"
    assert [group.name for group in review.groups] == ["cat"]
    told = {item.what: item.why for item in built.left_out}
    assert "(refused)" in told["viewpoint"]
    assert told["color: unicorn"] == "is no class of the annotations with a fitting image"
    assert "names a thing without a place" in told["cat, positional_addition: ball somewhere"]
    kept = {(item.task, item.value) for item in review.candidates if item.field == "operation"}
    assert ("positional_addition", "ball to left") in kept
    assert ("size", "small") in kept  # nobody was asked
    alike = [task for task, value in kept if value == "red" and task not in ("object_addition", "object_replacement")]
    assert len(alike) == 1  # an operation belongs to one type alone
    assert open_benchmark("editval", data=built.file, images=toys.images).edits


def test_the_command_line_uses_the_words_of_the_function(toys: CocoFiles, tmp_path: Path) -> None:
    words = ["--coco", str(toys.instances), "--images", str(toys.images), "--out", str(tmp_path / "object.json")]
    done = CliRunner().invoke(groups["build"], ["editval", *words, "--classes", "1"])
    assert done.exit_code == 0, done.output
    assert len(json.loads((tmp_path / "object.json").read_text())) == 1


def test_images_that_do_not_fit_are_an_error_that_says_so(toys: CocoFiles, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="No image in"):
        editval(
            coco=toys.instances,
            images=toys.images,
            out=tmp_path / "o.json",
            least_share=0.9,
            most_share=1.0,
            quiet=True,
        )
    told = json.loads(toys.instances.read_text())
    told["images"][0]["file_name"] = "holiday.jpg"
    (toys.images / "000000000001.jpg").rename(toys.images / "holiday.jpg")
    toys.instances.write_text(json.dumps(told))
    built = editval(coco=toys.instances, images=toys.images, out=tmp_path / "o.json", quiet=True)
    assert [item.what for item in built.left_out if "000000000001.jpg" in item.why] == ["holiday.jpg"]
    assert "1" not in json.loads(built.file.read_text())["cat"]
    with pytest.raises(BadInputError, match="at least 1"):
        editval(coco=toys.instances, images=toys.images, out=tmp_path / "o.json", classes=0, quiet=True)
