"""Reads a design file, or tells everything that is wrong with it at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from editgauge._util.datasets import read_text
from editgauge._util.documents import Location, read_yaml
from editgauge._util.fields import describe_unknown, format_value
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.studies.design._fields import (
    EDIT_FIELDS,
    Check,
    Design,
    DesignQuestion,
    Kind,
    QuestionFields,
    QuizItem,
    TreeStep,
    Unit,
    Value,
    fields_of,
    is_field,
)

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
        case ("questions", int(index), *_):
            question = value["questions"][index]
            name = question.get("id") if isinstance(question, dict) else None
            return Location(location.document, location.path, f"question {format_value(name) if name else index + 1}")
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


WITH_OPTIONS = ("choice", "multi_choice", "scale")
RESERVED = ("submit", "csrf")
"""Names that a form needs for itself."""


def check_design(design: Design, top: Location) -> None:
    """Report all problems of a design that its types alone do not show."""
    _check_templates(design.text, top.within("text"))
    locations = [top.within("questions", index) for index in range(len(design.questions))]
    for index, (question, location) in enumerate(zip(design.questions, locations, strict=True)):
        _check_ask(question, location)
        _check_question(question, design.questions[:index], location)
    _check_sides(design, locations)
    _check_names(design, top)
    for name in design.gold.tolerance:
        condition = design.question(name)
        if condition is None or condition.kind != "scale":
            top.within("gold", "tolerance", name).report(f"'tolerance' names {format_value(name)}, which is no scale")
    if design.qualification:
        for index, item in enumerate(design.qualification.items):
            _check_test(item, top.within("qualification", "items", index))
    for index, check in enumerate(design.checks):
        _check_test(check, top.within("attention", "questions", index))


def _check_names(design: Design, top: Location) -> None:
    """Report question ids that are used twice; answers are stored by id."""
    named = [
        *((question.id, ("questions", index)) for index, question in enumerate(design.questions)),
        *((question.id, ("eligibility", index)) for index, question in enumerate(design.eligibility)),
        *((check.id, ("attention", "questions", index)) for index, check in enumerate(design.checks)),
    ]
    used_names = set(RESERVED)
    for name, index in named:
        if name in used_names:
            top.within(*index, "id").report(f"the id {format_value(name)} is used twice or reserved")
        used_names.add(name)


def _check_ask(question: QuestionFields, location: Location) -> None:
    kind: Kind = question.kind
    if kind not in WITH_OPTIONS:
        if question.options:
            location.within("options").report(f"a question of kind '{kind}' brings its own options; leave them out")
        return
    if len(question.options) < 2:
        location.report(f"a question of kind '{kind}' needs at least two 'options'")
    for index, option in enumerate(question.options):
        option_location = location.within("options", index)
        if isinstance(option.value, int) != (kind == "scale"):
            expected = "a whole number" if kind == "scale" else "a word; write numbers in quotes"
            option_location.report(
                f"the value of an option of a {kind} must be {expected}, got {format_value(option.value)}"
            )
        if isinstance(option.value, str) and "|" in option.value:
            option_location.report(f"the value {format_value(option.value)} must not hold '|'")
    _report_twice((option.value for option in question.options), location.within("options"), "value")
    _report_twice((option.key.lower() for option in question.options if option.key), location.within("options"), "key")


def _report_twice(values: Iterable[Value], location: Location, what: str) -> None:
    previous: set[Value] = set()
    for value in values:
        if value in previous:
            location.report(f"the {what} {format_value(value)} is used by two options")
        previous.add(value)


def _check_question(question: DesignQuestion, earlier: Sequence[DesignQuestion], location: Location) -> None:
    earlier_questions = {item.id: item for item in earlier}
    for name, values in question.when.items():
        condition = earlier_questions.get(name)
        if condition is None:
            location.within("when", name).report(
                f"'when': {describe_unknown('earlier question', name, earlier_questions)}"
            )
        elif condition.kind == "text":
            location.within("when", name).report(f"'when' names {format_value(name)}, whose answers are free words")
        else:
            _check_values(values, condition, location.within("when", name))
    if question.quote is not None:
        _check_templates(question.quote, location.within("quote"))
    if question.prefill is not None:
        _check_templates(question.prefill, location.within("prefill"))
        if question.kind != "text":
            location.within("prefill").report("only a question of kind 'text' can be pre-filled")
    if question.needs is not None and not is_field(question.needs):
        location.within("needs").report(_no_field(question.needs))
    if question.tie and question.kind != "pick_side":
        location.within("tie").report("'tie' belongs to questions of kind 'pick_side'")
    if question.tree is not None:
        _check_tree(question.tree, location.within("tree"))
        _check_values(list(question.tree.leaves()), question, location.within("tree"))


def _check_values(values: Sequence[Value], question: QuestionFields, location: Location) -> None:
    for value in values:
        if value not in question.values:
            valid_values = ", ".join(map(str, question.values)) or "none"
            location.report(f"{format_value(value)} is no option of '{question.id}'; there are: {valid_values}")


def _check_tree(node: TreeStep, location: Location) -> None:
    for index, branch in enumerate(node.answers):
        branch_location = location.within("answers", index)
        if (branch.then is None) == (branch.choose is None):
            branch_location.report("a branch needs 'then' (the next step) or 'choose' (an option), and not both")
        if branch.then is not None:
            _check_tree(branch.then, branch_location.within("then"))


def _check_sides(design: Design, locations: Sequence[Location]) -> None:
    if design.unit != "outcome" and not design.sided:
        locations[0].report(f"the unit '{design.unit}' needs a question of kind 'pick_side'")
    if design.unit == "outcome":
        for question, location in zip(design.questions, locations, strict=True):
            if question.kind == "pick_side":
                location.report("'pick_side' needs the unit 'pair' or 'attributes'")


def _check_test(item: QuizItem | Check, location: Location) -> None:
    question = item.question if isinstance(item, QuizItem) else item
    where = location.within("question") if isinstance(item, QuizItem) else location
    _check_ask(question, where)
    if question.kind in ("text", "pick_side", "multi_choice"):
        left = [kind for kind in get_args(Kind) if kind not in ("text", "pick_side", "multi_choice")]
        where.report(f"a test asks questions of kind {', '.join(left)}, got '{question.kind}'")
    else:
        _check_values(item.right, question, location.within("right"))


def _check_templates(template: str, location: Location) -> None:
    for name in fields_of(template):
        if not is_field(name):
            location.report(_no_field(name))


def _no_field(name: str) -> str:
    return f"edits have no field {format_value(name)}; there are: {', '.join(EDIT_FIELDS)}, and extras.NAME"
