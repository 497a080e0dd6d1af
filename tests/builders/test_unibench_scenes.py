"""Masks and boxes follow the cut exactly; what vanishes is dropped and told."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from editgauge._util.coco import CocoImage, CocoObject
from editgauge._util.images import Pixels
from editgauge._util.masks import Polygons, bounding_box
from editgauge.benchmarks._unibench_annotations import mask_of
from editgauge.builders._common import OmittedTask
from editgauge.builders._unibench_scenes import Box, Chosen, Criteria, EditableScene, Square, best_square, make_scene

Shades = NDArray[np.float64]
EVERYTHING = Criteria(least_share=0.0, most_share=1.0, fewest=1, least_kept=1e-9)


@st.composite
def cut_pictures(draw: st.DrawFn) -> tuple[CocoImage, Square]:
    """An image with some polygons, which may reach over its edges and lie at half pixels, and a square inside it."""
    width, height = draw(st.integers(8, 40)), draw(st.integers(8, 40))
    side = draw(st.integers(4, min(width, height)))
    square = Square(draw(st.integers(0, width - side)), draw(st.integers(0, height - side)), side)
    index = st.floats(-5, 45, allow_nan=False).map(lambda value: round(value * 2) / 2)
    rings = draw(st.lists(st.lists(index, min_size=6, max_size=12).map(_even), min_size=1, max_size=4))
    objects = tuple(
        CocoObject(number, f"thing {number}", (0, 0, width, height), [ring], False) for number, ring in enumerate(rings)
    )
    return CocoImage(1, "1.png", width, height, objects=objects), square


def _even(values: list[float]) -> list[float]:
    return values[: len(values) // 2 * 2]


def painted(image: CocoImage, each: CocoObject) -> Pixels:
    mask = Polygons((tuple(each.segmentation[0]),)).render(image.width, image.height)
    return np.repeat(mask[..., np.newaxis], 3, axis=2).astype(np.uint8) * np.uint8(255)


@given(cut_pictures())
def test_a_mask_of_the_cut_picture_is_the_cut_mask(drawn: tuple[CocoImage, Square]) -> None:
    image, square = drawn
    blank = np.zeros((image.height, image.width, 3), np.uint8)
    result = make_scene(Chosen(image, None, image.objects, square), blank, "1.png", square.side, EVERYTHING)
    cuts = [square.cut(painted(image, item), square.side)[..., 0] > 127 for item in image.objects]
    seen = [(item.class_, cut) for item, cut in zip(image.objects, cuts, strict=True) if cut.any()]
    if isinstance(result, OmittedTask):
        assert seen == []
        return
    assert [item.class_ for item in result.picture.instances] == [name for name, _ in seen]
    for instance, (_, cut) in zip(result.picture.instances, seen, strict=True):
        assert (mask_of(instance.mask).render(square.side, square.side) == cut).all()
        assert tuple(instance.box) == bounding_box(cut)
    gone = {item.what for item in result.left_out if item.why.startswith("vanished")}
    assert len(gone) == len(image.objects) - len(seen)


@given(cut_pictures(), st.integers(2, 24))
def test_a_scaled_mask_lies_where_the_scaled_picture_shows_it(drawn: tuple[CocoImage, Square], size: int) -> None:
    """Away from the borders, where a pixel shows both sides, mask and picture say the same."""
    image, square = drawn
    for item in image.objects:
        whole = painted(image, item)
        shown = square.cut(whole, size)[..., 0]
        mask = square.cut_mask(whole[..., 0] > 127, size)
        by_box = _averaged(whole[..., 0] / 255.0, square, size)
        assert mask[by_box > 0.51].all()
        assert not mask[by_box < 0.49].any()
        assert shown.shape == mask.shape == (size, size)


def _averaged(whole: Shades, square: Square, size: int) -> Shades:
    """Each pixel's mean over the area it shows, by counting sub-pixels."""
    part = whole[square.top : square.top + square.side, square.left : square.left + square.side]
    if size >= square.side:  # a pixel shows the nearest one
        places = ((np.arange(size) + 0.5) * square.side / size).astype(int)
        return np.asarray(part[np.ix_(places, places)])
    fine = np.kron(part, np.ones((size, size)))
    return np.asarray(fine.reshape(size, square.side, size, square.side).mean(axis=(1, 3)))


@given(
    st.integers(1, 60),
    st.integers(1, 60),
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(1, 20), st.integers(1, 20)), max_size=5),
)
def test_the_best_square_is_as_large_as_possible_and_inside(
    width: int, height: int, given_boxes: list[tuple[int, int, int, int]]
) -> None:
    boxes: list[Box] = [(left, top, left + wide, top + tall) for left, top, wide, tall in given_boxes]
    result = best_square(width, height, boxes)
    assert result.side == min(width, height)
    assert 0 <= result.left <= width - result.side
    assert 0 <= result.top <= height - result.side

    def whole(square: Square) -> int:
        return sum(square.share_of(box) > 0.999 for box in boxes)

    slack = max(width, height) - result.side
    others = [Square(at, 0, result.side) if width > height else Square(0, at, result.side) for at in range(slack + 1)]
    assert whole(result) == max(map(whole, others))


def test_a_picture_of_another_size_than_its_annotations_is_left_out() -> None:
    image = CocoImage(1, "1.png", 20, 10, objects=(CocoObject(1, "cat", (0, 0, 5, 5), [[0, 0, 5, 0, 5, 5]], False),))
    selected = Chosen(image, None, image.objects, Square(0, 0, 10))
    result = make_scene(selected, np.zeros((10, 21, 3), np.uint8), "1.png", 10, EVERYTHING)
    assert result == OmittedTask("1.png", "is 21 x 10, while its annotations are of 20 x 10")
    assert isinstance(make_scene(selected, np.zeros((10, 20, 3), np.uint8), "1.png", 10, EVERYTHING), EditableScene)
