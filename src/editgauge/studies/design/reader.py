"""Reads a design file, or tells everything that is wrong with it at once."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from editgauge._util.datasets import read_text
from editgauge._util.documents import Location, read_yaml
from editgauge._util.fields import describe_unknown, format_value
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.studies.design.checks import check_design
from editgauge.studies.design.fields import Design, Kind, Unit

SUFFIXES = (".yaml", ".yml")
ONE_OF = {"kind": get_args(Kind), "unit": get_args(Unit), "accept": ("yes", "no")}


def built_in() -> dict[str, str]:
    """Return the text of each built-in design by name."""
    folder = files(__package__) / "built_in"
    forms = {entry.name.removesuffix(".yaml"): entry for entry in folder.iterdir() if entry.name.endswith(".yaml")}
    return {name: forms[name].read_text("utf-8") for name in sorted(forms)}


def find_design(name: str) -> tuple[str, Path | None]:
    """Find a design by name or path; return its text and the folder its images are relative to."""
    if name.endswith(SUFFIXES):
        return read_text(Path(name)), Path(name).resolve().parent
    designs = built_in()
    if name not in designs:
        raise UnknownNameError("design", name, [*designs, "path/to/design.yaml"])
    return designs[name], None


def read_design(text: str, file: str) -> Design:
    """Parse a design; raise one `BadInputError` with every problem by file and line."""
    document = read_yaml(text, file)
    design = None
    if document.value is None and not document.faults:
        document.faults.append((1, "the file is empty"))
    if document.value is not None:
        design = _read(document.value, Location(document))
    if document.faults or design is None:
        problems = document.problems()
        count = "a problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise BadInputError(f"The design in '{file}' has {count}:", list(dict.fromkeys(problems)))
    return design


def _read(value: Any, top: Location) -> Design | None:
    if not isinstance(value, dict):
        top.report(f"must be a mapping with 'title', 'unit', 'questions', …, got {format_value(value)}")
        return None
    try:
        design = Design.model_validate(value)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            _owned(top.within(*detail["loc"]), value).report(_in_words(detail))
        return None
    check_design(design, top)
    return design


def _owned(location: Location, value: Any) -> Location:
    """Return the location extended with the question it is in."""
    match location.path:
        case ("questions", int(place), *_):
            question = value["questions"][place]
            name = question.get("id") if isinstance(question, dict) else None
            return Location(location.document, location.path, f"question {format_value(name) if name else place + 1}")
    return location


def _in_words(detail: ErrorDetails) -> str:
    steps = [step for step in detail["loc"] if isinstance(step, str) and step not in ("str", "int")]
    key = steps[-1] if steps else "the file"
    kind, entered = detail["type"], detail["input"]
    if kind == "missing":
        return f"'{key}' is missing"
    if kind == "extra_forbidden":
        return describe_unknown("key", key, _siblings(detail["loc"]))
    if kind == "literal_error":
        return describe_unknown(key, str(entered), ONE_OF[key])
    if kind in {"string_type", "int_type", "float_type", "bool_type"}:
        expected = {"string_type": "text", "bool_type": "true or false"}.get(kind, "a number")
        quotes = "; write it in quotes" if kind == "string_type" and isinstance(entered, int | float) else ""
        return f"'{key}' must be {expected}, got {format_value(entered)}{quotes}"
    if kind == "string_pattern_mismatch":
        return f"'{key}' must be a short word of small letters, digits and '_', got {format_value(entered)}"
    if kind in {"dict_type", "model_type", "list_type"}:
        return f"'{key}' must be a {'list' if kind == 'list_type' else 'mapping'}, got {format_value(entered)}"
    if kind == "value_error":
        return f"'{key}' {detail['ctx']['error']}"
    return f"'{key}': {detail['msg'][0].lower()}{detail['msg'][1:]}, got {format_value(entered)}"


def _siblings(path: tuple[str | int, ...]) -> list[str]:
    """Return the keys that are valid next to an unknown key."""
    model: Any = Design
    for step in path[:-1]:
        if isinstance(step, str) and step in model.model_fields:
            model = _inner_model(model.model_fields[step].annotation) or model
    return list(model.model_fields)


def _inner_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((forms for part in get_args(annotation) if (forms := _inner_model(part))), None)
