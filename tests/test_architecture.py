"""Imports point down. Rooms on one level never see each other; files of one room may.

Every import counts, wherever it stands: inside a function, relative, or for the type checker only.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from pathlib import Path, PurePosixPath

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "editgauge"
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
    ("cli",),
)
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
LONGEST_FILE = 400
MOST_MODULES = 14
REGISTERED = r"editgauge\.([\w.]+):\w+"
"""How a registry names what a module defines."""
CROWDED = {"benchmarks": 15, "cli": 31, "cli/tables": 15, "core": 17, "judges": 19, "models/hub": 16}
"""Folders with more modules than `MOST_MODULES` beside `__init__.py`, and how many: these numbers only fall."""
SHORT_FILE = 60
SHORT_FILES = frozenset(
    [
        "benchmarks/options",
        "building/verbs",
        "cli/tables/calibration",
        "cli/tables/disentanglement",
        "cli/tables/see",
        "cli/tables/study",
        "core/ask/batches",
        "core/fetch/shown",
        "findings/captions/groups",
        "findings/plots/feedback",
        "judges/replay",
        "metrics/distributions",
        "metrics/segmentation",
        "models/hub/addresses",
        "models/hub/captions",
        "models/hub/dino",
        "models/hub/semantic",
        "models/phrases",
        "protocols/_shared/perception",
        "protocols/_shared/set_distances",
        "protocols/difference/sets",
        "protocols/difference/side_by_side",
        "protocols/difference/word_overlap",
        "protocols/editgauge/calibrated",
        "protocols/editgauge/preservation_features",
        "protocols/pixlens/background",
        "protocols/pixlens/released",
        "protocols/unibench/pictures",
        "reports/sections/aggregations",
        "stats/rater_bias",
        "vision/keypoints",
    ]
)
"""Short modules with one importer that are still to be merged into it: this list only shrinks."""
AMBIGUOUS = frozenset(
    [
        "Agreement",
        "Answer",
        "Asked",
        "Captioner",
        "Card",
        "Choice",
        "Curve",
        "Draft",
        "Entry",
        "Estimate",
        "Fitted",
        "Found",
        "Group",
        "Kind",
        "Level",
        "Model",
        "Options",
        "Pace",
        "Pairwise",
        "Parts",
        "Prompt",
        "Reading",
        "Record",
        "Refused",
        "Region",
        "Row",
        "Scene",
        "Seen",
        "Service",
        "Shelf",
        "Sight",
        "Source",
        "Standing",
        "Step",
        "Thing",
        "Verdict",
        "Words",
    ]
)
"""Class names that still stand for more than one thing: this list only shrinks."""


def violations(file: str, source: str) -> list[str]:
    """What a file, given by its path inside the package, imports against the rules."""
    return [f"{file} imports {room}" for room in sorted(_imported(file, source)) if not _may(file, room)]


def _may(file: str, room: str) -> bool:
    mine = file.split("/")[0]
    if mine == "__init__.py":
        return room in LEVEL  # the face: it shows the verbs of all rooms, lazily
    if mine == "__main__.py":
        return room == "cli"
    return mine == room or LEVEL.get(room, len(LEVELS)) < LEVEL.get(mine, -1)


def _imported(file: str, source: str) -> set[str]:
    """The rooms a file imports from; the face of the package counts as one, but not for its `__version__`."""
    package = ["editgauge", *file.split("/")[:-1]]
    paths: list[str] = []
    for node in ast.walk(ast.parse(source)):
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
    return inside[0] if len(inside) > 1 or set(inside) & set(LEVEL) else "the face"


def sources() -> dict[str, str]:
    paths = sorted(SOURCE.rglob("*.py"))
    return {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in paths}


def test_imports_point_down() -> None:
    wrong = [told for file, source in sources().items() for told in violations(file, source)]
    assert not wrong, "\n".join(wrong)


def test_every_room_has_its_level() -> None:
    rooms = {file.split("/")[0] for file in sources() if "/" in file}
    assert rooms - set(LEVEL) == set()


@pytest.mark.parametrize(
    ("file", "source", "told"),
    [
        ("metrics/pixels.py", "import editgauge.models", "metrics/pixels.py imports models"),
        ("metrics/pixels.py", "from editgauge.models import models", "metrics/pixels.py imports models"),
        ("metrics/pixels.py", "from editgauge import models", "metrics/pixels.py imports models"),
        ("metrics/pixels.py", "from ..models import models", "metrics/pixels.py imports models"),
        ("metrics/pixels.py", "from .. import models", "metrics/pixels.py imports models"),
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
def test_a_wrong_import_is_seen_and_named(file: str, source: str, told: str) -> None:
    assert violations(file, source) == [told]


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("cli/run.py", "from editgauge.engine.run import run"),
        ("engine/run.py", "from editgauge import __version__"),
        ("core/run/writer.py", "from .journal import Journal\nfrom .. import errors\nfrom . import segments"),
        ("metrics/pixels.py", "from editgauge.metrics.base import metric\nimport numpy as np"),
        ("protocols/a.py", "import editgauge_extras\nfrom editgauges import core"),
        ("__init__.py", "from editgauge.cli.demo import demo"),
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
    found = [
        f"{file}:{node.lineno}"
        for file, source in sources().items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert found == []


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
    verbs = {file for file in short if re.fullmatch(r"cli/(build/)?\w+", file)}
    importers = _importers()
    single = {file for file in short - verbs if len(importers.get(file, ())) == 1}
    assert single - SHORT_FILES == set()


def _importers() -> dict[str, set[str]]:
    """The files that import each module, without `.py`; one that a registry names by its path has the world as well."""
    importers: dict[str, set[str]] = defaultdict(set)
    for file, source in sources().items():
        tree = ast.parse(source)
        for node in ast.walk(tree):
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
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(file)
    assert {name: files for name, files in places.items() if len(files) > 1 and name not in AMBIGUOUS} == {}
