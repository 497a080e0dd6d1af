"""The forms an answer can have: yes or no, a step of a scale, a choice of two edits, free text, a structure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from editgauge.core.errors import BadInput
from editgauge.judges.parsing import Unreadable, is_refusal, read_object, read_whole_number, read_word, spoken

Value = TypeVar("Value", covariant=True)
Structure = TypeVar("Structure", bound=BaseModel)

Choice = Literal["one", "two", "tie"]
"""Which of two edits is better, whatever the order in which they were shown."""
SHORT = 400
"""A free text is taken for a refusal only while it is shorter: a long description may begin with a regret."""


class Form(Protocol[Value]):
    """What an answer looks like, and how it is read."""

    @property
    def kind(self) -> str:
        """Its name."""
        ...

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of an answer; None for free text."""
        ...

    def read(self, text: str) -> Value:
        """The value of an answer; raises `Unreadable`."""
        ...


def _one_of(values: list[Any]) -> dict[str, Any]:
    answer = {"type": "integer" if isinstance(values[0], int) else "string", "enum": values}
    return {"type": "object", "properties": {"answer": answer}, "required": ["answer"], "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class YesNo:
    """Yes is True."""

    kind = "yes_no"

    @property
    def schema(self) -> Mapping[str, Any]:
        """An object with one word."""
        return _one_of(["yes", "no"])

    def read(self, text: str) -> bool:
        """True or False."""
        return read_word(text, ("yes", "no")) == "yes"


@dataclass(frozen=True, slots=True)
class Scale:
    """Whole numbers from `low` to `high`."""

    low: int
    high: int

    kind = "scale"

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise BadInput(f"A scale goes from a lower number to a higher one; got {self.low} to {self.high}.")

    @property
    def schema(self) -> Mapping[str, Any]:
        """An object with one number, listed rather than bounded: more endpoints understand that."""
        return _one_of(list(range(self.low, self.high + 1)))

    def read(self, text: str) -> int:
        """The step."""
        return read_whole_number(text, self.low, self.high)


@dataclass(frozen=True, slots=True)
class Pairwise:
    """Which of two edits is better; `swapped` when the second was shown first."""

    swapped: bool = False

    kind = "pairwise"

    @property
    def schema(self) -> Mapping[str, Any]:
        """An object with one word."""
        return _one_of(["first", "second", "tie"])

    def read(self, text: str) -> Choice:
        """The edit itself, not the place where it was shown."""
        word = read_word(text, ("first", "second", "tie"))
        if word == "tie":
            return "tie"
        return "one" if (word == "first") != self.swapped else "two"


@dataclass(frozen=True, slots=True)
class FreeText:
    """Whatever is said."""

    kind = "free_text"
    schema = None

    def read(self, text: str) -> str:
        """The words, without the thoughts before them."""
        said = spoken(text)
        if not said or (len(said) < SHORT and is_refusal(said)):
            raise Unreadable("a text", text)
        return said


@dataclass(frozen=True, slots=True)
class Structured(Generic[Structure]):
    """An object of a pydantic model, which is at once its schema and its strict reader."""

    model: type[Structure]

    kind = "structured"

    @property
    def schema(self) -> Mapping[str, Any]:
        """The model's own."""
        return self.model.model_json_schema()

    def read(self, text: str) -> Structure:
        """The object, valid."""
        found = read_object(text)
        if found is None:
            raise Unreadable(f"one JSON object for {self.model.__name__}", text)
        try:
            return self.model.model_validate_json(json.dumps(found), strict=True)
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
            raise Unreadable(f"{self.model.__name__} ({problems})", text) from error
