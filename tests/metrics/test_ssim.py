"""SSIM against scikit-image, and against its formula where that has no value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.ndimage
import skimage.metrics
from numpy.typing import NDArray

from editgauge._util.images import Unit
from editgauge._util.masks import BoolMask
from editgauge.metrics.ssim import ssim
from tests.metrics.pairs import cat_and_noise, every_pair, exact, rectangle, unit


def reference_ssim(before: NDArray[Any], after: NDArray[Any]) -> tuple[float, NDArray[np.float64]]:
    """SSIM and its uncropped map by scikit-image, in the precision of the arrays."""
    similarity: Callable[..., Any] = skimage.metrics.structural_similarity
    value, everywhere = similarity(
        before,
        after,
        gaussian_weights=True,
        sigma=1.5,
        use_sample_covariance=False,
        data_range=1.0,
        channel_axis=2,
        full=True,
    )
    return float(value), np.asarray(everywhere)


@every_pair
def test_ssim_is_that_of_scikit_image(before: Unit, after: Unit) -> None:
    value = ssim(before, after)
    assert value == pytest.approx(reference_ssim(exact(before), exact(after))[0], abs=1e-12)
    assert value == pytest.approx(reference_ssim(before, after)[0], abs=1e-6)


@pytest.mark.parametrize("size", [(11, 11), (11, 12), (12, 11), (11, 40), (58, 11), (59, 60), (106, 33), (107, 64)])
def test_ssim_is_that_of_scikit_image_at_any_size(size: tuple[int, int]) -> None:
    before, after = (image[100 : 100 + size[0], 150 : 150 + size[1]] for image in cat_and_noise)
    assert ssim(before, after) == pytest.approx(reference_ssim(exact(before), exact(after))[0], abs=1e-12)


@pytest.mark.parametrize("level", [0.0, 0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("shift", [0.001, 0.03, 0.1, 0.5])
def test_ssim_of_flat_images_has_all_digits(level: float, shift: float) -> None:
    """Without variance only brightness is left: (2 a b + C1) / (a^2 + b^2 + C1)."""
    other = level - shift if level > 0.5 else level + shift
    before, after = np.full((30, 40, 3), level), np.full((30, 40, 3), other)
    expected = (2 * level * other + 1e-4) / (level**2 + other**2 + 1e-4)
    assert ssim(unit(before), unit(after)) == pytest.approx(expected, abs=1e-10)


def test_masked_ssim_is_the_mean_of_the_map_within_the_mask() -> None:
    _, everywhere = reference_ssim(*map(exact, cat_and_noise))
    where = rectangle(40, 170, 60, 300)
    assert ssim(*cat_and_noise, where) == pytest.approx(everywhere[where].mean(), abs=1e-12)


def test_masked_ssim_leaves_windows_over_the_edge_out() -> None:
    _, everywhere = reference_ssim(*map(exact, cat_and_noise))
    assert ssim(*cat_and_noise, rectangle(0, 80, 0, 90)) == pytest.approx(everywhere[5:80, 5:90].mean(), abs=1e-12)


@pytest.mark.parametrize("where", [rectangle(0, 5, 0, 451), rectangle(295, 300, 20, 99), rectangle(0, 300, 446, 451)])
def test_ssim_of_a_mask_along_the_edge_mirrors_the_images(where: BoolMask) -> None:
    _, everywhere = reference_ssim(*map(exact, cat_and_noise))
    assert ssim(*cat_and_noise, where) == pytest.approx(everywhere[where].mean(), abs=1e-12)


@pytest.mark.parametrize("size", [(1, 1), (1, 30), (4, 4), (10, 10), (10, 200), (120, 3)])
def test_ssim_of_an_image_smaller_than_a_window_mirrors_it(size: tuple[int, int]) -> None:
    before, after = (image[100 : 100 + size[0], 150 : 150 + size[1]] for image in cat_and_noise)
    assert ssim(before, after) == pytest.approx(_mirrored_ssim(exact(before), exact(after)).mean(), abs=1e-12)


def _mirrored_ssim(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """The paper's equation 13, letter by letter."""
    mx, my = _windowed(x), _windowed(y)
    sxx, syy, sxy = _windowed(x * x) - mx * mx, _windowed(y * y) - my * my, _windowed(x * y) - mx * my
    c1, c2 = 0.01**2, 0.03**2
    similarity = (2 * mx * my + c1) * (2 * sxy + c2) / ((mx * mx + my * my + c1) * (sxx + syy + c2))
    return np.asarray(similarity)


def _windowed(image: NDArray[np.float64]) -> NDArray[np.float64]:
    filtered = scipy.ndimage.gaussian_filter(image, sigma=1.5, truncate=3.5, mode="reflect", axes=(0, 1))
    return np.asarray(filtered)
