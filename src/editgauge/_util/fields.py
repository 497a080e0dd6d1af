"""Fields of the project's benchmark format, with readable validation errors."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Annotated, Any, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from editgauge._util.documents import AmbiguousNumber, Location
from editgauge.edit_types import EDIT_TYPES, UNSPECIFIED, read_edit_type
from editgauge.errors import UnknownNameError
from editgauge.types import GROUP_NAME, InputRole, Relation, id_problem

MAX_LISTED_NAMES = 15


def describe_unknown(kind: str, name: str, valid_names: Iterable[str]) -> str:
    """Return a message that a name is unknown, with the name that was probably meant.

    >>> describe_unknown("edit type", "colors", ["color", "size"])
    "unknown edit type 'colors'. Did you mean 'color'?"
    >>> describe_unknown("object", "tree", [])
    "unknown object 'tree'. There are none."
    """
    names = sorted(valid_names)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        hint = f"Did you mean '{close[0]}'?"
    elif not names:
        hint = "There are none."
    else:
        more = ", …" if len(names) > MAX_LISTED_NAMES else ""
        hint = f"There are: {', '.join(names[:MAX_LISTED_NAMES])}{more}."
    return f"unknown {kind} {format_value(name)}. {hint}"


def format_value(value: object) -> str:
    r"""Return a value for a message: short, and without control characters.

    >>> format_value("cat"), format_value("a\x1b[2J"), format_value(12)
    ("'cat'", "'a\\x1b[2J'", '12')
    """
    text = repr(value) if not isinstance(value, str) or not value.isprintable() else f"'{value}'"
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"


def _not_empty(text: str) -> str:
    if not text.strip():
        raise ValueError("is empty")
    return text


def _edit_type(word: object) -> object:
    if not isinstance(word, str):
        return word
    try:
        return read_edit_type(word)
    except UnknownNameError:
        raise ValueError(describe_unknown("edit type", word, EDIT_TYPES)) from None


def usable_id(name: str) -> str:
    """Return an id; raise `ValueError` when it is not a valid file name."""
    problem = id_problem(name)
    if problem:
        raise ValueError(problem)
    return name


def _usable_name(name: str) -> str:
    problem = id_problem(name)
    if problem:
        raise ValueError(problem.replace("id ", "name ", 1))
    return name


def _group_name(name: str) -> str:
    if not GROUP_NAME.fullmatch(name):
        raise ValueError("must be letters, digits and _, and begin with a letter")
    return name


def _writable(extras: dict[str, Any]) -> dict[str, Any]:
    try:
        json.dumps(extras, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise ValueError(f"cannot be written as JSON ({error})") from None
    return extras


def _as_written(value: object) -> object:
    return value.written if isinstance(value, AmbiguousNumber) else value


Word = Annotated[str, BeforeValidator(_as_written)]
"""Text, even if it looks like a number to some YAML parsers."""
Text = Annotated[Word, AfterValidator(_not_empty)]


class Fields(BaseModel):
    """Base of all models: unknown keys are refused, values are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class BenchmarkFields(Fields):
    """Top level of a benchmark file."""

    name: Annotated[Word, AfterValidator(_usable_name)] | None = None
    about: Word | None = None
    license: Word | None = None
    sources: dict[str, Any] = {}
    edits: Annotated[list[Any], Field(min_length=1)]


class SourceFields(Fields):
    """One entry of `sources`."""

    image: Text
    caption: Text | None = None
    objects: dict[str, Any] = {}


class PositionFields(Fields):
    """The `position` of an edit."""

    relation: Relation
    anchor: Text | None = None


class InputFields(Fields):
    """One entry of `inputs`."""

    image: Text
    role: InputRole = "image"


class EditFields(Fields):
    """One entry of `edits`."""

    id: Annotated[Word, AfterValidator(usable_id)]
    source: Text
    type: Annotated[str, BeforeValidator(_edit_type)] = UNSPECIFIED
    instruction: Text
    subject: Text | None = None
    from_: Annotated[Text | None, Field(alias="from")] = None
    to: Text | None = None
    position: PositionFields | None = None
    count: Annotated[int, Field(ge=1, le=1000)] | None = None
    source_caption: Text | None = None
    target_caption: Text | None = None
    mask: Any = None
    reference: Text | None = None
    inputs: list[InputFields] = []
    turn: Annotated[int, Field(ge=1, le=1000)] = 1
    follows: Word | None = None
    photograph: Word | None = None
    recipe: Any = None
    groups: dict[Annotated[str, AfterValidator(_group_name)], Text] = {}
    extras: Annotated[dict[str, Any], AfterValidator(_writable)] = {}


AnyFields = TypeVar("AnyFields", bound=Fields)


def read_fields(model: type[AnyFields], value: object, location: Location) -> AnyFields | None:
    """Validate a part of a file; report every problem and return None if there is any."""
    if not isinstance(value, dict):
        location.report(f"must be a mapping with {_keys(model)}, got {format_value(value)}")
        return None
    try:
        return model.model_validate(value)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            location.within(*detail["loc"]).report(_describe_error(detail, model))
        return None


def _keys(model: type[BaseModel]) -> str:
    return ", ".join(f"'{field.alias or name}'" for name, field in model.model_fields.items() if field.is_required())


def _describe_error(detail: ErrorDetails, model: type[BaseModel]) -> str:
    key = str(detail["loc"][-1])
    kind, value = detail["type"], detail["input"]
    if kind == "missing":
        return f"'{key}' is missing"
    if kind == "extra_forbidden":
        parts: dict[str, type[BaseModel]] = {"position": PositionFields, "inputs": InputFields}
        inner = parts.get(str(detail["loc"][0]), model)
        return describe_unknown("key", key, (field.alias or name for name, field in inner.model_fields.items()))
    if kind == "literal_error":
        return describe_unknown(key, str(value), get_args(InputRole if key == "role" else Relation))
    if kind == "string_type":
        return f"'{key}' must be text, got {format_value(value)}{_quote_hint(value)}"
    if kind == "value_error":
        text = str(detail["ctx"]["error"])
        return text if text.startswith(("id ", "name ", "unknown ")) else f"'{key}' {text}"
    if kind in {"dict_type", "model_type", "list_type"}:
        return f"'{key}' must be a {'list' if kind == 'list_type' else 'mapping'}, got {format_value(value)}"
    if kind == "too_short":
        return "there are no edits"
    return f"'{key}': {detail['msg'][0].lower()}{detail['msg'][1:]}, got {format_value(value)}"


def _quote_hint(value: object) -> str:
    return "; write it in quotes" if isinstance(value, int | float) else ""
