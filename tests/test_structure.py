"""Public class names are unique, and a metric, its file and its test share one name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

from editgauge.metrics import BUILT_IN as METRICS
from tests.source_trees import sources, tree_of


def test_a_class_name_stands_for_one_thing() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file, source in sources().items():
        for node in tree_of(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_a_metric_its_file_and_its_test_have_one_name() -> None:
    """As CONTRIBUTING.md asks for; `base.py` holds what they share."""
    modules = {file.removeprefix("metrics/").removesuffix(".py") for file in sources() if file.startswith("metrics/")}
    assert modules - {"__init__", "base"} == set(METRICS)
    assert {name: f"editgauge.metrics.{name}:{name}" for name in METRICS} == METRICS
    tests = Path(__file__).parent / "metrics"
    assert {name for name in METRICS if not (tests / f"test_{name}.py").exists()} == set()
