"""The options of a verb, read from the source of its Python function: nothing is imported to show a help page."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

from editgauge import options as shared

PACKAGE = Path(__file__).parents[1]
PANELS = {shared.DataOptions: "Data", shared.ModelOptions: "Models", shared.JudgeOptions: "Judges"}
"""Classes that explain options of several verbs, with the heading under which the help shows them."""
TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool, "Path": Path, "ImageLike": Path}
SEVERAL = {"Sequence", "Mapping", "Iterable", "list", "Pairs", "Paths"}
REQUIRED: Any = ...


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a verb."""

    name: str
    type: Any
    """str, int, float, bool, a list of them, or a pair."""
    default: Any
    """`REQUIRED` when there is none."""
    help: str
    positional: bool
    """Written without its name, in Python and on the command line."""
    panel: str | None
    limits: shared.NumberRange | None
    is_path: bool


@dataclass(frozen=True, slots=True)
class Signature:
    """A verb as its source describes it."""

    parameters: tuple[Parameter, ...]
    summary: str
    """The first paragraph of the docstring."""
    about: str
    """The paragraphs after it."""
    examples: tuple[str, ...]
    """Commands to copy."""
    returns: str


def read_signature(place: str) -> Signature:
    """The signature of a function given as `package.module:name`."""
    module, _, name = place.partition(":")
    source = _source(module)
    match = re.search(rf'^def {name}\(.*?^    """.*?"""$', source, re.MULTILINE | re.DOTALL)
    if match is None:
        raise LookupError(f"{module} has no function '{name}' with a docstring")
    [function] = ast.parse(match.group()).body
    if not isinstance(function, ast.FunctionDef):
        raise LookupError(f"{place} is no function")
    sections = read_docstring(ast.get_docstring(function) or "")
    return Signature(
        parameters=tuple(_parameters(function, source, sections.entries)),
        summary=sections.summary,
        about=sections.about,
        examples=sections.examples,
        returns=ast.unparse(function.returns) if function.returns else "None",
    )


def _source(module: str) -> str:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text("utf-8")


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring in Google's style, taken apart."""

    summary: str
    about: str
    examples: tuple[str, ...]
    entries: dict[str, str]


def read_docstring(text: str) -> Docstring:
    """Takes a docstring apart: `Args:` or `Attributes:` are entries, lines with `$` below `Example:` are commands.

    >>> read = read_docstring("Score an edit.\\n\\nArgs:\\n    out: the folder\\n        to write.\\n")
    >>> read.summary, read.entries
    ('Score an edit.', {'out': 'The folder to write.'})
    """
    parts = re.split(r"^(Args|Attributes|Examples?|Returns|Raises):\n", f"{text.strip()}\n", flags=re.MULTILINE)
    sections = {name.rstrip("s"): textwrap.dedent(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    summary, _, about = parts[0].strip().partition("\n\n")
    entries: dict[str, str] = {}
    for entry in re.split(r"^(?=\S)", sections.get("Arg", sections.get("Attribute", "")), flags=re.MULTILINE):
        name, colon, words = entry.partition(":")
        if colon:
            entries[name.strip()] = _sentence(words)
    examples = tuple(re.findall(r"^\$ (.+)$", sections.get("Example", ""), re.MULTILINE))
    return Docstring(" ".join(summary.split()), about.strip(), examples, entries)


def _sentence(words: str) -> str:
    text = " ".join(words.split())
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+\b(?![_/.:=])", text) else text


def _parameters(function: ast.FunctionDef, source: str, entries: dict[str, str]) -> list[Parameter]:
    arguments = function.args
    missing = len(arguments.args) - len(arguments.defaults)
    positional = zip(arguments.args, [None] * missing + [*arguments.defaults], strict=True)
    return [
        *(_parameter(each, default, source, entries, positional=True) for each, default in positional),
        *(
            _parameter(each, default, source, entries, positional=False)
            for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        ),
    ]


def _parameter(
    argument: ast.arg, default: ast.expr | None, source: str, entries: dict[str, str], *, positional: bool
) -> Parameter:
    mine = entries.get(argument.arg)
    owner = None if mine else next((owner for owner in PANELS if argument.arg in _words(owner)), None)
    words = mine or (_words(owner)[argument.arg] if owner else "")
    kind, limits, is_path = _kind(argument.annotation)
    return Parameter(
        name=argument.arg,
        type=kind,
        default=REQUIRED if default is None else _literal(default, source),
        help=words,
        positional=positional,
        panel=None if positional or owner is None else PANELS[owner],
        limits=limits,
        is_path=is_path,
    )


@cache
def _words(owner: type) -> dict[str, str]:
    return read_docstring(inspect.cleandoc(owner.__doc__ or "")).entries


def _kind(annotation: ast.expr | None) -> tuple[Any, shared.NumberRange | None, bool]:
    """The type that the command line reads, its limits, and whether it is a path."""
    parts = _union(annotation)
    limits: shared.NumberRange | None = None
    names: list[str] = []
    several = False
    for part in parts:
        if isinstance(part, ast.Subscript):
            inner = [part.slice] if not isinstance(part.slice, ast.Tuple) else part.slice.elts
            head = ast.unparse(part.value)
            if head == "tuple":
                return tuple[str, str], None, False
            several = several or head in SEVERAL
            names += [ast.unparse(each) for each in _union(inner[-1])]
        elif isinstance(part, ast.Name):
            several = several or part.id in SEVERAL
            names.append(part.id)
    for place, name in enumerate(names):
        base, *metadata = get_args(getattr(shared, name, None)) or (None,)
        if metadata and isinstance(metadata[0], shared.NumberRange):
            limits, names[place] = metadata[0], base.__name__
    known = [TYPES[name] for name in names if name in TYPES]
    scalar = str if not known or str in known or Path in known else known[0]
    return (list[scalar] if several else scalar), limits, Path in known  # type: ignore[valid-type]


def _union(annotation: ast.expr | None) -> list[ast.expr]:
    if isinstance(annotation, ast.BinOp) and isinstance(annotation.op, ast.BitOr):
        return [*_union(annotation.left), *_union(annotation.right)]
    none = isinstance(annotation, ast.Constant) and annotation.value is None
    return [] if annotation is None or none else [annotation]


def _literal(default: ast.expr, source: str) -> Any:
    """A default as written, or as the constant that it names is."""
    if isinstance(default, ast.Name):
        match = re.search(rf"^{default.id}(?:: [^=]+)? = (.+)$", source, re.MULTILINE)
        if match is None:
            raise LookupError(f"the default {default.id} must be a constant of the same module")
        return ast.literal_eval(match[1])
    return ast.literal_eval(default)
