"""The protocol `preservation-aligned`: a frame that moved a little costs nothing but what left the picture."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np
import pytest
import skimage

from editgauge._util.images import ImageFile, Pixels
from editgauge._util.masks import BoolMask
from editgauge.evidence import Note
from editgauge.metrics import metrics
from editgauge.protocols import Protocol
from editgauge.protocols.preservation import METRICS, preservation
from editgauge.protocols.preservation_aligned import preservation_aligned
from editgauge.types import Edit, Item, Outcome, Score, Scores, Unscored

EDIT = Edit(id="a", source=ImageFile("a", Path("/a")), type="color", instruction="Make it black.")
OUTCOME = Outcome(edit_id="a", method="mine", image=Path("/b"))
BLIND = cast("Any", None)
"""Nothing is asked of perception, so nothing is there."""
CAT: Callable[[], Pixels] = skimage.data.chelsea
PERSON: Callable[[], Pixels] = skimage.data.astronaut


@pytest.fixture(scope="module")
def cat() -> Pixels:
    return np.ascontiguousarray(CAT())


@pytest.fixture(scope="module")
def face() -> BoolMask:
    mask = np.zeros(CAT().shape[:2], dtype=np.bool_)
    mask[60:200, 140:300] = True
    return mask


def scored(protocol: Protocol, source: Pixels, edited: Pixels, mask: BoolMask | None = None) -> Scores:
    item = Item(edit=EDIT, outcome=OUTCOME, source=source, edited=edited, mask=mask)
    return asyncio.run(protocol.score(item, BLIND))


def value(scores: Scores, name: str) -> float:
    given = scores[name]
    assert isinstance(given, Score), given
    return given.value


def note(scores: Scores) -> str:
    (said,) = scores["aligned_l1"].evidence
    assert isinstance(said, Note)
    return said.text


def shifted(pixels: Pixels, x: int, y: int) -> Pixels:
    matrix = np.array([[1.0, 0, x], [0, 1, y]])
    return np.asarray(cv2.warpAffine(pixels, matrix, pixels.shape[1::-1], borderMode=cv2.BORDER_REFLECT), np.uint8)


def test_a_black_mask_means_that_nothing_may_change(photo: Pixels) -> None:
    edited = 255 - photo
    scores = scored(preservation_aligned, photo, edited, np.zeros(photo.shape[:2], np.bool_))
    assert value(scores, "aligned_l1_outside") == pytest.approx(value(scores, "aligned_l1"))


def test_it_has_every_score_of_preservation_under_a_name_of_its_own() -> None:
    assert [spec.name for spec in preservation_aligned.scores] == [
        f"aligned_{spec.name}" for spec in preservation.scores
    ]


def test_a_frame_that_stayed_gives_the_raw_scores(cat: Pixels, face: BoolMask) -> None:
    edited = cat.copy()
    edited[face] = 255 - edited[face]
    edited[250:280, 20:60] = 0
    raw, aligned = (scored(protocol, cat, edited, face) for protocol in (preservation, preservation_aligned))

    assert {name: value(aligned, f"aligned_{name}") for name in raw} == {name: value(raw, name) for name in raw}
    assert note(aligned).startswith("The frame stayed: ")


@pytest.mark.parametrize(("x", "y"), [(1, 0), (0, -2), (4, 3), (-8, 8)])
def test_a_shift_moves_the_raw_scores_and_not_the_aligned_ones(x: int, y: int, cat: Pixels) -> None:
    edited = shifted(cat, x, y)
    raw, aligned = (scored(protocol, cat, edited) for protocol in (preservation, preservation_aligned))

    assert value(raw, "ssim") < 0.85
    assert value(aligned, "aligned_ssim") > 0.999
    assert value(aligned, "aligned_psnr") > value(raw, "psnr") + 15
    assert f"moved by {x:+.1f} pixels to the right and {y:+.1f} down" in note(aligned)


def test_a_crop_that_was_enlarged_is_laid_back(cat: Pixels) -> None:
    height, width = cat.shape[:2]
    crop = cat[10 : height - 10, 15 : width - 15]
    edited = np.asarray(cv2.resize(crop, (width, height), interpolation=cv2.INTER_CUBIC), np.uint8)
    raw, aligned = (scored(protocol, cat, edited) for protocol in (preservation, preservation_aligned))

    assert value(aligned, "aligned_ssim") > value(raw, "ssim") + 0.25
    assert "scaled to 107" in note(aligned)


def test_what_else_changed_in_a_shifted_picture_is_still_seen(cat: Pixels, face: BoolMask) -> None:
    spoiled = cat.copy()
    spoiled[220:290, 20:120] = 255 - spoiled[220:290, 20:120]
    clean, bad = (scored(preservation_aligned, cat, shifted(each, 5, -3), face) for each in (cat, spoiled))

    for name in METRICS:
        one, other = (value(scores, f"aligned_{name}_outside") for scores in (clean, bad))
        assert one > other if metrics.get(name).info.higher_is_better else one < other


def test_what_changes_inside_the_mask_does_not_count_outside(cat: Pixels, face: BoolMask) -> None:
    edited = cat.copy()
    edited[face] = (255, 0, 255)
    scores = scored(preservation_aligned, cat, edited, face)

    for name in METRICS:
        assert value(scores, f"aligned_{name}_outside") == metrics.get(name).info.best


def test_another_photograph_is_compared_as_it_is_and_that_is_told(cat: Pixels) -> None:
    height, width = cat.shape[:2]
    other = np.ascontiguousarray(PERSON()[:height, :width])
    raw, aligned = (scored(protocol, cat, other) for protocol in (preservation, preservation_aligned))

    assert all(value(aligned, f"aligned_{name}") == value(raw, name) for name in METRICS)
    assert note(aligned).startswith("No common frame is certain")


def test_without_a_mask_there_is_no_outside(cat: Pixels) -> None:
    scores = scored(preservation_aligned, cat, cat)

    for name in METRICS:
        assert scores[f"aligned_{name}_outside"] == Unscored("not_applicable", "the edit has no mask")
