"""Key points of PixLens that are found again in the edited image."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from editgauge._util.images import Pixels
from editgauge.protocols.pixlens._preservation import match_keypoints


def test_the_same_picture_keeps_its_points_and_noise_loses_them(photo: Pixels) -> None:
    everywhere = np.ones(photo.shape[:2], np.bool_)
    noisy = np.clip(photo + np.random.default_rng(0).normal(0, 40, photo.shape), 0, 255).astype(np.uint8)
    flat = np.asarray(cv2.blur(photo, (65, 65)), dtype=np.uint8)

    scores = [match_keypoints(photo, image, everywhere, everywhere).score for image in (photo, noisy, flat)]
    assert scores[0] == 1
    assert scores[0] > scores[1] > scores[2] == 0


def test_points_are_found_where_the_picture_was_moved_to(photo: Pixels) -> None:
    everywhere = np.ones(photo.shape[:2], np.bool_)

    result = match_keypoints(photo, np.roll(photo, (6, 11), axis=(0, 1)), everywhere, everywhere).points

    moved = np.array([(new_x - x, new_y - y) for (x, y), (new_x, new_y) in result])
    assert np.median(moved, axis=0) == pytest.approx((11, 6), abs=0.1)
