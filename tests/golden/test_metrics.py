"""Values of the metrics against independent implementations (scikit-image, SciPy, NumPy) and against hand-made sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import cv2
import numpy as np
import pytest
import scipy.ndimage
import skimage.data
import skimage.metrics
from numpy.typing import NDArray

from editgauge.core.images import Pixels, Unit, as_unit
from editgauge.core.masks import BoolMask
from editgauge.metrics.edge_distance import edge_distance
from editgauge.metrics.histogram_correlation import histogram_correlation
from editgauge.metrics.pixels import l1, l2, psnr, ssim

PHOTOGRAPHS: dict[str, Callable[[], Pixels]] = {
    "cat": skimage.data.chelsea,
    "astronaut": skimage.data.astronaut,
    "coffee": skimage.data.coffee,
    "rocket": skimage.data.rocket,
}


def noisy(image: Pixels) -> Pixels:
    noise = np.random.default_rng(3).normal(0, 20, image.shape)
    return np.clip(image + noise, 0, 255).astype(np.uint8)


def blurred(image: Pixels) -> Pixels:
    return np.asarray(cv2.GaussianBlur(image, (0, 0), 2), dtype=np.uint8)


def compressed(image: Pixels) -> Pixels:
    _, encoded = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 20])
    return np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR), dtype=np.uint8)


def brightened(image: Pixels) -> Pixels:
    """Much of the sky over the rocket, flat before, is flat after: where float32 would lose digits."""
    return np.minimum(image.astype(np.int64) + 26, 255).astype(np.uint8)


DAMAGES: dict[str, Callable[[Pixels], Pixels]] = {
    "noise": noisy,
    "blur": blurred,
    "jpeg": compressed,
    "brighter": brightened,
}


@cache
def photograph(name: str) -> Pixels:
    return PHOTOGRAPHS[name]()


@cache
def damaged(name: str, damage: str) -> Pixels:
    return DAMAGES[damage](photograph(name))


every_pair = pytest.mark.parametrize(
    ("before", "after"),
    [(as_unit(photograph(name)), as_unit(damaged(name, damage))) for name in PHOTOGRAPHS for damage in DAMAGES],
    ids=[f"{name} {damage}" for name in PHOTOGRAPHS for damage in DAMAGES],
)
cat_and_noise = as_unit(photograph("cat")), as_unit(damaged("cat", "noise"))


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


def exact(image: Unit) -> NDArray[np.float64]:
    return image.astype(np.float64)


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
    assert ssim(_unit(before), _unit(after)) == pytest.approx(expected, abs=1e-10)


def rectangle(top: int, bottom: int, left: int, right: int) -> BoolMask:
    mask = np.zeros(cat_and_noise[0].shape[:2], dtype=np.bool_)
    mask[top:bottom, left:right] = True
    return mask


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


@every_pair
def test_l1_is_the_mean_absolute_error(before: Unit, after: Unit) -> None:
    expected = np.abs(exact(before) - exact(after)).mean()
    assert l1(before, after) == pytest.approx(expected, rel=1e-7)
    assert l1(_unit(before), _unit(after)) == pytest.approx(expected, rel=1e-12)


@every_pair
def test_l2_and_psnr_are_those_of_scikit_image(before: Unit, after: Unit) -> None:
    squared_error: Callable[..., float] = skimage.metrics.mean_squared_error
    signal_to_noise: Callable[..., float] = skimage.metrics.peak_signal_noise_ratio
    wide = exact(before), exact(after)
    assert l2(before, after) == pytest.approx(squared_error(*wide), rel=1e-6)
    assert l2(_unit(before), _unit(after)) == pytest.approx(squared_error(*wide), rel=1e-12)
    assert psnr(before, after) == pytest.approx(signal_to_noise(*wide, data_range=1.0), abs=1e-6)


def test_masked_errors_are_those_of_the_pixels_within() -> None:
    before, after = cat_and_noise
    where = rectangle(3, 170, 60, 451)
    difference = exact(before[where]) - exact(after[where])
    assert l1(before, after, where) == pytest.approx(np.abs(difference).mean(), rel=1e-7)
    assert l2(before, after, where) == pytest.approx((difference**2).mean(), rel=1e-6)
    assert psnr(before, after, where) == pytest.approx(-10 * math.log10((difference**2).mean()), abs=1e-6)


def test_millions_of_pixels_are_summed_without_loss() -> None:
    """A float32 sum would stop growing, or be off in its fifth digit."""
    before, after = np.zeros((4000, 4000), dtype=np.float32), np.full((4000, 4000), 0.1, dtype=np.float32)
    everywhere = np.ones((4000, 4000), dtype=np.bool_)
    tenth = float(np.float32(0.1))
    for where in (None, everywhere):
        assert l1(before, after, where) == pytest.approx(tenth, rel=1e-12)
        assert l2(before, after, where) == pytest.approx(tenth**2, rel=1e-12)


def test_pixel_errors_by_hand() -> None:
    before = _unit([[[0.0, 0.5, 1.0], [0.2, 0.2, 0.2]]])
    after = _unit([[[0.5, 0.5, 0.0], [0.2, 0.3, 0.0]]])
    assert l1(before, after) == pytest.approx((0.5 + 0 + 1 + 0 + 0.1 + 0.2) / 6)
    assert l2(before, after) == pytest.approx((0.25 + 0 + 1 + 0 + 0.01 + 0.04) / 6)
    right = np.array([[False, True]])
    assert l1(before, after, right) == pytest.approx(0.1)
    assert l2(before, after, right) == pytest.approx(0.05 / 3)
    assert psnr(before, after, right) == pytest.approx(10 * math.log10(60))


def test_psnr_ends_at_100() -> None:
    black = np.zeros((3, 3, 3))
    assert psnr(_unit(black), _unit(black)) == 100
    assert psnr(_unit(black), _unit(black + 1e-7)) == 100
    assert psnr(_unit(black), _unit(black + 1e-4)) == pytest.approx(80)
    assert psnr(_unit(black), _unit(black + 1)) == 0


def reference_correlation(before: Iterable[Unit], after: Iterable[Unit]) -> float:
    """The mean correlation of histograms by NumPy, channel by channel."""
    pairs = list(zip(before, after, strict=True))
    histograms = [[np.histogram(channel, bins=32, range=(0, 1))[0] for channel in pair] for pair in pairs]
    return float(np.mean([np.corrcoef(first, second)[0, 1] for first, second in histograms]))


@every_pair
def test_histogram_correlation_is_that_of_numpy(before: Unit, after: Unit) -> None:
    expected = reference_correlation(np.moveaxis(before, 2, 0), np.moveaxis(after, 2, 0))
    assert histogram_correlation(before, after) == pytest.approx(expected, abs=1e-12)


def test_masked_histogram_correlation_counts_the_pixels_within() -> None:
    before, after = cat_and_noise
    where = rectangle(0, 170, 60, 300)
    expected = reference_correlation(before[where].T, after[where].T)
    assert histogram_correlation(before, after, where) == pytest.approx(expected, abs=1e-12)


def test_histogram_correlation_by_hand() -> None:
    """Counts 4, 0, …, 0 and 2, 0, …, 0, 2: (32 * 8 - 16) / sqrt((32 * 16 - 16)(32 * 8 - 16))."""
    before, after = _unit([[0.0, 0.01, 0.02, 0.03]]), _unit([[0.0, 0.01, 0.99, 1.0]])
    assert histogram_correlation(before, after) == pytest.approx(240 / math.sqrt(496 * 240))


def test_histogram_correlation_of_two_flat_images_is_a_number() -> None:
    gray, also_gray, white = (_unit(np.full((5, 5, 3), level)) for level in (0.5, 0.51, 1.0))
    assert histogram_correlation(gray, also_gray) == 1
    assert histogram_correlation(gray, white) == pytest.approx(-1 / 31)


def test_histogram_correlation_of_an_even_histogram_is_a_number() -> None:
    ramp = _unit(np.arange(32)[None] / 32)
    assert histogram_correlation(ramp, _unit(ramp[:, ::-1])) == 1
    assert histogram_correlation(ramp, _unit(np.zeros((1, 32)))) == 0


def reference_edges(image: Unit) -> NDArray[np.float64]:
    brightness = exact(image) @ [0.299, 0.587, 0.114]
    across, down = (scipy.ndimage.prewitt(brightness, axis, mode="reflect") / 3 for axis in (1, 0))
    return np.asarray(np.hypot(across, down))


def reference_edge_similarity(before: Unit, after: Unit) -> NDArray[np.float64]:
    """Xue et al. 2014, equation 4, with SciPy's filter."""
    x, y = reference_edges(before), reference_edges(after)
    constant = 170 / 255**2
    return np.asarray((2 * x * y + constant) / (x**2 + y**2 + constant))


@every_pair
def test_edge_distance_is_the_published_formula(before: Unit, after: Unit) -> None:
    expected = 1 - reference_edge_similarity(before, after).mean()
    assert edge_distance(before, after) == pytest.approx(expected, abs=1e-12)


def test_masked_edge_distance_is_the_mean_within_the_mask() -> None:
    where = rectangle(0, 170, 60, 451)
    expected = 1 - reference_edge_similarity(*cat_and_noise)[where].mean()
    assert edge_distance(*cat_and_noise, where) == pytest.approx(expected, abs=1e-12)


def test_edge_distance_by_hand() -> None:
    """A step of 1 between two columns has gradient 1 on both, against 0: (1 - 0)^2 / (1 + c)."""
    flat, step = np.zeros((6, 10, 3)), np.zeros((6, 10, 3))
    step[:, 7:] = 1
    assert edge_distance(_unit(flat), _unit(step)) == pytest.approx(0.2 / (1 + 170 / 255**2))
    assert edge_distance(_unit(flat), _unit(1 - flat)) == 0


def _unit(values: Any) -> Unit:
    """Any numbers as an image in double precision, which metrics take as well."""
    image: NDArray[Any] = np.asarray(values, dtype=np.float64)
    return image
