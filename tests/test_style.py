"""Rules of style that ruff does not check: names, documentation, and imports without cycles."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from editgauge import metrics
from tests.source_trees import nodes_of, sources, tree_of

BANNED_IDENTIFIERS = {
    *("each", "place", "places", "known", "wanted", "said", "thing", "things", "kept", "seen", "there", "here"),
    *("asked", "given", "told", "found", "chosen", "shown", "whole", "rest", "own", "lonely", "strangers", "doubtful"),
    *("others", "spot", "beyond", "besides", "apart", "alike"),
}
"""Words that are no nouns of the field; a variable names what it holds."""
SCORE_NAMES = {"audits/_fitting.py": {"kept"}, "protocols/verdict.py": {"kept"}}
"""Fields that carry the name of a score of the protocol `editgauge`."""
METRIC_HELPERS = {"__init__", "base", "embeddings", "_inputs", "_networks"}


def test_variables_and_arguments_are_nouns_of_the_field() -> None:
    uses = [
        f"{file}:{node.lineno}: {name}"
        for file, source in sources().items()
        for node in nodes_of(source)
        if isinstance(node, ast.Name | ast.arg)
        and (name := _bound_name(node)) in BANNED_IDENTIFIERS - SCORE_NAMES.get(file, set())
    ]
    assert uses == []


def _bound_name(node: ast.Name | ast.arg) -> str | None:
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node.ctx, ast.Store) else None


def test_public_modules_classes_and_functions_have_docstrings() -> None:
    undocumented = [
        f"{file}: {name}"
        for file, source in sources().items()
        if not any(part.startswith("_") for part in file.removesuffix("__init__.py").split("/"))
        for name in _undocumented(tree_of(source))
    ]
    assert undocumented == []


def _undocumented(tree: ast.Module) -> Iterator[str]:
    if not ast.get_docstring(tree):
        yield "module"
    for node in _public_definitions(tree.body):
        if not ast.get_docstring(node):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (
                f"{node.name}.{member.name}"
                for member in _public_definitions(node.body)
                if not ast.get_docstring(member)
            )


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _public_definitions(body: list[ast.stmt]) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_") and not _is_overload(node):
            yield node


def _is_overload(node: Definition) -> bool:
    return any(isinstance(decorator, ast.Name) and decorator.id == "overload" for decorator in node.decorator_list)


def test_modules_do_not_import_each_other_in_a_cycle() -> None:
    """Imports inside functions and for the type checker do not count: they run after all modules are loaded."""
    modules = {_module_name(file): source for file, source in sources().items()}
    imports = {name: {target for target in _imported(name, modules) if target != name} for name in modules}
    assert _find_cycle(imports) == []


def _module_name(file: str) -> str:
    return ".".join(["editgauge", *file.removesuffix(".py").split("/")]).removesuffix(".__init__")


def _imported(name: str, modules: dict[str, str]) -> Iterator[str]:
    for node in tree_of(modules[name]).body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module in modules:
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in modules else node.module


def _find_cycle(imports: dict[str, set[str]]) -> list[str]:
    finished: set[str] = set()
    for start in (name for name in imports if name not in finished):
        path = [start]
        stack = [iter(sorted(imports[start]))]
        while stack:
            targets = stack[-1]
            target = next((target for target in targets if target not in finished), None)
            if target is None:
                stack.pop()
                finished.add(path.pop())
            elif target in path:
                return [*path[path.index(target) :], target]
            else:
                path.append(target)
                stack.append(iter(sorted(imports[target])))
    return []


def test_a_cycle_is_found() -> None:
    assert _find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()}) == ["b", "c", "b"]
    assert _find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_names_of_public_classes_are_unique() -> None:
    files: dict[str, list[str]] = defaultdict(list)
    for file, source in sources().items():
        for node in tree_of(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(file)
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}


def test_a_metric_its_file_and_its_test_have_one_name() -> None:
    modules = {file.removeprefix("metrics/").removesuffix(".py") for file in sources() if file.startswith("metrics/")}
    functions = modules - METRIC_HELPERS
    assert {name for name in functions if not callable(getattr(metrics, name))} == set()
    assert functions <= set(metrics.__all__)
    assert {name: f"editgauge.metrics.{name}:{name}" for name in metrics.BUILT_IN} == metrics.BUILT_IN
    tests = Path(__file__).parent / "metrics"
    assert {name for name in functions if not (tests / f"test_{name}.py").exists()} == set()
