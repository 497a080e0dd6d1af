"""Of several outcomes the one is chosen that a score prefers; what has no score is never chosen."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from editgauge.core.errors import BadInput, UnknownName
from editgauge.core.images import read_image, write_png
from editgauge.core.run import Run
from editgauge.core.types import Edit
from editgauge.engine.best_of import best
from editgauge.methods.outcomes import find_outcomes


@pytest.fixture
def scored(tmp_path: Path, make_run: Callable[..., Run]) -> Run:
    """Two methods, the second with an edit that has no score."""
    raise NotImplementedError
