"""Check that everything the Python reference documents exists."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path

import pytest

import editgauge

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
NAMES = re.findall(r"^## `editgauge\.([\w.]+)`$", PAGE.read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_documented_name_exists(name: str) -> None:
    assert reduce(getattr, name.split("."), editgauge) is not None
