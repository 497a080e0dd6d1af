"""Colors by name, and how much of an image has them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter1d

from editgauge._util.images import Pixels
from editgauge._vision.colors import ALIASES, SMOOTHING, _target_histogram, color_score, rgb_of
from editgauge.errors import UnscorableError

WHOLE_IMAGE = np.ones((64, 64), np.bool_)


def patch(rgb: tuple[int, int, int], seed: int = 0) -> Pixels:
    noisy = np.random.default_rng(seed).normal(rgb, 8, (64, 64, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("name", ["red", "blue", "golden", "navy", "maroon", "dark green", "off-white", "Sky Blue"])
def test_a_patch_of_the_color_has_it(name: str) -> None:
    assert color_score(patch(rgb_of(name)), WHOLE_IMAGE, rgb_of(name)) > 0.95


def test_a_patch_of_another_color_has_it_less() -> None:
    assert color_score(patch((0, 0, 255)), WHOLE_IMAGE, rgb_of("red")) < 0.5


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

    assert np.abs(gaussian_filter1d(counts, SMOOTHING, axis=1, mode="nearest") - _target_histogram(target)).max() < 1e-3
