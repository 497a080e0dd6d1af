"""Formulas of rubrics: typed expressions over dimensions and earlier scores."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from editgauge.types import Unscored

MAX_NUMBER = 1e6
"""Largest absolute value in a rubric file."""

Values = Mapping[str, float | Unscored | None]
"""Value of each dimension or score; None if it was not asked, because it does not apply to the edit."""
Result = float | Unscored
Number = Annotated[float, Field(strict=True, ge=-MAX_NUMBER, le=MAX_NUMBER, allow_inf_nan=False)]
Name = Annotated[str, Field(strict=True, pattern=r"^[a-z][a-z0-9_]{0,40}$")]


class RubricPart(BaseModel):
    """A part of a rubric file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class FormulaBounds(RubricPart):
    """Limits of a value in a condition, at least one."""

    at_most: Number | None = None
    at_least: Number | None = None

    @model_validator(mode="after")
    def _require_limit(self) -> FormulaBounds:
        if self.at_most is None and self.at_least is None:
            raise ValueError("a condition needs at_most or at_least")
        return self

    def hold(self, value: float) -> bool:
        """Return whether the value is within the limits."""
        return (self.at_most is None or value <= self.at_most) and (self.at_least is None or value >= self.at_least)


Condition = Annotated[dict[Name, FormulaBounds], Field(min_length=1)]
"""Names with the limits of their values; all must hold."""


class Operation(RubricPart):
    """An operation of a formula."""

    def names(self) -> Iterator[str]:
        """Yield the names that the operation uses."""
        raise NotImplementedError

    def evaluate(self, values: Values) -> Result:
        """Return the value; unscored if an operand is."""
        raise NotImplementedError


class _ListOperation(Operation):
    """An operation on a list of operands."""

    @property
    def operands(self) -> Sequence[Formula]:
        """The operands in order: the value of the first field, which names the operation."""
        operands: Sequence[Formula] = getattr(self, next(iter(type(self).model_fields)))
        return operands

    def names(self) -> Iterator[str]:
        """Yield the names of all operands."""
        for operand in self.operands:
            yield from names_of(operand)

    def evaluate(self, values: Values) -> Result:
        """Evaluate all operands, then combine their numbers."""
        return _combine((evaluate(operand, values) for operand in self.operands), self._combine)

    def _combine(self, numbers: Sequence[float]) -> float:
        raise NotImplementedError


class Minimum(_ListOperation):
    """`{min: [a, b]}`."""

    min: Annotated[list[Formula], Field(min_length=1)]

    def _combine(self, numbers: Sequence[float]) -> float:
        return min(numbers)


class MeanFormula(_ListOperation):
    """`{mean: [a, b]}`, over the operands that apply to the edit."""

    mean: Annotated[list[Formula], Field(min_length=1)]

    def evaluate(self, values: Values) -> Result:
        """Return the mean of the operands that apply."""
        results = [evaluate(operand, values) for operand in self.operands]
        applicable = [result for result in results if not _is_not_applicable(result)]
        if not applicable:
            return Unscored("not_applicable", "none of what the mean is made of applies to this edit")
        return _combine(applicable, self._combine)

    def _combine(self, numbers: Sequence[float]) -> float:
        return sum(numbers) / len(numbers)


class RootOfProduct(_ListOperation):
    """`{root_of_product: [a, b]}`: the n-th root of the product of n values."""

    root_of_product: Annotated[list[Formula], Field(min_length=1)]

    def _combine(self, numbers: Sequence[float]) -> float:
        product = math.prod(numbers)
        return math.sqrt(product) if len(numbers) == 2 else _root(product, len(numbers))


class FullMarks(_ListOperation):
    """`{full_marks: [a, b], is: 5}`: 1 if all values reach the mark, else 0."""

    full_marks: Annotated[list[Formula], Field(min_length=1)]
    mark: Number = Field(alias="is")

    def _combine(self, numbers: Sequence[float]) -> float:
        return float(all(number >= self.mark for number in numbers))


class Weighted(Operation):
    """`{weighted: {a: 0.8, b: 0.2}}`."""

    weighted: Annotated[dict[Name, Number], Field(min_length=1)]

    def names(self) -> Iterator[str]:
        """Yield the weighted names."""
        yield from self.weighted

    def evaluate(self, values: Values) -> Result:
        """Return the weighted sum."""
        return _combine(
            (evaluate(name, values) for name in self.weighted),
            lambda numbers: sum(
                weight * number for weight, number in zip(self.weighted.values(), numbers, strict=True)
            ),
        )


class Scaled(Operation):
    """`{scaled: a, minus: 1, times: 25}`."""

    scaled: Formula
    minus: Number
    times: Number

    def names(self) -> Iterator[str]:
        """Yield the names of the operand."""
        yield from names_of(self.scaled)

    def evaluate(self, values: Values) -> Result:
        """Return the operand, shifted and scaled."""
        value = evaluate(self.scaled, values)
        return value if isinstance(value, Unscored) else (value - self.minus) * self.times


class AtLeast(Operation):
    """`{at_least: 1, of: a}`."""

    at_least: Number
    of: Formula

    def names(self) -> Iterator[str]:
        """Yield the names of the operand."""
        yield from names_of(self.of)

    def evaluate(self, values: Values) -> Result:
        """Return the operand, or the minimum if that is larger."""
        value = evaluate(self.of, values)
        return value if isinstance(value, Unscored) else max(self.at_least, value)


class Conditional(Operation):
    """`{if: {a: {at_most: 2}}, then: …, else: …}`."""

    condition: Condition = Field(alias="if")
    then: Formula
    otherwise: Formula = Field(alias="else")

    def names(self) -> Iterator[str]:
        """Yield the names of the condition and of both branches."""
        yield from (*self.condition, *names_of(self.then), *names_of(self.otherwise))

    def evaluate(self, values: Values) -> Result:
        """Return the branch that the condition selects."""
        is_true = holds(self.condition, values)
        return is_true if isinstance(is_true, Unscored) else evaluate(self.then if is_true else self.otherwise, values)


_OPERATIONS: dict[str, type[Operation]] = {
    "min": Minimum,
    "mean": MeanFormula,
    "root_of_product": RootOfProduct,
    "weighted": Weighted,
    "scaled": Scaled,
    "full_marks": FullMarks,
    "at_least": AtLeast,
    "if": Conditional,
}


def _tag(value: Any) -> str | None:
    """Return the kind of a formula by its key, for the discriminated union."""
    if isinstance(value, Operation):
        return next(name for name, operation in _OPERATIONS.items() if isinstance(value, operation))
    if isinstance(value, dict):
        present = [name for name in _OPERATIONS if name in value]
        return present[0] if len(present) == 1 else None
    return "name" if isinstance(value, str) else "number"


Formula = Annotated[
    Annotated[Number, Tag("number")]
    | Annotated[Name, Tag("name")]
    | Annotated[Minimum, Tag("min")]
    | Annotated[MeanFormula, Tag("mean")]
    | Annotated[RootOfProduct, Tag("root_of_product")]
    | Annotated[Weighted, Tag("weighted")]
    | Annotated[Scaled, Tag("scaled")]
    | Annotated[FullMarks, Tag("full_marks")]
    | Annotated[AtLeast, Tag("at_least")]
    | Annotated[Conditional, Tag("if")],
    Discriminator(
        _tag,
        custom_error_type="formula",
        custom_error_message=f"a formula is a name, a number or one operation of {', '.join(_OPERATIONS)}",
    ),
]
"""A name, a number or an operation."""
for _operation in _OPERATIONS.values():
    _operation.model_rebuild()


def evaluate(formula: Formula, values: Values) -> Result:
    """Return the value of a formula; unscored if a value that it needs is.

    >>> formula = RootOfProduct.model_validate({"root_of_product": [{"min": ["a", "b"]}, "c"]})
    >>> evaluate(formula, {"a": 9.0, "b": 4.0, "c": 9.0})
    6.0
    """
    if isinstance(formula, Operation):
        return formula.evaluate(values)
    return _lookup(formula, values) if isinstance(formula, str) else float(formula)


def names_of(formula: Formula) -> Iterator[str]:
    """Yield the dimensions and scores that a formula uses."""
    if isinstance(formula, Operation):
        yield from formula.names()
    elif isinstance(formula, str):
        yield formula


def holds(condition: Mapping[str, FormulaBounds], values: Values) -> bool | Unscored:
    """Return whether a condition on values holds; unscored if a value is missing before it fails."""
    for name, bounds in condition.items():
        value = _lookup(name, values)
        if isinstance(value, Unscored):
            return value
        if not bounds.hold(value):
            return False
    return True


def apply_caps(values: Values, caps: Mapping[str, str]) -> dict[str, float | Unscored | None]:
    """Return the values, none above the value that caps it.

    >>> apply_caps({"first": 3.0, "second": 5.0}, {"second": "first"})
    {'first': 3.0, 'second': 3.0}
    """
    limited = dict(values)
    for name, limit in caps.items():
        value, maximum = limited.get(name), limited.get(limit)
        if isinstance(value, float) and isinstance(maximum, float):
            limited[name] = min(value, maximum)
        elif isinstance(value, float) and isinstance(maximum, Unscored):
            limited[name] = maximum
    return limited


def _lookup(name: str, values: Values) -> Result:
    value = values.get(name)
    return Unscored("not_applicable", f"'{name}' is not asked for this edit") if value is None else value


def _combine(results: Iterable[Result], combine: Any) -> Result:
    """Combine numbers; return the first unscored result instead if there is one."""
    numbers: list[float] = []
    for result in results:
        if isinstance(result, Unscored):
            return result
        numbers.append(result)
    return float(combine(numbers))


def _root(product: float, degree: int) -> float:
    if product < 0:
        raise ValueError("a root of a negative product")
    return float(product ** (1 / degree))


def _is_not_applicable(result: Result) -> bool:
    return isinstance(result, Unscored) and result.reason == "not_applicable"
