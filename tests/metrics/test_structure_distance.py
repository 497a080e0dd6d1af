"""Structure distance: laws of the formula, and the number of the protocol."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from editgauge import metrics
from editgauge.metrics.structure_distance import self_similarity_distance
from tests.metrics.pairs import damaged, needs, photograph, scored

SOURCE, EDITED = photograph("cat")[:160, :200], damaged("cat", "noise")[:160, :200]


@given(st.integers(1, 20), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_laws(count: int, length: int, seed: int) -> None:
    first, second = np.random.default_rng(seed).normal(size=(2, count, length))
    distance = self_similarity_distance(first, second)
    assert 0 <= distance <= 4
    assert distance == pytest.approx(self_similarity_distance(second, first))
    assert self_similarity_distance(first, -first) == pytest.approx(0, abs=1e-12)  # only relations count


@needs("dinov2-s14")
def test_structure_distance_is_the_number_of_the_protocol() -> None:
    scores = scored("structure", SOURCE, EDITED, image_embedder="dinov2-s14")
    assert metrics.structure_distance(SOURCE, EDITED) == pytest.approx(
        scores["structure_distance[dinov2-s14]"], rel=1e-9
    )
