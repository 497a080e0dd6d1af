"""A rubric as one YAML file: what is shown, what is asked, and how the answers make scores."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from editgauge.errors import BadInputError, UnknownNameError, summarize_error
from editgauge.protocols.rubric.combine import check_formula
from editgauge.types import Edit, Question

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
