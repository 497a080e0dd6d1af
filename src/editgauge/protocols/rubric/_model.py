"""A rubric as one YAML file: what is shown, what is asked, and how the answers make scores."""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from editgauge.errors import BadInputError, UnknownNameError, summarize_error
from editgauge.judges._parsing import UnparsableReplyError
from editgauge.judges._questions import Ratings
from editgauge.types import Edit, Question, Unscored

ABSENT, PRESENT = "absent", "present"
"""In a condition: the edit does not have the field, or has it, whatever its value."""
BYTES_AT_MOST = 200_000
Shows = Literal["source", "outcome", "reference"]
Condition = dict[str, list[str | int | float | bool]]
"""Fields of the edit with the values that are accepted."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Dimension(_Part):
    """One thing that gets a number."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")
    asks: str
    also: list[str] = []
    """Further names under which a model may give it, such as those of the authors' wording."""


class RubricQuestion(_Part):
    """One question to the judge, with the numbers that it is to give."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")
    shows: list[Shows] = Field(min_length=1)
    asks: str
    range: tuple[float, float]
    dimensions: list[Dimension] = Field(min_length=1)
    when: Condition = {}
    yes_or_no: bool = False
    """The numbers are the two ends of the range and nothing between."""


class Formula(_Part):
    """How a score is made of dimensions, for the edits that a condition accepts."""

    when: Condition = {}
    is_: Any = Field(alias="is")


class Made(_Part):
    """A score."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")
    about: str
    range: tuple[float, float]
    is_: Any = Field(alias="is")
    """A formula, or a list of formulas with conditions of which the first that fits counts."""

    @property
    def formulas(self) -> list[Formula]:
        """All of them, in order."""
        return (
            [Formula.model_validate(each) for each in self.is_]
            if isinstance(self.is_, list)
            else [Formula.model_validate({"is": self.is_})]
        )


class Rule(_Part):
    """Sets a dimension where a condition on others holds."""

    set: str
    to: float
    if_: dict[str, dict[str, float]] = Field(alias="if")


class SetMade(_Part):
    """A score of a whole set: the mean of group means, of the edits that a condition accepts."""

    name: str
    of: str
    about: str
    over: str | None = None
    """The field whose values are the groups; one group when left out."""
    when: Condition = {}


class Released(_Part):
    """What the authors' released code does otherwise; `@released` does the same."""

    notes: list[str]
    unreadable: Literal["random", "zero", "middle", "lone_digit", "dropped"] = "dropped"
    failed: Literal["zero", "dropped"] = "dropped"
    caps: bool = True
    """False when the code only tells the judge to keep to the caps."""


class Rubric(_Part):
    """A whole rubric."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,60}$")
    about: str
    paper: str = "of the user's own"
    version: str = "1"
    deviations: list[str] = []
    fields: dict[str, list[str]] = {}
    """Names of fields to the extras of an edit that may hold them, first found first taken."""
    questions: list[RubricQuestion] = Field(min_length=1)
    caps: dict[str, str] = {}
    rules: list[Rule] = []
    scores: list[Made] = []
    sets: list[SetMade] = []
    answers: dict[Question, str] = {}
    """Which dimension or score is the main answer to a question about the edit."""
    repeat: int = Field(default=1, ge=1, le=64)
    released: Released | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Rubric:
        names = [each.name for question in self.questions for each in question.dimensions]
        known = set(names)
        limits = [name for pair in self.caps.items() for name in pair]
        strangers = [name for name in (*limits, *(rule.set for rule in self.rules)) if name not in known]
        if strangers:
            raise ValueError(f"caps and rules name what is no dimension: {', '.join(strangers)}")
        for made in self.scores:
            for formula in made.formulas:
                try:
                    check_formula(formula.is_, known)
                except BadInputError as error:
                    raise ValueError(f"score '{made.name}': {error}") from error
            known.add(made.name)
        unknown = [name for name in self.answers.values() if name not in known]
        if unknown:
            raise ValueError(f"answers name what is no dimension and no score: {', '.join(unknown)}")
        for each in self.sets:
            if each.of not in known:
                raise ValueError(f"set '{each.name}' is made of '{each.of}', which is no score")
        return self

    def field(self, edit: Edit, name: str) -> str:
        """The value of a field of an edit as a text; `absent` when the edit has none."""
        if name == "type":
            return edit.type
        for key in self.fields.get(name, [name]):
            value = edit.groups.get(key, edit.extras.get(key))
            if value is not None and value == value:  # NaN is how some files write that nothing is there
                return str(value).lower() if isinstance(value, bool) else str(value)
        return ABSENT

    def applies(self, when: Condition, edit: Edit) -> bool:
        """Does a condition accept the edit?"""
        return all(_accepted(self.field(edit, name), {_text(each) for each in values}) for name, values in when.items())


class Opened(BaseModel):
    """A rubric with the name it was asked for by and a fingerprint of its file."""

    rubric: Rubric
    called: str
    fingerprint: str


def rubric_names() -> list[str]:
    """The built-in rubrics."""
    files = resources.files("editgauge.protocols.rubric").joinpath("built_in").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


@cache
def open_rubric(name: str) -> Opened:
    """The rubric of a built-in name, or of a user's own YAML file."""
    if name in rubric_names():
        file = resources.files("editgauge.protocols.rubric").joinpath("built_in").joinpath(f"{name}.yaml")
        return _read(name, file.read_bytes())
    path = Path(name).expanduser()
    if path.suffix not in (".yaml", ".yml"):
        raise UnknownNameError("rubric", name, rubric_names(), "editgauge list rubrics")
    if not path.is_file():
        raise BadInputError(f"There is no rubric at '{name}'. Built in are: {', '.join(rubric_names())}.")
    return _read(name, path.read_bytes())


def _read(name: str, content: bytes) -> Opened:
    try:
        if len(content) > BYTES_AT_MOST:
            raise ValueError(f"it is larger than {BYTES_AT_MOST:,} bytes")
        rubric = Rubric.model_validate(yaml.safe_load(content.decode("utf-8")))
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, each['loc'])) or 'rubric'}: {each['msg']}" for each in error.errors()]
        raise BadInputError(f"The rubric '{name}' has problems.", problems) from error
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise BadInputError(f"The rubric '{name}' cannot be read: {summarize_error(error)}") from error
    return Opened(rubric=rubric, called=name, fingerprint=hashlib.sha256(content).hexdigest()[:12])


def _accepted(value: str, values: set[str]) -> bool:
    return value in values or (PRESENT in values and value != ABSENT)


def _text(value: str | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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


_LONE_DIGIT = re.compile(r"(?<![\d.])([1-5])(?![\d.])")


def guessed(rule: str, text: str, form: Ratings) -> Mapping[str, float]:
    """The numbers that a rule puts in place of an unreadable answer; raises `UnparsableReplyError` where it drops it.

    Args:
        rule: `random` (a whole number each, drawn from the text itself, so that a second look gives the same),
            `zero`, `middle`, `lone_digit` (the first digit from 1 to 5 that stands alone), or `dropped`
        text: the answer
        form: what was asked for

    """
    names = [name for name, _ in form.names]
    if rule == "random":
        draw = random.Random(text)  # noqa: S311 - no secret
        return {name: float(draw.randint(int(form.low), int(form.high))) for name in names}
    if rule == "zero":
        return dict.fromkeys(names, 0.0)
    if rule == "middle":
        return dict.fromkeys(names, (form.low + form.high) / 2)
    digit = _LONE_DIGIT.search(text) if rule == "lone_digit" else None
    if digit is None:
        raise UnparsableReplyError("numbers", text)
    return dict.fromkeys(names, float(digit[1]))


@dataclass(frozen=True, slots=True)
class GuessedRatings(Ratings):
    """Ratings as released code reads them: what cannot be read is guessed by its rule."""

    rule: str = "dropped"

    def read(self, text: str) -> Mapping[str, float]:
        """The numbers, read or guessed."""
        try:
            return Ratings.read(self, text)
        except UnparsableReplyError:
            return guessed(self.rule, text, self)
