"""Probes: how they are made, stored, read and turned into cards."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge._util.images import Pixels, read_image
from editgauge.audits._probe_set import (
    HARMLESS_KINDS,
    NewProbe,
    Probe,
    ProbeMaterial,
    flipped,
    probes_of,
    read_probes,
    redrawn,
    shifted,
    shrunk,
    some_of_each_type,
    split_of,
)
from editgauge.audits.card import Sheet, measured_by, score_card
from editgauge.audits.probes import in_a_mirror, may_coincide, mirrored, probes_from
from editgauge.benchmarks import open_benchmark
from editgauge.errors import BadInputError, UnscorableError
from editgauge.types import Edit, ScoreSpec
from tests.audits.conftest import Edits, drawn


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, edits_of: Edits) -> Path:
    place = tmp_path_factory.mktemp("probes")
    everything = edits_of(place, 6)
    probes_from(everything, everything, place, quiet=True)
    return place


@pytest.mark.slow
def test_a_set_of_probes_is_a_benchmark_with_one_outcome_each(folder: Path) -> None:
    probes = read_probes(folder)
    edits = {edit.id: edit for edit in open_benchmark(folder).edits}
    assert set(edits) == {probe.id for probe in probes}
    assert len(probes) > 300
    assert all((folder / "edited" / f"{probe.id}.png").is_file() for probe in probes)
    kinds = Counter(probe.kind for probe in probes)
    assert kinds["right"] == kinds["nothing"] == kinds["black"] == kinds["mirrored"] == 18
    assert all(edit.recipe is None for edit in edits.values())  # whoever is audited is not told the answer


def test_masks_and_sources_follow_the_picture(folder: Path) -> None:
    edits = {edit.id: edit for edit in open_benchmark(folder).edits}
    plain, turned = edits["p0-color--right"], edits["p0-color--mirrored"]
    assert plain.mask is not None
    assert turned.mask is not None
    assert np.array_equal(turned.mask.render(160, 120), plain.mask.render(160, 120)[:, ::-1])
    source = read_image(turned.source.path)
    assert np.array_equal(source[:, ::-1], read_image(plain.source.path))


def test_halves_are_told_by_the_name_of_the_photograph_alone(folder: Path) -> None:
    probes = read_probes(folder)
    assert all(probe.split == split_of(probe.photo) for probe in probes)
    names = [f"photo {number}.jpg" for number in range(2000)]
    assert 900 < sum(split_of(name) == "tuning" for name in names) < 1100


def test_making_again_gives_the_same_pictures(folder: Path, tmp_path: Path, edits_of: Edits) -> None:
    everything = edits_of(tmp_path, 6)
    again = probes_from(everything[:3], everything, tmp_path, quiet=True)
    assert again == read_probes(folder)[: len(again)]
    for probe in again:
        name = f"edited/{probe.id}.png"
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name


def test_so_many_of_each_type_hand_drawn_first(tmp_path: Path, edits_of: Edits) -> None:
    chosen = some_of_each_type(edits_of(tmp_path, 5), 2)
    assert Counter(each.edit.type for each in chosen) == {"color": 2, "object_removal": 2, "style": 2}


def write(folder: Path, *lines: object) -> Path:
    edits = [{"id": name, "source": "a.png", "type": "color", "instruction": "Paint it."} for name in ("a", "b")]
    (folder / "edits.jsonl").write_text("".join(json.dumps(each) + "\n" for each in edits))
    text = (each if isinstance(each, str) else json.dumps(each) for each in lines)
    (folder / "probes.jsonl").write_text("".join(f"{line}\n" for line in text))
    return folder


def test_answers_of_people_join_with_an_id_and_what_they_said(tmp_path: Path) -> None:
    preferred = [{"id": "b", "edit": "pair"}, {"id": "a", "edit": "pair", "over": {"b": 0.75}}]
    sheet = Sheet.of(read_probes(write(tmp_path, *preferred)))
    assert (sheet.preferred.tolist(), sheet.agreed.tolist()) == ([[1, 0]], [0.75])
    assert (sheet.graded.size, int(sheet.has_truth.sum())) == (0, 0)
    probes = read_probes(write(tmp_path, {"id": "a", "done": True}, {"id": "b", "done": False, "photo": "p"}))
    assert [probe.done for probe in probes] == [True, False]
    assert probes[0] == Probe("a", "a", "a", "color", "given", True, split=split_of("a"))


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    lines = ({"id": "a"}, {"id": "a"}, {"id": "z"}, "{", {"id": "b", "dnoe": 1}, {"id": "b", "split": "middle"})
    with pytest.raises(BadInputError) as told:
        read_probes(write(tmp_path, *lines))
    for part in ("line 3: there is no edit 'z'", "line 4: not JSON", "unknown key 'dnoe'", "`split` is one", "twice"):
        assert part in str(told.value)
    with pytest.raises(BadInputError, match="build probes"):
        read_probes(tmp_path / "nowhere")


def test_a_function_of_ones_own_has_a_card(folder: Path) -> None:
    probes = [probe for probe in read_probes(folder) if probe.type == "color"]

    def redness(source: Pixels, edited: Pixels, edit: Edit) -> float | None:
        if "--mirrored" in edit.id:
            raise UnscorableError("not_applicable", "it does not know of mirrors")
        return float(edited[45:85, 25:55, 0].mean()) - float(edited[45:85, 25:55, 1].mean())

    measured = measured_by(redness, folder, probes, ScoreSpec("redness", True, (-255, 255)))
    found = score_card(measured, Sheet.of(probes))
    assert found.auroc.value is not None
    assert found.auroc.value > 0.9 - 0.2  # another instruction shows the same pixels: no function of them can tell
    assert found.against["nothing"].value == 1.0
    assert found.unscored.keys() == {"not_applicable"}
    assert found.unchanged_rate.value == 1.0


def test_what_is_not_a_number_has_a_reason(folder: Path) -> None:
    probes = read_probes(folder)[:3]
    given = iter((float("nan"), float("inf"), None))
    measured = measured_by(lambda *_: next(given), folder, probes, ScoreSpec("odd", True, (0, 1)))
    assert np.isnan(measured.values).all()
    assert list(measured.reasons) == ["crashed", "crashed", "not_applicable"]


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
    for kind in HARMLESS_KINDS:
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
