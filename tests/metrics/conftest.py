"""Fixtures for metrics that need a network."""

from __future__ import annotations

import sys

import pytest

from tests.metrics.pairs import TinyClip


@pytest.fixture
def tiny_clip(monkeypatch: pytest.MonkeyPatch) -> TinyClip:
    """Replace the joint embedder of the CLIP metrics."""
    network = TinyClip()
    for name in ("clip_score", "directional_clip"):
        monkeypatch.setattr(sys.modules[f"editgauge.metrics.{name}"], "load_model", lambda role, name: network)
    return network
