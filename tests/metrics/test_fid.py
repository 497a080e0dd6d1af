"""FID against its definition, torchmetrics and the protocol that reports it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import sqrtm

from editgauge import metrics
from editgauge._util.images import Pixels, write_png
from editgauge.errors import BadInputError
from editgauge.metrics.fid import frechet_distance
from editgauge.metrics.kid import kernel_distance
from tests.metrics.pairs import blurred, needs, photograph


@given(st.integers(0, 2**32 - 1), st.integers(8, 40), st.integers(8, 40))
def test_fid_equals_its_definition_with_a_matrix_root(seed: int, first: int, second: int) -> None:
    random = np.random.default_rng(seed)
    one, other = random.normal(0, 1, (first, 5)), random.normal(0.3, 2, (second, 5))
    covariances = [np.cov(features, rowvar=False) for features in (one, other)]
    root = np.trace(np.real(sqrtm(covariances[0] @ covariances[1])))
    expected = ((one.mean(0) - other.mean(0)) ** 2).sum() + sum(map(np.trace, covariances)) - 2 * root

    assert frechet_distance(one, other) == pytest.approx(expected, rel=1e-5, abs=1e-4)
    assert frechet_distance(one, one) == pytest.approx(0, abs=1e-9)
    assert frechet_distance(one, other) == pytest.approx(frechet_distance(other, one))


def test_frechet_distance_is_that_of_torchmetrics() -> None:
    torch = pytest.importorskip("torch")
    reference = pytest.importorskip("torchmetrics.image.fid")
    random = np.random.default_rng(1)
    one, other = random.normal(0, 1, (60, 6)), random.normal(0.5, 1.5, (50, 6))
    statistics = [
        torch.from_numpy(values)
        for features in (one, other)
        for values in (features.mean(axis=0), np.cov(features, rowvar=False))
    ]
    assert frechet_distance(one, other) == pytest.approx(float(reference._compute_fid(*statistics)), rel=1e-6)


@pytest.mark.parametrize("distance", [frechet_distance, kernel_distance])
def test_a_single_image_is_no_set(distance: object) -> None:
    with pytest.raises(ValueError, match="two images at least"):
        distance(np.zeros((1, 4)), np.zeros((5, 4)))  # type: ignore[operator]


@pytest.mark.parametrize("images", [[], ["one.png"], "no/such/folder"])
@needs("inception-fid")
def test_a_set_must_hold_two_images(images: object) -> None:
    with pytest.raises(BadInputError, match="`sources`"):
        metrics.fid(images, images)  # type: ignore[arg-type]


@needs("inception-fid-64")
def test_folders_lists_and_arrays_give_the_same_distance(tmp_path: Path) -> None:
    sources: list[Pixels] = [photograph(name)[:96, :96] for name in ("cat", "coffee", "rocket")]
    outcomes = [blurred(image) for image in sources]
    folders = []
    for folder, images in (("sources", sources), ("outcomes", outcomes)):
        for index, image in enumerate(images):
            write_png(image, tmp_path / folder / f"{index}.png")
        folders.append(tmp_path / folder)
    by_list = metrics.fid(sources, outcomes, model="inception-fid-64")
    assert by_list > 0
    assert metrics.fid(*folders, model="inception-fid-64") == by_list
    assert metrics.fid(np.stack(sources), np.stack(outcomes), model="inception-fid-64") == by_list
