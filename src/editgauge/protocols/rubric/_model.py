"""Rubric files: what a judge is shown and asked, and how its answers make scores.

A file is validated completely before any question is asked: its YAML, every part, all names, and all formulas on a grid
of possible answers.
"""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, model_validator

from editgauge._util.documents import read_yaml
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.judges._parsing import UnparsableReplyError
from editgauge.judges._questions import Ratings
from editgauge.protocols.rubric._formulas import (
    Condition,
    Formula,
    Name,
    Number,
    RubricPart,
    Values,
    apply_caps,
    evaluate,
    holds,
    names_of,
)
from editgauge.types import Edit, Question, Unscored

ABSENT, PRESENT = "absent", "present"
"""In a field condition: the edit does not have the field, or has it with any value."""
MAX_BYTES = 200_000
MAX_GRID = 4096
"""Larger grids of possible answers are sampled."""
RANGE_TOLERANCE = 1e-9
"""Relative to the width of the range: rounding errors are not faults."""
SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}")
"""A slot in the text of a question."""
ShownImage = Literal["source", "outcome", "reference"]
FieldCondition = dict[str, Annotated[list[str | int | float | bool], Field(min_length=1)]]
"""Fields of the edit with the values that are accepted."""
Range = tuple[Number, Number]


class _Ranged(RubricPart):
    range: Range

    @model_validator(mode="after")
    def _check_order(self) -> _Ranged:
        if self.range[0] >= self.range[1]:
            raise ValueError(f"the range {list(self.range)} must be [LOW, HIGH]")
        return self


class Dimension(RubricPart):
    """One number that the judge gives."""

    name: Name
    asks: str
    also: list[str] = Field(default_factory=list)
    """Other names under which a model may report it, such as those of the authors' wording."""


class RubricQuestion(_Ranged):
    """One question to the judge, with the numbers that it must give."""

    name: Name
    shows: Annotated[list[ShownImage], Field(min_length=1)]
    asks: str
    dimensions: Annotated[list[Dimension], Field(min_length=1)]
    when: FieldCondition = Field(default_factory=dict)
    yes_or_no: bool = False
    """Whether only the two ends of the range are valid."""


class ScoreFormula(RubricPart):
    """A formula of a score, for the edits that a condition accepts."""

    when: FieldCondition = Field(default_factory=dict)
    formula: Formula = Field(alias="is")


def _as_formulas(definition: object) -> object:
    """Return a single formula as a list with one formula for all edits."""
    return definition if isinstance(definition, list) else [{"is": definition}]


class RubricScore(_Ranged):
    """A score computed from dimensions and earlier scores."""

    name: Name
    about: str
    formulas: Annotated[list[ScoreFormula], Field(min_length=1), BeforeValidator(_as_formulas)] = Field(alias="is")
    """Formulas with conditions, of which the first that applies counts; a file may give a single formula."""


class Rule(RubricPart):
    """Sets a dimension if a condition on dimensions holds."""

    set: Name
    to: Number
    condition: Condition = Field(alias="if")


class SetFormula(RubricPart):
    """A score of a set: the mean of group means, of the edits that a condition accepts."""

    name: Name
    of: Name
    about: str
    over: str | None = None
    """The field whose values are the groups; one group if left out."""
    when: FieldCondition = Field(default_factory=dict)


class Released(RubricPart):
    """Differences of the authors' released code, which `@released` follows."""

    notes: list[str]
    unreadable: Literal["random", "zero", "middle", "lone_digit", "dropped"] = "dropped"
    failed: Literal["zero", "dropped"] = "dropped"
    caps: bool = True
    """False if the code only tells the judge to keep to the caps."""


class Rubric(RubricPart):
    """A rubric file."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,60}$")
    about: str
    paper: str = "of the user's own"
    version: str = "1"
    deviations: list[str] = Field(default_factory=list)
    fields: dict[str, list[str]] = Field(default_factory=dict)
    """Names of fields to the keys of an edit that may hold them, in order of precedence."""
    questions: Annotated[list[RubricQuestion], Field(min_length=1)]
    caps: dict[Name, Name] = Field(default_factory=dict)
    rules: list[Rule] = Field(default_factory=list)
    scores: list[RubricScore] = Field(default_factory=list)
    sets: list[SetFormula] = Field(default_factory=list)
    answers: dict[Question, Name] = Field(default_factory=dict)
    """The dimension or score that answers a question about the edit."""
    repeat: int = Field(default=1, ge=1, le=64)
    released: Released | None = None

    @property
    def ranges(self) -> dict[str, Range]:
        """The range of every dimension."""
        return {dimension.name: question.range for question in self.questions for dimension in question.dimensions}

    def field(self, edit: Edit, name: str) -> str:
        """Return a field of an edit as text; `absent` if the edit has none."""
        if name == "type":
            return edit.type
        for key in self.fields.get(name, [name]):
            value = edit.groups.get(key, edit.extras.get(key))
            if value is not None and not (isinstance(value, float) and math.isnan(value)):  # some files write NaN
                return _text(value)
        return ABSENT

    def applies(self, when: FieldCondition, edit: Edit) -> bool:
        """Return whether a condition accepts the edit."""
        return all(_accepts(values, self.field(edit, name)) for name, values in when.items())

    def combine(self, values: Values, edit: Edit, *, caps: bool = True) -> dict[str, float | Unscored | None]:
        """Apply caps and rules to the dimensions, and compute the scores."""
        selected = {
            score.name: next((part.formula for part in score.formulas if self.applies(part.when, edit)), None)
            for score in self.scores
        }
        return self.apply_formulas(values, selected, caps=caps)

    def apply_formulas(
        self, values: Values, formulas: Mapping[str, Formula | None], *, caps: bool
    ) -> dict[str, float | Unscored | None]:
        """Apply caps and rules to the dimensions, then evaluate one formula per score."""
        totals = apply_caps(values, self.caps) if caps else dict(values)
        for rule in self.rules:
            if isinstance(totals.get(rule.set), float) and holds(rule.condition, totals) is True:
                totals[rule.set] = rule.to
        for name, formula in formulas.items():
            if formula is None:
                totals[name] = Unscored("not_applicable", f"'{name}' is not defined for this edit")
            else:
                totals[name] = evaluate(formula, totals)
        return totals

    def faults(self) -> list[str]:
        """Return everything that is wrong with names, texts and formulas."""
        faults = [*_name_faults(self), *_text_faults(self), *_condition_faults(self)]
        return faults or _grid_faults(self)


class OpenRubric(BaseModel):
    """A rubric with the name by which it was requested and a fingerprint of its file."""

    rubric: Rubric
    called: str
    fingerprint: str


def rubric_names() -> list[str]:
    """Return the names of the built-in rubrics."""
    files = resources.files("editgauge.protocols.rubric").joinpath("built_in").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


@cache
def open_rubric(name: str) -> OpenRubric:
    """Return a built-in rubric by name, or a rubric file of the user by path."""
    if name in rubric_names():
        file = resources.files("editgauge.protocols.rubric").joinpath("built_in").joinpath(f"{name}.yaml")
        return _parse(name, file.read_bytes())
    path = Path(name).expanduser()
    if path.suffix not in (".yaml", ".yml"):
        raise UnknownNameError("rubric", name, rubric_names(), "editgauge list rubrics")
    if not path.is_file():
        raise BadInputError(f"There is no rubric at '{name}'. Built in are: {', '.join(rubric_names())}.")
    return _parse(name, path.read_bytes())


def _parse(name: str, content: bytes) -> OpenRubric:
    if len(content) > MAX_BYTES:
        raise BadInputError(f"The rubric '{name}' cannot be read: it is larger than {MAX_BYTES:,} bytes.")
    try:
        document = read_yaml(content.decode("utf-8"), Path(name).name)
        faults = document.problems()
        if not faults:
            rubric = Rubric.model_validate(document.value)
            faults = rubric.faults()
    except UnicodeDecodeError as error:
        raise BadInputError(f"The rubric '{name}' cannot be read: it is not UTF-8.") from error
    except ValidationError as error:
        faults = [f"{'.'.join(map(str, part['loc'])) or 'rubric'}: {part['msg']}" for part in error.errors()]
    if faults:
        raise BadInputError(f"The rubric '{name}' has problems.", faults)
    return OpenRubric(rubric=rubric, called=name, fingerprint=hashlib.sha256(content).hexdigest()[:12])


def _name_faults(rubric: Rubric) -> Iterator[str]:
    """Yield names that are used twice, or that do not exist."""
    yield from _dimension_faults(rubric)
    yield from _rule_faults(rubric)
    yield from _score_name_faults(rubric)
    available = {*rubric.ranges, *(score.name for score in rubric.scores)}
    yield from (
        f"answers: there is no dimension or score '{name}'" for name in set(rubric.answers.values()) - available
    )
    yield from _repeated("sets", [set_score.name for set_score in rubric.sets])
    for set_score in rubric.sets:
        if set_score.of not in available:
            yield f"set '{set_score.name}': there is no dimension or score '{set_score.of}'"


def _dimension_faults(rubric: Rubric) -> Iterator[str]:
    yield from _repeated("questions", [question.name for question in rubric.questions])
    for question in rubric.questions:
        yield from _repeated(f"question '{question.name}'", [dimension.name for dimension in question.dimensions])
        for dimension in question.dimensions:
            if rubric.ranges[dimension.name] != question.range:
                yield f"dimension '{dimension.name}' has two ranges"


def _rule_faults(rubric: Rubric) -> Iterator[str]:
    ranges = rubric.ranges
    unknown = dict.fromkeys(name for name in (*rubric.caps, *rubric.caps.values()) if name not in ranges)
    yield from (f"caps: there is no dimension '{name}'" for name in unknown)
    for rule in rubric.rules:
        yield from (
            f"rules: there is no dimension '{name}'" for name in (rule.set, *rule.condition) if name not in ranges
        )
        if rule.set in ranges and not _in_range(rule.to, ranges[rule.set]):
            yield f"rules: {rule.to:g} is outside the range of '{rule.set}'"


def _score_name_faults(rubric: Rubric) -> Iterator[str]:
    available = set(rubric.ranges)
    for score in rubric.scores:
        names = dict.fromkeys(name for part in score.formulas for name in names_of(part.formula))
        for name in names:
            if name not in available:
                yield f"score '{score.name}' uses '{name}', and there is no such dimension or earlier score"
        if score.name in available:
            yield f"score '{score.name}' has the name of a dimension or of another score"
        available.add(score.name)


def _repeated(owner: str, names: Sequence[str]) -> Iterator[str]:
    yield from (f"{owner}: '{name}' occurs twice" for name in dict.fromkeys(names) if names.count(name) > 1)


def _text_faults(rubric: Rubric) -> Iterator[str]:
    """Yield slots in texts that nothing fills."""
    slots = {*rubric.fields, "instruction"}
    for question in rubric.questions:
        for text in (question.asks, *(dimension.asks for dimension in question.dimensions)):
            for slot in SLOT.findall(text):
                if slot not in slots:
                    available = ", ".join(sorted(slots))
                    yield f"question '{question.name}': nothing fills {{{slot}}}; available are {available}"


def _condition_faults(rubric: Rubric) -> Iterator[str]:
    """Yield edit types in conditions that do not exist."""
    conditions = [question.when for question in rubric.questions]
    conditions += [part.when for score in rubric.scores for part in score.formulas]
    conditions += [part.when for part in rubric.sets]
    types = {str(name) for when in conditions for name in when.get("type", ())}
    yield from (f"when: there is no edit type '{name}'" for name in sorted(types - set(EDIT_TYPES)))


def _grid_faults(rubric: Rubric) -> list[str]:
    """Evaluate all scores on a grid of possible answers; return one fault per score that fails."""
    faults: dict[str, str] = {}
    for values in _possible_answers(rubric.ranges):
        for formulas in _possible_formulas(rubric):
            for caps in {True, rubric.released is None or rubric.released.caps}:
                faults = _score_faults(rubric, values, formulas, caps=caps) | faults
    return list(faults.values())


def _score_faults(rubric: Rubric, values: Values, formulas: Mapping[str, Formula], *, caps: bool) -> dict[str, str]:
    answers = ", ".join(f"{name}={value:g}" for name, value in values.items() if isinstance(value, float))
    totals: dict[str, float | Unscored | None] = dict(rubric.apply_formulas(values, {}, caps=caps))
    for score in rubric.scores:
        try:
            total = evaluate(formulas[score.name], totals)
        except (ArithmeticError, ValueError) as error:
            return {score.name: f"score '{score.name}' cannot be computed for {answers}: {error}"}
        if isinstance(total, float) and not _in_range(total, score.range):
            low, high = score.range
            return {
                score.name: f"score '{score.name}' is {total:g} for {answers}, outside its range [{low:g}, {high:g}]"
            }
        totals[score.name] = total
    return {}


def _possible_answers(ranges: Mapping[str, Range]) -> Iterator[Values]:
    """Yield lowest, middle, highest and missing values of all dimensions; a sample if there are too many."""
    levels = [(float(low), (low + high) / 2, float(high), None) for low, high in ranges.values()]
    if math.prod(map(len, levels)) <= MAX_GRID:
        yield from (dict(zip(ranges, choice, strict=True)) for choice in product(*levels))
        return
    for index in range(4):
        yield {name: choices[index] for name, choices in zip(ranges, levels, strict=True)}
    draw = random.Random(0)  # noqa: S311 - a fixed sample
    for _ in range(MAX_GRID // 4):
        yield {name: draw.choice(choices) for name, choices in zip(ranges, levels, strict=True)}


def _possible_formulas(rubric: Rubric) -> Iterator[dict[str, Formula]]:
    """Yield the formulas of all scores, every alternative at least once."""
    count = max((len(score.formulas) for score in rubric.scores), default=1)
    for index in range(count):
        yield {score.name: score.formulas[min(index, len(score.formulas) - 1)].formula for score in rubric.scores}


def _in_range(value: float, limits: Range) -> bool:
    low, high = limits
    margin = RANGE_TOLERANCE * (high - low)
    return math.isfinite(value) and low - margin <= value <= high + margin


def _accepts(values: Sequence[str | float | bool], value: str) -> bool:
    texts = {_text(accepted) for accepted in values}
    return value in texts or (PRESENT in texts and value != ABSENT)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_LONE_DIGIT = re.compile(r"(?<![\d.])([1-5])(?![\d.])")


def guess_ratings(rule: str, text: str, form: Ratings) -> Mapping[str, float]:
    """Return the numbers that released code puts in place of an unreadable reply.

    Args:
        rule: `random` (integers seeded by the text, so that they are reproducible), `zero`, `middle`, `lone_digit`
            (the first separate digit from 1 to 5), or `dropped`
        text: the reply
        form: the requested ratings

    Raises:
        UnparsableReplyError: if the rule drops the reply
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
    """Ratings as released code parses them, with guesses for unreadable replies."""

    rule: str = "dropped"

    def read(self, text: str) -> Mapping[str, float]:
        """Return the numbers, parsed or guessed."""
        try:
            return Ratings.read(self, text)
        except UnparsableReplyError:
            return guess_ratings(self.rule, text, self)
