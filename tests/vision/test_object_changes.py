"""What happened to things, on hand-made sightings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import skimage.data

from editgauge._util.images import Pixels
from editgauge._util.masks import BoolMask, Rectangle
from editgauge._vision.change_sentences import sentences
from editgauge._vision.changed_regions import find_changes
from editgauge._vision.colors import color_word
from editgauge._vision.object_changes import BoxSides, Change, DetectedObject, object_changes, region_changes

SIZE = 240
POINT = 0.3
CHELSEA: Callable[[], Pixels] = skimage.data.chelsea
PHOTO = CHELSEA()[30:270, 100:340]


def thing(word: str, box: BoxSides, confidence: float = 0.9) -> DetectedObject:
    return DetectedObject(word, box, Rectangle(*box).render(SIZE, SIZE), confidence)


def changed(*boxes: BoxSides) -> BoolMask:
    return np.asarray(np.logical_or.reduce([Rectangle(*box).render(SIZE, SIZE) for box in boxes]))


def told(
    before: list[DetectedObject], after: list[DetectedObject], mask: BoolMask, edited: Pixels | None = None
) -> list[str]:
    other = np.ascontiguousarray(PHOTO[::-1]) if edited is None else edited
    return sentences(object_changes(PHOTO, other, before, after, changed=mask, point=POINT), SIZE, SIZE)


LEFT: BoxSides = (10, 100, 60, 150)
RIGHT: BoxSides = (180, 100, 230, 150)


def test_each_thing_that_happens_has_its_sentence() -> None:
    cat, there = thing("cat", LEFT), changed(LEFT)
    assert told([], [cat], there) == ["A cat appeared at the left."]
    assert told([cat], [], there) == ["The cat at the left vanished."]
    assert told([cat], [thing("dog", LEFT)], there) == ["The cat became a dog."]
    assert told([cat], [thing("cat", (25, 115, 50, 140))], there) == ["The cat became smaller."]
    assert told([cat], [thing("cat", RIGHT)], changed(LEFT, RIGHT)) == ["The cat moved from the left to the right."]
    assert told([cat], [cat], there) == ["The cat looks different."]


def test_two_of_a_kind_share_a_sentence() -> None:
    cups = [thing("cup", (10, 10, 40, 40)), thing("cup", (80, 10, 110, 40))]
    assert told(cups, [], changed((10, 10, 40, 40), (80, 10, 110, 40))) == ["2 cups vanished."]


def test_a_thing_on_which_nothing_changed_is_not_told() -> None:
    assert told([thing("cat", LEFT)], [], changed(RIGHT)) == []


def test_what_is_hardly_seen_is_still_there_but_never_new() -> None:
    assert told([thing("cat", LEFT)], [thing("cat", LEFT, 0.16)], changed((10, 100, 18, 150))) == []
    assert told([], [thing("cat", LEFT, 0.2)], changed(LEFT)) == []


def test_a_second_box_around_the_same_thing_is_no_second_thing() -> None:
    both = [thing("cat", LEFT), thing("cat", (12, 102, 58, 149), 0.5)]
    assert told([], both, changed(LEFT)) == ["A cat appeared at the left."]


def test_colors_are_named_when_every_fold_stayed() -> None:
    where = changed((60, 60, 180, 180))
    edited = PHOTO.copy()
    edited[where] = (edited[where].mean(axis=1, keepdims=True) * (0.3, 0.4, 1.2)).clip(0, 255).astype(np.uint8)
    cat = thing("cat", (60, 60, 180, 180))
    (sentence,) = told([cat], [cat], where, edited)
    assert sentence.startswith("The cat changed from ")
    assert sentence.endswith(" to blue.")
    # A detector that no longer knows it does not make it vanish.
    assert told([cat], [], where, edited) == [sentence]


@pytest.mark.parametrize(
    ("rgb", "word"),
    [
        ((220, 30, 30), "red"),
        ((250, 140, 20), "orange"),
        ((240, 220, 40), "yellow"),
        ((40, 160, 60), "green"),
        ((30, 60, 200), "blue"),
        ((110, 30, 150), "purple"),
        ((250, 150, 180), "pink"),
        ((100, 65, 30), "brown"),
        ((10, 10, 12), "black"),
        ((128, 128, 128), "gray"),
        ((250, 250, 250), "white"),
    ],
)
def test_colors_have_their_everyday_names(rgb: tuple[int, int, int], word: str) -> None:
    assert color_word(np.full((4, 4, 3), rgb, np.uint8), np.ones((4, 4), np.bool_)) == word


def _with_disc(x: int, y: int) -> Pixels:
    picture = np.full((SIZE, SIZE, 3), (90, 130, 90), np.uint8)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    inside = (rows - y) ** 2 + (columns - x) ** 2 < 25**2
    picture[inside] = np.stack([200 + 0 * rows, (columns - x) * 3 + 90, (rows - y) * 3 + 90], axis=2)[inside]
    return picture


def test_without_names_it_is_still_told_what_happened() -> None:
    empty, here, there = np.full((SIZE, SIZE, 3), (90, 130, 90), np.uint8), _with_disc(50, 120), _with_disc(190, 120)

    def said(before: Pixels, after: Pixels) -> list[Change]:
        return region_changes(before, after, find_changes(before, after).regions)

    assert [change.kind for change in said(empty, here)] == ["appeared"]
    assert [change.kind for change in said(here, empty)] == ["vanished"]
    assert sentences(said(here, there), SIZE, SIZE) == ["Something moved from the left to the right."]


def test_a_small_thing_did_not_move_into_a_large_change_that_happens_to_hold_its_like() -> None:
    empty = np.full((SIZE, SIZE, 3), (90, 130, 90), np.uint8)
    piece = np.random.default_rng(3).integers(0, 255, (20, 20, 3), np.uint8)
    before, after = empty.copy(), empty.copy()
    before[-30:-10, -30:-10] = piece
    after[20:140, 20:140] = (200, 60, 60)
    after[70:90, 70:90] = piece

    kinds = [change.kind for change in region_changes(before, after, find_changes(before, after).regions)]

    assert sorted(kinds) == ["appeared", "vanished"]
