"""The public names of the package, its typing stub, and how little an import loads."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
import typer

import editgauge
from editgauge._cli import app
from editgauge._cli._commands import FLAGS
from editgauge._cli._signature import parse_docstring
from editgauge._public import EXTENSION_NAMES, FORMER_NAMES, GROUPS, PUBLIC_NAMES, SUMMARIES, typing_stub
from editgauge._public import VERBS as VERBS_BY_PANEL

HEAVY = {
    *("numpy", "cv2", "PIL", "pyarrow", "scipy", "pandas", "torch", "sklearn", "skimage", "pydantic", "jinja2"),
    *("yaml", "httpx", "filelock"),
}
MAX_MODULES_OF_IMPORT = 50
"""Beyond an empty interpreter; 30 at present."""
MAX_MODULES_OF_HELP = 400
"""The same for `editgauge --help`; 295 at present, most of them of rich and markdown."""
VERBS = {name: path for verbs in VERBS_BY_PANEL.values() for name, path in verbs.items()}
GROUP_VERBS = {f"{group} {name}": path for group, verbs in GROUPS.items() for name, path in verbs.items()}
ALL_VERBS = {**VERBS, **GROUP_VERBS}


def test_all_names_exist() -> None:
    assert editgauge.__all__ == sorted(PUBLIC_NAMES)
    for name in editgauge.__all__:
        assert getattr(editgauge, name) is not None


def test_typing_stub_is_up_to_date() -> None:
    assert Path(editgauge.__file__).with_suffix(".pyi").read_text("utf-8") == typing_stub()  # python docs/generate.py


def test_dir_lists_public_names() -> None:
    assert set(dir(editgauge)) == {*editgauge.__all__, "__version__"}


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'psnr'"):
        _ = editgauge.psnr  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", editgauge.__all__)
def test_public_names_are_documented(name: str) -> None:
    public = getattr(editgauge, name)
    assert (inspect.getdoc(public) or "").strip()
    if inspect.isclass(public):
        assert [member.__name__ for member in methods_of(public) if not inspect.getdoc(member)] == []


def methods_of(public: type) -> list[Callable[..., Any]]:
    members = [member for name, member in vars(public).items() if not name.startswith("_")]
    functions = [member.fget if isinstance(member, property) else member for member in members]
    return [member for member in functions if inspect.isfunction(member)]


def function(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    target: Callable[..., Any] = getattr(import_module(module), name)
    return target


def command(verb: str) -> Any:
    node: Any = typer.main.get_command(app)
    for name in verb.split():
        node = node.commands[name]
    return node


@pytest.mark.parametrize(("verb", "path"), ALL_VERBS.items())
def test_verbs_have_examples_for_shell_and_python(verb: str, path: str) -> None:
    docstring = inspect.getdoc(function(path)) or ""
    examples = parse_docstring(docstring).examples
    assert [parameter.name for parameter in command(verb).params if not parameter.help] == []
    assert examples
    assert all(example.startswith(f"editgauge {FORMER_NAMES.get(verb, verb)}") for example in examples)
    assert ">>> " in docstring


@pytest.mark.parametrize(("verb", "path"), ALL_VERBS.items())
def test_summary_equals_first_sentence_of_docstring(verb: str, path: str) -> None:
    assert SUMMARIES[verb] == parse_docstring(inspect.getdoc(function(path)) or "").summary


@pytest.mark.parametrize(("verb", "path"), ALL_VERBS.items())
def test_command_line_and_python_take_the_same_parameters(verb: str, path: str) -> None:
    python = inspect.signature(function(path)).parameters
    only_here = {"json", "help", *FLAGS.get(verb, {})}
    options = {parameter.name: parameter for parameter in command(verb).params if parameter.name not in only_here}
    assert list(python) == list(options)
    for name, parameter in python.items():
        is_argument = parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        assert options[name].param_type_name == ("argument" if is_argument else "option")
        assert options[name].required == (parameter.default is inspect.Parameter.empty)
        if not options[name].required:
            assert plain(options[name].default) == plain(parameter.default), name


def plain(default: object) -> object:
    """Return the default as the command line has it, without tuples."""
    return list(default) if isinstance(default, tuple) else default


RETURNING = {name: path for name, path in (ALL_VERBS | PUBLIC_NAMES).items() if ":" in path}


@pytest.mark.parametrize(("name", "path"), RETURNING.items())
def test_return_types_can_be_imported(name: str, path: str) -> None:
    target = function(path)
    functions = [target] if inspect.isfunction(target) else methods_of(cast(type, target))
    annotations = " ".join(str(inspect.get_annotations(member).get("return", "")) for member in functions)
    classes = set(re.findall(r"(?<![.\w])[A-Z]\w+", annotations)) & package_classes()
    assert {name for name in classes if not hasattr(editgauge, name)} == set()


@cache
def package_classes() -> set[str]:
    """Return the names of all public classes of the package."""
    files = Path(editgauge.__file__).parent.rglob("*.py")
    return {name for file in files for name in re.findall(r"^class ([A-Z]\w+)", file.read_text("utf-8"), re.MULTILINE)}


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_verbs_of_a_group_are_functions_of_its_module(group: str) -> None:
    for path in GROUPS[group].values():
        assert getattr(getattr(editgauge, group), function(path).__name__) is function(path)


def test_at_most_three_parameters_are_positional() -> None:
    for path in ALL_VERBS.values():
        parameters = inspect.signature(function(path)).parameters.values()
        assert sum(parameter.kind is not parameter.KEYWORD_ONLY for parameter in parameters) <= 3


def modules_after(code: str) -> set[str]:
    """Return the modules that a fresh interpreter has loaded after running `code`."""
    listing = "import sys; sys.stderr.write(' '.join(sys.modules))"
    words = [sys.executable, "-c", f"try:\n    {code}\nfinally:\n    {listing}"]
    ended = subprocess.run(words, capture_output=True, encoding="utf-8", check=True)
    return set(ended.stderr.split())


def test_import_loads_few_modules() -> None:
    loaded = modules_after("import editgauge")
    assert {name.split(".")[0] for name in loaded} & {*HEAVY, "typer", "rich"} == set()
    assert len(loaded - modules_after("pass")) < MAX_MODULES_OF_IMPORT


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_loads_no_numerical_package(words: list[str]) -> None:
    loaded = modules_after(_command(words))
    assert {name.split(".")[0] for name in loaded} & HEAVY == set()
    assert len(loaded - modules_after("pass")) < MAX_MODULES_OF_HELP


def test_list_metrics_loads_no_statistics_or_networks() -> None:
    loaded = {name.split(".")[0] for name in modules_after(_command(["list", "metrics"]))}
    assert loaded & {"scipy", "sklearn", "skimage", "torch", "onnxruntime", "pyarrow"} == set()


def _command(words: list[str]) -> str:
    return f"import sys; sys.argv = ['editgauge', *{words}]; from editgauge._cli import main; main()"


def test_protocols_are_imported_on_use() -> None:
    loaded = modules_after("from editgauge.protocols import protocols; list(protocols)")
    assert "editgauge.protocols.preservation" not in loaded
    assert {name.split(".")[0] for name in loaded} & HEAVY == set()


def test_python_m_runs_the_command() -> None:
    words = [sys.executable, "-m", "editgauge", "--version"]
    assert subprocess.run(words, capture_output=True, encoding="utf-8", check=True).stdout == (
        f"editgauge {editgauge.__version__}\n"
    )


ROOT = Path(__file__).parents[1]


def _imports(source: str) -> set[str]:
    """Return what Python code imports of editgauge, as `editgauge:name` or `editgauge.module`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module if node.module != "editgauge" else f"editgauge:{alias.name}" for alias in node.names}
    return {name for name in names if name.partition(".")[0].partition(":")[0] == "editgauge"}


def _is_public(name: str) -> bool:
    return name in {"editgauge", *(f"editgauge.{group}" for group in GROUPS)} or (
        name.removeprefix("editgauge:") in PUBLIC_NAMES | EXTENSION_NAMES
    )


@pytest.mark.parametrize("file", sorted((ROOT / "tests" / "plugin_package").rglob("*.py")), ids=lambda file: file.name)
def test_plugins_import_public_names_only(file: Path) -> None:
    assert {name for name in _imports(file.read_text("utf-8")) if not _is_public(name)} == set()


STILL_PRIVATE = {
    "editgauge.audits.card",
    "editgauge.audits._probe_set",
    "editgauge.analysis.aggregation",
    "editgauge.methods.prompts",
    "editgauge._stats.raters",
}
"""Private modules that pages still import; the list may only shrink."""


def test_docs_import_public_names_only() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs" / "how-to").glob("*.md"), *(ROOT / "docs" / "tutorials").glob("*.md")]
    imports = re.compile(r"^(?:>>> )?((?:from|import) editgauge\b.*)$", re.MULTILINE)
    lines = {line for page in pages for line in imports.findall(page.read_text("utf-8"))}
    private = {name for line in lines for name in _imports(line) if not _is_public(name)}
    assert private == STILL_PRIVATE
