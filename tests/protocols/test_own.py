"""The features and the models of the protocol `editgauge`, on hand-made sightings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import skimage

from editgauge._util.images import ImageFile, Pixels, as_lab
from editgauge._util.masks import BoolMask
from editgauge._vision.changed_regions import find_changes
from editgauge._vision.object_changes import DetectedObject
from editgauge.evidence import Note
from editgauge.protocols import editgauge as own
from editgauge.protocols.editgauge.appearance import mean_at, style_fit
from editgauge.protocols.editgauge.artifact_features import flaws
from editgauge.protocols.editgauge.asked import asked_features, not_judged
from editgauge.protocols.editgauge.explanations import CLAIMS, MEANINGS, reasons
from editgauge.protocols.editgauge.features import FEATURES, features, keeping
from editgauge.protocols.editgauge.model import Prediction
from editgauge.protocols.editgauge.outlines import seen_again
from editgauge.protocols.editgauge.roles import roles_of
from editgauge.protocols.editgauge.view import Named, Pair, View
from editgauge.protocols.preservation_aligned import in_frame
from editgauge.types import Edit, Position, Score, Unscored

CAT: Callable[[], Pixels] = skimage.data.chelsea
POINT = 0.25
FACE = (120, 60, 300, 220)
ELSEWHERE = (340, 200, 440, 290)


@pytest.fixture(scope="module")
def cat() -> Pixels:
    return np.ascontiguousarray(CAT())


def rectangle(box: tuple[int, int, int, int], shape: tuple[int, ...]) -> BoolMask:
    mask = np.zeros(shape[:2], np.bool_)
    mask[box[1] : box[3], box[0] : box[2]] = True
    return mask


def seen(box: tuple[int, int, int, int], shape: tuple[int, ...], sure: float = 0.75) -> DetectedObject:
    left, top, right, bottom = (float(side) for side in box)
    return DetectedObject("cat", (left, top, right, bottom), rectangle(box, shape), sure)


def viewed(
    source: Pixels,
    edited: Pixels,
    edit: dict[str, Any],
    pairs: dict[str, tuple[list[DetectedObject], list[DetectedObject]]] | None = None,
    mask: BoolMask | None = None,
) -> View:
    asked = Edit(id="e", source=ImageFile("p", Path("/p")), instruction="", **edit)
    changes = find_changes(source, edited)
    framed, shown = in_frame(changes.alignment, edited)
    return View(
        edit=asked,
        source=source,
        edited=framed,
        shown=shown,
        changes=changes,
        point=POINT,
        roles=roles_of(asked),
        mask=mask,
        pairs={role: Pair("cat", tuple(one), tuple(other)) for role, (one, other) in (pairs or {}).items()},
    )


def tinted(pixels: Pixels, mask: BoolMask, color: tuple[int, int, int]) -> Pixels:
    result = pixels.astype(np.float32)
    result[mask] = 0.35 * result[mask] + 0.65 * np.array(color, np.float32)
    return result.astype(np.uint8)


RED = {"type": "color", "subject": "cat", "to": "red"}


# --- what should come, go and stay -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "roles"),
    [
        ({"type": "object_addition", "subject": "a table", "to": "a cup"}, ("cup", None, "table", "table")),
        ({"type": "object_replacement", "subject": "cat", "to": "dog"}, ("dog", "cat", None, None)),
        ({"type": "object_removal", "subject": "the cat"}, (None, "cat", None, None)),
        ({"type": "size", "subject": "cat", "to": "large"}, (None, None, "cat", None)),
    ],
)
def test_every_type_says_what_comes_goes_and_stays(edit: dict[str, Any], roles: tuple[str | None, ...]) -> None:
    asked = Edit(id="e", source=ImageFile("p", Path("/p")), instruction="", **edit)

    assert tuple(roles_of(asked).words().values()) == roles


def test_a_known_mask_is_where_the_edit_may_change_something(cat: Pixels) -> None:
    mask = rectangle(FACE, cat.shape)
    view = viewed(cat, cat, RED, mask=mask)

    assert view.expected.mask is mask
    assert view.expected.why == "the edit's mask"


def test_without_a_mask_the_named_thing_is(cat: Pixels) -> None:
    thing = seen(FACE, cat.shape)
    region = viewed(cat, cat, RED, {"stays": ([thing], [thing])}).expected.mask

    assert region is not None
    assert region[thing.mask].all()
    assert region.mean() < 1.3 * thing.mask.mean()


def test_without_mask_and_sight_it_is_the_largest_change_and_that_is_told(cat: Pixels) -> None:
    edited = tinted(cat, rectangle(FACE, cat.shape), (255, 0, 0))
    region = viewed(cat, edited, RED).expected

    assert region.why == "the largest region that changed"
    assert region.mask is not None
    assert region.mask[100:180, 160:260].all()


# --- was it done? ------------------------------------------------------------------------------------------------


def test_every_feature_is_given_and_no_other(cat: Pixels) -> None:
    for edit in (RED, {"type": "style", "to": "a sepia photo"}, {"type": "object_removal", "subject": "cat"}):
        given = features(viewed(cat, cat, edit))
        assert {question: set(values) for question, values in given.items()} == {
            question: set(names) for question, names in FEATURES.items()
        }


def test_the_asked_color_comes_nearer_and_another_does_not(cat: Pixels) -> None:
    mask, thing = rectangle(FACE, cat.shape), seen(FACE, cat.shape)
    red, blue, nothing = (
        asked_features(viewed(cat, picture, RED, {"stays": ([thing], [thing])}, mask))
        for picture in (tinted(cat, mask, (255, 0, 0)), tinted(cat, mask, (0, 0, 255)), cat)
    )

    assert red["color_rank"] == 1
    for name in ("color_gain", "color_rank"):
        one, other, still = red[name], blue[name], nothing[name]
        assert one is not None
        assert other is not None
        assert still is not None
        assert one > max(other, still)


def test_a_thing_that_is_gone_is_measured_against_what_was_seen_before(cat: Pixels) -> None:
    removal = {"type": "object_removal", "subject": "cat"}
    face, faint = seen(FACE, cat.shape), seen(FACE, cat.shape, sure=0.2)
    gone = asked_features(viewed(cat, cat, removal, {"goes": ([face], [])}))
    there = asked_features(viewed(cat, cat, removal, {"goes": ([face], [face])}))
    unsure = asked_features(viewed(cat, cat, removal, {"goes": ([faint], [])}))

    assert (gone["gone"], there["gone"], unsure["gone"]) == (1, 0, None)


def test_the_surer_of_detector_and_classifier_says_whether_a_thing_came(cat: Pixels) -> None:
    added = {"type": "object_addition", "to": "hat"}
    view = viewed(cat, cat, added, {"comes": ([], [seen(FACE, cat.shape, sure=POINT)])})
    both = replace(view, named={"comes": Named("hat", 0.0, 0.9)})

    assert asked_features(view)["presence"] == pytest.approx(0.5)
    assert asked_features(both)["presence"] == pytest.approx(0.9)
    assert asked_features(both)["presence_gain"] == pytest.approx(0.9)


@pytest.mark.parametrize(("count", "wrong"), [(1, 0.0), (2, 1.0)])
def test_as_many_must_be_seen_as_were_asked_for(count: int, wrong: float, cat: Pixels) -> None:
    added = {"type": "object_addition", "to": "banana", "count": count}
    view = viewed(cat, cat, added, {"comes": ([], [seen(FACE, cat.shape)])})

    assert asked_features(view)["count_wrong"] == wrong


# --- no answer without the question ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        ({"type": "unspecified"}, "not_understood"),
        ({"type": "object_addition"}, "not_understood"),
        ({"type": "object_addition", "to": "apron"}, "unknown_word"),
        ({"type": "object_replacement", "subject": "cat", "to": "apron"}, "unknown_word"),
        ({"type": "object_removal", "subject": "cat"}, "not_detected"),
        ({"type": "color", "subject": "cat", "to": "red"}, "not_detected"),
        ({"type": "texture", "subject": "cat", "to": "wooden"}, "no_rule"),
        ({"type": "action", "subject": "cat", "to": "sleeping"}, "no_rule"),
        ({"type": "style", "to": "a mosaic"}, "no_rule"),
    ],
)
def test_what_was_not_looked_for_is_not_judged(edit: dict[str, Any], reason: str, cat: Pixels) -> None:
    pairs: dict[str, tuple[list[DetectedObject], list[DetectedObject]]] = {"goes": ([], []), "stays": ([], [])}
    unscored = not_judged(viewed(cat, cat, edit, pairs))

    assert unscored is not None
    assert unscored.reason == reason
    assert unscored.detail


@pytest.mark.parametrize(
    ("edit", "pairs"),
    [
        ({"type": "object_addition", "to": "cup"}, {"comes": ([], [])}),
        ({"type": "object_removal", "subject": "cat"}, {"goes": (["cat"], [])}),
        ({"type": "color", "subject": "cat", "to": "red"}, {"stays": (["cat"], ["cat"])}),
        ({"type": "style", "to": "a sepia photo"}, {}),
    ],
)
def test_what_was_looked_for_or_measured_is_judged(
    edit: dict[str, Any], pairs: dict[str, tuple[list[str], list[str]]], cat: Pixels
) -> None:
    thing = seen(FACE, cat.shape)
    staged = {role: ([thing for _ in one], [thing for _ in other]) for role, (one, other) in pairs.items()}

    assert not_judged(viewed(cat, cat, edit, staged)) is None


@pytest.mark.parametrize(("cats", "reason"), [(1, None), (2, "no_rule")])
def test_one_of_several_that_should_go_is_not_judged_by_whether_any_is_left(
    cats: int, reason: str | None, cat: Pixels
) -> None:
    face = seen(FACE, cat.shape)
    removal = {"type": "single_instance_removal", "subject": "cat", "count": 1}
    unscored = not_judged(viewed(cat, cat, removal, {"goes": ([face] * cats, [face] * (cats - 1))}))

    assert (unscored.reason if unscored else None) == reason


@pytest.mark.parametrize(("after", "reason"), [(0.02, "not_detected"), (0.4, None)])
def test_a_classifier_that_looks_alone_can_see_a_thing_but_not_that_it_is_missing(
    after: float, reason: str | None, cat: Pixels
) -> None:
    """It overlooks small things: a quarter of the outcomes in which it alone sees nothing are called done by people."""
    alone = replace(viewed(cat, cat, {"type": "object_addition", "to": "hat"}), named={"comes": Named("hat", 0, after)})
    unscored = not_judged(alone)

    assert (unscored.reason if unscored else None) == reason
    assert (asked_features(alone)["presence"] is None) == (reason is not None)


def verdict(view: View, redrawn: dict[str, float]) -> Score | Unscored:
    values = {"greatest_changed": 0.9, "least_changed": 0.0, "mean_changed": 0.1, "unmatched": 0.05, **redrawn}
    whole = replace(view, redrawn=values)
    return own._edit(whole, *own._answers(whole))


def test_an_untouched_and_a_wholly_redrawn_picture_are_not_done_whatever_was_asked_for(cat: Pixels) -> None:
    view = viewed(cat, cat, {"type": "object_addition", "to": "apron"})
    redrawn = {"least_changed": 0.6, "mean_changed": 0.7, "unmatched": 0.6}
    untouched = dict.fromkeys(("greatest_changed", "least_changed", "mean_changed", "unmatched"), 0.01)

    assert isinstance(verdict(view, {}), Unscored)
    for values, words in ((untouched, "Nothing was edited"), (redrawn, "whole picture was redrawn")):
        given = verdict(view, values)
        assert isinstance(given, Score)
        assert given.value < 0.15
        assert any(words in piece.text for piece in given.evidence if isinstance(piece, Note))


@pytest.mark.parametrize("edit", [{"type": "unspecified"}, {"type": "style", "to": "a mosaic"}])
def test_a_redrawn_picture_is_no_failure_where_that_may_have_been_asked_for(edit: dict[str, Any], cat: Pixels) -> None:
    redrawn = {"least_changed": 0.6, "mean_changed": 0.7, "unmatched": 0.6}

    assert isinstance(verdict(viewed(cat, cat, edit), redrawn), Unscored)


def test_a_thing_at_a_changed_place_is_newer_than_one_that_was_there(cat: Pixels) -> None:
    added, change = {"type": "object_addition", "to": "cat"}, np.zeros((16, 16))
    change[3:13, 4:11] = 1.0
    face, other = seen(FACE, cat.shape), seen(ELSEWHERE, cat.shape)
    values = [
        asked_features(replace(viewed(cat, cat, added, {"comes": pair}), change=change))["new_seen"]
        for pair in (([], [face]), ([face], [face]), ([], [other]), ([], []))
    ]

    assert values[0] == pytest.approx(0.75)
    assert values[1:] == [0, 0, 0]


@pytest.mark.parametrize(("relation", "sign"), [("left", -1), ("right", 1)])
def test_the_new_thing_lies_on_the_asked_side(relation: Any, sign: int, cat: Pixels) -> None:
    edit = {"type": "positional_addition", "subject": "cat", "to": "cup", "position": Position(relation, "cat")}
    anchor, added = seen(FACE, cat.shape), seen(ELSEWHERE, cat.shape)
    fit = asked_features(viewed(cat, cat, edit, {"anchor": ([anchor], []), "comes": ([], [added])}))["place_fit"]

    assert fit is not None
    assert 0.5 < sign * fit <= 1


def test_a_thing_that_grew_fits_large_and_not_small(cat: Pixels) -> None:
    small, large = seen((150, 100, 250, 200), cat.shape), seen((125, 75, 275, 225), cat.shape)
    fits = {
        to: asked_features(
            viewed(cat, cat, {"type": "size", "subject": "cat", "to": to}, {"stays": ([small], [large])})
        )["size_fit"]
        for to in ("large", "small")
    }

    assert fits == {"large": 1.0, "small": -1.0}


def test_styles_with_a_plain_meaning_fit_themselves_best(cat: Pixels) -> None:
    gray = np.repeat(cv2.cvtColor(cat, cv2.COLOR_RGB2GRAY)[..., None], 3, axis=2).astype(np.uint8)
    brown = np.clip(gray * np.array([1.0, 0.85, 0.65]), 0, 255).astype(np.uint8)
    made = {"a black and white photo": gray, "a sepia photo": brown, "a photographic negative": 255 - cat}
    everywhere = np.ones(cat.shape[:2], np.bool_)
    for asked in made:
        fits = {name: style_fit(asked, as_lab(cat), as_lab(pixels), everywhere) for name, pixels in made.items()}
        assert max(fits, key=lambda name: fits[name] or 0.0) == asked
    assert style_fit("a mosaic", as_lab(cat), as_lab(gray), everywhere) is None


# --- did the rest stay, and is it clean? -------------------------------------------------------------------------


def test_a_worse_disturbance_of_the_rest_moves_its_feature_further(cat: Pixels) -> None:
    mask = rectangle(FACE, cat.shape)
    noise = np.random.default_rng(0).standard_normal(cat.shape)

    def spoiled(how: Callable[[float], Pixels]) -> list[dict[str, float | None]]:
        made = [np.where(mask[..., None], cat, how(severity)).astype(np.uint8) for severity in (0.3, 1.0)]
        return [keeping(viewed(cat, each, RED, mask=mask)) for each in made]

    ways: dict[str, Callable[[float], Pixels]] = {
        "rest_blurred": lambda severity: np.asarray(cv2.GaussianBlur(cat, (0, 0), 4 * severity), np.uint8),
        "rest_noisier": lambda severity: np.clip(cat + 40 * severity * noise, 0, 255).astype(np.uint8),
        "rest_cast": lambda severity: np.clip(cat + severity * np.array([50, -50, 0]), 0, 255).astype(np.uint8),
    }
    still = keeping(viewed(cat, cat, RED, mask=mask))
    for name, how in ways.items():
        values = [still[name], *(each[name] for each in spoiled(how))]
        assert all(value is not None for value in values)
        assert values == sorted(values, key=lambda value: value or 0.0)
        assert len(set(values)) == 3


def test_a_shifted_frame_disturbs_only_the_frame(cat: Pixels) -> None:
    moved = np.asarray(cv2.warpAffine(cat, np.array([[1.0, 0, 4], [0, 1, 0]]), cat.shape[1::-1]), np.uint8)
    values = keeping(viewed(cat, moved, RED, mask=rectangle(FACE, cat.shape)))

    assert values["rest_unlike"] == pytest.approx(0, abs=0.01)
    assert values["frame_moved"] is not None
    assert values["frame_moved"] > 0.1


def test_where_nothing_changed_there_is_nothing_to_find_flaws_in(cat: Pixels) -> None:
    assert set(flaws(viewed(cat, cat, RED, mask=rectangle(FACE, cat.shape))).values()) == {None}


def test_a_change_beside_the_edit_s_place_is_no_artifact_of_it(cat: Pixels) -> None:
    face, elsewhere = (rectangle(box, cat.shape) for box in (FACE, ELSEWHERE))
    values = flaws(viewed(cat, tinted(cat, elsewhere, (255, 0, 0)), RED, mask=face))
    assert set(values.values()) == {None}
    assert own._artifact(Prediction(0.4, {}), values).value == 0


def test_a_strip_is_too_thin_to_be_seen_again() -> None:
    strip = np.zeros((8, 4000, 3), np.uint8)
    assert seen_again(strip, strip, np.ones((8, 4000), np.bool_)) is None


def test_a_bright_rim_and_a_blurred_part_are_seen(cat: Pixels) -> None:
    mask, around = rectangle(FACE, cat.shape), rectangle((114, 54, 306, 226), cat.shape)
    thing = seen(FACE, cat.shape)
    clean = tinted(cat, mask, (255, 0, 0))
    rim = clean.copy()
    rim[around & ~mask] = 255
    soft = np.where(mask[..., None], cv2.GaussianBlur(clean, (0, 0), 3), clean).astype(np.uint8)
    right, bright, blurred = (
        flaws(viewed(cat, each, RED, {"stays": ([thing], [thing])}, around)) for each in (clean, rim, soft)
    )

    assert (bright["rim_gain"] or 0) > (right["rim_gain"] or 0) + 0.5
    assert (bright["rim_change"] or 0) > (right["rim_change"] or 0) + 0.5
    assert (blurred["soft"] or 0) > (right["soft"] or 0) + 0.5
    assert (blurred["blurred"] or 0) > (right["blurred"] or 0) + 0.5


def test_what_shines_through_and_what_is_seen_once_more_beside_itself_are_seen(cat: Pixels) -> None:
    left, top, right, bottom = 40, 60, 100, 120
    mask, noise = rectangle((left, top, right, bottom), cat.shape), np.random.default_rng(0)
    thing = noise.integers(0, 255, (12, 12, 3), np.uint8).repeat(5, axis=0).repeat(5, axis=1)
    clean = cat.copy()
    clean[mask] = thing.reshape(-1, 3)
    ghost = np.where(mask[..., None], 0.6 * clean + 0.4 * cat, clean).astype(np.uint8)
    twice = clean.copy()
    twice[top:bottom, right : right + 36] = thing[:, -36:]
    added = {"type": "object_addition", "to": "cat"}
    things: list[DetectedObject] = [seen((left, top, right, bottom), cat.shape)]
    alone, through, double = (
        flaws(viewed(cat, each, added, {"comes": ([], things)}, mask)) for each in (clean, ghost, twice)
    )

    assert abs((through["shines_through"] or 0) - (alone["shines_through"] or 0) - 0.4) < 0.2
    assert (double["again"] or 0) > (alone["again"] or 0) + 0.3
    assert (double["beyond_near"] or 0) > (alone["beyond_near"] or 0)


# --- reasons -----------------------------------------------------------------------------------------------------


def test_every_feature_has_a_meaning_for_people() -> None:
    assert set(MEANINGS) == {name for names in FEATURES.values() for name in names}


def test_reasons_tell_what_spoke_for_and_against_and_what_is_not_known() -> None:
    answer = Prediction(0.7, {"presence": 1.2, "most_changed": -0.4, "gone": 0.3, "unmatched": 0.01})
    values = {"presence": 0.9, "most_changed": 0.1, "gone": None, "unmatched": 1.0}
    texts = [piece.text for piece in reasons(answer, values, CLAIMS["asked"]) if isinstance(piece, Note)]

    assert texts == [
        f"For 'the requested change is there': {MEANINGS['presence']}, 0.90 (+1.2).",
        f"Against 'the requested change is there': {MEANINGS['most_changed']}, 0.10 (-0.4).",
        "Features that do not apply here or could not be measured count +0.3.",
    ]


def test_the_view_of_a_moved_frame_is_the_source_s(cat: Pixels) -> None:
    moved = np.asarray(cv2.warpAffine(cat, np.array([[1.0, 0, 3], [0, 1, 2]]), cat.shape[1::-1]), np.uint8)
    view = viewed(cat, moved, RED)

    assert np.array_equal(view.edited[view.shown], cat[view.shown])
    assert replace(view, mask=None).expected.mask is None


def test_no_pixel_has_no_mean() -> None:
    values, where = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([[True, False, True], [False] * 3])
    assert mean_at(values, where) == 1
    with pytest.raises(ValueError, match="no mean"):
        mean_at(values, np.zeros_like(where))
