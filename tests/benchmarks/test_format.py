"""Regions as public sets write them: decoded by hand-worked cases, and read back by the folder format."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from editgauge._util.documents import Document, Location
from editgauge._util.masks import Mask
from editgauge.benchmarks._format import Erased, Names, RunLengths, paired, read_mask
from editgauge.errors import BadImageError


def rows(mask: np.ndarray[Any, Any]) -> list[str]:
    return ["".join("#" if inside else "." for inside in row) for row in mask]


def test_runs_go_along_the_rows() -> None:
    mask = RunLengths(((1, 2), (6, 3)), 4, 3)
    assert rows(mask.render(4, 3)) == [".##.", "..##", "#..."]


def test_a_frame_is_inside_whatever_the_runs_say() -> None:
    assert rows(RunLengths((), 5, 4, frame=1).render(5, 4)) == ["#####", "#...#", "#...#", "#####"]


def test_a_run_over_the_end_is_cut() -> None:
    assert rows(RunLengths(((5, 99),), 3, 2).render(3, 2)) == ["...", "..#"]


def test_runs_are_scaled_to_the_picture() -> None:
    assert rows(RunLengths(((0, 1),), 2, 2).render(4, 4)) == ["##..", "##..", "....", "...."]
    assert RunLengths(((0, 262144),), 512, 512, 1).render(300, 300).all()


@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 25))), st.integers(0, 2))
def test_runs_agree_with_a_plain_loop(pairs: list[tuple[int, int]], frame: int) -> None:
    flat = [False] * 20
    for start, length in pairs:
        for place in range(start, min(20, start + length)):
            flat[place] = True
    expected = np.array(flat).reshape(4, 5)
    for y in range(4):
        for x in range(5):
            expected[y, x] |= min(x, y, 4 - x, 3 - y) < frame
    assert (RunLengths(tuple(pairs), 5, 4, frame).render(5, 4) == expected).all()


@pytest.fixture
def eraser(tmp_path: Path) -> Callable[[str], Path]:
    """A 4 x 2 picture with one bright pixel, erased at (1, 0) and half erased at (2, 0)."""

    def make(mode: str) -> Path:
        image = Image.new("RGBA", (4, 2), (10, 20, 30, 255))
        image.putpixel((3, 1), (250, 250, 250, 255))
        image.putpixel((1, 0), (10, 20, 30, 0))
        image.putpixel((2, 0), (10, 20, 30, 100))
        if mode == "flat":
            image = Image.alpha_composite(Image.new("RGBA", (4, 2), "white"), image).convert("RGB")
        path = tmp_path / f"{mode}.png"
        image.save(path)
        return path

    return make


def test_what_is_not_opaque_was_erased(eraser: Callable[[str], Path]) -> None:
    assert rows(Erased(eraser("alpha")).render(4, 2)) == [".##.", "...."]


def test_without_transparency_pure_white_was_erased(eraser: Callable[[str], Path]) -> None:
    assert rows(Erased(eraser("flat")).render(4, 2)) == [".#..", "...."]


def test_black_and_white_masks_work_too(tmp_path: Path) -> None:
    image = Image.new("L", (3, 1), 0)
    image.putpixel((2, 0), 255)
    image.save(tmp_path / "mask.png")
    assert rows(Erased(tmp_path / "mask.png").render(3, 1)) == ["..#"]


def test_an_erased_region_is_scaled(eraser: Callable[[str], Path]) -> None:
    assert rows(Erased(eraser("alpha")).render(8, 4)) == ["..####..", "..####..", "........", "........"]


def test_a_broken_mask_is_a_bad_image(tmp_path: Path) -> None:
    (tmp_path / "mask.png").write_bytes(b"no image")
    with pytest.raises(BadImageError, match=r"mask\.png"):
        Erased(tmp_path / "mask.png").render(4, 4)


def read(value: Any) -> tuple[Mask | None, list[str]]:
    document = Document("test")
    mask = read_mask(json.loads(json.dumps(value)), Location(document), Names({}, Path))
    return mask, [text for _, text in document.faults]


@pytest.mark.parametrize(
    "mask",
    [
        RunLengths(((3, 4), (9, 1)), 5, 4, 1),
        RunLengths((), 512, 512),
        Erased(Path("images/1/1-mask1.png"), "images/1/1-mask1.png"),
    ],
)
def test_a_described_mask_is_read_back_the_same(mask: Mask) -> None:
    assert read(mask.describe()) == (mask, [])
    assert pickle.loads(pickle.dumps(mask)) == mask, "edits travel to worker processes"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"runs": [1, 2, 3], "size": [4, 4], "frame": 0}, "pairs of start and length, got 3 numbers"),
        ({"runs": [16, 1], "size": [4, 4], "frame": 0}, "a run starts at 16, outside a picture of 4 x 4"),
        ({"runs": [1, -1], "size": [4, 4], "frame": 0}, "a length under 0"),
        ({"runs": [1, 1.5], "size": [4, 4], "frame": 0}, "a list of whole numbers"),
        ({"runs": [], "size": [4, 0], "frame": 0}, "'size' is [width, height] in pixels"),
        ({"runs": [], "size": [9_000, 9_000], "frame": 0}, "'size' is [width, height] in pixels"),
        ({"runs": [], "size": [4, 4], "frame": 5}, "'frame' is a whole number of pixels"),
        ({"runs": []}, "a mask 'runs' has the keys runs, size, frame"),
        ({"erased": "cat"}, "'erased' is the path of an image, got 'cat'"),
    ],
)
def test_bad_descriptions(value: Any, words: str) -> None:
    mask, faults = read(value)
    assert mask is None
    assert words in faults[0]


def test_flat_numbers_become_pairs() -> None:
    assert paired([1, 2, 3, 4]) == ((1, 2), (3, 4))
