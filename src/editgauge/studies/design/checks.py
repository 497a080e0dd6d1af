"""The rules of a design that concern several of its fields; each breach is reported at its line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

from editgauge._util.documents import Location
from editgauge._util.fields import describe_unknown, format_value
from editgauge.studies.design.fields import (
    EDIT_FIELDS,
    Check,
    Design,
    DesignQuestion,
    Kind,
    QuestionFields,
    QuizItem,
    TreeStep,
    Value,
    fields_of,
    is_field,
)

WITH_OPTIONS = ("choice", "multi_choice", "scale")
RESERVED = ("submit", "csrf")
"""Names that a form needs for itself."""


def check_design(design: Design, top: Location) -> None:
    """Report all problems of a design that its types alone do not show."""
    _check_templates(design.text, top.within("text"))
    spots = [top.within("questions", index) for index in range(len(design.questions))]
    for index, (question, location) in enumerate(zip(design.questions, spots, strict=True)):
        _check_ask(question, location)
        _check_question(question, design.questions[:index], location)
    _check_sides(design, spots)
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
    """Answers are kept by question id, so no two questions share one."""
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


def _check_sides(design: Design, spots: Sequence[Location]) -> None:
    if design.unit != "outcome" and not design.sided:
        spots[0].report(f"the unit '{design.unit}' needs a question of kind 'pick_side'")
    if design.unit == "outcome":
        for question, location in zip(design.questions, spots, strict=True):
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
