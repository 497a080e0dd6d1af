"""Formulas over judged dimensions: pure, and the same for a rubric of ours, of a user, and for answers of others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from editgauge.errors import BadInputError
from editgauge.types import Unscored

Values = Mapping[str, float | Unscored | None]
"""What is known about each name; None when it was not asked, because it does not apply to the edit."""

OPERATIONS = ("min", "mean", "root_of_product", "weighted", "scaled", "full_marks", "at_least", "if")


def evaluate(formula: Any, values: Values) -> float | Unscored:
    """The value of a formula.

    A name stands for its value, a number for itself; operations are mappings:
    `{min: [a, b]}`, `{mean: [a, b]}` (of those that apply), `{root_of_product: [a, b]}` (the n-th root of n values),
    `{weighted: {a: 0.8, b: 0.2}}`, `{scaled: a, minus: 1, times: 25}`, `{full_marks: [a, b], is: 5}` (1 or 0),
    `{at_least: 1, of: a}` and `{if: {a: {at_most: 2}}, then: …, else: …}`. What lacks a value has none itself.

    >>> evaluate({"root_of_product": [{"min": ["a", "b"]}, "c"]}, {"a": 9.0, "b": 4.0, "c": 9.0})
    6.0
    """
    if isinstance(formula, int | float):
        return float(formula)
    if isinstance(formula, str):
        return _known(formula, values)
    (operation,) = [name for name in OPERATIONS if name in formula]
    operands = formula[operation]
    if operation == "weighted":
        parts = {name: evaluate(name, values) for name in operands}
        return _first_gap(parts.values()) or sum(weight * _number(parts[name]) for name, weight in operands.items())
    if operation == "scaled":
        value = evaluate(operands, values)
        return value if isinstance(value, Unscored) else (value - formula["minus"]) * formula["times"]
    if operation == "at_least":
        value = evaluate(formula["of"], values)
        return value if isinstance(value, Unscored) else max(float(operands), value)
    if operation == "if":
        held = holds(operands, values)
        return held if isinstance(held, Unscored) else evaluate(formula["then" if held else "else"], values)
    parts_in_order = [evaluate(each, values) for each in operands]
    if operation == "mean":
        parts_in_order = [each for each in parts_in_order if not _does_not_apply(each)]
        if not parts_in_order:
            return Unscored("not_applicable", "none of what the mean is made of applies to this edit")
    gap = _first_gap(parts_in_order)
    if gap is not None:
        return gap
    numbers = [_number(each) for each in parts_in_order]
    match operation:
        case "min":
            return min(numbers)
        case "mean":
            return sum(numbers) / len(numbers)
        case "root_of_product":
            return math.sqrt(math.prod(numbers)) if len(numbers) == 2 else math.prod(numbers) ** (1 / len(numbers))
        case _:
            return float(all(number >= formula["is"] for number in numbers))


def holds(condition: Mapping[str, Mapping[str, float]], values: Values) -> bool | Unscored:
    """Whether a condition on values holds: `{a: {at_most: 2}}` or `{a: {at_least: 4}}`."""
    for name, bounds in condition.items():
        value = _known(name, values)
        if isinstance(value, Unscored):
            return value
        if value > bounds.get("at_most", math.inf) or value < bounds.get("at_least", -math.inf):
            return False
    return True


def capped(values: Values, caps: Mapping[str, str]) -> dict[str, float | Unscored | None]:
    """The values with none above the one that caps it.

    >>> capped({"first": 3.0, "second": 5.0}, {"second": "first"})
    {'first': 3.0, 'second': 3.0}
    """
    limited = dict(values)
    for name, limit in caps.items():
        value, most = limited.get(name), limited.get(limit)
        if isinstance(value, float) and isinstance(most, float):
            limited[name] = min(value, most)
        elif isinstance(value, float) and isinstance(most, Unscored):
            limited[name] = most
    return limited


def check_formula(formula: Any, known: Iterable[str]) -> None:
    """Raises `BadInputError` for a formula that cannot be evaluated."""
    names = set(known)
    if isinstance(formula, bool) or not isinstance(formula, int | float | str | dict):
        raise BadInputError(f"A formula is a name, a number or an operation; got {formula!r:.60}.")
    if isinstance(formula, str) and formula not in names:
        raise BadInputError(f"A formula names '{formula}', and there is no such dimension or earlier score.")
    if not isinstance(formula, dict):
        return
    operations = [name for name in OPERATIONS if name in formula]
    wanted = {"scaled": {"minus", "times"}, "full_marks": {"is"}, "at_least": {"of"}, "if": {"then", "else"}}
    if len(operations) != 1 or set(formula) != {operations[0], *wanted.get(operations[0], ())}:
        raise BadInputError(f"An operation is one of {', '.join(OPERATIONS)}, with its own words; got {formula!r:.80}.")
    (operation,) = operations
    operands = formula[operation]
    if operation in ("min", "mean", "root_of_product", "full_marks"):
        if not isinstance(operands, list) or not operands:
            raise BadInputError(f"'{operation}' takes a list; got {operands!r:.60}.")
        parts = operands
    elif operation == "weighted":
        if not isinstance(operands, dict) or not all(isinstance(each, int | float) for each in operands.values()):
            raise BadInputError(f"'weighted' takes names with their weights; got {operands!r:.60}.")
        parts = list(operands)
    elif operation == "if":
        parts = [*operands, formula["then"], formula["else"]]
    else:
        parts = [formula["of"] if operation == "at_least" else operands]
    for part in parts:
        check_formula(part, names)


def _known(name: str, values: Values) -> float | Unscored:
    value = values.get(name)
    return Unscored("not_applicable", f"'{name}' is not asked for this edit") if value is None else value


def _first_gap(values: Iterable[float | Unscored]) -> Unscored | None:
    return next((each for each in values if isinstance(each, Unscored)), None)


def _does_not_apply(value: float | Unscored) -> bool:
    return isinstance(value, Unscored) and value.reason == "not_applicable"


def _number(value: float | Unscored) -> float:
    if isinstance(value, Unscored):
        raise TypeError("a gap was looked for before")
    return value
