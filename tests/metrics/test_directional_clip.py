"""Directional CLIP with a small joint embedder."""

from __future__ import annotations

import numpy as np
import pytest

from editgauge import metrics
from editgauge.errors import UnscorableError
from editgauge.metrics.embeddings import directional_similarity
from tests.metrics.pairs import TinyClip, photograph

IMAGES = [photograph("cat")[:64, :64], photograph("coffee")[:64, :64]]


def test_it_is_the_cosine_of_the_two_changes(tiny_clip: TinyClip) -> None:
    images, texts = tiny_clip.embed_images(IMAGES), tiny_clip.embed_texts(["a cat", "a coffee"])
    expected = directional_similarity(*images, *texts)
    assert metrics.directional_clip(IMAGES[0], IMAGES[1], "a cat", "a coffee") == pytest.approx(expected)
    assert metrics.directional_clip(IMAGES[:1], IMAGES[1:], "a cat", "a coffee").tolist() == pytest.approx([expected])


def test_an_unchanged_image_has_no_direction(tiny_clip: TinyClip) -> None:
    with pytest.raises(UnscorableError, match="no direction"):
        metrics.directional_clip(IMAGES[0], IMAGES[0].copy(), "a cat", "a dog")
    with pytest.raises(UnscorableError, match="no direction"):
        metrics.directional_clip(IMAGES[0], IMAGES[1], "a cat", "a cat")


def test_opposite_changes_have_similarity_minus_one() -> None:
    x, y, _ = np.eye(3)
    assert directional_similarity(x, y, y, x) == pytest.approx(-1)
