"""Examples in docstrings are true. Collected here, so that only one process of several imports all those modules."""

from __future__ import annotations

import doctest
import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from editgauge import _public

SOURCES = Path(__file__).parents[1] / "src"
MODULES = [
    ".".join(file.relative_to(SOURCES).with_suffix("").parts).removesuffix(".__init__")
    for file in sorted(SOURCES.rglob("*.py"))
    if ">>>" in file.read_text("utf-8")
]
VERBS = {
    place.replace(":", ".") for table in (*_public.VERBS.values(), *_public.GROUPS.values()) for place in table.values()
}
"""Their examples speak of a user's own files; `tests/docs` runs the commands instead."""


class Finder(doctest.DocTestFinder):
    """Also collects the examples of decorated functions."""

    def _from_module(self, module: Any, object: Any) -> bool:  # noqa: A002
        return super()._from_module(module, inspect.unwrap(object))  # type: ignore[misc,no-any-return]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    examples = [example for example in Finder().find(import_module(name)) if example.name not in VERBS]
    runner = doctest.DocTestRunner()
    for example in examples:
        runner.run(example)
    assert runner.failures == 0, "the examples that failed are printed above"


def test_examples_are_found() -> None:
    assert len(MODULES) > 100
