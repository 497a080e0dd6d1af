"""FID and KID of a set come with an interval over its source images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from editgauge._stats.resampling import half_sample_interval
from editgauge.metrics.kid import kernel_distance
from editgauge.protocols import SetPart
from editgauge.protocols._comparison import score_set_distances
from editgauge.types import Score


def parts(sources: int, edits: int = 2, shift: float = 0.5, seed: int = 0) -> list[SetPart]:
    random = np.random.default_rng(seed)
    before = random.normal(size=(sources, 6))
    return [(row, row + shift + random.normal(0, 0.3, size=6)) for row in before for _ in range(edits)]


def test_both_distances_have_an_interval_over_source_images() -> None:
    scores = score_set_distances(parts(30))
    for name in ("fid", "kid"):
        score = scores[name]
        assert isinstance(score, Score)
        assert score.interval is not None
        assert score.interval[0] < score.value < score.interval[1]


def test_more_source_images_make_it_narrower_more_edits_of_each_hardly() -> None:
    def width(some: list[SetPart]) -> float:
        score = score_set_distances(some)["kid"]
        assert isinstance(score, Score)
        assert score.interval is not None
        return score.interval[1] - score.interval[0]

    assert width(parts(200, 1)) < 0.6 * width(parts(30, 1))
    assert width(parts(30, 6)) > 0.6 * width(parts(30, 1))


def test_few_source_images_have_no_interval() -> None:
    score = score_set_distances(parts(9))["kid"]
    assert isinstance(score, Score)
    assert score.interval is None


@dataclass(frozen=True)
class _Kid:
    before: NDArray[np.float64]
    after: NDArray[np.float64]

    def __call__(self, rows: NDArray[np.int64]) -> float:
        return kernel_distance(self.before[rows], self.after[rows])


@pytest.mark.slow
def test_the_interval_holds_the_distance_of_the_populations() -> None:
    random = np.random.default_rng(1)
    many = random.normal(size=(3000, 4))
    truth, held, worlds = kernel_distance(many, random.normal(0.4, 1, size=(3000, 4))), 0, 60
    for _ in range(worlds):
        before, after = random.normal(size=(40, 4)), random.normal(0.4, 1, size=(40, 4))
        interval = half_sample_interval(_Kid(before, after), kernel_distance(before, after), np.arange(40))
        assert interval is not None
        held += interval[0] <= truth <= interval[1]
    assert held / worlds > 0.87
