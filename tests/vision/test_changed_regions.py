"""What counts as changed, and what does not."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import skimage.data
from hypothesis import given, settings
from hypothesis import strategies as st

from editgauge._util.images import Pixels, resize_image
from editgauge._util.masks import dilate_mask
from editgauge._vision.changed_regions import find_changes


def photograph(name: str) -> Pixels:
    return np.asarray(getattr(skimage.data, name)(), np.uint8)


SOURCE = photograph("astronaut")
OTHER = resize_image(photograph("coffee"), 512, 512)


def encoded(picture: Pixels, quality: int) -> Pixels:
    _, data = cv2.imencode(".jpg", picture[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    return np.ascontiguousarray(np.asarray(cv2.imdecode(data, cv2.IMREAD_COLOR), np.uint8)[..., ::-1])


def noisy(picture: Pixels) -> Pixels:
    grain = np.random.default_rng(0).normal(0, 5, picture.shape)
    return np.clip(picture + grain, 0, 255).astype(np.uint8)


HARMLESS = {
    "nothing": SOURCE.copy(),
    "JPEG 90": encoded(SOURCE, 90),
    "JPEG 75": encoded(SOURCE, 75),
    "a shift of a pixel": np.roll(SOURCE, 1, axis=1),
    "a little brighter": np.clip(SOURCE * 1.06 + 4, 0, 255).astype(np.uint8),
    "a little darker": (SOURCE * 0.93).astype(np.uint8),
    "a crop, encoded": encoded(resize_image(SOURCE[10:, 6:-6], 512, 512), 90),
    "grain": noisy(SOURCE),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_nobody_did_is_no_change(name: str) -> None:
    assert not find_changes(SOURCE, HARMLESS[name]).mask.any()


@settings(max_examples=10)
@given(st.integers(0, 400), st.integers(0, 400), st.integers(40, 110), st.integers(0, 6))
def test_a_replaced_patch_is_found_where_it_is(left: int, top: int, side: int, shift: int) -> None:
    edited = SOURCE.copy()
    truth = np.zeros((512, 512), np.bool_)
    truth[top : top + side, left : left + side] = True
    edited[truth] = 255 - SOURCE[truth]
    result = find_changes(SOURCE, encoded(np.roll(edited, shift, axis=1), 90)).mask
    seen = np.ones_like(truth)
    seen[:, 512 - 8 :] = False  # rolled out of the picture
    assert result[truth & seen].mean() > 0.95
    assert not (result & seen & ~dilate_mask(truth, 14)).any()


def test_a_strong_change_of_light_is_a_change_of_everything() -> None:
    assert find_changes(SOURCE, (SOURCE * 0.45).astype(np.uint8)).share > 0.6


def test_a_cast_over_everything_is_measured() -> None:
    warm = cv2.cvtColor(SOURCE.astype(np.float32) / 255, cv2.COLOR_RGB2LAB) + np.array([0, 2, 5], np.float32)
    edited = np.rint(cv2.cvtColor(warm, cv2.COLOR_LAB2RGB).clip(0, 1) * 255).astype(np.uint8)
    result = find_changes(SOURCE, edited)
    assert result.cast == pytest.approx((0, 2, 5), abs=0.6)
    assert not result.mask.any()


def test_another_picture_is_a_change_of_everything() -> None:
    assert find_changes(SOURCE, OTHER).mask.mean() > 0.9


def test_regions_come_largest_first_with_their_boxes() -> None:
    edited = SOURCE.copy()
    edited[50:90, 40:80] = (255, 0, 255)
    edited[300:420, 200:330] = (0, 255, 0)
    large, small = find_changes(SOURCE, edited).regions
    assert large.share > small.share
    assert np.abs(np.array(large.box) - (200, 300, 330, 420)).max() <= 12
    assert np.abs(np.array(small.box) - (40, 50, 80, 90)).max() <= 12
    assert large.strength > 1


def test_large_pictures_are_compared_too() -> None:
    source = resize_image(SOURCE, 1600, 1600)
    edited = source.copy()
    edited[800:1000, 800:1000] = 255
    result = find_changes(source, edited).mask
    assert result.shape == (1600, 1600)
    assert result[820:980, 820:980].all()
    assert not result[:700].any()
