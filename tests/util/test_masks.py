"""Regions of a picture: what each kind renders, and that it stays inside the picture."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from editgauge._util.masks import (
    BoolMask,
    Dilated,
    Mask,
    MaskFile,
    Outside,
    Polygons,
    Rectangle,
    Union,
    bounding_box,
    dilate_mask,
)
from editgauge.errors import BadImageError

SQUARE = Polygons(((2, 3, 6, 3, 6, 5, 2, 5),))
coordinates = st.floats(-50, 80, allow_nan=False)
rings = st.lists(coordinates, min_size=6, max_size=12).map(lambda ring: tuple(ring[: len(ring) // 2 * 2]))
polygons = st.lists(rings, min_size=1, max_size=3).map(lambda some: Polygons(tuple(some)))


def inside(mask: BoolMask) -> tuple[int, int, int, int]:
    return bounding_box(mask)


def test_polygons_include_their_outline() -> None:
    mask = SQUARE.render(10, 8)

    assert mask.shape == (8, 10)
    assert inside(mask) == (2, 3, 7, 6)
    assert mask.sum() == 5 * 3


def test_overlapping_outlines_are_one_region() -> None:
    """A second outline adds; where both lie, nothing is cut out."""
    double = Polygons((SQUARE.rings[0], SQUARE.rings[0]))

    assert np.array_equal(double.render(10, 8), SQUARE.render(10, 8))


@given(st.integers(-90, 130), st.integers(-90, 120), st.integers(2, 90))
def test_an_outline_may_leave_the_picture(x: int, y: int, radius: int) -> None:
    """What is seen of a disc is what is in the picture, give or take a pixel along its edge."""
    turns = np.linspace(0, 2 * np.pi, 360, endpoint=False)
    ring = np.stack([x + radius * np.cos(turns), y + radius * np.sin(turns)], axis=1).ravel()
    rows, columns = np.indices((30, 40))
    distance = np.hypot(rows - y, columns - x)

    seen = Polygons((tuple(ring.tolist()),)).render(40, 30)

    assert seen[distance < radius - 1.5].all()
    assert not seen[distance > radius + 1.5].any()


def test_an_outline_on_a_very_wide_picture() -> None:
    """OpenCV shifts coordinates by 16 bits inside an integer: 40,000 pixels must not wrap around."""
    mask = Polygons(((100, 2, 39_000, 2, 39_000, 8, 100, 8),)).render(40_000, 10)

    assert inside(mask) == (100, 2, 39_001, 9)
    assert mask.sum() == 38_901 * 7


def test_the_box_of_outlines_spans_all_of_them() -> None:
    assert Polygons(((0, 0, 4, 0, 4, 2), (10, 1, 12, 1, 12, 9))).box() == (0, 0, 12, 9)


@given(polygons, st.tuples(coordinates, coordinates), st.tuples(st.floats(1, 90), st.floats(1, 90)))
def test_fitted_outlines_fill_the_asked_box(
    outlines: Polygons, corner: tuple[float, float], size: tuple[float, float]
) -> None:
    left, top, right, bottom = outlines.box()
    if right - left < 1e-3 or bottom - top < 1e-3:
        return  # a line has no inside to stretch
    wanted = (corner[0], corner[1], corner[0] + size[0], corner[1] + size[1])

    assert outlines.fitted(*wanted).box() == pytest.approx(wanted)
    assert np.allclose(outlines.fitted(*wanted).fitted(*outlines.box()).rings[0], outlines.rings[0])


@pytest.mark.parametrize(
    ("box", "seen"),
    [((2, 3, 6, 5), (2, 3, 6, 5)), ((-5, -5, 4, 2), (0, 0, 4, 2)), ((7, 6, 99, 99), (7, 6, 10, 8))],
)
def test_a_rectangle_excludes_its_right_and_lower_edge(
    box: tuple[int, int, int, int], seen: tuple[int, int, int, int]
) -> None:
    assert inside(Rectangle(*box).render(10, 8)) == seen


@pytest.mark.parametrize("box", [(-9, -9, -3, -3), (20, 20, 30, 30), (0, -9, 10, -3)])
def test_a_rectangle_beside_the_picture_is_empty(box: tuple[int, int, int, int]) -> None:
    assert not Rectangle(*box).render(10, 8).any()


def test_union_and_outside() -> None:
    left, right = Rectangle(0, 0, 3, 8), Rectangle(2, 0, 6, 8)

    assert inside(Union((left, right)).render(10, 8)) == (0, 0, 6, 8)
    assert inside(Outside(Union((left, right))).render(10, 8)) == (6, 0, 10, 8)
    assert not Union(()).render(10, 8).any()


@given(by=st.integers(0, 12), x=st.integers(0, 39), y=st.integers(0, 29))
def test_growing_adds_a_disc_and_no_more(by: int, x: int, y: int) -> None:
    dot = np.zeros((30, 40), dtype=np.bool_)
    dot[y, x] = True
    rows, columns = np.indices(dot.shape)
    distance = np.hypot(rows - y, columns - x)

    after = dilate_mask(dot, by)

    assert after[distance <= by].all()
    assert not after[distance > by + 0.5].any()


def test_grown_renders_the_part_with_its_margin() -> None:
    assert inside(Dilated(SQUARE, 2).render(12, 12)) == (0, 1, 9, 8)


@pytest.mark.parametrize(
    ("mask", "told"),
    [
        (SQUARE, [[2, 3, 6, 3, 6, 5, 2, 5]]),
        (Rectangle(1, 2, 3, 4), {"box": [1, 2, 3, 4]}),
        (Outside(Rectangle(1, 2, 3, 4)), {"outside": {"box": [1, 2, 3, 4]}}),
        (Union((SQUARE,)), {"union": [[[2, 3, 6, 3, 6, 5, 2, 5]]]}),
        (Dilated(Rectangle(1, 2, 3, 4), 5), {"grow": {"box": [1, 2, 3, 4]}, "by": 5}),
    ],
)
def test_a_mask_describes_itself_in_the_words_of_the_benchmark_format(mask: Mask, told: object) -> None:
    assert isinstance(mask, Mask)
    assert mask.describe() == told


# --- masks in files ----------------------------------------------------------------------------------------------


def saved(path: Path, values: object, **options: object) -> MaskFile:
    Image.fromarray(np.asarray(values)).save(path, **options)  # type: ignore[arg-type]
    return MaskFile(path)


def test_bright_pixels_of_a_file_are_inside(tmp_path: Path) -> None:
    mask = saved(tmp_path / "m.png", np.array([[0, 127, 128, 255]], dtype=np.uint8))

    assert mask.render(4, 1).tolist() == [[False, False, True, True]]


def test_a_mask_file_is_scaled_without_shades(tmp_path: Path) -> None:
    mask = saved(tmp_path / "m.png", np.array([[0, 255], [255, 0]], dtype=np.uint8))

    assert np.array_equal(mask.render(6, 6), np.kron([[0, 1], [1, 0]], np.ones((3, 3))).astype(np.bool_))


def test_a_mask_file_of_another_shape_is_refused(tmp_path: Path) -> None:
    mask = saved(tmp_path / "m.png", np.full((64, 200), 255, dtype=np.uint8))

    with pytest.raises(BadImageError, match=r"m\.png' is 200 x 64, its image 256 x 256: another shape"):
        mask.render(256, 256)


def test_a_one_bit_mask_file(tmp_path: Path) -> None:
    assert saved(tmp_path / "m.png", np.array([[True, False]])).render(2, 1).tolist() == [[True, False]]


def test_a_colored_mask_file(tmp_path: Path) -> None:
    colors = np.array([[[255, 0, 0], [0, 0, 0]]], dtype=np.uint8)

    assert saved(tmp_path / "m.png", colors).render(2, 1).tolist() == [[True, False]]


def test_a_mask_of_zeros_and_ones_is_refused_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    mask = saved(tmp_path / "labels.png", np.array([[0, 1]], dtype=np.uint8))

    with pytest.raises(BadImageError, match=r"labels\.png' .* brightest pixel is 1, .* multiply"):
        mask.render(2, 1)


def test_a_black_mask_file_is_empty(tmp_path: Path) -> None:
    assert not saved(tmp_path / "m.png", np.zeros((2, 2), dtype=np.uint8)).render(2, 2).any()


def test_a_missing_mask_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadImageError, match=r"no image at .*nowhere\.png"):
        MaskFile(tmp_path / "nowhere.png").render(2, 2)


# --- bounding boxes ----------------------------------------------------------------------------------------------


@given(st.integers(0, 18), st.integers(0, 10), st.integers(1, 8), st.integers(1, 8))
def test_the_bounding_box_is_tight(left: int, top: int, width: int, height: int) -> None:
    mask = np.zeros((20, 30), dtype=np.uint8)
    cv2.ellipse(mask, (left + width // 2, top + height // 2), (width // 2, height // 2), 0, 0, 360, 1, -1)

    x0, y0, x1, y1 = bounding_box(mask.astype(np.bool_))

    assert mask[y0:y1, x0:x1].sum() == mask.sum()
    assert mask[y0].any()
    assert mask[y1 - 1].any()
    assert mask[:, x0].any()
    assert mask[:, x1 - 1].any()


def test_nothing_has_no_bounding_box() -> None:
    with pytest.raises(BadImageError, match="empty mask"):
        bounding_box(np.zeros((3, 3), dtype=np.bool_))
