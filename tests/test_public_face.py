"""`import editgauge` shows everything, costs next to nothing, and says it with the words of the command line."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

import editgauge as face

HEAVY = {
    *("numpy", "cv2", "PIL", "pyarrow", "scipy", "pandas", "torch", "sklearn", "skimage", "pydantic", "jinja2"),
    *("yaml", "httpx", "filelock"),
}
MODULES_OF_THE_FACE = 50
"""More than an empty interpreter has; measured: 30."""
MODULES_OF_THE_HELP = 400
"""The same for `editgauge --help`; measured: 295, most of them rich and markdown, which draw it."""
VERBS = (
    "accept",
    "agree",
    "audit",
    "changes",
    "compare",
    "demo",
    "diff",
    "disentangle",
    "edit",
    "estimate",
    "export",
    "leaderboard",
    "list",
    "merge",
    "plan",
    "power",
    "prefer",
    "report",
    "run",
    "score",
    "see",
    "understand",
    "verify",
)
GROUPS = ("build", "cache", "data", "judges", "models", "study")
"""Verbs that have verbs of their own; in Python they are modules."""
ONLY_ON_THE_COMMAND_LINE = {"json", "dry_run", "file"}


def cli_function(verb: str) -> Callable[..., Any]:
    module = import_module(f"editgauge.cli.{verb}")
    found: Callable[..., Any] = getattr(module, "list_names" if verb == "list" else verb)
    return found


def test_all_is_what_is_there() -> None:
    assert face.__all__ == sorted(face.__all__)
    assert set(face._FACE) == set(face.__all__)
    for name in face.__all__:
        assert getattr(face, name) is not None


def test_a_type_checker_sees_the_same_names() -> None:
    tree = ast.parse(Path(face.__file__).read_text("utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    assert isinstance(block.test, ast.Name)
    assert block.test.id == "TYPE_CHECKING"
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    seen = {
        alias.asname or alias.name: (f"{node.module}:{alias.name}", f"{node.module}.{alias.name}")
        for node in imports
        for alias in node.names
    }
    assert set(seen) == set(face.__all__)
    for name, places in seen.items():
        assert face._FACE[name] in places


def test_dir_shows_every_name() -> None:
    assert set(face.__all__) <= set(dir(face))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'psnr'"):
        _ = face.psnr


@pytest.mark.parametrize("name", face.__all__)
def test_every_public_thing_says_what_it_is(name: str) -> None:
    thing = getattr(face, name)
    assert (inspect.getdoc(thing) or "").strip()
    if inspect.isclass(thing):
        members = [member for key, member in vars(thing).items() if not key.startswith("_")]
        functions = [each.fget if isinstance(each, property) else each for each in members]
        assert [each.__name__ for each in functions if inspect.isfunction(each) and not inspect.getdoc(each)] == []


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "demo"])
def test_every_argument_of_a_verb_is_explained(verb: str) -> None:
    function = getattr(face, verb)
    text = inspect.getdoc(function) or ""
    assert [name for name in inspect.signature(function).parameters if f"    {name}: " not in text] == []


@pytest.mark.parametrize("verb", VERBS)
def test_the_command_line_and_python_use_the_same_words(verb: str) -> None:
    python = inspect.signature(getattr(face, verb)).parameters
    command = {
        name: parameter
        for name, parameter in inspect.signature(cli_function(verb)).parameters.items()
        if name not in ONLY_ON_THE_COMMAND_LINE
    }
    assert list(python) == list(command)
    for name, parameter in python.items():
        assert plain(parameter.default) == plain(command[name].default), name


def plain(default: object) -> object:
    """A command line has no tuples, and Python need not know paths: those are the same default."""
    if isinstance(default, list | tuple):
        return list(default)
    return str(default) if isinstance(default, Path) else default


def test_every_verb_of_the_command_line_is_in_the_face() -> None:
    from editgauge.cli import app

    command = typer.main.get_command(app)
    assert set(command.commands) == {*VERBS, *GROUPS}  # type: ignore[attr-defined]
    assert {*VERBS, *GROUPS} <= set(face.__all__)


def modules_after(code: str) -> set[str]:
    """Every module that a fresh interpreter has after running this."""
    listing = "import sys; sys.stderr.write(' '.join(sys.modules))"
    words = [sys.executable, "-c", f"try:\n    {code}\nfinally:\n    {listing}"]
    ended = subprocess.run(words, capture_output=True, encoding="utf-8", check=True)
    return set(ended.stderr.split())


def test_importing_it_costs_next_to_nothing() -> None:
    loaded = modules_after("import editgauge")
    assert {name.split(".")[0] for name in loaded} & {*HEAVY, "typer", "rich"} == set()
    assert len(loaded - modules_after("pass")) < MODULES_OF_THE_FACE


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_loads_nothing_that_calculates(words: list[str]) -> None:
    loaded = modules_after(_command(words))
    assert {name.split(".")[0] for name in loaded} & HEAVY == set()
    assert len(loaded - modules_after("pass")) < MODULES_OF_THE_HELP


@pytest.mark.parametrize("verb", ["run", "score"])
def test_help_of_a_verb_loads_nothing_that_calculates(verb: str) -> None:
    loaded = modules_after(_command([verb, "--help"]))
    assert {name.split(".")[0] for name in loaded} & (HEAVY - {"pydantic"}) == set()  # typer reads options with it


def _command(words: list[str]) -> str:
    return f"import sys; sys.argv = ['editgauge', *{words}]; from editgauge.cli import main; main()"


def test_a_protocol_is_imported_when_it_is_asked_for() -> None:
    loaded = modules_after("from editgauge.protocols import protocols; list(protocols)")
    assert "editgauge.protocols.preservation" not in loaded
    assert {name.split(".")[0] for name in loaded} & HEAVY == set()


def test_python_m_editgauge_is_the_same_command() -> None:
    words = [sys.executable, "-m", "editgauge", "--version"]
    assert subprocess.run(words, capture_output=True, encoding="utf-8", check=True).stdout == (
        f"editgauge {face.__version__}\n"
    )
