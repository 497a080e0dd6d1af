"""The forms an answer can have: yes or no, a scale, ratings, a choice of two edits, free text, a structure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

from pydantic import BaseModel, ValidationError

from editgauge.errors import BadInputError
from editgauge.judges.reading import (
    LONGEST,
    Unreadable,
    fitted,
    is_refusal,
    read_object,
    read_ratings,
    read_whole_number,
    read_word,
    spoken,
)

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


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _one_of(values: list[Any]) -> dict[str, Any]:
    return _object({"answer": {"type": "integer" if isinstance(values[0], int) else "string", "enum": values}})


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
            raise BadInputError(f"A scale goes from a lower number to a higher one; got {self.low} to {self.high}.")

    @property
    def schema(self) -> Mapping[str, Any]:
        """An object with one number, listed rather than bounded: more endpoints understand that."""
        return _one_of(list(range(self.low, self.high + 1)))

    def read(self, text: str) -> int:
        """The step."""
        return read_whole_number(text, self.low, self.high)


@dataclass(frozen=True, slots=True)
class PairwiseAnswer:
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
class Ratings:
    """A number for each of several dimensions, with the reasons for them.

    Args:
        names: the dimensions in order, each with further names under which a model may give it
        low: the least number
        high: the greatest
        ends_only: only the two ends of the range are asked for
    """

    names: tuple[tuple[str, tuple[str, ...]], ...]
    low: float
    high: float
    ends_only: bool = False

    kind = "ratings"

    @property
    def schema(self) -> Mapping[str, Any]:
        """An object with the reasons, and a number for each dimension."""
        values = [int(self.low), int(self.high)] if self.ends_only else list(range(int(self.low), int(self.high) + 1))
        numbers = {name: {"type": "integer", "enum": values} for name, _ in self.names}
        return _object({"reasoning": {"type": "string"}, **numbers})

    def read(self, text: str) -> Mapping[str, float]:
        """The number of each dimension."""
        ratings = read_ratings(text, dict(self.names), self.low, self.high)
        if self.ends_only and not set(ratings.values()) <= {self.low, self.high}:
            raise Unreadable(f"{self.low:g} or {self.high:g}", text)
        return ratings


@dataclass(frozen=True, slots=True)
class FreeText:
    """Whatever is said."""

    kind = "free_text"
    schema = None

    def read(self, text: str) -> str:
        """The words, without the thoughts before them."""
        said = spoken(text)
        if not said or len(text) > LONGEST or (len(said) < SHORT and is_refusal(said)):
            raise Unreadable("a text", text)
        return said


@dataclass(frozen=True, slots=True)
class Structured(Generic[Structure]):
    """An object of a pydantic model, which is at once its schema and its reader; what was not asked for is left out."""

    model: type[Structure]

    kind = "structured"

    @property
    def schema(self) -> Mapping[str, Any]:
        """The model's own."""
        return self.model.model_json_schema()

    def read(self, text: str) -> Structure:
        """The object, valid."""
        fields = read_object(text)
        if fields is None:
            raise Unreadable(f"one JSON object for {self.model.__name__}", text)
        try:
            return self.model.model_validate_json(json.dumps(fitted(fields, self.model)), strict=True)
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
            raise Unreadable(f"{self.model.__name__} ({problems})", text) from error
