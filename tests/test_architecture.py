"""Imports point down, without cycles, and library code never prints.

Every import counts, wherever it stands: inside a function, relative, or for the type checker only.
"""

from __future__ import annotations

import ast

import pytest

from tests.source_trees import nodes_of, sources

LEVELS = (
    ("errors", "evidence", "edit_types", "options", "recipes", "types", "_util"),
    ("metrics", "_vision"),
    ("_stats",),
    ("_render", "results"),
    ("models", "judges"),
    ("instructions",),
    ("methods", "benchmarks"),
    ("protocols", "analysis"),
    ("engine", "reports", "studies"),
    ("audits", "builders", "disentanglement"),
    ("serving",),
    ("_cli",),
)
"""Packages from the bottom up. Packages of one level do not import each other, except at the bottom."""
LEVEL = {package: level for level, packages in enumerate(LEVELS) for package in packages}
PUBLIC_MODULES = {"_public", "build", "data"}
"""Modules beside the packages that re-export their public names."""


def find_violations(file: str, source: str) -> list[str]:
    """Return the forbidden imports of a file, given by its path inside the package."""
    return [
        f"{file} imports {package}" for package in sorted(_imported(file, source)) if not _is_allowed(file, package)
    ]


ALLOWED = {
    ("_cli/__init__.py", "_public"),
    ("_cli/_commands.py", "_public"),
    ("results/run.py", "analysis"),
    ("results/run.py", "protocols"),
}
"""Further imports, inside functions: `Run.summary` and `Run.outcomes` are shortcuts to packages above."""


def _is_allowed(file: str, package: str) -> bool:
    importer = file.split("/", maxsplit=1)[0].removesuffix(".py")
    if importer in {"__init__", *PUBLIC_MODULES}:
        return package in {*LEVEL, *PUBLIC_MODULES}
    if importer == "__main__":
        return package == "_cli"
    if (file, package) in ALLOWED:
        return True
    if LEVEL.get(importer) == 0 and LEVEL.get(package) == 0:
        return True
    return importer == package or LEVEL.get(package, len(LEVELS)) < LEVEL.get(importer, -1)


def _imported(file: str, source: str) -> set[str]:
    """Return the packages that a file imports from; `__version__` does not count."""
    location = ["editgauge", *file.split("/")[:-1]]
    paths: list[str] = []
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            paths += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = location[: len(location) - node.level + 1] if node.level else []
            module = [*above, *([node.module] if node.module else [])]
            paths += [".".join([*module, alias.name]) for alias in node.names]
    internal = [path.split(".")[1:] for path in paths if path.split(".")[0] == "editgauge"]
    return {_package(inside) for inside in internal if inside != ["__version__"]}


def _package(inside: list[str]) -> str:
    return inside[0] if len(inside) > 1 or set(inside) & {*LEVEL, *PUBLIC_MODULES} else "the public API"


def test_imports_point_down() -> None:
    violations = [message for file, source in sources().items() for message in find_violations(file, source)]
    assert not violations, "\n".join(violations)


def test_every_package_has_a_level() -> None:
    packages = {file.split("/")[0] for file in sources() if "/" in file}
    assert packages - set(LEVEL) == set()


@pytest.mark.parametrize(
    ("file", "source", "message"),
    [
        ("metrics/ssim.py", "import editgauge.models", "metrics/ssim.py imports models"),
        ("metrics/ssim.py", "from editgauge.models import models", "metrics/ssim.py imports models"),
        ("metrics/ssim.py", "from editgauge import models", "metrics/ssim.py imports models"),
        ("metrics/ssim.py", "from ..models import models", "metrics/ssim.py imports models"),
        ("metrics/ssim.py", "from .. import models", "metrics/ssim.py imports models"),
        ("types.py", "def f():\n    from editgauge.metrics import metrics", "types.py imports metrics"),
        ("types.py", "if TYPE_CHECKING:\n    import editgauge._cli.run", "types.py imports _cli"),
        ("methods/a.py", "from editgauge.benchmarks import b", "methods/a.py imports benchmarks"),
        ("engine/a.py", "import numpy, editgauge.reports.report as page", "engine/a.py imports reports"),
        ("audits/a.py", "from editgauge._cli import app", "audits/a.py imports _cli"),
        ("engine/a.py", "import editgauge", "engine/a.py imports the public API"),
        ("engine/a.py", "from editgauge import score", "engine/a.py imports the public API"),
        ("engine/a.py", "import editgauge.attic.trunk", "engine/a.py imports attic"),
        ("__main__.py", "from editgauge.engine.run import run", "__main__.py imports engine"),
    ],
)
def test_a_wrong_import_is_reported(file: str, source: str, message: str) -> None:
    assert find_violations(file, source) == [message]


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("_cli/run.py", "from editgauge.engine.run import run"),
        ("engine/run.py", "from editgauge import __version__"),
        ("_util/files.py", "from editgauge.errors import BadInputError"),
        ("metrics/ssim.py", "from editgauge.metrics.base import metric\nimport numpy as np"),
        ("protocols/a.py", "import editgauge_extras\nfrom editgauges import core"),
        ("__init__.py", "from editgauge._cli.demo import demo"),
        ("__main__.py", "from editgauge._cli import main"),
    ],
)
def test_a_right_import_is_accepted(file: str, source: str) -> None:
    assert find_violations(file, source) == []


def test_the_library_never_prints() -> None:
    calls = [
        f"{file}:{node.lineno}"
        for file, source in sources().items()
        for node in nodes_of(source)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert calls == []
