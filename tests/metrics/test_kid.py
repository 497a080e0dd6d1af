"""KID: unbiased, and equal to torchmetrics when all images are one subset."""

from __future__ import annotations

import numpy as np
import pytest

from editgauge import metrics
from editgauge.metrics.kid import kernel_distance
from tests.metrics.pairs import blurred, needs, photograph


def test_kid_of_the_same_distribution_is_zero_on_average_and_grows_with_a_shift() -> None:
    random = np.random.default_rng(3)
    same = [kernel_distance(random.normal(0, 1, (20, 8)), random.normal(0, 1, (20, 8))) for _ in range(300)]
    shifted = [kernel_distance(random.normal(0, 1, (20, 8)), random.normal(0.5, 1, (20, 8))) for _ in range(100)]

    assert abs(np.mean(same)) < 4 * np.std(same) / np.sqrt(len(same))
    assert np.mean(shifted) > 10 * abs(np.mean(same))


def test_kernel_distance_is_that_of_torchmetrics() -> None:
    torch = pytest.importorskip("torch")
    reference = pytest.importorskip("torchmetrics.image.kid")
    random = np.random.default_rng(2)
    one, other = random.normal(0, 1, (30, 6)), random.normal(0.5, 1.5, (30, 6))
    expected = float(reference.poly_mmd(torch.from_numpy(one), torch.from_numpy(other)))
    assert kernel_distance(one, other) == pytest.approx(expected, rel=1e-9)


@needs("inception-fid-64")
def test_blurred_images_are_farther_than_the_images_themselves() -> None:
    sources = [photograph(name)[:96, :96] for name in ("cat", "coffee", "rocket")]
    outcomes = [blurred(image) for image in sources]
    model = "inception-fid-64"
    assert metrics.kid(sources, outcomes, model=model) > metrics.kid(sources, sources, model=model)
