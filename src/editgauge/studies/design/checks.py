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
    """Reports everything that the types alone do not tell."""
    _check_templates(design.text, top.within("text"))
    spots = [top.within("questions", index) for index in range(len(design.questions))]
    for index, (question, spot) in enumerate(zip(design.questions, spots, strict=True)):
        _check_ask(question, spot)
        _check_question(question, design.questions[:index], spot)
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
        *((question.id, ("questions", place)) for place, question in enumerate(design.questions)),
        *((question.id, ("eligibility", place)) for place, question in enumerate(design.eligibility)),
        *((check.id, ("attention", "questions", place)) for place, check in enumerate(design.checks)),
    ]
    seen = set(RESERVED)
    for name, place in named:
        if name in seen:
            top.within(*place, "id").report(f"the id {format_value(name)} is used twice or reserved")
        seen.add(name)


def _check_ask(question: QuestionFields, spot: Location) -> None:
    kind: Kind = question.kind
    if kind not in WITH_OPTIONS:
        if question.options:
            spot.within("options").report(f"a question of kind '{kind}' brings its own options; leave them out")
        return
    if len(question.options) < 2:
        spot.report(f"a question of kind '{kind}' needs at least two 'options'")
    for index, option in enumerate(question.options):
        here = spot.within("options", index)
        if isinstance(option.value, int) != (kind == "scale"):
            wanted = "a whole number" if kind == "scale" else "a word; write numbers in quotes"
            here.report(f"the value of an option of a {kind} must be {wanted}, got {format_value(option.value)}")
        if isinstance(option.value, str) and "|" in option.value:
            here.report(f"the value {format_value(option.value)} must not hold '|'")
    _report_twice((option.value for option in question.options), spot.within("options"), "value")
    _report_twice((option.key.lower() for option in question.options if option.key), spot.within("options"), "key")


def _report_twice(values: Iterable[Value], spot: Location, what: str) -> None:
    seen: set[Value] = set()
    for value in values:
        if value in seen:
            spot.report(f"the {what} {format_value(value)} is used by two options")
        seen.add(value)


def _check_question(question: DesignQuestion, earlier: Sequence[DesignQuestion], spot: Location) -> None:
    known = {item.id: item for item in earlier}
    for name, values in question.when.items():
        condition = known.get(name)
        if condition is None:
            spot.within("when", name).report(f"'when': {describe_unknown('earlier question', name, known)}")
        elif condition.kind == "text":
            spot.within("when", name).report(f"'when' names {format_value(name)}, whose answers are free words")
        else:
            _check_values(values, condition, spot.within("when", name))
    if question.quote is not None:
        _check_templates(question.quote, spot.within("quote"))
    if question.prefill is not None:
        _check_templates(question.prefill, spot.within("prefill"))
        if question.kind != "text":
            spot.within("prefill").report("only a question of kind 'text' can be pre-filled")
    if question.needs is not None and not is_field(question.needs):
        spot.within("needs").report(_no_field(question.needs))
    if question.tie and question.kind != "pick_side":
        spot.within("tie").report("'tie' belongs to questions of kind 'pick_side'")
    if question.tree is not None:
        _check_tree(question.tree, spot.within("tree"))
        _check_values(list(question.tree.leaves()), question, spot.within("tree"))


def _check_values(values: Sequence[Value], question: QuestionFields, spot: Location) -> None:
    for value in values:
        if value not in question.values:
            there = ", ".join(map(str, question.values)) or "none"
            spot.report(f"{format_value(value)} is no option of '{question.id}'; there are: {there}")


def _check_tree(node: TreeStep, spot: Location) -> None:
    for index, branch in enumerate(node.answers):
        here = spot.within("answers", index)
        if (branch.then is None) == (branch.choose is None):
            here.report("a branch needs 'then' (the next step) or 'choose' (an option), and not both")
        if branch.then is not None:
            _check_tree(branch.then, here.within("then"))


def _check_sides(design: Design, spots: Sequence[Location]) -> None:
    if design.unit != "outcome" and not design.sided:
        spots[0].report(f"the unit '{design.unit}' needs a question of kind 'pick_side'")
    if design.unit == "outcome":
        for question, spot in zip(design.questions, spots, strict=True):
            if question.kind == "pick_side":
                spot.report("'pick_side' needs the unit 'pair' or 'attributes'")


def _check_test(item: QuizItem | Check, spot: Location) -> None:
    question = item.question if isinstance(item, QuizItem) else item
    where = spot.within("question") if isinstance(item, QuizItem) else spot
    _check_ask(question, where)
    if question.kind in ("text", "pick_side", "multi_choice"):
        left = [kind for kind in get_args(Kind) if kind not in ("text", "pick_side", "multi_choice")]
        where.report(f"a test asks questions of kind {', '.join(left)}, got '{question.kind}'")
    else:
        _check_values(item.right, question, spot.within("right"))


def _check_templates(template: str, spot: Location) -> None:
    for name in fields_of(template):
        if not is_field(name):
            spot.report(_no_field(name))


def _no_field(name: str) -> str:
    return f"edits have no field {format_value(name)}; there are: {', '.join(EDIT_FIELDS)}, and extras.NAME"
