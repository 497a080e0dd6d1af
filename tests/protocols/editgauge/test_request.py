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
from editgauge._vision.disturbances import measure_disturbance
from editgauge._vision.object_changes import DetectedObject
from editgauge.evidence import Note
from editgauge.protocols import editgauge
from editgauge.protocols.editgauge._appearance import mean_at, style_fit
from editgauge.protocols.editgauge._explanations import MEANINGS, reasons
from editgauge.protocols.editgauge._models import FEATURES, Prediction, features
from editgauge.protocols.editgauge._request import REQUEST_FEATURES, explain_missing_request, request_features
from editgauge.protocols.editgauge._roles import roles_of
from editgauge.protocols.editgauge._view import ClassProbability, ObjectPair, View
from editgauge.protocols.preservation import in_frame
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
    framed, valid = in_frame(changes.alignment, edited)
    return View(
        edit=asked,
        source=source,
        edited=framed,
        valid=valid,
        disturbance=measure_disturbance(source, edited, changes.alignment, mask),
        changes=changes,
        point=POINT,
        roles=roles_of(asked),
        mask=mask,
        pairs={role: ObjectPair("cat", tuple(one), tuple(other)) for role, (one, other) in (pairs or {}).items()},
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
    assert view.expected.reason == "the edit's mask"


def test_without_a_mask_the_named_thing_is(cat: Pixels) -> None:
    thing = seen(FACE, cat.shape)
    region = viewed(cat, cat, RED, {"stays": ([thing], [thing])}).expected.mask

    assert region is not None
    assert region[thing.mask].all()
    assert region.mean() < 1.3 * thing.mask.mean()


def test_without_mask_and_sight_it_is_the_largest_change_and_that_is_told(cat: Pixels) -> None:
    edited = tinted(cat, rectangle(FACE, cat.shape), (255, 0, 0))
    region = viewed(cat, edited, RED).expected

    assert region.reason == "the largest region that changed"
    assert region.mask is not None
    assert region.mask[100:180, 160:260].all()


# --- was it done? ------------------------------------------------------------------------------------------------


def test_every_feature_is_given_and_no_other(cat: Pixels) -> None:
    for edit in (RED, {"type": "style", "to": "a sepia photo"}, {"type": "object_removal", "subject": "cat"}):
        given = features(viewed(cat, cat, edit))
        assert all(set(names) <= set(given[model]) for model, names in FEATURES.items())


def test_the_asked_color_comes_nearer_and_another_does_not(cat: Pixels) -> None:
    mask, thing = rectangle(FACE, cat.shape), seen(FACE, cat.shape)
    red, blue, nothing = (
        request_features(viewed(cat, picture, RED, {"stays": ([thing], [thing])}, mask))
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
    gone = request_features(viewed(cat, cat, removal, {"goes": ([face], [])}))
    there = request_features(viewed(cat, cat, removal, {"goes": ([face], [face])}))
    unsure = request_features(viewed(cat, cat, removal, {"goes": ([faint], [])}))

    assert (gone["gone"], there["gone"], unsure["gone"]) == (1, 0, None)


def test_the_surer_of_detector_and_classifier_says_whether_a_thing_came(cat: Pixels) -> None:
    added = {"type": "object_addition", "to": "hat"}
    view = viewed(cat, cat, added, {"comes": ([], [seen(FACE, cat.shape, sure=POINT)])})
    both = replace(view, classes={"comes": ClassProbability("hat", 0.0, 0.9)})

    assert request_features(view)["presence"] == pytest.approx(0.5)
    assert request_features(both)["presence"] == pytest.approx(0.9)
    assert request_features(both)["presence_gain"] == pytest.approx(0.9)


@pytest.mark.parametrize(("count", "wrong"), [(1, 0.0), (2, 1.0)])
def test_as_many_must_be_seen_as_were_asked_for(count: int, wrong: float, cat: Pixels) -> None:
    added = {"type": "object_addition", "to": "banana", "count": count}
    view = viewed(cat, cat, added, {"comes": ([], [seen(FACE, cat.shape)])})

    assert request_features(view)["count_wrong"] == wrong


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
def test_what_was_not_looked_for_is_explain_missing_request(edit: dict[str, Any], reason: str, cat: Pixels) -> None:
    pairs: dict[str, tuple[list[DetectedObject], list[DetectedObject]]] = {"goes": ([], []), "stays": ([], [])}
    unscored = explain_missing_request(viewed(cat, cat, edit, pairs))

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

    assert explain_missing_request(viewed(cat, cat, edit, staged)) is None


@pytest.mark.parametrize(("cats", "reason"), [(1, None), (2, "no_rule")])
def test_one_of_several_that_should_go_is_not_judged_by_whether_any_is_left(
    cats: int, reason: str | None, cat: Pixels
) -> None:
    face = seen(FACE, cat.shape)
    removal = {"type": "single_instance_removal", "subject": "cat", "count": 1}
    unscored = explain_missing_request(viewed(cat, cat, removal, {"goes": ([face] * cats, [face] * (cats - 1))}))

    assert (unscored.reason if unscored else None) == reason


@pytest.mark.parametrize(("after", "reason"), [(0.02, "not_detected"), (0.4, None)])
def test_a_classifier_that_looks_alone_can_see_a_thing_but_not_that_it_is_missing(
    after: float, reason: str | None, cat: Pixels
) -> None:
    """It overlooks small things: a quarter of the outcomes in which it alone sees nothing are called done by people."""
    alone = replace(
        viewed(cat, cat, {"type": "object_addition", "to": "hat"}), classes={"comes": ClassProbability("hat", 0, after)}
    )
    unscored = explain_missing_request(alone)

    assert (unscored.reason if unscored else None) == reason
    assert (request_features(alone)["presence"] is None) == (reason is not None)


UNTOUCHED = dict.fromkeys(("greatest_changed", "least_changed", "mean_changed", "median_changed", "unmatched"), 0.01)
REDRAWN = {"greatest_changed": 0.9, "least_changed": 0.6, "mean_changed": 0.7, "median_changed": 0.7, "unmatched": 0.6}


def with_tokens(view: View, tokens: dict[str, float]) -> View:
    names = {name for names in FEATURES.values() for name in names}
    complete = dict.fromkeys(names & set(MEANINGS) - set(REQUEST_FEATURES), 0.1) | tokens
    return replace(view, tokens=complete, change=np.full((16, 16), tokens["mean_changed"]))


def test_untouched_image_is_not_done_whatever_was_requested(cat: Pixels) -> None:
    view = with_tokens(viewed(cat, cat, {"type": "object_addition", "to": "apron"}), UNTOUCHED)
    score = editgauge._score_edit(view, features(view))

    assert isinstance(score, Score)
    assert score.value < 0.4
    assert any("Nothing was edited" in piece.text for piece in score.evidence if isinstance(piece, Note))


def test_redrawn_image_says_nothing_about_an_unknown_request(cat: Pixels) -> None:
    view = with_tokens(viewed(cat, cat, {"type": "object_addition", "to": "apron"}), REDRAWN)

    assert isinstance(editgauge._score_edit(view, features(view)), Unscored)


def test_edit_does_not_depend_on_what_else_changed_but_kept_does(cat: Pixels) -> None:
    added = {"type": "object_addition", "to": "cat"}
    view = viewed(cat, cat, added, {"comes": ([], [seen(FACE, cat.shape)])})
    calm, redrawn = (with_tokens(view, tokens) for tokens in (UNTOUCHED | {"greatest_changed": 0.9}, REDRAWN))
    edits = [editgauge._score_edit(item, features(item)) for item in (calm, redrawn)]
    kept = [editgauge._score_kept([item]) for item in (calm, redrawn)]

    assert all(isinstance(score, Score) for score in (*edits, *kept))
    assert edits[0].value == pytest.approx(edits[1].value, abs=0.25)  # type: ignore[union-attr]
    assert kept[0].value > 0.9  # type: ignore[union-attr]
    assert kept[1].value < 0.2  # type: ignore[union-attr]


@pytest.mark.parametrize("edit", [{"type": "unspecified"}, {"type": "style", "to": "a mosaic"}])
def test_redrawn_image_is_no_failure_where_that_may_be_requested(edit: dict[str, Any], cat: Pixels) -> None:
    view = with_tokens(viewed(cat, cat, edit), REDRAWN)

    assert isinstance(editgauge._score_success(view, features(view)), Unscored)


def test_kept_has_no_value_where_everything_may_change(cat: Pixels) -> None:
    score = editgauge._score_kept([with_tokens(viewed(cat, cat, {"type": "style", "to": "a sepia photo"}), REDRAWN)])

    assert isinstance(score, Unscored)
    assert score.reason == "not_applicable"


def test_color_of_an_unknown_subject_is_measured_where_the_image_changed(cat: Pixels) -> None:
    mask, change = rectangle(FACE, cat.shape), np.zeros((16, 16))
    change[3:12, 5:11] = 0.8
    edited = tinted(cat, mask, (255, 0, 0))
    view = replace(viewed(cat, edited, RED), change=change)

    assert explain_missing_request(view) is None
    assert (request_features(view)["color_gain"] or 0) > 0


def test_a_thing_at_a_changed_place_is_newer_than_one_that_was_there(cat: Pixels) -> None:
    added, change = {"type": "object_addition", "to": "cat"}, np.zeros((16, 16))
    change[3:13, 4:11] = 1.0
    face, other = seen(FACE, cat.shape), seen(ELSEWHERE, cat.shape)
    values = [
        request_features(replace(viewed(cat, cat, added, {"comes": pair}), change=change))["new_seen"]
        for pair in (([], [face]), ([face], [face]), ([], [other]), ([], []))
    ]

    assert values[0] == pytest.approx(0.75)
    assert values[1:] == [0, 0, 0]


@pytest.mark.parametrize(("relation", "sign"), [("left", -1), ("right", 1)])
def test_the_new_thing_lies_on_the_asked_side(relation: Any, sign: int, cat: Pixels) -> None:
    edit = {"type": "positional_addition", "subject": "cat", "to": "cup", "position": Position(relation, "cat")}
    anchor, added = seen(FACE, cat.shape), seen(ELSEWHERE, cat.shape)
    fit = request_features(viewed(cat, cat, edit, {"anchor": ([anchor], []), "comes": ([], [added])}))["place_fit"]

    assert fit is not None
    assert 0.5 < sign * fit <= 1


def test_a_thing_that_grew_fits_large_and_not_small(cat: Pixels) -> None:
    small, large = seen((150, 100, 250, 200), cat.shape), seen((125, 75, 275, 225), cat.shape)
    fits = {
        to: request_features(
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


# --- reasons -----------------------------------------------------------------------------------------------------


def test_every_feature_has_a_meaning_for_people() -> None:
    assert set(MEANINGS) == {name for names in FEATURES.values() for name in names} | {"region_look"}


def test_reasons_list_what_speaks_for_and_against() -> None:
    answer = Prediction(0.7, {"presence": 1.2, "most_changed": -0.4, "region_look": 0.3, "unmatched": 0.01})
    values: dict[str, float | None] = {"presence": 0.9, "most_changed": 0.1, "unmatched": 1.0}
    texts = [piece.text for piece in reasons(answer, values, "it is there") if isinstance(piece, Note)]

    assert texts == [
        f"For 'it is there': {MEANINGS['presence']} 0.90 (+1.2); {MEANINGS['region_look']} (+0.3).",
        f"Against 'it is there': {MEANINGS['most_changed']} 0.10 (-0.4).",
    ]


def test_the_view_of_a_moved_frame_is_the_source_s(cat: Pixels) -> None:
    moved = np.asarray(cv2.warpAffine(cat, np.array([[1.0, 0, 3], [0, 1, 2]]), cat.shape[1::-1]), np.uint8)
    view = viewed(cat, moved, RED)

    assert np.array_equal(view.edited[view.valid], cat[view.valid])
    assert replace(view, mask=None).expected.mask is None


def test_mean_of_an_empty_mask_is_refused() -> None:
    values, where = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([[True, False, True], [False] * 3])
    assert mean_at(values, where) == 1
    with pytest.raises(ValueError, match="empty"):
        mean_at(values, np.zeros_like(where))
