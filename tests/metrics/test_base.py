"""Base of the pixel metrics: images are processed in strips, whose length makes no difference."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from editgauge.metrics import edge_distance, histogram_correlation, l1, l2, ssim


@pytest.mark.parametrize("rows", [1, 7, 10_000])
@pytest.mark.parametrize("masked", [False, True])
def test_the_length_of_a_strip_changes_nothing(rows: int, masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(rows)
    before = chance.random((65, 40, 3), np.float32)
    after = np.clip(before + chance.normal(0, 0.1, before.shape), 0, 1).astype(np.float32)
    where = chance.random((65, 40)) < 0.4 if masked else None
    compared = (edge_distance, histogram_correlation, l1, l2, ssim)
    usual = [compare(before, after, where) for compare in compared]
    for name in ("base", "edge_distance", "ssim"):
        monkeypatch.setattr(sys.modules[f"editgauge.metrics.{name}"], "STRIP_ROWS", rows)
    histograms = sys.modules["editgauge.metrics.histogram_correlation"]
    monkeypatch.setattr(histograms, "MAX_EXACT_COUNT", rows * before.shape[1])
    assert [compare(before, after, where) for compare in compared] == pytest.approx(usual, rel=1e-12)


def test_masked_differences_are_those_of_the_pixels_that_count() -> None:
    chance = np.random.default_rng(0)
    before, after = (chance.random((130, 33, 3), np.float32) for _ in range(2))
    where = chance.random((130, 33)) < 0.3
    difference = before[where].astype(np.float64) - after[where]
    assert l1(before, after, where) == pytest.approx(np.abs(difference).mean(), rel=1e-6)
    assert l2(before, after, where) == pytest.approx((difference**2).mean(), rel=1e-6)
