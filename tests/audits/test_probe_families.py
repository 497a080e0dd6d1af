"""The truth of probes holds by construction: what is right changes its footprint alone, what is wrong is wrong."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._util.images import Pixels, read_image
from editgauge.audits._probe_families import HARMLESS, NewProbe, ProbeMaterial, flipped, probes_of, redrawn, shifted
from editgauge.audits._probe_set import shrunk
from editgauge.audits.probes import in_a_mirror, may_coincide, mirrored
from editgauge.types import Edit
from tests.audits.conftest import Edits, drawn


def made(edit: Edit, turn: int = 0, otherwise: Edit | None = None) -> dict[str, NewProbe]:
    source = read_image(edit.source.path)
    around = ProbeMaterial(another=source[::-1].copy(), otherwise=otherwise, turn=turn)
    return {each.kind: each for each in probes_of(edit, source, around)}


def distance(one: Pixels, other: Pixels) -> float:
    return float(np.abs(one.astype(np.int16) - other).mean())


@pytest.fixture
def recolored(tmp_path: Path, edits_of: Edits) -> Edit:
    return edits_of(tmp_path, 1)[0].edit


def test_the_right_outcome_changes_its_footprint_and_nothing_else(tmp_path: Path, edits_of: Edits) -> None:
    for each in edits_of(tmp_path, 2):
        source = read_image(each.edit.source.path)
        right = made(each.edit)["right"].edited
        changed = np.any(right != source, axis=2)
        assert changed.any()
        if each.edit.mask is not None:
            assert not changed[~each.edit.mask.render(160, 120)].any()


def test_the_recolored_object_is_red_only_where_the_edit_was_done(recolored: Edit) -> None:
    probes = made(recolored)
    inside = recolored.objects["box"].render(160, 120)

    def redness(each: NewProbe) -> float:
        red, green, blue = each.edited[inside].mean(axis=0)
        return float(red - max(green, blue))

    assert redness(probes["right"]) > 80
    for kind in ("nothing", "wrong_value", "wrong_object", "black", "another_photograph", "swapped"):
        assert probes[kind].done is False
        assert redness(probes[kind]) < 30, kind


def test_the_wrong_object_leaves_the_right_one_alone(recolored: Edit) -> None:
    source = read_image(recolored.source.path)
    wrong = made(recolored)["wrong_object"].edited
    inside = recolored.objects["box"].render(160, 120)
    other = recolored.objects["crate"].render(160, 120)
    assert distance(wrong[inside], source[inside]) < 1 < distance(wrong[other], source[other])


@pytest.mark.parametrize("turn", range(8))
def test_what_is_graded_departs_ever_farther_from_the_right_outcome(recolored: Edit, turn: int) -> None:
    probes = made(recolored, turn)
    right = probes["right"].edited
    families: dict[str, list[NewProbe]] = {}
    for each in probes.values():
        if each.family:
            families.setdefault(each.family, []).append(each)
    assert {name.partition("/")[0] for name in families} == {"rest", "artifact", "sent"}
    for name, members in families.items():
        severities = [each.severity for each in members]
        assert severities == sorted(severities, key=lambda severity: severity or 0), name
        distances = [distance(each.edited, right) for each in members]
        assert distances[0] > 0, name
        assert all(less < more for less, more in pairwise(distances)), (name, distances)


def test_what_should_not_matter_hardly_changes_the_picture(recolored: Edit) -> None:
    probes = made(recolored)
    right = probes["right"]
    for kind in HARMLESS:
        assert probes[kind].done is True
    assert distance(probes["jpeg-95"].edited, right.edited) < 5
    assert np.array_equal(flipped(probes["mirrored"].edited), right.edited)
    assert probes["resized"].edited.shape == (90, 120, 3)


def test_a_redrawn_picture_shows_the_same_with_other_pixels() -> None:
    picture = drawn(3)
    anew = redrawn(picture, 1)
    assert (anew == redrawn(picture, 1)).all()
    assert anew.shape == picture.shape
    assert (anew != picture).any(axis=2).mean() > 0.9, "no pixel is left to rely on"
    before, after = (cv2.GaussianBlur(each.astype(np.float32), (0, 0), 6).ravel() for each in (picture, anew))
    assert np.corrcoef(before, after)[0, 1] > 0.95, "what it shows stays"


@given(st.integers(-8, 8), st.integers(-8, 8))
def test_a_shift_moves_every_pixel_alike(across: int, down: int) -> None:
    picture = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    moved = shifted(picture, across, down)
    inner = picture[max(0, -down) : 30 - max(0, down), max(0, -across) : 40 - max(0, across)]
    there = moved[max(0, down) : 30 - max(0, -down), max(0, across) : 40 - max(0, -across)]
    assert np.array_equal(inner, there)


def test_swapped_pictures_undo_the_edit(moving: Edit) -> None:
    probes = made(moving)
    swapped = probes["swapped"]
    assert swapped.source is not None
    assert np.array_equal(swapped.source, probes["right"].edited)
    assert np.array_equal(swapped.edited, read_image(moving.source.path))


def test_a_mirrored_edit_asks_for_the_other_side(moving: Edit) -> None:
    turned = mirrored(moving)
    assert turned.instruction == "Move the box from the right to the Left of the image."
    assert (turned.from_, turned.to, turned.position and turned.position.relation) == ("right", "left", "left")


@given(st.text(alphabet="leftrigh mosLR,.", max_size=40))
def test_two_mirrors_change_nothing(text: str) -> None:
    assert in_a_mirror(in_a_mirror(text)) == text or any(word.isupper() for word in text.split())


def test_another_instruction_is_never_one_that_was_fulfilled(tmp_path: Path, edits_of: Edits) -> None:
    color, removal, style = (each.edit for each in edits_of(tmp_path, 1))
    assert may_coincide(color, color)
    assert may_coincide(color, style)
    assert not may_coincide(color, removal)
    assert not may_coincide(removal, style)
    assert may_coincide(removal, color)  # the box is gone: whether it is red is unknown
    probes = made(color, otherwise=removal)
    assert probes["another_instruction"].done is False
    assert np.array_equal(probes["another_instruction"].edited, probes["right"].edited)


def test_a_smaller_recipe_is_the_recipe_of_the_smaller_picture(moving: Edit, growing: Edit) -> None:
    for edit in (moving, growing):
        assert edit.recipe is not None
        large, small = edit.recipe.footprint(), shrunk(edit.recipe, 0.5)
        assert large is not None
        place, half = edit.recipe.outline.box(), small.outline.box()  # type: ignore[union-attr]
        assert half == tuple(value / 2 for value in place)
