"""Left or right: the pictures are those whose sides are known, and an answer is only right when it is the true one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from editgauge._util.images import write_png
from editgauge.audits._probe_set import Probe, write_probes
from editgauge.audits.judges import sides
from editgauge.audits.judges.sides import TwoObjects, tell_sides, two_objects, two_objects_of_coco
from editgauge.errors import BadInputError
from tests.shared_data import needs_shared_data, shared_data


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Additions to the left and above, and one without a place."""
    write_png(np.full((20, 30, 3), 90, np.uint8), tmp_path / "a.png")
    words = {"source": "a.png", "type": "positional_addition", "instruction": "Add a cup.", "to": "cup"}
    left, above = {"relation": "left", "anchor": "bowl"}, {"relation": "above", "anchor": "bowl"}
    edits = [{"id": name, **words, **({"position": where} if where else {})} for name, where in _places(left, above)]
    (tmp_path / "edits.jsonl").write_text("".join(json.dumps(each) + "\n" for each in edits))
    return tmp_path


def _places(left: dict[str, str], above: dict[str, str]) -> list[tuple[str, dict[str, str] | None]]:
    return [("a--right", left), ("a--nothing", left), ("b--right", above), ("c--right", None)]


def test_only_right_outcomes_beside_something_are_shown(folder: Path) -> None:
    kinds = {"a--right": "right", "a--nothing": "nothing", "b--right": "right", "c--right": "right"}
    probes = [Probe(name, name[0], "photo", "positional_addition", kind) for name, kind in kinds.items()]
    write_probes(folder, probes)
    (found,) = two_objects(folder, probes)
    assert (found.new, found.anchor, found.side) == ("cup", "bowl", "left")
    assert found.caption("right") == "cup to the right of bowl"


def test_what_a_model_says_counts_by_the_side_that_is_true() -> None:
    pictures = [TwoObjects(Path(), f"photo {n}", "cup", "bowl", "left" if n < 4 else "right") for n in range(8)]
    always_left = sides._choices("joint_embedder", pictures, ["left"] * 7 + [None])
    assert (always_left.left.value, always_left.right.value) == (1.0, 0.0)
    assert (always_left.pictures, always_left.answered) == (8, 7)


def test_without_a_model_that_can_tell_nothing_is_told() -> None:
    pictures = [TwoObjects(Path(), "photo", "cup", "bowl", "left")]
    assert tell_sides(pictures, {"image_embedder": "augnet"}) == {}
    assert tell_sides([], {"detector": "efficientdet-lite2"}) == {}


def test_photographs_of_coco_with_two_objects_side_by_side(tmp_path: Path) -> None:
    """Two cats make the first no pair; in the second the cup lies left of the dog; in the third they overlap."""
    for number in (1, 2, 3):
        write_png(np.zeros((10, 20, 3), np.uint8), tmp_path / f"{number}.png")
    rows = [
        (1, 1, [0, 0, 5, 5]),
        (1, 1, [10, 0, 5, 5]),
        (1, 2, [6, 0, 2, 2]),
        (2, 2, [0, 0, 4, 4]),
        (2, 3, [5, 0, 9, 9]),
        (3, 2, [0, 0, 9, 9]),
        (3, 3, [5, 0, 9, 9]),
    ]
    told = {
        "images": [{"id": number, "file_name": f"{number}.png", "width": 20, "height": 10} for number in (1, 2, 3)],
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "cup"}, {"id": 3, "name": "dog"}],
        "annotations": [
            {"id": place, "image_id": image, "category_id": kind, "bbox": box, "segmentation": []}
            for place, (image, kind, box) in enumerate(rows)
        ],
    }
    file = tmp_path / "instances.json"
    file.write_text(json.dumps(told))

    (found,) = two_objects_of_coco(file, tmp_path)

    assert (found.picture.name, found.new, found.anchor, found.side) == ("2.png", "cup", "dog", "left")
    file.write_text("[]")
    with pytest.raises(BadInputError, match="is no COCO file"):
        two_objects_of_coco(file, tmp_path)


@needs_shared_data
def test_real_annotations_give_pairs_on_both_sides() -> None:
    coco = shared_data("coco128")
    found = two_objects_of_coco(coco / "instances_train2017.json", coco / "images")

    assert len(found) >= 10
    assert {each.side for each in found} == {"left", "right"}
