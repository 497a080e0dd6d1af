"""Edits proposed from what is seen: only where the picture allows them, and with recipes that keep their word."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skimage.data

from editgauge._util.images import ImageFile, Pixels, write_png
from editgauge._util.masks import BoolMask
from editgauge.audits.proposals import Photograph, propose, understood
from editgauge.methods.reference.editors import careless, classical
from editgauge.models.answers import Detections, Instances
from editgauge.recipes import Move, Paste, Recolor, Remove, Replace, Resize
from editgauge.types import Edit

photographs: Any = skimage.data
Seen = tuple[str, tuple[int, int, int, int], float]
"""Word, box, confidence."""
FIELD: Pixels = np.repeat(np.asarray(photographs.gravel())[:300, :480, None], 3, axis=2)
HORSE: Seen = ("horse", (190, 110, 290, 200), 0.9)
BOTTLE: Seen = ("bottle", (40, 60, 80, 180), 0.8)
COW: Seen = ("cow", (60, 100, 180, 200), 0.7)


def detections(seen: Sequence[Seen]) -> Detections:
    words = tuple(word for word, _, _ in seen)
    boxes = np.array([box for _, box, _ in seen], np.float32).reshape(-1, 4)
    return Detections(boxes, np.array([sure for _, _, sure in seen], np.float32), words, words)


def ellipse(box: tuple[int, int, int, int], shape: tuple[int, ...]) -> BoolMask:
    left, top, right, bottom = box
    down, across = np.mgrid[0 : shape[0], 0 : shape[1]]
    x, y = (2 * across - left - right) / (right - left), (2 * down - top - bottom) / (bottom - top)
    return np.asarray(x**2 + y**2 <= 1)


def photograph(folder: Path, name: str, *sure: Seen, faint: Sequence[Seen] = ()) -> Photograph:
    """Gravel with ellipses on it, of which the caller says what they are."""
    pixels, masks = FIELD.copy(), [ellipse(box, FIELD.shape) for _, box, _ in sure]
    for place, mask in enumerate(masks):
        pixels[mask] = (200, 40 * place, 30)
    write_png(pixels, folder / f"{name}.png")
    stacked = np.array(masks, np.bool_).reshape(-1, *FIELD.shape[:2])
    instances = Instances(detections(sure), stacked)
    return understood(ImageFile(name, folder / f"{name}.png"), pixels, instances, detections([*sure, *faint]))


@pytest.fixture
def horse(tmp_path: Path) -> Photograph:
    return photograph(tmp_path, "field", HORSE)


@pytest.fixture
def others(tmp_path: Path) -> list[Photograph]:
    return [photograph(tmp_path, "table", BOTTLE), photograph(tmp_path, "meadow", COW)]


def by_type(edits: Sequence[Edit]) -> dict[str, Edit]:
    return {edit.type: edit for edit in edits}


def test_a_thing_that_stands_alone_allows_every_type_but_one(horse: Photograph, others: list[Photograph]) -> None:
    edits = by_type(propose(horse, others))
    assert set(edits) == {
        *("object_removal", "position_replacement", "size", "color", "texture", "object_replacement"),
        *("object_addition", "positional_addition", "style", "background"),
    }
    assert edits["object_removal"].instruction == "Remove the horse."
    assert edits["object_replacement"].to == "cow", "a bottle is no shape to take a horse's place"
    assert edits["color"].from_ == "red"


def test_the_same_seed_proposes_the_same_and_another_one_something_else(
    horse: Photograph, others: list[Photograph]
) -> None:
    assert propose(horse, others, seed=1) == propose(horse, others, seed=1)
    drawn = {repr([edit.recipe for edit in propose(horse, others, seed=seed)]) for seed in range(5)}
    assert len(drawn) == 5


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.slow
def test_every_recipe_can_be_followed_and_keeps_to_its_mask(
    seed: int, horse: Photograph, others: list[Photograph]
) -> None:
    for edit in propose(horse, others, seed):
        outcome = classical.edit(edit, horse.pixels, 0)
        changed = (outcome != horse.pixels).any(axis=2)
        assert changed.any(), edit.id
        assert not np.array_equal(careless.edit(edit, horse.pixels, 0), outcome), edit.id
        if edit.mask is not None:
            assert not changed[~edit.mask.render(*horse.size)].any(), edit.id


@pytest.mark.parametrize("seed", range(8))
def test_what_is_put_somewhere_lies_inside_and_on_nothing_else(seed: int, tmp_path: Path) -> None:
    scene = photograph(tmp_path, "scene", HORSE, ("chair", (380, 150, 440, 230), 0.9))
    table = photograph(tmp_path, "table", BOTTLE)
    for edit in propose(scene, [table], seed):
        match edit.recipe:
            case Paste() | Move() | Resize():
                left, top, right, bottom = edit.recipe.placed().box()
            case Replace():
                left, top, right, bottom = edit.recipe.pasted().placed().box()
            case _:
                continue
        assert left >= 0
        assert top >= 0
        assert right <= 480
        assert bottom <= 300
        own = edit.subject if edit.type in {"position_replacement", "size", "object_replacement"} else None
        for candidate in scene.candidates:
            x0, y0, x1, y1 = candidate.box
            apart = left >= x1 or right <= x0 or top >= y1 or bottom <= y0
            assert apart or candidate.name == own, edit.id


def test_a_moved_thing_comes_to_lie_in_the_third_that_was_asked_for(horse: Photograph) -> None:
    for seed in range(6):
        edit = by_type(propose(horse, seed=seed))["position_replacement"]
        assert isinstance(edit.recipe, Move)
        assert edit.from_ == "center"
        assert edit.to == ("left" if edit.recipe.center[0] < 160 else "right")


def test_of_several_the_outermost_one_is_removed(tmp_path: Path) -> None:
    herd = photograph(tmp_path, "herd", HORSE, ("horse", (20, 130, 90, 190), 0.8), ("horse", (400, 130, 470, 200), 0.8))
    edits = by_type(propose(herd))
    edit = edits["single_instance_removal"]
    assert isinstance(edit.recipe, Remove)
    first = edit.recipe.outline.box()[0]
    assert (edit.instruction, first < 100) in {
        ("Remove the leftmost horse.", True),
        ("Remove the rightmost horse.", False),
    }
    assert not {"object_removal", "color", "size", "position_replacement"} & set(edits), (
        "'the horse' means no single one"
    )


@pytest.mark.parametrize(
    ("thing", "faint"),
    [
        (HORSE, [("horse", (20, 120, 60, 160), 0.22)]),
        (HORSE, [("dog", (195, 115, 295, 200), 0.35)]),
        (("horse", (200, 120, 210, 130), 0.9), []),
        (("horse", (10, 10, 470, 290), 0.9), []),
    ],
    ids=["a second one, faintly", "or a dog", "a speck", "nearly everything"],
)
def test_nothing_is_proposed_about_a_thing_that_is_in_doubt(thing: Seen, faint: list[Seen], tmp_path: Path) -> None:
    edits = propose(photograph(tmp_path, "doubt", thing, faint=faint))
    assert not {"object_removal", "position_replacement", "size", "color"} & set(by_type(edits))


def test_an_outline_that_is_not_what_the_detector_saw_is_not_used(tmp_path: Path) -> None:
    picture = ImageFile("field", tmp_path / "field.png")
    scraps = np.zeros((1, *FIELD.shape[:2]), np.bool_)
    scraps[0, 110:200, 190:220] = scraps[0, 110:200, 260:290] = True
    assert understood(picture, FIELD, Instances(detections([HORSE]), scraps)).objects == ()


def test_nothing_to_be_seen_still_allows_a_style(tmp_path: Path) -> None:
    assert [edit.type for edit in propose(photograph(tmp_path, "empty"))] == ["style"]


def test_the_new_color_is_none_that_the_thing_has(horse: Photograph) -> None:
    for seed in range(10):
        recipe = by_type(propose(horse, seed=seed))["color"].recipe
        assert isinstance(recipe, Recolor)
        assert recipe.color != "red"
