"""News fragments of an undeclared kind would be left out of the changelog silently."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_fragment_is_of_a_declared_kind() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["towncrier"]
    declared = {kind["directory"] for kind in settings["type"]}
    fragments = [path for path in (ROOT / settings["directory"]).glob("*.md") if path.name != "README.md"]

    assert {path.name: path.suffixes[-2][1:] for path in fragments if path.suffixes[-2][1:] not in declared} == {}
