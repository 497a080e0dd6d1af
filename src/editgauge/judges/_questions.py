"""Pictures as they are sent to an endpoint: made smaller if need be, encoded, in a data URL."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

import cv2
from pydantic import BaseModel, ValidationError

from editgauge._util.images import Pixels, pixel_hash, resized
from editgauge.errors import BadImageError, BadInputError
from editgauge.judges._parsing import (
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
from editgauge.judges.prompts import Prompt, RenderedPrompt, open_prompt

Encoding = Literal["png", "jpeg"]
JPEG_QUALITY = 90
REMEMBERED = 32
"""Encoded pictures; several questions about one picture are usually asked together."""


def sent_size(pixels: Pixels, most_side: int) -> tuple[int, int]:
    """Width and height of what is sent: the picture's own, or with the longer side at the limit."""
    height, width = pixels.shape[:2]
    shrink = min(1.0, most_side / max(height, width))
    return max(1, round(width * shrink)), max(1, round(height * shrink))


def sent(pixels: Pixels, most_side: int) -> Pixels:
    """The picture as it is sent."""
    return resized(pixels, *sent_size(pixels, most_side))


def data_url(pixels: Pixels, encoding: Encoding) -> str:
    """The picture as a data URL."""
    options = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY] if encoding == "jpeg" else []
    done, encoded = cv2.imencode(f".{encoding}", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), options)
    if not done:
        raise BadImageError(f"A picture of {pixels.shape} could not be encoded as {encoding}.")
    return f"data:image/{encoding};base64,{base64.b64encode(encoded.tobytes()).decode('ascii')}"


class DataUrls:
    """Data URLs of pictures as they are sent, each made once while it is in use. Threads may share it."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, int, str], Future[str]] = OrderedDict()
        self._lock = threading.Lock()

    def url(self, pixels: Pixels, most_side: int, encoding: Encoding) -> str:
        """The picture's data URL; who wants one that is being made waits for it."""
        key = pixel_hash(pixels), most_side, encoding
        with self._lock:
            known_url = self._known.get(key)
            made = known_url or self._known.setdefault(key, Future())
            self._known.move_to_end(key)
            while len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        if known_url is None:
            try:
                made.set_result(data_url(sent(pixels, most_side), encoding))
            except Exception as error:
                made.set_exception(error)
        return made.result()


FormValue = TypeVar("FormValue", covariant=True)
Structure = TypeVar("Structure", bound=BaseModel)

Choice = Literal["one", "two", "tie"]
"""Which of two edits is better, whatever the order in which they were shown."""
SHORT = 400
"""A free text is taken for a refusal only while it is shorter: a long description may begin with a regret."""


class Form(Protocol[FormValue]):
    """What an answer looks like, and how it is read."""

    @property
    def kind(self) -> str:
        """Its name."""
        ...

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of an answer; None for free text."""
        ...

    def read(self, text: str) -> FormValue:
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


Value = TypeVar("Value")


IDENTITY_VERSION = 1
"""Raised when the same question would be put to a model in another way, so that old answers no longer fit."""

REPAIRED_CHARACTERS = 4_000
"""This much of an unreadable answer is shown to the model that is to write it again."""


@dataclass(frozen=True, eq=False, slots=True)
class Shown:
    """A picture, and what it is called in front of it."""

    label: str
    pixels: Pixels


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Question(Generic[Value]):
    """One thing to be asked of a judge; `repetition` counts when the same question is asked again."""

    words: RenderedPrompt
    form: Form[Value]
    images: tuple[Shown, ...] = ()
    repetition: int = 0
    repairs: str | None = None
    """The identity of the call whose answer could not be read, when this asks for the same answer in a better form."""

    def again(self, repetition: int) -> Question[Value]:
        """The same question as one of several, to see whether the judge agrees with itself."""
        return dataclasses.replace(self, repetition=repetition)

    def repair(self, answer: str, call: str) -> Question[Value] | None:
        """Asks to write an unreadable answer in the asked form; None for free text, which has no form.

        The pictures are not shown again, so that the model can only repeat what it said.
        """
        if self.form.schema is None or self.repairs is not None:
            return None
        shown = answer[:REPAIRED_CHARACTERS]
        words = open_prompt("repair").render(schema=json.dumps(self.form.schema, sort_keys=True), answer=shown)
        return dataclasses.replace(self, words=words, images=(), repairs=call)

    def swapped(self) -> Question[Value]:
        """The same question with its pictures in another order, to see whether the order matters.

        Labels stay with their pictures. The two edits of a pair change places instead, and the answer still names
        the edit, not the place.
        """
        if not isinstance(self.form, PairwiseAnswer):
            return dataclasses.replace(self, images=self.images[::-1])
        *before, first, second = self.images
        exchanged = (Shown(first.label, second.pixels), Shown(second.label, first.pixels))
        form: Any = PairwiseAnswer(not self.form.swapped)
        return dataclasses.replace(self, form=form, images=(*before, *exchanged))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """How a model is to answer. All of it is part of an answer's identity.

    Args:
        temperature: how freely it chooses its words; None leaves that to the endpoint, as some models demand
        max_tokens: how long an answer may become
        seed: for endpoints that take one; repetitions count up from it
        top_p: from how much of the likely words it chooses; None leaves that to the endpoint
        most_side: pictures with a longer side are made smaller, by Lanczos
        encoding: `png` loses nothing; `jpeg` (quality 90) is smaller, and adds flaws of its own
    """

    temperature: float | None = 0.0
    max_tokens: int = 512
    seed: int | None = None
    most_side: int = 1024
    encoding: Encoding = "png"
    top_p: float | None = None

    def __post_init__(self) -> None:
        counts = {"max_tokens": self.max_tokens, "most_side": self.most_side}
        problems = [f"{name} must be at least 1, got {count}" for name, count in counts.items() if count < 1]
        if self.temperature is not None and not 0 <= self.temperature <= 2:
            problems.append(f"temperature goes from 0 to 2, got {self.temperature}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            problems.append(f"top_p is above 0 and at most 1, got {self.top_p}")
        if self.encoding not in ("png", "jpeg"):
            problems.append(f"encoding is png or jpeg, got '{self.encoding}'")
        if problems:
            raise BadInputError("These parameters of a judge cannot be used.", problems)


def ask_yes_no(question: str, *images: Shown, prompt: Prompt | None = None) -> Question[bool]:
    """A question with yes or no for an answer."""
    return Question(words=(prompt or open_prompt("yes_no")).render(question=question), form=YesNo(), images=images)


def ask_scale(
    question: str, low: int, high: int, low_means: str, high_means: str, *images: Shown, prompt: Prompt | None = None
) -> Question[int]:
    """A question for a whole number, whose two ends are explained."""
    ends = {"low": low, "high": high, "low_means": low_means, "high_means": high_means}
    words = (prompt or open_prompt("scale")).render(question=question, **ends)
    return Question(words=words, form=Scale(low, high), images=images)


def ask_text(question: str, *images: Shown, prompt: Prompt | None = None) -> Question[str]:
    """A question for a free text."""
    return Question(words=(prompt or open_prompt("describe")).render(question=question), form=FreeText(), images=images)


def ask_pairwise(
    question: str, request: str, source: Pixels, one: Pixels, two: Pixels, prompt: Prompt | None = None
) -> Question[Choice]:
    """Which of two edits is better? `swapped()` gives the same question in the other order."""
    images = Shown("The picture as it was:", source), Shown("The first edit:", one), Shown("The second edit:", two)
    words = (prompt or open_prompt("pairwise")).render(question=question, request=request)
    return Question(words=words, form=PairwiseAnswer(), images=images)


def ask_structured(
    question: str, model: type[Structure], *images: Shown, prompt: Prompt | None = None
) -> Question[Structure]:
    """A question for an object of a pydantic model."""
    form = Structured(model)
    schema = json.dumps(form.schema, sort_keys=True)
    words = (prompt or open_prompt("structured")).render(question=question, schema=schema)
    return Question(words=words, form=form, images=images)


def described(model: str, question: Question[Any], parameters: Parameters) -> dict[str, Any]:
    """Everything that decides an answer, in plain types. Where the model runs is no part of it."""
    return {
        "version": IDENTITY_VERSION,
        "model": model,
        "prompt": f"{question.words.prompt}.v{question.words.version}",
        "text": question.words.text,
        "form": {"kind": question.form.kind, "schema": question.form.schema},
        "images": [[shown.label, pixel_hash(shown.pixels)] for shown in question.images],
        "parameters": {name: value for name, value in dataclasses.asdict(parameters).items() if _is_sent(name, value)},
        "repetition": question.repetition,
        **({"repairs": question.repairs} if question.repairs else {}),
    }


def _is_sent(name: str, value: object) -> bool:
    """Parameters that came later are reported only where they are set, so that older answers keep their identity."""
    return name != "top_p" or value is not None


def identity(described: Mapping[str, Any]) -> str:
    """The name under which an answer is known."""
    return hashlib.sha256(json.dumps(described, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
