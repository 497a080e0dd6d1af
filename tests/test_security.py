"""Every promise of SECURITY.md names tests, and they exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| (?P<promise>[^|]+) \| (?P<tests>[^|]+) \|$", re.MULTILINE)
NAME = re.compile(r"`(tests/[^`]+)`")


def promises() -> list[tuple[str, str]]:
    table = (ROOT / "SECURITY.md").read_text("utf-8").partition("## Promises")[2].partition("\n## ")[0]
    return [(row["promise"], row["tests"]) for row in ROW.finditer(table) if row["promise"] not in {"promise", "---"}]


def test_there_are_promises() -> None:
    assert len(promises()) > 20


@pytest.mark.parametrize(("promise", "tests"), promises())
def test_every_promise_names_tests_that_exist(promise: str, tests: str) -> None:
    names = NAME.findall(tests)
    assert names, promise
    for name in names:
        path, _, function = name.partition("::")
        assert (ROOT / path).exists(), name
        if function:
            tree = ast.parse((ROOT / path).read_text("utf-8"))
            assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
