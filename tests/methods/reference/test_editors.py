"""The reference editors on photographs: what they change, what they leave alone, and that nothing is left to chance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import pytest
import skimage.data
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage import data

from editgauge._util.images import ImageFile, Pixels, as_lab, as_unit, write_png
from editgauge._util.masks import BoolMask, Polygons, dilate_mask
from editgauge.errors import BadInputError, CannotEditError, UnknownNameError
from editgauge.methods import Method, methods
from editgauge.methods.reference._appearance import lab_of
from editgauge.methods.reference.artifacts import FLAWS, add_flaw
from editgauge.methods.reference.editors import Painted, careless, classical, identity, negligible, overdone, painted
from editgauge.methods.reference.fill import fill_hole
from editgauge.methods.reference.operations import recipe_mask
from editgauge.metrics import metrics
from editgauge.models.weights import MissingWeightsError, available
from editgauge.recipes import (
    COLORS,
    MATERIALS,
    SCENES,
    STYLES,
    Background,
    Cutout,
    Move,
    Paste,
    Recipe,
    Recolor,
    Remove,
    Replace,
    Resize,
    Restyle,
    Texture,
)
from editgauge.types import Edit, Position

if TYPE_CHECKING:
    from pathlib import Path

Right = Callable[[str], Pixels]


"""The classical outcome for a kind of recipe."""


PHOTOGRAPHS: dict[str, Pixels] = {name: getattr(data, name)() for name in ("astronaut", "coffee", "chelsea", "rocket")}


ROCKET = Polygons(((306, 150, 312, 130, 320, 126, 328, 130, 336, 150, 336, 405, 306, 405),))


TOWER = Polygons(((186, 190, 202, 190, 206, 405, 176, 405),))


CUP = Polygons(
    (
        (
            174,
            80,
            200,
            45,
            250,
            20,
            310,
            18,
            360,
            38,
            395,
            70,
            402,
            110,
            385,
            190,
            340,
            235,
            270,
            240,
            205,
            215,
            180,
            160,
        ),
    )
)


SPOON = Polygons(((340, 250, 365, 240, 395, 250, 405, 280, 390, 312, 360, 325, 332, 310, 325, 280),))


CAT = Polygons(((42, 0, 31, 104, 0, 127, 0, 299, 296, 299, 316, 220, 358, 161, 362, 117, 356, 76, 398, 0),))


SUIT = Polygons(((60, 260, 110, 225, 300, 235, 350, 300, 355, 345, 290, 400, 275, 510, 40, 510, 20, 400),))


SHUTTLE = Polygons(
    ((398, 24, 407, 0, 424, 0, 438, 46, 454, 60, 454, 228, 470, 280, 400, 290, 368, 278, 380, 180, 381, 60),)
)


OBJECTS = {
    "rocket": {"rocket": ROCKET, "tower": TOWER},
    "coffee": {"cup": CUP, "spoon": SPOON},
    "chelsea": {"cat": CAT},
    "astronaut": {"suit": SUIT, "shuttle": SHUTTLE},
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ImageFile]:
    folder: Path = tmp_path_factory.mktemp("photographs")
    for name, pixels in PHOTOGRAPHS.items():
        write_png(pixels, folder / f"{name}.png")
    return {name: ImageFile(name, folder / f"{name}.png") for name in PHOTOGRAPHS}


def recipes(pictures: dict[str, ImageFile]) -> dict[str, tuple[str, str, Recipe]]:
    """One of each kind and a few of their variants: photograph, type, recipe."""
    cup = Cutout(pictures["coffee"], CUP)
    return {
        "recolor": ("coffee", "color", Recolor(CUP, "blue")),
        "texture": ("astronaut", "texture", Texture(SUIT, "brick")),
        "remove": ("rocket", "object_removal", Remove(ROCKET)),
        "move": ("rocket", "position_replacement", Move(ROCKET, (480, 268))),
        "resize": ("rocket", "size", Resize(ROCKET, 0.6)),
        "paste": ("rocket", "object_addition", Paste(cup, (480, 250), 90)),
        "replace": ("rocket", "object_replacement", Replace(ROCKET, cup)),
        "restyle": ("chelsea", "style", Restyle("sketch")),
        "background": ("chelsea", "background", Background((CAT,), "grass")),
        "background-blur": ("chelsea", "background", Background((CAT,), "blur")),
        "background-photograph": ("astronaut", "background", Background((SUIT,), pictures["rocket"])),
    }


KINDS = sorted(recipes({name: ImageFile(name, None) for name in PHOTOGRAPHS}))  # type: ignore[arg-type]


def request(pictures: dict[str, ImageFile], kind: str, **changes: Any) -> tuple[Edit, Pixels]:
    name, edit_type, recipe = recipes(pictures)[kind]
    edit = Edit(id=kind, source=pictures[name], type=edit_type, instruction=kind, objects=OBJECTS[name], recipe=recipe)
    return replace(edit, **changes), PHOTOGRAPHS[name]


def make_edit(recipe: Recipe, picture: str, pictures: dict[str, ImageFile], **parts: Any) -> Edit:
    return Edit(id="edit", source=pictures[picture], type="color", instruction="Do it.", recipe=recipe, **parts)


@pytest.fixture(scope="module")
def right(pictures: dict[str, ImageFile]) -> Right:
    return cache(lambda kind: classical.edit(*request(pictures, kind), 0))


def inside(mask: Polygons, pixels: Pixels) -> BoolMask:
    return mask.render(pixels.shape[1], pixels.shape[0])


def footprint(edit: Edit, source: Pixels) -> BoolMask:
    assert edit.recipe is not None
    region = edit.recipe.footprint()
    return np.ones(source.shape[:2], dtype=np.bool_) if region is None else region.render(*source.shape[1::-1])


def change(one: Pixels, other: Pixels, where: BoolMask) -> float:
    """Mean difference in gray levels."""
    return float(np.abs(one[where].astype(np.int16) - other[where]).mean())


def likeness(one: Pixels, other: Pixels, where: BoolMask) -> float:
    """Correlation of the two pictures' colors in a region."""
    return float(np.corrcoef(one[where].ravel(), other[where].ravel())[0, 1])


def colors_of(pixels: Pixels, where: BoolMask) -> np.ndarray[Any, np.dtype[np.float64]]:
    histogram, _ = np.histogramdd(pixels[where], bins=(8, 8, 8), range=[(0, 256)] * 3)
    return np.asarray(histogram.ravel() / where.sum())


def stretched(picture: Pixels, outline: Polygons, place: Polygons, width: int, height: int) -> Pixels:
    """The picture warped so that the outline comes to lie at the place: what a test expects there."""
    left, top, right, bottom = outline.box()
    new_left, new_top, new_right, new_bottom = place.box()
    across, down = (new_right - new_left) / (right - left), (new_bottom - new_top) / (bottom - top)
    matrix = np.array([[across, 0, new_left - across * left], [0, down, new_top - down * top]])
    return np.asarray(cv2.warpAffine(picture, matrix, (width, height), flags=cv2.INTER_AREA))


@pytest.mark.parametrize("method", [identity, classical, overdone, careless], ids=lambda method: method.name)
class TestEveryEditor:
    def test_is_known_by_its_name(self, method: Method) -> None:
        assert methods.get(method.name) is method
        assert method.about

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.slow
    def test_gives_a_picture_of_the_same_size_and_the_same_one_again(
        self, method: Method, kind: str, pictures: dict[str, ImageFile]
    ) -> None:
        edit, source = request(pictures, kind)
        before = source.copy()
        outcome = method.edit(edit, source, 3)
        assert outcome.shape == source.shape
        assert outcome.dtype == np.uint8
        assert np.array_equal(source, before), "the source was written to"
        assert np.array_equal(outcome, method.edit(edit, source, 3))


@pytest.mark.parametrize("method", [classical, overdone, careless], ids=lambda method: method.name)
def test_without_a_recipe_there_is_no_outcome(method: Method, pictures: dict[str, ImageFile]) -> None:
    edit, source = request(pictures, "remove", recipe=None)
    with pytest.raises(CannotEditError, match="'remove' has no recipe"):
        method.edit(edit, source, 0)


def test_identity_returns_the_source_even_without_a_recipe(pictures: dict[str, ImageFile]) -> None:
    edit, source = request(pictures, "remove", recipe=None)
    outcome = identity.edit(edit, source, 0)
    assert np.array_equal(outcome, source)
    assert outcome is not source


@pytest.mark.parametrize("kind", KINDS)
class TestKeepingAndChanging:
    def test_classical_leaves_the_outside_alone_and_changes_the_inside(
        self, kind: str, right: Right, pictures: dict[str, ImageFile]
    ) -> None:
        edit, source = request(pictures, kind)
        region = footprint(edit, source)
        assert np.array_equal(right(kind)[~region], source[~region])
        assert change(right(kind), source, region) > 4

    @pytest.mark.slow
    def test_overdone_disturbs_what_should_stay(self, kind: str, right: Right, pictures: dict[str, ImageFile]) -> None:
        edit, source = request(pictures, kind)
        outside = ~footprint(edit, source) if kind != "restyle" else footprint(edit, source)
        assert change(overdone.edit(edit, source, 0), right(kind), outside) > 8

    @pytest.mark.slow
    @pytest.mark.parametrize(("alone", "seed"), [(False, 0), (False, 1), (True, 0)])
    def test_careless_does_not_do_what_was_asked(
        self, kind: str, alone: bool, seed: int, right: Right, pictures: dict[str, ImageFile]
    ) -> None:
        edit, source = request(pictures, kind)
        wrong = careless.edit(replace(edit, objects={}) if alone else edit, source, seed)
        region = footprint(edit, source)
        assert change(wrong, right(kind), region) > 4
        assert change(wrong, source, np.ones_like(region)) > 0.1, "doing nothing is the work of `identity`"


class TestClassical:
    @pytest.mark.parametrize("color", COLORS)
    @pytest.mark.parametrize(("picture", "outline"), [("coffee", CUP), ("chelsea", CAT), ("rocket", ROCKET)])
    def test_recolors_toward_the_color_and_keeps_the_shading(
        self, color: str, picture: str, outline: Polygons, pictures: dict[str, ImageFile]
    ) -> None:
        source = PHOTOGRAPHS[picture]
        outcome = classical.edit(make_edit(Recolor(outline, color), picture, pictures), source, 0)
        object_ = inside(outline, source)
        before, after = as_lab(source)[object_], as_lab(outcome)[object_]
        distance = np.linalg.norm(after.mean(axis=0) - lab_of(color))
        assert distance < 20
        assert distance < np.linalg.norm(before.mean(axis=0) - lab_of(color))
        assert np.corrcoef(before[:, 0], after[:, 0])[0, 1] > 0.8

    @pytest.mark.parametrize("material", MATERIALS)
    def test_textures_differ_from_the_object_and_keep_its_shading(
        self, material: str, pictures: dict[str, ImageFile]
    ) -> None:
        source, object_ = PHOTOGRAPHS["coffee"], inside(CUP, PHOTOGRAPHS["coffee"])
        outcome = classical.edit(make_edit(Texture(CUP, material), "coffee", pictures), source, 0)
        light_before, light_after = (cv2.GaussianBlur(as_lab(image)[..., 0], (0, 0), 12) for image in (source, outcome))
        assert change(outcome, source, object_) > 20
        assert np.corrcoef(light_before[object_], light_after[object_])[0, 1] > 0.6

    @pytest.mark.parametrize(("picture", "outline"), [("rocket", ROCKET), ("coffee", SPOON), ("astronaut", SHUTTLE)])
    def test_a_removed_object_looks_like_its_surroundings(
        self, picture: str, outline: Polygons, pictures: dict[str, ImageFile]
    ) -> None:
        source = PHOTOGRAPHS[picture]
        outcome = classical.edit(make_edit(Remove(outline), picture, pictures), source, 0)
        object_ = inside(outline, source)
        surroundings = colors_of(source, dilate_mask(object_, 30) & ~dilate_mask(object_, 8))
        before = np.abs(colors_of(source, object_) - surroundings).sum()
        after = np.abs(colors_of(outcome, object_) - surroundings).sum()
        assert after < 0.85 * before

    def test_a_moved_object_is_found_at_its_new_place_and_not_at_the_old_one(
        self, pictures: dict[str, ImageFile]
    ) -> None:
        source, recipe = PHOTOGRAPHS["rocket"], Move(ROCKET, (480, 268))
        outcome = classical.edit(make_edit(recipe, "rocket", pictures), source, 0)
        expected = stretched(source, ROCKET, recipe.placed(), 640, 427)
        assert likeness(outcome, expected, inside(recipe.placed(), source)) > 0.97
        assert likeness(outcome, source, inside(ROCKET, source)) < 0.7

    @pytest.mark.parametrize("center", [(-500.0, 268.0), (5000.0, 5000.0), (320.0, -80.0)])
    def test_a_moved_object_never_leaves_the_picture(
        self, center: tuple[float, float], pictures: dict[str, ImageFile]
    ) -> None:
        source = PHOTOGRAPHS["rocket"]
        left, top, right, bottom = ROCKET.box()
        half_width, half_height = (right - left) / 2, (bottom - top) / 2
        nearest = (
            float(np.clip(center[0], half_width, 639 - half_width)),
            float(np.clip(center[1], half_height, 426 - half_height)),
        )
        outcome = classical.edit(make_edit(Move(ROCKET, center), "rocket", pictures), source, 0)
        place = Move(ROCKET, nearest).placed()
        expected = stretched(source, ROCKET, place, 640, 427)
        assert likeness(outcome, expected, inside(place, source)) > 0.97

    @pytest.mark.parametrize("factor", [0.5, 0.7, 1.3])
    def test_a_resized_object_has_the_asked_size(self, factor: float, pictures: dict[str, ImageFile]) -> None:
        source = PHOTOGRAPHS["rocket"]
        outcome = classical.edit(make_edit(Resize(ROCKET, factor), "rocket", pictures), source, 0)

        def looks(size: float) -> float:
            place = Resize(ROCKET, size).placed()
            return likeness(outcome, stretched(source, ROCKET, place, 640, 427), dilate_mask(inside(place, source), 4))

        assert looks(factor) > 0.85
        assert looks(factor) > max(looks(1.0), looks(1 / factor))

    @pytest.mark.parametrize("kind", ["paste", "replace"])
    def test_a_pasted_object_looks_like_the_cutout(self, kind: str, pictures: dict[str, ImageFile]) -> None:
        edit, source = request(pictures, kind)
        assert isinstance(edit.recipe, Paste | Replace)
        paste = edit.recipe if isinstance(edit.recipe, Paste) else edit.recipe.pasted()
        outcome = classical.edit(edit, source, 0)
        expected = stretched(PHOTOGRAPHS["coffee"], CUP, paste.placed(), 640, 427)
        assert likeness(outcome, expected, inside(paste.placed(), source)) > 0.9

    def test_a_paste_beyond_the_edge_is_cropped(self, pictures: dict[str, ImageFile]) -> None:
        source, cup = PHOTOGRAPHS["rocket"], Cutout(pictures["coffee"], CUP)
        half = classical.edit(make_edit(Paste(cup, (640, 200), 120), "rocket", pictures), source, 0)
        gone = classical.edit(make_edit(Paste(cup, (900, 200), 120), "rocket", pictures), source, 0)
        assert change(half, source, np.ones(source.shape[:2], dtype=np.bool_)) > 0.3
        assert np.array_equal(gone, source)

    @pytest.mark.parametrize("style", STYLES)
    def test_styles_change_the_whole_picture(self, style: str, pictures: dict[str, ImageFile]) -> None:
        source = PHOTOGRAPHS["astronaut"]
        outcome = classical.edit(make_edit(Restyle(style), "astronaut", pictures), source, 0)
        assert (outcome != source).any(axis=2).mean() > 0.5
        if style in {"sketch", "grayscale"}:
            assert (outcome == outcome[..., :1]).all()

    @pytest.mark.parametrize("scene", [*SCENES, "pink", "gravel"])
    def test_backgrounds_keep_the_objects(self, scene: str, pictures: dict[str, ImageFile]) -> None:
        source = PHOTOGRAPHS["astronaut"]
        outcome = classical.edit(make_edit(Background((SUIT, SHUTTLE), scene), "astronaut", pictures), source, 0)
        kept = inside(SUIT, source) | inside(SHUTTLE, source)
        assert change(outcome, source, ~dilate_mask(kept, 3)) > 8
        assert likeness(outcome, source, kept) > 0.97

    @pytest.mark.parametrize(
        ("recipe", "message"),
        [
            (Recolor(CUP, "octarine"), "no color called 'octarine'"),
            (Texture(CUP, "cheese"), "no material called 'cheese'"),
            (Restyle("haiku"), "no style called 'haiku'"),
            (Background((CUP,), "heaven"), "no color called 'heaven'"),
            (Remove(Polygons(((900, 900, 950, 900, 950, 950),))), "is outside the picture of 600 x 400"),
            (Remove(Polygons(((0, 0, 600, 0, 600, 400, 0, 400),))), "whole picture"),
        ],
    )
    def test_what_cannot_be_done_is_said(self, recipe: Recipe, message: str, pictures: dict[str, ImageFile]) -> None:
        with pytest.raises(CannotEditError, match=message):
            classical.edit(make_edit(recipe, "coffee", pictures), PHOTOGRAPHS["coffee"], 0)

    def test_a_missing_cutout_is_named(self, pictures: dict[str, ImageFile], tmp_path: Path) -> None:
        paste = Paste(Cutout(ImageFile("unicorn", tmp_path / "unicorn.png"), CUP), (100, 100), 50)
        with pytest.raises(CannotEditError, match="needs the picture 'unicorn'"):
            classical.edit(make_edit(paste, "coffee", pictures), PHOTOGRAPHS["coffee"], 0)


class TestCareless:
    def test_prefers_another_object_and_leaves_the_right_one_alone(self, pictures: dict[str, ImageFile]) -> None:
        edit, source = request(pictures, "remove")
        outcome = careless.edit(edit, source, 0)
        rocket, tower = inside(ROCKET, source), inside(TOWER, source)
        assert change(outcome, source, rocket & ~dilate_mask(tower, 6)) == 0
        assert change(outcome, source, tower) > 5

    def test_an_object_that_contains_the_right_one_does_not_count_as_another(
        self, pictures: dict[str, ImageFile]
    ) -> None:
        source, saucer = PHOTOGRAPHS["coffee"], Polygons(((80, 20, 480, 20, 480, 380, 80, 380),))
        edit = make_edit(
            Recolor(SPOON, "blue"), "coffee", pictures, objects={"spoon": SPOON, "saucer with spoon": saucer}
        )
        outcome = careless.edit(edit, source, 0)
        spoon = inside(SPOON, source)
        assert np.linalg.norm(as_lab(outcome)[spoon].mean(axis=0) - lab_of("blue")) > 40
        assert np.array_equal(outcome[~dilate_mask(spoon, 6)], source[~dilate_mask(spoon, 6)])

    def test_moves_the_other_way(self, pictures: dict[str, ImageFile]) -> None:
        edit, source = request(pictures, "move")
        outcome = careless.edit(edit, source, 0)
        place = Move(ROCKET, (321 - (480 - 321), 267)).placed()
        assert likeness(outcome, stretched(source, ROCKET, place, 640, 427), inside(place, source)) > 0.9

    def test_pastes_on_the_wrong_side_when_a_side_was_asked(self, pictures: dict[str, ImageFile]) -> None:
        edit, source = request(pictures, "paste", position=Position("right", "rocket"))
        outcome = careless.edit(edit, source, 0)
        columns = np.flatnonzero((outcome != source).any(axis=(0, 2)))
        assert columns.max() < 320

    @pytest.mark.parametrize("relation", ["left", "right", "above", "below", "on", "center"])
    def test_no_asked_side_is_met_by_accident(self, relation: Any, pictures: dict[str, ImageFile]) -> None:
        feet = {"left": (250, 250), "right": (390, 250), "above": (320, 120), "below": (320, 420)}
        cup = Cutout(pictures["coffee"], CUP)
        recipe = Paste(cup, feet.get(relation, (320, 300)), 60)
        edit = make_edit(recipe, "rocket", pictures, objects=OBJECTS["rocket"], position=Position(relation, "rocket"))
        source = PHOTOGRAPHS["rocket"]
        wrong = careless.edit(edit, source, 0)
        assert change(wrong, classical.edit(edit, source, 0), inside(recipe.placed(), source)) > 20

    def test_doubles_another_object_when_any_side_would_do(self, pictures: dict[str, ImageFile]) -> None:
        edit, source = request(pictures, "paste", objects={"spire": TOWER}, to="cup")
        assert isinstance(edit.recipe, Paste)
        outcome = careless.edit(edit, source, 0)
        place = Paste(Cutout(pictures["rocket"], TOWER), edit.recipe.foot, edit.recipe.height).placed()
        assert likeness(outcome, stretched(source, TOWER, place, 640, 427), inside(place, source)) > 0.8

    def test_differs_between_seeds(self, pictures: dict[str, ImageFile]) -> None:
        edit, source = request(pictures, "restyle")
        outcomes = {careless.edit(edit, source, seed).tobytes() for seed in range(12)}
        assert len(outcomes) > 1


class TestFill:
    @given(st.integers(0, 47), st.integers(0, 35), st.integers(1, 48), st.integers(1, 36))
    @settings(max_examples=15)
    def test_any_hole_is_filled_and_the_rest_kept(self, left: int, top: int, width: int, height: int) -> None:
        picture = np.ascontiguousarray(PHOTOGRAPHS["coffee"][100:136, 200:248])
        hole = np.zeros(picture.shape[:2], dtype=np.bool_)
        hole[top : top + height, left : left + width] = True
        if hole.all():
            hole[0, 0] = False
        holed = np.where(hole[..., None], np.uint8(0), picture)
        result = fill_hole(holed, hole)
        assert np.array_equal(result[~hole], picture[~hole])
        assert np.array_equal(result, fill_hole(picture, hole)), "what was in the hole shines through"

    def test_a_pattern_is_continued(self) -> None:
        stripes = np.repeat((np.arange(120)[:, None] // 6 % 2 * 200).astype(np.uint8), 160, axis=1)
        picture = np.repeat(stripes[..., None], 3, axis=2)
        hole = np.zeros((120, 160), dtype=np.bool_)
        hole[40:80, 60:100] = True
        assert change(fill_hole(picture, hole), picture, hole) < 10


@pytest.mark.slow
class TestFlaws:
    @pytest.mark.parametrize("flaw", FLAWS)
    @pytest.mark.parametrize("picture", ["coffee", "rocket"])
    def test_more_severe_is_more_different(self, flaw: str, picture: str) -> None:
        source = PHOTOGRAPHS[picture]
        everywhere = np.ones(source.shape[:2], dtype=np.bool_)
        for seed in (0, 1):
            steps = [
                change(add_flaw(source, flaw, severity, seed), source, everywhere) for severity in (0, 0.1, 0.3, 0.6, 1)
            ]
            assert steps[0] == 0
            assert all(low < high for low, high in pairwise(steps)), steps

    @given(st.sampled_from(sorted(FLAWS)), st.floats(0, 0.85), st.floats(0.15, 1), st.integers(0, 2**32 - 1))
    def test_the_dial_never_turns_back(self, flaw: str, low: float, further: float, seed: int) -> None:
        source = PHOTOGRAPHS["chelsea"]
        high = min(1.0, low + further)
        everywhere = np.ones(source.shape[:2], dtype=np.bool_)
        less, more = (change(add_flaw(source, flaw, severity, seed), source, everywhere) for severity in (low, high))
        assert less < more

    @pytest.mark.parametrize("flaw", FLAWS)
    def test_the_spared_region_is_spared(self, flaw: str) -> None:
        source, spared = PHOTOGRAPHS["coffee"], inside(CUP, PHOTOGRAPHS["coffee"])
        result = add_flaw(source, flaw, 0.5, 0, spared)
        assert np.array_equal(result[spared], source[spared])
        assert change(result, source, ~spared) > 1

    @pytest.mark.parametrize("flaw", ["color_cast", "noise", "drift"])
    def test_the_same_seed_gives_the_same_flaw_and_another_seed_another(self, flaw: str) -> None:
        source = PHOTOGRAPHS["chelsea"]
        assert np.array_equal(add_flaw(source, flaw, 0.5, 7), add_flaw(source, flaw, 0.5, 7))
        assert any(
            not np.array_equal(add_flaw(source, flaw, 0.5, 7), add_flaw(source, flaw, 0.5, seed)) for seed in range(4)
        )

    @pytest.mark.parametrize(
        ("flaw", "severity", "message"), [("blur", 1.5, "got 1.5"), ("rust", 0.5, "there are color_cast")]
    )
    def test_what_is_not_there_is_said(self, flaw: str, severity: float, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            add_flaw(PHOTOGRAPHS["chelsea"], flaw, severity, 0)


def edit(name: str) -> Edit:
    source = ImageFile("cat.png", Path("cat.png"))
    return Edit(id=name, source=source, type="color", instruction="Make the cat black.")


@pytest.mark.parametrize("seed", range(6))
def test_it_is_nearly_the_source_and_never_quite(photo: Pixels, seed: int) -> None:
    made = negligible.edit(edit("cat-black"), photo, seed)
    assert made.shape == photo.shape
    assert made.dtype == np.uint8
    assert 0 < np.abs(made.astype(int) - photo).mean() < 15
    assert metrics.get("ssim")(as_unit(photo), as_unit(made)) > 0.7


def test_it_is_the_same_for_the_same_seed_and_another_for_another_edit(photo: Pixels) -> None:
    first = negligible.edit(edit("a"), photo, 0)
    assert np.array_equal(first, negligible.edit(edit("a"), photo, 0))
    assert not np.array_equal(first, negligible.edit(edit("a"), photo, 1))
    assert not np.array_equal(first, negligible.edit(edit("b"), photo, 0))


def test_a_picture_of_one_pixel_stays_one() -> None:
    made = negligible.edit(edit("a"), np.full((1, 1, 3), 90, np.uint8), 0)
    assert made.shape == (1, 1, 3)


photographs: Any = skimage.data


SOURCE: Pixels = np.asarray(photographs.rocket(), np.uint8)


needs_weights = pytest.mark.skipif(not available("migan"), reason="NOT TESTED: run `editgauge models pull migan`")


def edit_with(recipe: Recipe | None) -> Edit:
    source = ImageFile("rocket", Path("rocket.jpg"))
    return Edit(id="edit", source=source, type="color", instruction="Do it.", recipe=recipe)


@pytest.mark.slow
@needs_weights
@pytest.mark.parametrize("recipe", [Remove(ROCKET), Move(ROCKET, (480, 268)), Resize(ROCKET, 0.6)])
def test_holes_are_filled_by_the_network_and_the_outside_stays(recipe: Recipe) -> None:
    outcome, footprint = painted.edit(edit_with(recipe), SOURCE, 0), recipe_mask(recipe, SOURCE)
    assert np.array_equal(outcome[~footprint], SOURCE[~footprint])
    assert not np.array_equal(outcome, classical.edit(edit_with(recipe), SOURCE, 0))
    hole = ROCKET.render(640, 427) & (np.arange(427) < 250)[:, None]
    assert outcome[hole].mean() < 0.8 * SOURCE[hole].mean(), "the bright rocket gave way to the dark sky"


def test_where_there_is_no_hole_it_does_what_classical_does() -> None:
    edit = edit_with(Recolor(ROCKET, "red"))
    assert np.array_equal(painted.edit(edit, SOURCE, 0), classical.edit(edit, SOURCE, 0))


@needs_weights
def test_the_model_is_on_record() -> None:
    assert painted.settings()["inpainter"]["name"] == "migan"
    assert len(painted.settings()["inpainter"]["sha256"]) == 64


def test_nothing_is_left_of_a_picture_that_is_all_object() -> None:
    everything = Polygons(((-5, -5, 700, -5, 700, 500, -5, 500),))
    with pytest.raises(CannotEditError, match="whole picture"):
        Painted().edit(edit_with(Remove(everything)), SOURCE, 0)


def test_without_weights_the_command_that_brings_them_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE", str(tmp_path))
    with pytest.raises(MissingWeightsError, match="editgauge models pull migan"):
        Painted().edit(edit_with(Remove(ROCKET)), SOURCE, 0)


def test_options_and_recipes_are_checked() -> None:
    with pytest.raises(CannotEditError, match="has no recipe"):
        painted.edit(edit_with(None), SOURCE, 0)
    with pytest.raises(BadInputError, match="no option 'model'"):
        painted.variant({"model": "migan"})
    with pytest.raises(UnknownNameError, match="Did you mean 'migan'"):
        painted.variant({"inpainter": "migann"}).settings()
