"""The parameters of a verb's Python function, in the form that Typer takes.

Typer reads a function's own signature. This module only simplifies the types that Typer cannot parse from words
(`str | Path | None`, `Mapping[str, str] | Sequence[str]`, arrays) and adds the help of the docstring.
"""

from __future__ import annotations

import inspect
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from editgauge import options as shared

PANELS = {shared.DataOptions: "Data", shared.ModelOptions: "Models", shared.JudgeOptions: "Judges"}
"""Classes that document options of several verbs, and the help panel of each."""
SCALARS: tuple[type, ...] = (bool, int, float)
COLLECTIONS = (list, Iterable, Mapping, Sequence)
"""Types that are options to repeat."""
NO_FIELDS = (type(None), bytes)
"""Return types that have nothing to print as JSON, as have paths."""


@dataclass(frozen=True, slots=True)
class Docstring:
    """A Google-style docstring, split into its sections."""

    summary: str
    description: str
    examples: tuple[str, ...]
    """Commands of the section `Example:`."""
    entries: dict[str, str]
    """Name to text, of the section `Args:` or `Attributes:`."""

    @property
    def help_text(self) -> str:
        """The help of a command: examples first, then what it does."""
        heading = "Examples:" if len(self.examples) > 1 else "Example:"
        examples = [f"{heading}\n\n" + "\n\n".join(f"`{line}`" for line in self.examples)] if self.examples else []
        return "\n\n".join([*examples, self.summary, *([self.description] if self.description else [])])


def parse_docstring(text: str) -> Docstring:
    r"""Split a docstring; lines with `$` below `Example:` are commands.

    >>> parsed = parse_docstring("Score an edit.\n\nArgs:\n    out: the folder\n        to write.\n")
    >>> parsed.summary, parsed.entries
    ('Score an edit.', {'out': 'The folder to write.'})
    """
    parts = re.split(r"^(Args|Attributes|Examples?|Returns|Raises):\n", f"{text.strip()}\n", flags=re.MULTILINE)
    sections = {name.rstrip("s"): textwrap.dedent(body) for name, body in zip(parts[1::2], parts[2::2], strict=True)}
    summary, _, description = parts[0].strip().partition("\n\n")
    entries: dict[str, str] = {}
    for entry in re.split(r"^(?=\S)", sections.get("Arg", sections.get("Attribute", "")), flags=re.MULTILINE):
        name, colon, body = entry.partition(":")
        if colon:
            entries[name.strip()] = _capitalize(body)
    examples = tuple(re.findall(r"^\$ (.+)$", sections.get("Example", ""), re.MULTILINE))
    return Docstring(" ".join(summary.split()), description.strip(), examples, entries)


def _capitalize(text: str) -> str:
    """Capitalize a sentence, unless it starts with a name such as `file.png` or `a=b`."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+\b(?![_/.:=])", text) else text


@cache
def _shared_help(options: type) -> dict[str, str]:
    return parse_docstring(inspect.cleandoc(options.__doc__ or "")).entries


class _Names(dict[str, Any]):
    """The names of annotations; those imported for type checkers only stand for any object."""

    def __missing__(self, name: str) -> Any:
        usual = {"Path": Path, "Mapping": Mapping, "Sequence": Sequence, "Iterable": Iterable, "Any": Any}
        return usual[name] if name in usual else getattr(shared, name, object)


def resolved_signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature with its annotations as objects."""
    names = _Names(vars(__import__("builtins")) | inspect.unwrap(function).__globals__)
    return inspect.signature(function, eval_str=True, locals=names)


def has_fields(annotation: Any) -> bool:
    """Return whether a result of this type can be printed as JSON."""
    is_path = isinstance(annotation, type) and issubclass(annotation, Path)
    return not is_path and annotation not in (None, *NO_FIELDS)


def typer_parameter(
    parameter: inspect.Parameter, docs: Mapping[str, str], aliases: Sequence[str] = ()
) -> inspect.Parameter:
    """Return the parameter with an annotation that Typer can parse: positional ones are arguments, others options."""
    kind, limits, is_path = simplify_type(parameter.annotation)
    owner = next((owner for owner in PANELS if parameter.name in _shared_help(owner)), None)
    shared_text = _shared_help(owner)[parameter.name] if owner else None
    text = docs.get(parameter.name, "")
    settings: dict[str, Any] = {"help": text}
    if limits:
        convert = int if kind in (int, list[int]) else float
        settings |= {"min": convert(limits.low), "max": None if limits.high is None else convert(limits.high)}
    default = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        info: Any = typer.Argument(**settings)
    else:
        if kind is not bool:
            settings["metavar"] = _metavar(kind, is_path=is_path)
        panel = PANELS[owner] if owner and text == shared_text else None
        info = typer.Option(*_flags(parameter.name, kind, default), *aliases, rich_help_panel=panel, **settings)
    annotation = Annotated[kind | None if default is None else kind, info]  # type: ignore[valid-type]
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def simplify_type(annotation: Any) -> tuple[Any, shared.NumberRange | None, bool]:
    """Return the type to parse from words, the limits of its numbers, and whether it is a path.

    >>> simplify_type(str | Path | None), simplify_type(Sequence[int]), simplify_type(shared.Count | None)
    ((<class 'str'>, None, True), (list[int], None, False), (<class 'int'>, NumberRange(low=1, high=None), False))
    """
    limits: shared.NumberRange | None = None
    members: list[Any] = []
    is_list = False
    for member in _flatten(annotation):
        if get_origin(member) is tuple:
            return tuple[str, str], None, False
        if get_origin(member) in COLLECTIONS:
            is_list = True
            elements = list(_flatten(get_args(member)[-1]))
        else:
            elements = [member]
        for element in elements:
            is_limited = get_origin(element) is Annotated
            limits = get_args(element)[1] if is_limited else limits
            members.append(get_args(element)[0] if is_limited else element)
    is_path = Path in members
    scalar = next((kind for kind in SCALARS if kind in members), str)
    if is_path or str in members:
        scalar = str
    return (list[scalar] if is_list else scalar), limits, is_path  # type: ignore[valid-type]


def _flatten(annotation: Any) -> Iterator[Any]:
    """Yield the members of a union, except None."""
    if get_origin(annotation) in (typing.Union, types.UnionType):
        for member in get_args(annotation):
            yield from _flatten(member)
    elif annotation not in (None, type(None)):
        yield annotation


def _metavar(kind: Any, *, is_path: bool) -> str:
    if is_path and kind is str:
        return "PATH"
    return {int: "N", float: "NUMBER", tuple[str, str]: "A B", list[int]: "N"}.get(kind, "TEXT")


def _flags(name: str, kind: Any, default: Any) -> list[str]:
    flag = flag_of(name)
    if kind is bool and default:
        return [f"{flag}/--no-{flag[2:]}"]
    return [flag, *(["-q"] if name == "quiet" else [])]


def flag_of(name: str) -> str:
    """Return the command-line spelling of a parameter.

    >>> flag_of("single_file"), flag_of("from_")
    ('--single-file', '--from')
    """
    return "--" + name.strip("_").replace("_", "-")
