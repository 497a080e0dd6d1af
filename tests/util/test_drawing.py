from __future__ import annotations

from dataclasses import replace

import numpy as np

from editgauge._util.drawing import COLORS, LEGIBLE, draw
from editgauge._util.images import Pixels
from editgauge.evidence import Box, Note, Region


def test_nothing_to_draw_leaves_a_large_picture_as_it_is() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (LEGIBLE, LEGIBLE, 3), np.uint8)

    assert np.array_equal(draw(picture, [Note("words only")]), picture)


def test_a_small_picture_is_enlarged_so_that_labels_do_not_hide_it(photo: Pixels) -> None:
    assert max(draw(photo, [Box("source", 10, 10, 60, 60, "face", 0.9)]).shape) == LEGIBLE


def test_a_region_is_tinted_inside_and_nowhere_far_away() -> None:
    picture = np.full((LEGIBLE, LEGIBLE, 3), 100, np.uint8)
    mask = np.zeros((LEGIBLE, LEGIBLE), np.bool_)
    mask[200:400, 200:400] = True

    drawn = draw(picture, [Region("source", mask, "cat")])
    assert np.abs(drawn[300, 300].astype(int) - 100).max() > 10
    assert np.array_equal(drawn[600:, 600:], picture[600:, 600:])


def test_each_label_has_a_color_of_its_own() -> None:
    picture = np.zeros((LEGIBLE, LEGIBLE, 3), np.uint8)
    boxes = [Box("source", 50, 100 + 200 * n, 300, 250 + 200 * n, name) for n, name in enumerate(("cat", "cup", "cat"))]

    drawn = draw(picture, boxes)
    edges = [tuple(drawn[round(box.bottom) - 1, 200].tolist()) for box in boxes]
    assert edges == [COLORS[0], COLORS[1], COLORS[0]]


def test_a_box_at_the_edge_or_without_area_is_drawn_all_the_same() -> None:
    picture = np.zeros((40, 60, 3), np.uint8)

    for box in (
        Box("source", -5, -5, 70, 50, "all", 1.0),
        Box("source", 30, 20, 30, 20, "point"),
        Box("source", 9, 9, 3, 3),
    ):
        assert draw(picture, [box]).any()


def test_a_label_is_whole_at_every_edge_of_the_picture() -> None:
    picture = np.zeros((LEGIBLE, LEGIBLE, 3), np.uint8)
    place = Box("source", 300, 300, 330, 330, "a label that needs some room", 0.5)

    def letters(left: int, top: int) -> int:
        moved = replace(place, left=left, top=top, right=left + 30, bottom=top + 30)
        return int((draw(picture, [moved]) > 250).all(axis=2).sum())

    inside = letters(300, 300)
    assert inside > 100
    assert {letters(left, top) for left in (0, LEGIBLE - 30) for top in (0, LEGIBLE - 30)} == {inside}
