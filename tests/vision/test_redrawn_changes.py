"""What is reported about pictures of which every pixel was redrawn, on hand-made changes of meaning and sightings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import skimage.data
from hypothesis import given
from hypothesis import strategies as st

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask, Rectangle
from editgauge._vision.change_sentences import sentences
from editgauge._vision.changed_regions import find_changes
from editgauge._vision.object_changes import BoxSides, DetectedObject
from editgauge._vision.redrawn_changes import (
    Meaning,
    appeared_or_vanished,
    before_a_new_background,
    is_redrawn,
    looks,
    meaning_of,
    recognized_changes,
    regions_of_change,
    repainted_regions,
    semantic_change,
    tint,
    unchanged_objects,
    without_repeats,
)
from editgauge.models.vocabulary._words import same_coco_kind

SIZE = 256
LEFT: BoxSides = (16, 96, 80, 160)
RIGHT: BoxSides = (176, 96, 240, 160)
EVERYWHERE = np.ones((SIZE, SIZE), np.bool_)
CHELSEA: Callable[[], Pixels] = skimage.data.chelsea


def photo() -> Pixels:
    return np.ascontiguousarray(CHELSEA()[20 : 20 + SIZE, 100 : 100 + SIZE])


def thing(word: str, box: BoxSides, confidence: float = 0.7) -> DetectedObject:
    return DetectedObject(word, box, Rectangle(*box).render(SIZE, SIZE), confidence)


def meaning(*boxes: BoxSides, change: float = 0.8, rest: float = 0.1, valid: BoolMask = EVERYWHERE) -> Meaning:
    """Plain tokens before; after, each patch is turned as far as its change says."""
    grid = np.full((16, 16), rest)
    for left, top, right, bottom in boxes:
        grid[int(top) // 16 : int(bottom) // 16, int(left) // 16 : int(right) // 16] = change
    before = np.zeros((16, 16, 2))
    before[..., 0] = 1
    return meaning_of(before, np.stack([1 - grid, np.sqrt(1 - (1 - grid) ** 2)], axis=2), valid)


def told(before: list[DetectedObject], after: list[DetectedObject], where: Meaning) -> list[str]:
    changes = without_repeats(recognized_changes(before, after, where, same_coco_kind))
    return sentences(changes, SIZE, SIZE)


def test_what_came_and_went_is_told_where_the_meaning_changed() -> None:
    cat, there = thing("cat", LEFT), meaning(LEFT)
    assert told([], [cat], there) == ["A cat appeared at the left."]
    assert told([cat], [], there) == ["The cat at the left vanished."]
    assert told([cat], [], meaning(RIGHT)) == []


def test_a_weak_sighting_is_enough_to_be_still_there() -> None:
    assert told([thing("cat", LEFT)], [thing("cat", LEFT, 0.16)], meaning(LEFT)) == []
    assert told([thing("cat", LEFT, 0.4)], [], meaning(LEFT)) == []


def test_words_of_one_kind_are_one_thing_unless_the_place_changed_much() -> None:
    truck, car = thing("truck", LEFT, 0.5), thing("car", LEFT, 0.5)
    assert told([truck], [car], meaning(LEFT, change=0.4)) == []
    assert told([truck], [car], meaning(LEFT)) == ["The truck became a car."]


def test_a_certain_detector_tells_a_horse_from_a_zebra_although_their_meaning_is_near() -> None:
    horse, zebra = thing("horse", LEFT, 0.85), thing("zebra", LEFT, 0.95)
    assert told([horse], [zebra], meaning(LEFT, change=0.35)) == ["The horse became a zebra."]


def test_a_table_becomes_nothing_but_something_can_stand_on_it() -> None:
    assert told([thing("dining table", LEFT)], [thing("cat", LEFT)], meaning(LEFT)) == [
        "The dining table at the left vanished.",
        "A cat appeared at the left.",
    ]


def test_what_is_gone_here_and_new_there_is_not_told() -> None:
    assert told([thing("cat", LEFT)], [thing("cat", RIGHT)], meaning(LEFT, RIGHT)) == []


def test_many_that_became_others_share_a_sentence() -> None:
    boxes: list[BoxSides] = [(0, 64.0 * row, 48, 64.0 * row + 48) for row in range(4)]
    oranges, apples = ([thing(word, box) for box in boxes] for word in ("orange", "apple"))
    everywhere = meaning((0, 0, SIZE, SIZE))
    assert told(oranges, apples, everywhere) == ["Several oranges became apples."]
    assert told(oranges[:2], apples[:3], everywhere) == ["2 oranges became apples."]


def test_things_whose_boxes_touch_may_be_parts_of_one() -> None:
    parts = [thing("teddy bear", (32.0 * place, 96, 32.0 * place + 40, 160)) for place in range(3)]
    everywhere = meaning((0, 0, SIZE, SIZE))
    assert told(parts, [], everywhere) == ["At least one teddy bear vanished."]
    assert told([*parts, thing("teddy bear", RIGHT)], [], everywhere) == ["At least 2 teddy bears vanished."]
    assert told([parts[0], parts[2]], [], everywhere) == ["2 teddy bears vanished."]


def test_a_background_changed_where_a_thing_stayed_what_it_was() -> None:
    car, table = thing("car", LEFT), thing("dining table", LEFT)
    all_but_left = meaning(LEFT, change=0.2, rest=0.7)
    assert before_a_new_background([car, table], all_but_left) == ("car",)
    assert before_a_new_background([car], meaning(rest=0.7)) == (), "the thing was made again too"
    assert before_a_new_background([car], meaning(RIGHT, rest=0.1)) == (), "most of the picture is as it was"


def test_only_things_surely_seen_again_are_kept() -> None:
    cat, cup = thing("cat", LEFT), thing("cup", RIGHT)
    assert unchanged_objects([cat, cup], [thing("cat", LEFT), thing("cup", RIGHT, 0.2)]) == [cat]


def test_the_place_that_changed_its_meaning_most_comes_first() -> None:
    small: BoxSides = (176, 96, 224, 144)
    (first, second) = regions_of_change(meaning(LEFT, small), (SIZE, SIZE))
    assert (first.box, second.box) == ((16, 96, 80, 160), (176, 96, 224, 144))
    assert first.share == pytest.approx(1 / 16)


def test_what_is_unlike_its_surroundings_appeared_or_vanished() -> None:
    there = meaning(LEFT)
    (place,) = regions_of_change(there, (SIZE, SIZE))
    assert appeared_or_vanished(place, there) == "appeared"
    back = meaning_of(*there.tokens[::-1], EVERYWHERE)
    assert appeared_or_vanished(place, back) == "vanished"
    assert appeared_or_vanished(place, meaning(LEFT, rest=0.3)) == "altered"


def test_single_patches_and_slight_changes_are_no_places() -> None:
    assert regions_of_change(meaning((32, 32, 48, 48)), (SIZE, SIZE)) == []
    assert regions_of_change(meaning(LEFT, change=0.2, rest=0.02), (SIZE, SIZE)) == []


def test_what_the_picture_after_no_longer_shows_did_not_change_its_meaning() -> None:
    valid = EVERYWHERE.copy()
    valid[:, :90] = False
    assert regions_of_change(meaning(LEFT, valid=valid), (SIZE, SIZE)) == []


def test_a_new_color_on_the_same_thing_is_told_and_a_new_thing_is_not() -> None:
    before = np.full((SIZE, SIZE, 3), (120, 70, 30), np.uint8)
    after = before.copy()
    after[96:160, 16:80] = (40, 80, 220)
    (place,) = repainted_regions(before, after, meaning())
    assert place.colors == ("brown", "blue")
    assert place.region.box == (16, 96, 80, 160)
    assert repainted_regions(before, after, meaning(LEFT)) == []


def test_the_look_of_the_whole_picture() -> None:
    picture = photo()
    gray = np.repeat(picture.mean(axis=2, keepdims=True), 3, axis=2).astype(np.uint8)
    assert looks(picture, picture) == []
    assert looks(picture, gray) == ["The picture became black and white."]
    assert "The picture became darker." in looks(picture, (picture * 0.6).astype(np.uint8))


def test_a_tint_lies_over_nearly_all_of_the_picture() -> None:
    picture = np.full((SIZE, SIZE, 3), (150, 130, 110), np.uint8)
    bluish = picture + np.array([0, 0, 40], np.uint8)
    assert tint(picture, bluish) == ["All colors shifted toward blue."]
    half = picture.copy()
    half[: SIZE // 2] = bluish[: SIZE // 2]
    assert tint(picture, half) == []


def test_a_picture_is_redrawn_when_also_the_rest_was_made_anew() -> None:
    before = photo()
    pasted = before.copy()
    pasted[96:160, 16:80] = (40, 80, 220)
    noise = np.random.default_rng(0).normal(0, 6, before.shape)
    anew = (pasted + noise).clip(0, 255).astype(np.uint8)
    assert not is_redrawn(before, find_changes(before, pasted))
    assert is_redrawn(before, find_changes(before, anew))


@given(st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(2, 6)), st.integers(0, 2**32 - 1))
def test_laws_of_semantic_change(shape: tuple[int, int, int], seed: int) -> None:
    before, after = np.random.default_rng(seed).normal(size=(2, *shape))
    change = semantic_change(before, after)
    assert change.shape == shape[:2]
    assert 0 <= change.min() <= change.max() <= 2
    np.testing.assert_allclose(semantic_change(before, 3 * before), 0, atol=1e-9)  # only directions count
    np.testing.assert_allclose(change, semantic_change(after, before))


@pytest.mark.parametrize("shapes", [((2, 2, 3), (2, 3, 3)), ((0, 2, 3), (0, 2, 3)), ((2, 3), (2, 3))])
def test_grids_of_other_shapes_are_refused(shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match="of one shape"):
        semantic_change(*map(np.ones, shapes))
