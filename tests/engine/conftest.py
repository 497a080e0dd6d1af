"""Runs of these tests remember no answers of models, unless a test gives them a place of its own."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITGAUGE_CACHE_BYTES", "0")


@pytest.fixture(autouse=True)
def _ctrl_c_reaches_what_a_test_starts() -> Iterator[None]:
    """A shell starts what runs in the background with Ctrl-C ignored, and every process below it inherits that."""
    before = signal.getsignal(signal.SIGINT)
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if before == signal.SIG_IGN:
        signal.signal(signal.SIGINT, before)
