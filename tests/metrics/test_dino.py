"""DINO similarity as a function."""

from __future__ import annotations

import pytest

from editgauge import metrics
from tests.metrics.pairs import damaged, needs, photograph, scored

SOURCE, EDITED = photograph("cat")[:160, :200], damaged("cat", "noise")[:160, :200]


@needs("dinov2-s14")
def test_dino_is_the_number_that_protocols_report() -> None:
    scores = scored("preservation", SOURCE, EDITED, image_embedder="dinov2-s14")
    assert metrics.dino(SOURCE, EDITED) == pytest.approx(scores["dinov2-s14"], abs=1e-6)


@needs("dinov2-s14")
def test_the_same_image_has_similarity_one_and_another_has_less() -> None:
    same, other = metrics.dino([SOURCE, SOURCE], [SOURCE, photograph("coffee")[:160, :200]])
    assert same == pytest.approx(1)
    assert other < 0.5
