"""Folders, modules and class names stay findable. Exceptions are listed here, and the lists only shrink."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path, PurePosixPath

from editgauge.metrics import BUILT_IN as METRICS
from tests.source_trees import nodes_of, sources, tree_of

MOST_MODULES = 14
REGISTERED = r"editgauge\.([\w.]+):\w+"
"""How a registry names what a module defines."""
CROWDED = {"core": 17, "instructions": 15, "models/lite": 16}
"""Folders with more modules than `MOST_MODULES` beside `__init__.py`, and how many: these numbers only fall."""
SHORT_FILE = 60


def test_a_folder_is_seen_at_a_glance() -> None:
    """A listing of a folder is read at once; what has grown beyond that is divided."""
    modules = Counter(str(PurePosixPath(file).parent) for file in sources() if not file.endswith("__init__.py"))
    crowded = {folder: count for folder, count in modules.items() if count > CROWDED.get(folder, MOST_MODULES)}
    assert crowded == {}


def test_a_short_module_has_more_than_one_importer() -> None:
    """Otherwise it belongs into that one; an extension's own file, which a registry names, may be short."""
    short = {
        file.removesuffix(".py")
        for file, source in sources().items()
        if len(source.splitlines()) < SHORT_FILE and not file.endswith("__init__.py")
    }
    verbs = {"build", "data"}
    importers = _importers()
    single = {file for file in short - verbs if len(importers.get(file, ())) == 1}
    assert single == set()


def _importers() -> dict[str, set[str]]:
    """The files that import each module, without `.py`; one that a registry names by its path has the world as well."""
    importers: dict[str, set[str]] = defaultdict(set)
    for file, source in sources().items():
        for node in nodes_of(source):
            if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("editgauge"):
                for path in (node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)):
                    importers[path.removeprefix("editgauge.").replace(".", "/")].add(file)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    importers[alias.name.removeprefix("editgauge.").replace(".", "/")].add(file)
            elif isinstance(node, ast.Constant) and (named := re.fullmatch(REGISTERED, str(node.value))):
                importers[named[1].replace(".", "/")] |= {file, "a registry"}
    return importers


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


CATCH_ALL = frozenset({"asked", "found", "given", "told"})
"""Names of variables that say how a value was got instead of what it is."""
STILL_CATCH_ALL = 14


def test_variables_are_named_for_what_they_hold() -> None:
    """How many variables and arguments still have a catch-all name: this number only falls."""
    count = sum(
        (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in CATCH_ALL)
        or (isinstance(node, ast.arg) and node.arg in CATCH_ALL)
        for source in sources().values()
        for node in nodes_of(source)
    )
    assert count <= STILL_CATCH_ALL, "name a new variable for what it holds, such as `detections`, `message`, `queries`"
