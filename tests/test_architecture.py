"""Imports point down. Rooms on one level never see each other; files of one room may.

Every import counts, wherever it stands: inside a function, relative, or for the type checker only.
"""

from __future__ import annotations

import ast

import pytest

from tests.source_trees import nodes_of, sources

LEVELS = (
    ("core",),
    ("metrics", "vision"),
    ("stats",),
    ("render",),
    ("models", "judges", "instructions"),
    ("methods", "benchmarks"),
    ("protocols", "findings"),
    ("engine", "reports", "studies"),
    ("audits", "building", "disentanglement", "look"),
    ("monitoring", "serving"),
    ("cli",),
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
FACE = {"__init__.py", "_face.py", "build.py", "data.py"}
FACE_MODULES = {"_face", "build", "data"}
"""The public face: files beside the rooms."""
LONGEST_FILE = 400


def violations(file: str, source: str) -> list[str]:
    """What a file, given by its path inside the package, imports against the rules."""
    return [f"{file} imports {room}" for room in sorted(_imported(file, source)) if not _may(file, room)]


def _may(file: str, room: str) -> bool:
    mine = file.split("/")[0]
    if mine in FACE:
        return room in {*LEVEL, *FACE_MODULES}  # it shows the verbs of all rooms
    if mine == "__main__.py":
        return room == "cli"
    if mine == "cli" and room == "_face":
        return True  # the table of the verbs
    return mine == room or LEVEL.get(room, len(LEVELS)) < LEVEL.get(mine, -1)


def _imported(file: str, source: str) -> set[str]:
    """The rooms a file imports from; the face of the package counts as one, but not for its `__version__`."""
    package = ["editgauge", *file.split("/")[:-1]]
    paths: list[str] = []
    for node in nodes_of(source):
        if isinstance(node, ast.Import):
            paths += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = [*above, *([node.module] if node.module else [])]
            paths += [".".join([*module, alias.name]) for alias in node.names]
    ours = [path.split(".")[1:] for path in paths if path.split(".")[0] == "editgauge"]
    return {_room(inside) for inside in ours if inside != ["__version__"]}


def _room(inside: list[str]) -> str:
    """`import editgauge` and `from editgauge import score` go to the face, `from editgauge import core` to a room."""
    return inside[0] if len(inside) > 1 or set(inside) & {*LEVEL, *FACE_MODULES} else "the face"


def test_imports_point_down() -> None:
    wrong = [message for file, source in sources().items() for message in violations(file, source)]
    assert not wrong, "\n".join(wrong)


def test_every_room_has_its_level() -> None:
    rooms = {file.split("/")[0] for file in sources() if "/" in file}
    assert rooms - set(LEVEL) == set()


@pytest.mark.parametrize(
    ("file", "source", "message"),
    [
        ("metrics/ssim.py", "import editgauge.models", "metrics/ssim.py imports models"),
        ("metrics/ssim.py", "from editgauge.models import models", "metrics/ssim.py imports models"),
        ("metrics/ssim.py", "from editgauge import models", "metrics/ssim.py imports models"),
        ("metrics/ssim.py", "from ..models import models", "metrics/ssim.py imports models"),
        ("metrics/ssim.py", "from .. import models", "metrics/ssim.py imports models"),
        ("core/run/writer.py", "from ...metrics.base import metric", "core/run/writer.py imports metrics"),
        ("core/types.py", "def f():\n    from editgauge.metrics import metrics", "core/types.py imports metrics"),
        ("core/types.py", "if TYPE_CHECKING:\n    import editgauge.cli.run", "core/types.py imports cli"),
        ("methods/a.py", "from editgauge.benchmarks import b", "methods/a.py imports benchmarks"),
        ("engine/a.py", "import numpy, editgauge.reports.page as page", "engine/a.py imports reports"),
        ("audits/a.py", "from editgauge.cli import app", "audits/a.py imports cli"),
        ("engine/a.py", "import editgauge", "engine/a.py imports the face"),
        ("engine/a.py", "from editgauge import score", "engine/a.py imports the face"),
        ("cli/a.py", "from editgauge import __version__, run", "cli/a.py imports the face"),
        ("engine/a.py", "import editgauge.attic.trunk", "engine/a.py imports attic"),
        ("__main__.py", "from editgauge.engine.run import run", "__main__.py imports engine"),
    ],
)
def test_a_wrong_import_is_seen_and_named(file: str, source: str, message: str) -> None:
    assert violations(file, source) == [message]


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("cli/run.py", "from editgauge.engine.run import run"),
        ("engine/run.py", "from editgauge import __version__"),
        ("core/run/writer.py", "from .journal import Journal\nfrom .. import errors\nfrom . import segments"),
        ("metrics/ssim.py", "from editgauge.metrics.base import metric\nimport numpy as np"),
        ("protocols/a.py", "import editgauge_extras\nfrom editgauges import core"),
        ("__init__.py", "from editgauge.look.demo import demo"),
        ("__main__.py", "from editgauge.cli import main"),
    ],
)
def test_a_right_import_is_left_alone(file: str, source: str) -> None:
    assert violations(file, source) == []


def test_a_file_is_read_in_one_sitting() -> None:
    lengths = {file: len(source.splitlines()) for file, source in sources().items()}
    assert {file: lines for file, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_the_library_never_prints() -> None:
    """The command line speaks through `typer.echo` and tables, the rest through `core.progress.say`."""
    calls = [
        f"{file}:{node.lineno}"
        for file, source in sources().items()
        for node in nodes_of(source)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert calls == []
