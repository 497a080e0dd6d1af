"""LPIPS as a function: the number of the protocols, for every kind of input."""

from __future__ import annotations

import numpy as np
import pytest

from editgauge import metrics
from tests.metrics.pairs import damaged, needs, photograph, scored

SOURCE, EDITED = photograph("cat")[:160, :200], damaged("cat", "blur")[:160, :200]


@needs("lpips-alex")
def test_lpips_is_the_number_that_protocols_report() -> None:
    scores = scored("preservation", SOURCE, EDITED, perceptual_distance="lpips-alex")
    assert metrics.lpips(SOURCE, EDITED) == pytest.approx(scores["lpips-alex"], rel=1e-6)


@needs("lpips-alex")
def test_lpips_is_that_of_torchmetrics() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchvision")
    functional = pytest.importorskip("torchmetrics.functional.image.lpips")
    pairs = [torch.from_numpy(image.transpose(2, 0, 1)[None] / np.float32(255)) for image in (SOURCE, EDITED)]
    try:
        expected = functional.learned_perceptual_image_patch_similarity(*pairs, net_type="alex", normalize=True)
    except (OSError, RuntimeError) as error:  # it downloads AlexNet
        pytest.skip(f"NOT TESTED: torchmetrics cannot load its network: {error}")
    assert metrics.lpips(SOURCE, EDITED) == pytest.approx(float(expected), abs=1e-4)


@needs("lpips-alex")
def test_a_batch_gives_one_number_per_pair() -> None:
    values = metrics.lpips([SOURCE, SOURCE], [SOURCE, EDITED])
    assert values.tolist() == [0.0, metrics.lpips(SOURCE, EDITED)]


@needs("lpips-alex")
def test_only_pixels_inside_the_mask_count() -> None:
    mask = np.zeros(SOURCE.shape[:2], np.bool_)
    assert metrics.lpips(SOURCE, EDITED, mask) == 0
    mask[:80] = True
    assert 0 < metrics.lpips(SOURCE, EDITED, mask) < metrics.lpips(SOURCE, EDITED)


@needs("lpips-alex")
def test_images_of_different_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="differ in size"):
        metrics.lpips(SOURCE, EDITED[1:])
