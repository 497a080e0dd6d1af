"""The features of BRISQUE: near the bell curve for photographs, bent by damage."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import skimage.data

from editgauge._util.images import as_unit
from editgauge._vision.natural_statistics import FEATURE_COUNT, natural_statistics

photographs: Any = skimage.data


def test_there_are_36_finite_features_of_any_picture() -> None:
    random = np.random.default_rng(0)
    for image in (np.zeros((16, 16, 3)), np.ones((40, 17)), random.random((33, 64, 3))):
        features = natural_statistics(image.astype(np.float32))
        assert features.shape == (FEATURE_COUNT,)
        assert np.isfinite(features).all()


def test_noise_is_a_bell_curve_and_blur_bends_it() -> None:
    noise = 0.5 + 0.1 * np.random.default_rng(0).standard_normal((256, 256))
    assert natural_statistics(noise.astype(np.float32))[0] > 2
    cat = as_unit(photographs.chelsea())
    blurred = [np.asarray(cv2.GaussianBlur(cat, (0, 0), sigma), np.float32) for sigma in (1, 2, 4)]
    variances = [natural_statistics(image)[1] for image in (cat, *blurred)]
    assert variances == sorted(variances, reverse=True)  # less contrast between neighbors at every step


def test_products_of_neighbors_lean_to_the_side_they_agree_on() -> None:
    stripes = np.tile(np.repeat([0.2, 0.8], 2), (64, 16))
    noise = 0.01 * np.random.default_rng(0).standard_normal((64, 64))
    leans = natural_statistics((stripes + noise).astype(np.float32))
    across, down = leans[3], leans[7]
    assert down > across  # along a stripe neighbors agree


@pytest.mark.parametrize(
    ("image", "error"), [(np.zeros((8, 30)), ValueError), (np.zeros((30, 30), np.uint8), TypeError)]
)
def test_what_would_give_a_wrong_number_is_refused(image: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        natural_statistics(image)
