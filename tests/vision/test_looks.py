"""Colors by name, key points, and distances between sets of pictures."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import sqrtm
from scipy.ndimage import gaussian_filter1d

from editgauge._util.images import Pixels
from editgauge._vision.colors import ALIASES, SMOOTHING, _wanted, color_score, rgb_of
from editgauge.errors import UnscorableError
from editgauge.protocols._set_distances import fid, kid
from editgauge.protocols.pixlens._preservation import found_again

EVERYWHERE = np.ones((64, 64), np.bool_)


def patch(rgb: tuple[int, int, int], seed: int = 0) -> Pixels:
    noisy = np.random.default_rng(seed).normal(rgb, 8, (64, 64, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("name", ["red", "blue", "golden", "navy", "maroon", "dark green", "off-white", "Sky Blue"])
def test_a_patch_of_the_color_has_it(name: str) -> None:
    assert color_score(patch(rgb_of(name)), EVERYWHERE, rgb_of(name)) > 0.95


def test_a_patch_of_another_color_has_it_less() -> None:
    assert color_score(patch((0, 0, 255)), EVERYWHERE, rgb_of("red")) < 0.5


def test_every_alias_is_a_color() -> None:
    assert all(len(rgb_of(name)) == 3 for name in ALIASES)


@pytest.mark.parametrize("word", ["striped", "#ff0000", "rgb(1,2,3)", "", "zebra"])
def test_what_is_no_name_of_a_color_cannot_be_told(word: str) -> None:
    with pytest.raises(UnscorableError, match="no color that is known by name"):
        rgb_of(word)


def test_the_target_is_the_limit_of_the_released_codes_random_one() -> None:
    target = (200, 30, 250)
    drawn = np.clip(np.random.default_rng(1).normal(target, np.sqrt(75), (400_000, 3)), 0, 255).astype(np.uint8)
    counts = np.stack([np.histogram(channel, 32, (0, 256))[0] / len(drawn) for channel in drawn.T])

    assert np.abs(gaussian_filter1d(counts, SMOOTHING, axis=1, mode="nearest") - _wanted(target)).max() < 1e-3


def test_the_same_picture_keeps_its_points_and_noise_loses_them(photo: Pixels) -> None:
    everywhere = np.ones(photo.shape[:2], np.bool_)
    noisy = np.clip(photo + np.random.default_rng(0).normal(0, 40, photo.shape), 0, 255).astype(np.uint8)
    flat = np.asarray(cv2.blur(photo, (65, 65)), dtype=np.uint8)

    scores = [found_again(photo, each, everywhere, everywhere).score for each in (photo, noisy, flat)]
    assert scores[0] == 1
    assert scores[0] > scores[1] > scores[2] == 0


def test_points_are_found_where_the_picture_was_moved_to(photo: Pixels) -> None:
    everywhere = np.ones(photo.shape[:2], np.bool_)

    found = found_again(photo, np.roll(photo, (6, 11), axis=(0, 1)), everywhere, everywhere).points

    moved = np.array([(new_x - x, new_y - y) for (x, y), (new_x, new_y) in found])
    assert np.median(moved, axis=0) == pytest.approx((11, 6), abs=0.1)


@given(st.integers(0, 2**32 - 1), st.integers(8, 40), st.integers(8, 40))
def test_fid_equals_its_definition_with_a_matrix_root(seed: int, first: int, second: int) -> None:
    random = np.random.default_rng(seed)
    one, other = random.normal(0, 1, (first, 5)), random.normal(0.3, 2, (second, 5))
    covariances = [np.cov(each, rowvar=False) for each in (one, other)]
    root = np.trace(np.real(sqrtm(covariances[0] @ covariances[1])))
    expected = ((one.mean(0) - other.mean(0)) ** 2).sum() + sum(map(np.trace, covariances)) - 2 * root

    assert fid(one, other) == pytest.approx(expected, rel=1e-5, abs=1e-4)
    assert fid(one, one) == pytest.approx(0, abs=1e-9)
    assert fid(one, other) == pytest.approx(fid(other, one))


def test_kid_of_the_same_distribution_is_zero_on_average_and_grows_with_a_shift() -> None:
    random = np.random.default_rng(3)
    same = [kid(random.normal(0, 1, (20, 8)), random.normal(0, 1, (20, 8))) for _ in range(300)]
    shifted = [kid(random.normal(0, 1, (20, 8)), random.normal(0.5, 1, (20, 8))) for _ in range(100)]

    assert abs(np.mean(same)) < 4 * np.std(same) / np.sqrt(len(same))
    assert np.mean(shifted) > 10 * abs(np.mean(same))


def test_a_single_picture_is_no_set() -> None:
    for distance in (fid, kid):
        with pytest.raises(ValueError, match="two pictures at least"):
            distance(np.zeros((1, 4)), np.zeros((5, 4)))
