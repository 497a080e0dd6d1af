"""Check that everything the Python reference documents exists."""

from __future__ import annotations

import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import editgauge

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"
NAMES = re.findall(r"^::: ([\w.]+)$", PAGE.read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_documented_name_exists(name: str) -> None:
    assert pkgutil.resolve_name(name) is not None


def test_the_reference_covers_all_public_names() -> None:
    documented = {name.rpartition(".")[2] for name in NAMES}
    assert {name for name in editgauge.__all__ if not inspect.ismodule(getattr(editgauge, name))} <= documented
