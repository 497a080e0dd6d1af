"""CLIP score with a small joint embedder, and advice when weights are missing."""

from __future__ import annotations

import pytest

from editgauge import metrics
from editgauge.errors import EditGaugeError
from tests.metrics.pairs import TinyClip, lacks, photograph

IMAGES = [photograph("cat")[:64, :64], photograph("coffee")[:64, :64]]


def test_texts_and_images_are_paired(tiny_clip: TinyClip) -> None:
    value = metrics.clip_score(IMAGES[0], "a cat")
    assert isinstance(value, float)
    assert metrics.clip_score(IMAGES, "a cat")[0] == pytest.approx(value)
    assert metrics.clip_score(IMAGES, ["a cat", "coffee"]).shape == (2,)
    assert metrics.clip_score(IMAGES[0], ["a cat", "coffee"]).shape == (2,)
    with pytest.raises(ValueError, match="cannot be paired"):
        metrics.clip_score(IMAGES, ["one", "two", "three"])


@lacks("clip-b16")
def test_missing_weights_say_how_to_get_them() -> None:
    with pytest.raises(EditGaugeError, match="editgauge models pull clip-b16"):
        metrics.clip_score(IMAGES[0], "a cat")
