"""Shared by the tests of core: `tiny_disk`, a disk of 64 kilobytes that is soon full."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def tiny_disk(small_disk: Callable[[str], Path]) -> Path:
    return small_disk("64k")
