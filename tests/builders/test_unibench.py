"""A UniBench is built from COCO files by rules or by a judge, and never holds what the paper forbids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from editgauge._cli import groups
from editgauge._util.images import read_image
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks._unibench_annotations import Annotations, ChangeClass, ChangeColor, Generate, MoveTask
from editgauge.benchmarks.unibench import read_annotations
from editgauge.builders.review.desk import Desk
from editgauge.builders.review.file import read_review
from editgauge.builders.unibench import unibench
from editgauge.errors import BadInputError
from tests.builders.toys import CocoFiles
from tests.endpoint import MODEL, Reply, Served

GOOD: dict[str, Any] = {
    "instances": [
        {
            "instance": "cat-1",
            "color": "black",
            "classes": ["dog", "teddy bear"],
            "colors": ["white"],
            "places": [{"anchor": "suitcase-1", "words": "behind"}],
            "class_templates": ["A {target} sitting on a suitcase"],
            "color_templates": ["A {color} cat sitting on a suitcase"],
            "move_templates": ["A cat sitting {position} a {anchor}"],
        }
    ],
    "generate": {
        "classes": ["banana"],
        "places": [{"anchor": "suitcase-1", "words": "above"}],
        "templates": ["A cat on a suitcase, and a {target} {position} the {anchor}"],
    },
}


def build(files: CocoFiles, out: Path, **options: Any) -> Annotations:
    unibench(
        coco=files.instances, images=files.images, out=out, captions=files.captions, quiet=True, size=128, **options
    )
    return read_annotations(out)


def test_rules_propose_all_four_types_and_nothing_forbidden(toys: CocoFiles, tmp_path: Path) -> None:
    result = build(toys, tmp_path / "out" / "unibench.json")
    assert len(result.images) == 3
    for image in result.images:
        assert read_image(tmp_path / "out" / image.file).shape == (128, 128, 3)
        assert [item.class_ for item in image.instances] == ["cat", "suitcase"]  # the bird is outside the square
        assert image.license == "Attribution License"
        by_type = {task.type: task for task in image.tasks if isinstance(task, Generate) or task.instance == "cat-1"}
        assert set(by_type) == {"change_class", "change_color", "move", "generate"}
        change, color = by_type["change_class"], by_type["change_color"]
        move, new = by_type["move"], by_type["generate"]
        assert isinstance(change, ChangeClass)
        assert change.templates == ["A black {target} sitting on a suitcase."]
        assert "dog" in change.classes  # WordNet's sibling comes first
        assert isinstance(color, ChangeColor)
        assert color.templates == ["A {color} cat sitting on a suitcase."]
        assert "black" not in color.colors
        assert isinstance(move, MoveTask)
        assert move.templates == ["A black cat sitting {position} a {anchor}."]
        assert "to the left of" not in {position.words for position in move.positions}  # it is there already
        assert isinstance(new, Generate)
        assert not {"cat", "suitcase"} & set(new.classes)
    report = (tmp_path / "out" / "unibench.report.txt").read_text()
    assert report.count("bird-1: vanished when the picture was cut and scaled") == 3


def test_photographs_in_cocos_form_become_a_benchmark(coco: CocoFiles, tmp_path: Path) -> None:
    result = build(coco, tmp_path / "unibench.json", least_share=0.003)
    assert result.images
    told = open_benchmark("unibench", data=tmp_path / "unibench.json")
    assert {edit.type for edit in told.edits} == {
        *("object_replacement", "color", "position_replacement", "positional_addition")
    }
    assert "Drafted by rules.v2; 0 of" in result.about
    report = (tmp_path / "unibench.report.txt").read_text()
    assert "objects that are alone of their class: 1, and 2 are needed" in report


def test_the_seed_decides_and_the_order_of_the_file_does_not(toys: CocoFiles, tmp_path: Path) -> None:
    first = build(toys, tmp_path / "a.json", limit=2)
    told = json.loads(toys.instances.read_text())
    told["images"].reverse()
    toys.instances.write_text(json.dumps(told))
    again = build(toys, tmp_path / "b.json", limit=2)
    assert [image.tasks for image in again.images] == [image.tasks for image in first.images]
    orders = {
        tuple(i.file[-5:] for i in build(toys, tmp_path / f"s{n}.json", limit=1, seed=n).images) for n in range(9)
    }
    assert len(orders) > 1


def test_what_people_reviewed_survives_a_second_run(toys: CocoFiles, tmp_path: Path) -> None:
    out = tmp_path / "unibench.json"
    build(toys, out, limit=1)
    desk = Desk(out)
    first = desk.review.candidates[0]
    desk.decide(first.id, "Ann", "drop")
    assert len(build(toys, out, limit=3).images) == 3
    kept = next(item for item in read_review(desk.file).candidates if item.id == first.id)
    assert (kept.status, kept.by) == ("dropped", "Ann")
    with pytest.raises(BadInputError, match="built with other options") as error:
        build(toys, out, seed=5)
    assert error.value.problems == ("seed: 0 there, 5 now",)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"fewest": 3}, "alone of their class: 2, and 3 are needed"),
        ({"most_objects": 2}, "has 3 objects, more than 2"),
        ({"most_share": 0.05}, "objects that can be edited in the square: "),
        ({"least_share": 0.4}, "whole and large enough"),
    ],
)
def test_criteria_leave_images_out_and_say_why(
    options: dict[str, Any], told: str, toys: CocoFiles, tmp_path: Path
) -> None:
    out = tmp_path / "unibench.json"
    if "fewest" in options:  # a caption mentions two objects only
        told = "no caption mentions 3"
    built = unibench(coco=toys.instances, images=toys.images, out=out, captions=toys.captions, quiet=True, **options)
    assert (built.images, len(built.left_out)) == (0, 3)
    assert all(any(part in item.why for part in told.split("|")) for item in built.left_out)
    assert not out.exists()
    assert built.report.exists()


def test_without_captions_every_object_that_is_alone_counts(toys: CocoFiles, tmp_path: Path) -> None:
    built = unibench(
        coco=toys.instances, images=toys.images, out=tmp_path / "unibench.json", size=128, limit=1, quiet=True
    )
    (image,) = read_annotations(built.file).images
    change = next(task for task in image.tasks if isinstance(task, ChangeClass))
    assert change.templates == ["A photo of a {target} and a suitcase"]


def test_a_missing_picture_is_left_out(toys: CocoFiles, tmp_path: Path) -> None:
    (toys.images / "000000000002.jpg").unlink()
    built = unibench(
        coco=toys.instances, images=toys.images, out=tmp_path / "u.json", captions=toys.captions, quiet=True
    )
    assert built.images == 2
    assert [item.what for item in built.left_out if "no image" in item.why] == ["000000000002.jpg"]


# --- by a judge -------------------------------------------------------------------------------------------------------


def test_a_draft_that_fits_is_taken_as_it_is(served: Served, toys: CocoFiles, tmp_path: Path) -> None:
    served.plan = lambda text, seen: json.dumps(GOOD)
    out, judge = tmp_path / "unibench.json", f"openai:{MODEL}@{served.url}"
    result = build(toys, out, judge=judge, limit=2)
    assert len(served.requests) == 2
    (picture, words) = served.requests[0]["messages"][0]["content"][-2:]
    assert picture["type"] == "image_url"
    assert "cat-1 (cat, from" in words["text"]
    assert "{target} stands for the new class" in words["text"]
    assert [task.type for task in result.images[0].tasks] == ["change_class", "change_color", "move", "generate"]
    assert read_review(tmp_path / "unibench.review.json").by == (
        f"{MODEL} (unibench_annotation.v2, unibench_correction.v1)"
    )
    out.unlink()
    (tmp_path / "unibench.review.json").unlink()
    assert build(toys, out, judge=judge, limit=2, replay=True) == result  # from the transcripts
    assert len(served.requests) == 2


def test_a_draft_that_does_not_fit_is_asked_for_again(served: Served, toys: CocoFiles, tmp_path: Path) -> None:
    bad = json.loads(json.dumps(GOOD))
    bad["instances"][0]["classes"] = ["dragon", "suitcase", "dog"]
    bad["instances"][0]["colors"] = ["black", "plaid"]
    bad["instances"][0]["class_templates"] = ["A {animal} sitting"]

    def plan(text: str, seen: int) -> str:
        return json.dumps(GOOD if "What is wrong with it:" in text else bad)

    served.plan = plan
    result = build(toys, tmp_path / "u.json", judge=f"openai:{MODEL}@{served.url}", limit=1)
    correction = next(text for text in served.seen if "What is wrong with it:" in text)
    for fault in (
        "'dragon' is not in the class list",
        "'suitcase' is in the image already",
        "'black' is the color of 'cat-1' already",
        "'plaid' is no color",
        "has the slot {animal}",
    ):
        assert fault in correction
    change = result.images[0].tasks[0]
    assert isinstance(change, ChangeClass)
    assert change.classes == ["dog", "teddy bear"]


def test_what_is_wrong_to_the_last_is_left_out_and_told(served: Served, toys: CocoFiles, tmp_path: Path) -> None:
    bad = json.loads(json.dumps(GOOD))
    bad["instances"][0]["classes"] = ["dragon", "dog"]
    bad["instances"].append({**bad["instances"][0], "instance": "ghost-1"})
    served.plan = lambda text, seen: json.dumps(bad)
    result = build(toys, tmp_path / "u.json", judge=f"openai:{MODEL}@{served.url}", limit=1)
    assert len(served.requests) == 2  # a second correction would be the same question
    change = result.images[0].tasks[0]
    assert isinstance(change, ChangeClass)
    assert change.classes == ["dog"]
    report = (tmp_path / "u.report.txt").read_text()
    assert "'dragon' is not in the class list" in report
    assert "'ghost-1' is no object of the list" in report


def test_an_unreadable_draft_is_asked_for_again(served: Served, toys: CocoFiles, tmp_path: Path) -> None:
    served.plan = lambda text, seen: json.dumps(GOOD) if "What is wrong with it:" in text else "Let me think about cats"
    assert len(build(toys, tmp_path / "u.json", judge=f"openai:{MODEL}@{served.url}", limit=1).images) == 1


def test_a_refusal_leaves_the_image_out_and_the_rest_in(served: Served, toys: CocoFiles, tmp_path: Path) -> None:
    def plan(text: str, seen: int) -> str | Reply:
        return "I'm sorry, but I can't help with that." if len(served.requests) == 1 else json.dumps(GOOD)

    served.plan = plan
    judge = f"openai:{MODEL}@{served.url}"
    built = unibench(
        coco=toys.instances,
        images=toys.images,
        out=tmp_path / "u.json",
        captions=toys.captions,
        judge=judge,
        quiet=True,
    )
    assert (built.images, len(served.requests)) == (2, 3)
    (refused,) = [item for item in built.left_out if "no draft" in item.why]
    assert "(refused)" in refused.why


# --- the command line -------------------------------------------------------------------------------------------------


def test_the_command_line_uses_the_words_of_the_function(toys: CocoFiles, tmp_path: Path) -> None:
    out = tmp_path / "unibench.json"
    words = ["--coco", str(toys.instances), "--images", str(toys.images), "--captions", str(toys.captions)]
    done = CliRunner().invoke(groups["build"], ["unibench", *words, "--out", str(out), "--limit", "1", "--size", "64"])
    assert done.exit_code == 0, done.output
    assert len(read_annotations(out).images) == 1
    assert "Next: editgauge build review" in done.output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"size": 8}, "`size` goes from 64"),
        ({"least_share": 0.6}, "least_share < most_share"),
        ({"fewest": 0}, "1 <= fewest"),
        ({"least_kept": 0.0}, "least_kept"),
        ({"judge": "nobody"}, "`judge` takes an address"),
        ({"out": "unibench.txt"}, "`out` is a file NAME.json"),
        ({"images": "nowhere"}, "no folder 'nowhere' for `images`"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    options: dict[str, Any], told: str, toys: CocoFiles, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"images": toys.images, "out": tmp_path / "u.json", "quiet": True, **options}
    with pytest.raises(BadInputError, match=told):
        unibench(coco=toys.instances, **given)
    assert not (tmp_path / "u.json").exists()
