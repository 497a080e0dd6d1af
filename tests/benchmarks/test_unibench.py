"""UniBench: annotations with faults told at once, tasks drawn by chance, and the sample."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from editgauge._vision.geometry import DIRECTIONS, direction_score, middle
from editgauge.benchmarks import open_benchmark
from editgauge.benchmarks._unibench_annotations import (
    EXTRA,
    FORMAT,
    Annotations,
    ChangeColor,
    described,
    faults_of,
    filled,
    json_schema,
    mask_of,
    run_lengths,
)
from editgauge.benchmarks.sample import PHOTOS
from editgauge.benchmarks.unibench import read_annotations, shipped_annotations
from editgauge.errors import BadInputError
from editgauge.recipes import Move
from tests.benchmarks.unibench_example import cat_on_suitcase

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA, PAGE = DOCS / "reference" / "unibench.schema.json", DOCS / "explanation" / "unibench-annotations.md"
needs_photographs = pytest.mark.skipif(
    PHOTOS.info().present < PHOTOS.info().files, reason="NOT TESTED: run `editgauge data pull photos`"
)


@pytest.fixture
def annotated() -> dict[str, Any]:
    return cat_on_suitcase()


def test_annotations_are_read_whole(annotated: dict[str, Any], tmp_path: Path) -> None:
    annotations = Annotations.model_validate(annotated)
    (tmp_path / "a.json").write_text(json.dumps(annotated), "utf-8")
    assert read_annotations(tmp_path / "a.json") == annotations
    assert described(annotations) == annotated


Spoil = Callable[[dict[str, Any]], Any]
FAULTS: dict[str, Spoil] = {
    "images[0].file: '../1.jpg' must be a path inside": lambda image: image.update(file="../1.jpg"),
    "images[0].width: input should be a valid integer": lambda image: image.update(width="100"),
    "images[0].licens: is no key of this format": lambda image: image.update(licens="CC BY"),
    "images[0].instances[0].class: is missing": lambda image: image["instances"][0].pop("class"),
    "images[0].instances[1].id: 'cat' is given twice": lambda image: image["instances"][1].update(id="cat"),
    "images[0].instances[0].box: [left, top, right, bottom] must have an area": lambda image: image["instances"][
        0
    ].update(box=[10, 10, 500, 50]),
    "images[0].instances[0].box: [10.0, 10.0, 30.0, 50.0] is not the box of the mask": lambda image: image["instances"][
        0
    ].update(box=[10, 10, 30, 50]),
    "images[0].instances[0].mask: a polygon has an odd count": lambda image: image["instances"][0]["mask"][0].pop(),
    "images[0].instances[0].mask: size must be": lambda image: image["instances"][0].update(
        mask={"size": [100, 100], "counts": [3, 4]}
    ),
    "images[0].tasks[0].instance: unknown instance 'cats'. Did you mean 'cat'?": lambda image: image["tasks"][0].update(
        instance="cats"
    ),
    "images[0].tasks[0].classes: 'Suitcase' is in the image already": lambda image: image["tasks"][0].update(
        classes=["Suitcase"]
    ),
    "images[0].tasks[0].classes: 'cat' is in the image already": lambda image: image["tasks"][0].update(
        classes=["cat"]
    ),
    "images[0].tasks[1].colors: 'Grey' is the color of 'cat' already": lambda image: image["tasks"][1].update(
        colors=["Grey"]
    ),
    "images[0].tasks[1].colors: 'black' is given twice": lambda image: image["tasks"][1].update(
        colors=["black", "black"]
    ),
    "images[0].tasks[2].places[0].anchor: 'cat' cannot move relative to itself": lambda image: image["tasks"][2][
        "places"
    ][0].update(anchor="cat"),
    "images[0].tasks[2].templates[0]: 'A cat' lacks {position}, {anchor}": lambda image: image["tasks"][2].update(
        templates=["A cat"]
    ),
    "images[0].tasks[3].places[0].relation: input should be": lambda image: image["tasks"][3]["places"][0].update(
        relation="over"
    ),
    "images[0].tasks[1]: change_color of 'cat' is given twice": lambda image: image["tasks"].append(image["tasks"][1]),
}


@pytest.mark.parametrize("told", FAULTS)
def test_a_fault_is_told_with_its_place(told: str, annotated: dict[str, Any]) -> None:
    assert faults_of(annotated) == []
    FAULTS[told](annotated["images"][0])
    assert any(fault.startswith(told) for fault in faults_of(annotated)), faults_of(annotated)


def test_all_faults_are_told_at_once_those_of_whole_images_too(annotated: dict[str, Any], tmp_path: Path) -> None:
    second = json.loads(json.dumps(annotated["images"][0]))
    second["tasks"][0]["classes"] = ["cat"]
    annotated["images"][0]["height"] = -1
    annotated["images"].append(second)
    (tmp_path / "unibench.json").write_text(json.dumps(annotated))
    with pytest.raises(BadInputError) as error:
        open_benchmark("unibench", data=tmp_path)
    assert len(error.value.problems) == 2
    assert error.value.problems[0].startswith("unibench.json: images[0].height")
    assert error.value.problems[1].startswith("unibench.json: images[1].tasks[0].classes")


def test_another_version_of_the_format_is_refused(annotated: dict[str, Any]) -> None:
    annotated["format"] = "unibench-annotations/2"
    assert faults_of(annotated) == [f"format: must be '{FORMAT}', got 'unibench-annotations/2'"]


def test_the_published_schema_is_the_one_of_the_program() -> None:
    assert json.loads(SCHEMA.read_text("utf-8")) == json_schema()


def test_the_example_of_the_page_about_annotations_has_no_fault() -> None:
    shown = re.search(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert shown is not None
    assert faults_of(json.loads(shown.group(1))) == []


@given(arrays(np.bool_, st.tuples(st.integers(1, 12), st.integers(1, 12))))
def test_run_lengths_render_the_mask_they_were_made_of(mask: np.ndarray) -> None:
    height, width = mask.shape
    assert np.array_equal(mask_of(run_lengths(mask)).render(width, height), mask)
    assert sum(run_lengths(mask).counts) == mask.size


@pytest.mark.parametrize(
    ("template", "words", "caption"),
    [
        ("A {target} {position} a {anchor}", {"target": "owl", "position": "on", "anchor": "ape"}, "An owl on an ape"),
        ("There is an {target}.", {"target": "dog"}, "There is a dog."),
        ("Two cats and a {target}", {"target": "scissors"}, "Two cats and scissors"),
        ("A banana {target}", {"target": "owl"}, "A banana owl"),
    ],
)  # fmt: skip
def test_articles_follow_the_word(template: str, words: dict[str, str], caption: str) -> None:
    assert filled(template, words) == caption


def test_slots_without_a_name_are_filled_by_the_type_of_task(annotated: dict[str, Any], tmp_path: Path) -> None:
    tasks = annotated["images"][0]["tasks"]
    tasks[0]["templates"], tasks[1]["templates"] = ["A {} sitting on a suitcase"], ["A {} cat sitting on a suitcase"]
    (tmp_path / "unibench.json").write_text(json.dumps(annotated))
    (tmp_path / "1.jpg").write_bytes(b"not looked into")
    assert faults_of(annotated) == []
    captions = {
        edit.extras[EXTRA]["task"]: edit.target_caption or ""
        for edit in open_benchmark("unibench", data=tmp_path).edits
    }
    assert "sitting on a suitcase" in captions["change_class"]
    assert " cat sitting on a suitcase" in captions["change_color"]
    assert not any("{" in caption for caption in captions.values())


def test_words_that_mean_nothing_in_the_plane_give_no_relation(annotated: dict[str, Any], tmp_path: Path) -> None:
    annotated["images"][0]["tasks"] = [
        annotated["images"][0]["tasks"][2] | {"places": [{"anchor": "suitcase", "words": "behind"}]}
    ]
    (tmp_path / "unibench.json").write_text(json.dumps(annotated))
    (tmp_path / "1.jpg").write_bytes(b"not looked into")
    (edit,) = open_benchmark("unibench", data=tmp_path).edits
    assert (edit.id, edit.type, edit.position) == ("1-cat-move", "position_replacement", None)
    assert (edit.instruction, edit.to) == ("Move the cat behind the suitcase.", "behind the suitcase")
    assert edit.target_caption == "A cat behind a suitcase"
    assert edit.extras[EXTRA]["words"] == "behind"


def test_an_image_that_is_not_there_is_told(annotated: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "unibench.json").write_text(json.dumps(annotated))
    with pytest.raises(BadInputError, match=r"record '1.jpg': the image '.*/1.jpg' does not exist"):
        open_benchmark("unibench", data=tmp_path / "unibench.json")


def test_options_in_brackets_are_read_and_named_in_one_order() -> None:
    assert faults_of(described(shipped_annotations())) == []
    with pytest.raises(BadInputError, match="no option 'trails'; there are seed, trials"):
        open_benchmark("unibench-sample[trails=3]")
    with pytest.raises(BadInputError, match="'seed' is a whole number, got 'x'"):
        open_benchmark("unibench-sample[seed=x]")
    with pytest.raises(BadInputError, match="no option 'seed'; it has none"):
        open_benchmark("sample[seed=1]")
    with pytest.raises(BadInputError, match="from 1 to 1000 trials"):
        open_benchmark("unibench-sample[trials=0]")


@needs_photographs
def test_the_sample_has_a_recipe_for_whatever_is_drawn() -> None:
    sample = open_benchmark("unibench-sample[trials=40,seed=1]")
    assert sample.name == "unibench-sample[seed=1,trials=40]"
    assert len(sample.edits) == 40 * 46
    assert {edit.extras["trial"] for edit in sample.edits} == set(range(1, 41))
    assert [edit.id for edit in sample.edits if edit.recipe is None] == []
    assert len(open_benchmark("unibench-sample").edits) == 46


@needs_photographs
def test_the_larger_set_holds_the_sample_and_more() -> None:
    larger = open_benchmark("unibench-photos")
    assert (len(larger.edits), len({edit.source.path for edit in larger.edits})) == (168, 51)
    assert {edit.id for edit in open_benchmark("unibench-sample").edits} < {edit.id for edit in larger.edits}
    assert sum(edit.recipe is not None for edit in larger.edits) >= 160
    assert faults_of(described(shipped_annotations("unibench-photos.json"))) == []


@needs_photographs
def test_no_color_of_the_sample_is_there_already() -> None:
    for image in (*shipped_annotations().images, *shipped_annotations("unibench-photos.json").images):
        own = {instance.id: instance.color for instance in image.instances}
        for task in image.tasks:
            if isinstance(task, ChangeColor):
                assert own[task.instance] not in task.colors


@needs_photographs
@pytest.mark.parametrize("name", ["unibench-sample[trials=40]", "unibench-photos[trials=5]"])
def test_no_move_of_the_sample_asks_for_where_the_object_is_already(name: str) -> None:
    for edit in open_benchmark(name).edits:
        told = edit.extras[EXTRA]
        if told["task"] == "move":
            assert isinstance(edit.recipe, Move)
            assert edit.position is not None
            anchor = edit.objects[told["anchor"]]
            where = middle(anchor.box())  # type: ignore[attr-defined] # the sample's masks are polygons
            assert edit.position.relation in DIRECTIONS
            asked = direction_score(where, edit.recipe.center, edit.position.relation, 1.0)
            now = direction_score(where, middle(edit.recipe.outline.box()), edit.position.relation, 1.0)
            assert now < 0.5 < asked, edit.id
