"""`import editgauge` shows everything, costs next to nothing, and says it with the words of the command line."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer

import editgauge as face
from editgauge._cli import app
from editgauge._cli._commands import FLAGS
from editgauge._cli._signature import parse_docstring
from editgauge._public import EXTENSION_NAMES, GROUPS, PUBLIC_NAMES, SUMMARIES, typing_stub
from editgauge._public import VERBS as VERBS_BY_PANEL

HEAVY = {
    *("numpy", "cv2", "PIL", "pyarrow", "scipy", "pandas", "torch", "sklearn", "skimage", "pydantic", "jinja2"),
    *("yaml", "httpx", "filelock"),
}
MODULES_OF_THE_FACE = 50
"""More than an empty interpreter has; measured: 30."""
MODULES_OF_THE_HELP = 400
"""The same for `editgauge --help`; measured: 295, most of them rich and markdown, which draw it."""
VERBS = {name: place for verbs in VERBS_BY_PANEL.values() for name, place in verbs.items()}
GROUP_VERBS = {f"{group} {name}": place for group, verbs in GROUPS.items() for name, place in verbs.items()}
ALL_VERBS = {**VERBS, **GROUP_VERBS}
FORMER_NAMES = {"understand": "parse"}
"""Verbs under a name that they had before."""


def test_all_is_what_is_there() -> None:
    assert face.__all__ == sorted(PUBLIC_NAMES)
    for name in face.__all__:
        assert getattr(face, name) is not None


def test_a_type_checker_sees_the_same_names() -> None:
    """`python docs/generate.py` writes the stub."""
    assert Path(face.__file__).with_suffix(".pyi").read_text("utf-8") == typing_stub()


def test_dir_shows_the_public_face_alone() -> None:
    assert set(dir(face)) == {*face.__all__, "__version__"}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'psnr'"):
        _ = face.psnr  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", face.__all__)
def test_every_public_thing_says_what_it_is(name: str) -> None:
    thing = getattr(face, name)
    assert (inspect.getdoc(thing) or "").strip()
    if inspect.isclass(thing):
        members = [member for key, member in vars(thing).items() if not key.startswith("_")]
        functions = [each.fget if isinstance(each, property) else each for each in members]
        assert [each.__name__ for each in functions if inspect.isfunction(each) and not inspect.getdoc(each)] == []


def function(place: str) -> Callable[..., Any]:
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def command(verb: str) -> Any:
    found: Any = typer.main.get_command(app)
    for name in verb.split():
        found = found.commands[name]
    return found


@pytest.mark.parametrize(("verb", "place"), ALL_VERBS.items())
def test_every_verb_is_explained_with_an_example_in_both_languages(verb: str, place: str) -> None:
    docstring = inspect.getdoc(function(place)) or ""
    examples = parse_docstring(docstring).examples
    assert [each.name for each in command(verb).params if not each.help] == []
    assert examples
    assert all(example.startswith(f"editgauge {FORMER_NAMES.get(verb, verb)}") for example in examples)
    assert ">>> " in docstring


@pytest.mark.parametrize(("verb", "place"), ALL_VERBS.items())
def test_the_listed_summary_is_the_first_sentence_of_the_docstring(verb: str, place: str) -> None:
    assert SUMMARIES[verb] == parse_docstring(inspect.getdoc(function(place)) or "").summary


@pytest.mark.parametrize(("verb", "place"), ALL_VERBS.items())
def test_the_command_line_and_python_use_the_same_words(verb: str, place: str) -> None:
    python = inspect.signature(function(place)).parameters
    only_here = {"json", "help", *FLAGS.get(verb, {})}
    options = {each.name: each for each in command(verb).params if each.name not in only_here}
    assert list(python) == list(options)
    for name, parameter in python.items():
        is_argument = parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        assert options[name].param_type_name == ("argument" if is_argument else "option")
        assert options[name].required == (parameter.default is inspect.Parameter.empty)
        if not options[name].required:
            assert plain(options[name].default) == plain(parameter.default), name


def plain(default: object) -> object:
    """A command line has no tuples."""
    return list(default) if isinstance(default, tuple) else default


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_the_verbs_of_a_group_are_functions_of_its_module(group: str) -> None:
    for place in GROUPS[group].values():
        assert getattr(getattr(face, group), function(place).__name__) is function(place)


def test_a_call_with_many_arguments_names_them() -> None:
    """What follows the one to three things that a verb is about is given by name."""
    for place in ALL_VERBS.values():
        parameters = inspect.signature(function(place)).parameters.values()
        assert sum(each.kind is not each.KEYWORD_ONLY for each in parameters) <= 3


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


def test_listing_metrics_loads_no_statistics_and_no_networks() -> None:
    loaded = {name.split(".")[0] for name in modules_after(_command(["list", "metrics"]))}
    assert loaded & {"scipy", "sklearn", "skimage", "torch", "onnxruntime", "pyarrow"} == set()


def _command(words: list[str]) -> str:
    return f"import sys; sys.argv = ['editgauge', *{words}]; from editgauge._cli import main; main()"


def test_a_protocol_is_imported_when_it_is_asked_for() -> None:
    loaded = modules_after("from editgauge.protocols import protocols; list(protocols)")
    assert "editgauge.protocols.preservation" not in loaded
    assert {name.split(".")[0] for name in loaded} & HEAVY == set()


def test_python_m_editgauge_is_the_same_command() -> None:
    words = [sys.executable, "-m", "editgauge", "--version"]
    assert subprocess.run(words, capture_output=True, encoding="utf-8", check=True).stdout == (
        f"editgauge {face.__version__}\n"
    )


ROOT = Path(__file__).parents[1]


def _imports(source: str) -> set[str]:
    """What Python code imports of editgauge, as `editgauge` or `editgauge.module`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module if node.module != "editgauge" else f"editgauge:{alias.name}" for alias in node.names}
    return {name for name in found if name.partition(".")[0].partition(":")[0] == "editgauge"}


def _is_public(name: str) -> bool:
    return name in {"editgauge", *(f"editgauge.{group}" for group in GROUPS)} or (
        name.removeprefix("editgauge:") in PUBLIC_NAMES | EXTENSION_NAMES
    )


@pytest.mark.parametrize("file", sorted((ROOT / "tests" / "plugin_package").rglob("*.py")), ids=lambda file: file.name)
def test_a_package_of_a_third_party_needs_the_public_face_alone(file: Path) -> None:
    assert {name for name in _imports(file.read_text("utf-8")) if not _is_public(name)} == set()


STILL_PRIVATE = {
    "editgauge.audits.cards.card",
    "editgauge.audits._probe_set",
    "editgauge.analysis.aggregation",
    "editgauge.methods.prompts",
    "editgauge._stats.raters",
}
"""What pages still import beside the public face: this list only shrinks."""


def test_python_in_the_docs_needs_the_public_face_alone() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs" / "how-to").glob("*.md"), *(ROOT / "docs" / "tutorials").glob("*.md")]
    imports = re.compile(r"^(?:>>> )?((?:from|import) editgauge\b.*)$", re.MULTILINE)
    lines = {line for page in pages for line in imports.findall(page.read_text("utf-8"))}
    private = {name for line in lines for name in _imports(line) if not _is_public(name)}
    assert private == STILL_PRIVATE
