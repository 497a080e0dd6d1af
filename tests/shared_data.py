"""Public files that this repository does not contain: `EDITGAUGE_SHARED_DATA` names their folder.

Without it their tests are skipped, loudly; where `CI` is true such a skip fails (`conftest.py`).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

FOLDER = os.environ.get("EDITGAUGE_SHARED_DATA") or None
MISSING = "NOT TESTED: EDITGAUGE_SHARED_DATA does not name the folder with the public files"
needs_shared_data = pytest.mark.skipif(FOLDER is None, reason=MISSING)


def shared_data(*parts: str) -> Path:
    """Return a path of the shared data; skip the test without it."""
    if FOLDER is None:
        pytest.skip(MISSING)
    return Path(FOLDER, *parts)
