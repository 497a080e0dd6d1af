"""Runs of these tests remember no answers of models, unless a test gives them a place of its own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE_BYTES", "0")
