"""Outcomes in which next to nothing happened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from editgauge._util.images import ImageFile, Pixels, as_unit
from editgauge.methods.reference.editors import negligible
from editgauge.metrics import metrics
from editgauge.types import Edit


def edit(name: str) -> Edit:
    source = ImageFile("cat.png", Path("cat.png"))
    return Edit(id=name, source=source, type="color", instruction="Make the cat black.")


@pytest.mark.parametrize("seed", range(6))
def test_it_is_nearly_the_source_and_never_quite(photo: Pixels, seed: int) -> None:
    made = negligible.edit(edit("cat-black"), photo, seed)
    assert made.shape == photo.shape
    assert made.dtype == np.uint8
    assert 0 < np.abs(made.astype(int) - photo).mean() < 15
    assert metrics.get("ssim")(as_unit(photo), as_unit(made)) > 0.7


def test_it_is_the_same_for_the_same_seed_and_another_for_another_edit(photo: Pixels) -> None:
    first = negligible.edit(edit("a"), photo, 0)
    assert np.array_equal(first, negligible.edit(edit("a"), photo, 0))
    assert not np.array_equal(first, negligible.edit(edit("a"), photo, 1))
    assert not np.array_equal(first, negligible.edit(edit("b"), photo, 0))


def test_a_picture_of_one_pixel_stays_one() -> None:
    made = negligible.edit(edit("a"), np.full((1, 1, 3), 90, np.uint8), 0)
    assert made.shape == (1, 1, 3)
