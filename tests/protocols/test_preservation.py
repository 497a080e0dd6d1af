"""The protocols `preservation` and `preservation-aligned`: did everything else stay?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np
import pytest
import skimage
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from editgauge._util.images import ImageFile, Pixels
from editgauge._util.masks import BoolMask
from editgauge.evidence import Box, Note, Region
from editgauge.metrics import metrics
from editgauge.protocols import Protocol, protocols
from editgauge.protocols.preservation import METRICS, preservation, preservation_aligned
from editgauge.types import Edit, Item, Outcome, Score, Scores, Unscored

EDIT = Edit(id="a", source=ImageFile("a", Path("/a")), type="color", instruction="Make it black.")
OUTCOME = Outcome(edit_id="a", method="mine", image=Path("/b"))
BLIND = cast("Any", None)
"""Nothing is asked of perception, so nothing is there."""


def score(
    source: Pixels, edited: Pixels, mask: BoolMask | None = None, resized_from: tuple[int, int] | None = None
) -> Scores:
    item = Item(edit=EDIT, outcome=OUTCOME, source=source, edited=edited, mask=mask, resized_from=resized_from)
    return asyncio.run(preservation.score(item, BLIND))


def value(scores: Scores, name: str) -> float:
    given = scores[name]
    assert isinstance(given, Score), given
    return given.value


def rectangle(left: int, top: int, right: int, bottom: int) -> BoolMask:
    mask = np.zeros((128, 128), dtype=np.bool_)
    mask[top:bottom, left:right] = True
    return mask


MIDDLE = rectangle(40, 30, 80, 90)


def test_it_is_in_the_registry_and_names_every_score_once() -> None:
    names = [spec.name for spec in preservation.scores]

    assert protocols.get("preservation") is preservation
    assert names == [*METRICS, *(f"{name}_outside" for name in METRICS)]


def test_every_declared_score_is_given_and_no_other(photo: Pixels) -> None:
    for mask in (None, MIDDLE, np.ones((128, 128), dtype=np.bool_)):
        assert set(score(photo, photo, mask)) == {spec.name for spec in preservation.scores}


def test_a_score_means_what_its_metric_means() -> None:
    for spec in preservation.scores:
        info = metrics.get(spec.name.removesuffix("_outside")).info
        assert (spec.higher_is_better, spec.range) == (info.higher_is_better, info.range)
        assert ("mask" in spec.about) == spec.name.endswith("_outside")


def test_doing_nothing_preserves_everything(photo: Pixels) -> None:
    scores = score(photo, photo, MIDDLE)

    for name in METRICS:
        best = metrics.get(name).info.best
        assert value(scores, name) == best
        assert value(scores, f"{name}_outside") == best


def test_without_a_mask_there_is_no_outside(photo: Pixels) -> None:
    scores = score(photo, photo[::-1])

    for name in METRICS:
        assert isinstance(scores[name], Score)
        assert scores[f"{name}_outside"] == Unscored("not_applicable", "the edit has no mask")


def test_a_mask_over_everything_leaves_no_outside(photo: Pixels) -> None:
    scores = score(photo, photo[::-1], np.ones((128, 128), dtype=np.bool_))

    for name in METRICS:
        assert isinstance(scores[name], Score)
        assert scores[f"{name}_outside"] == Unscored("not_applicable", "the edit's mask covers the whole picture")


def test_a_black_mask_means_that_nothing_may_change(photo: Pixels) -> None:
    scores = score(photo, photo[::-1], np.zeros((128, 128), dtype=np.bool_))

    for name in METRICS:
        whole, outside = scores[name], scores[f"{name}_outside"]
        assert isinstance(whole, Score)
        assert isinstance(outside, Score)
        assert outside.value == pytest.approx(whole.value)


@pytest.mark.parametrize("name", METRICS)
def test_what_changes_inside_the_mask_does_not_count_outside(name: str, photo: Pixels) -> None:
    edited = photo.copy()
    edited[MIDDLE] = (255, 0, 255)
    scores = score(photo, edited, MIDDLE)

    best = metrics.get(name).info.best
    assert value(scores, f"{name}_outside") == best
    assert value(scores, name) != best


@pytest.mark.parametrize("name", ["ssim", "edge_distance"])
def test_a_metric_of_windows_sees_the_mask_s_edge_and_no_farther(name: str, photo: Pixels) -> None:
    """Well inside the mask, out of its reach, nothing counts."""
    edited = photo.copy()
    reach = metrics.get(name).info.reach
    edited[30 + reach : 90 - reach, 40 + reach : 80 - reach] = (255, 0, 255)
    scores = score(photo, edited, MIDDLE)

    assert value(scores, f"{name}_outside") == metrics.get(name).info.best


@pytest.mark.parametrize("name", METRICS)
def test_what_changes_outside_the_mask_counts_more_there_than_in_the_whole(name: str, photo: Pixels) -> None:
    edited = photo.copy()
    edited[100:120, 10:30] = (255, 0, 255)
    scores = score(photo, edited, MIDDLE)

    info = metrics.get(name).info
    whole, outside = value(scores, name), value(scores, f"{name}_outside")
    assert outside != info.best
    assert outside < whole if info.higher_is_better else outside > whole


# --- evidence ----------------------------------------------------------------------------------------------------


def test_a_picture_that_was_resized_is_told(photo: Pixels) -> None:
    scores = score(photo, photo, resized_from=(512, 256))
    given = scores["l1"]

    assert given.evidence == (Note("The edited image was 512 x 256 and was resized to the source's 128 x 128."),)
    assert all(not entry.evidence for name, entry in scores.items() if name != "l1")


def test_the_mask_and_the_share_of_changed_pixels_are_told(photo: Pixels) -> None:
    edited = photo.copy()
    edited[:32, :32] = 255 - edited[:32, :32]
    edited[:32, :32][photo[:32, :32] > 120] = 0  # so that every pixel changed visibly
    outside = ~MIDDLE
    region, note, _ = score(photo, edited, MIDDLE)["l1_outside"].evidence

    assert isinstance(region, Region)
    assert region.on == "source"
    assert np.array_equal(region.mask, MIDDLE)
    change = np.abs(photo.astype(int) - edited.astype(int)).max(axis=2) > 8
    assert note == Note(
        f"{(change & outside).sum() / outside.sum():.1%} of the pixels outside the mask changed visibly."
    )


def test_a_change_too_faint_to_be_seen_gets_no_box(photo: Pixels) -> None:
    edited = np.clip(photo.astype(np.int16) + 4, 0, 255).astype(np.uint8)
    evidence = score(photo, edited, MIDDLE)["l1_outside"].evidence

    assert Note("0.0% of the pixels outside the mask changed visibly.") in evidence
    assert not any(isinstance(piece, Box) for piece in evidence)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(x=st.integers(0, 120), y=st.integers(0, 120), width=st.integers(6, 30), height=st.integers(6, 30))
def test_the_box_lies_on_the_changed_spot(x: int, y: int, width: int, height: int, photo: Pixels) -> None:
    """Wherever it is, at the picture's edge too; and it lies within the picture."""
    mask = np.zeros((128, 128), dtype=np.bool_)
    mask[0, 0] = True
    edited = photo.copy()
    edited[y : y + height, x : x + width] = 255 - photo[y : y + height, x : x + width] // 2
    changed = np.abs(photo.astype(int) - edited.astype(int)).max(axis=2) * ~mask
    boxes = [piece for piece in score(photo, edited, mask)["l1_outside"].evidence if isinstance(piece, Box)]
    if changed.max() <= 8:
        assert not boxes
        return

    (box,) = boxes
    assert box.on == "edited"
    assert 0 <= box.left < box.right <= 128
    assert 0 <= box.top < box.bottom <= 128
    inside = changed[int(box.top) : int(box.bottom), int(box.left) : int(box.right)]
    sums = np.lib.stride_tricks.sliding_window_view(changed, inside.shape).sum(axis=(2, 3))
    assert inside.sum() >= 0.999 * sums.max()


def test_a_change_inside_the_mask_draws_no_box(photo: Pixels) -> None:
    edited = photo.copy()
    edited[MIDDLE] = 0

    assert not any(isinstance(piece, Box) for piece in score(photo, edited, MIDDLE)["l1_outside"].evidence)


@pytest.mark.parametrize("size", [(1, 1), (3, 7), (5, 200)])
def test_small_pictures_are_scored(size: tuple[int, int]) -> None:
    black, white = np.zeros((*size, 3), dtype=np.uint8), np.full((*size, 3), 255, dtype=np.uint8)
    scores = score(black, white, np.zeros(size, dtype=np.bool_))

    assert value(scores, "l1") == 1
    assert all(isinstance(scores[name], Score) for name in METRICS)


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


def note(scores: Scores) -> str:
    (remark,) = scores["aligned_l1"].evidence
    assert isinstance(remark, Note)
    return remark.text


def shifted(pixels: Pixels, x: int, y: int) -> Pixels:
    matrix = np.array([[1.0, 0, x], [0, 1, y]])
    return np.asarray(cv2.warpAffine(pixels, matrix, pixels.shape[1::-1], borderMode=cv2.BORDER_REFLECT), np.uint8)


def test_aligned_a_black_mask_means_that_nothing_may_change(photo: Pixels) -> None:
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
    clean, bad = (scored(preservation_aligned, cat, shifted(pixels, 5, -3), face) for pixels in (cat, spoiled))

    for name in METRICS:
        one, other = (value(scores, f"aligned_{name}_outside") for scores in (clean, bad))
        assert one > other if metrics.get(name).info.higher_is_better else one < other


def test_aligned_what_changes_inside_the_mask_does_not_count_outside(cat: Pixels, face: BoolMask) -> None:
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


def test_aligned_without_a_mask_there_is_no_outside(cat: Pixels) -> None:
    scores = scored(preservation_aligned, cat, cat)

    for name in METRICS:
        assert scores[f"aligned_{name}_outside"] == Unscored("not_applicable", "the edit has no mask")
