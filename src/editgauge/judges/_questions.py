"""Questions to judges: text, labeled images, and the form of the answer."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

import cv2
from pydantic import BaseModel, ValidationError

from editgauge._util.caching import LRUCache
from editgauge._util.images import Pixels, pixel_hash, resize_image
from editgauge.errors import BadImageError, BadInputError
from editgauge.judges._parsing import (
    MAX_REPLY_CHARACTERS,
    UnparsableReplyError,
    fit_to_schema,
    is_refusal,
    parse_integer,
    parse_object,
    parse_ratings,
    parse_word,
    strip_reasoning,
)
from editgauge.judges.prompts import Prompt, RenderedPrompt, open_prompt

Encoding = Literal["png", "jpeg"]
JPEG_QUALITY = 90
MAX_CACHED_URLS = 32
"""Questions about one image usually come together."""


def sent_size(pixels: Pixels, most_side: int) -> tuple[int, int]:
    """Return width and height after limiting the longer side."""
    height, width = pixels.shape[:2]
    shrink = min(1.0, most_side / max(height, width))
    return max(1, round(width * shrink)), max(1, round(height * shrink))


def downscale(pixels: Pixels, most_side: int) -> Pixels:
    """Limit the longer side of an image."""
    return resize_image(pixels, *sent_size(pixels, most_side))


def data_url(pixels: Pixels, encoding: Encoding) -> str:
    """Encode an image as a data URL."""
    options = [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY] if encoding == "jpeg" else []
    done, encoded = cv2.imencode(f".{encoding}", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), options)
    if not done:
        raise BadImageError(f"An image of shape {pixels.shape} could not be encoded as {encoding}.")
    return f"data:image/{encoding};base64,{base64.b64encode(encoded.tobytes()).decode('ascii')}"


class DataUrls:
    """Thread-safe cache of data URLs; an image is encoded once while in use."""

    def __init__(self) -> None:
        self._urls = LRUCache[tuple[str, int, str], Future[str]](MAX_CACHED_URLS)
        self._lock = threading.Lock()

    def url(self, pixels: Pixels, most_side: int, encoding: Encoding) -> str:
        """Return the data URL of an image; concurrent callers wait for one encoding."""
        key = pixel_hash(pixels), most_side, encoding
        with self._lock:
            cached = self._urls.get(key)
            future = cached or Future[str]()
            if cached is None:
                self._urls.put(key, future)
        if cached is None:
            try:
                future.set_result(data_url(downscale(pixels, most_side), encoding))
            except Exception as error:
                future.set_exception(error)
        return future.result()


FormValue_co = TypeVar("FormValue_co", covariant=True)
Structure = TypeVar("Structure", bound=BaseModel)

Choice = Literal["one", "two", "tie"]
"""The better of two edits, independent of the order in which they are shown."""
MAX_REFUSAL_CHARACTERS = 400
"""A longer free text is no refusal, even if it begins like one."""


class Form(Protocol[FormValue_co]):
    """The form of an answer: JSON schema and parser."""

    @property
    def kind(self) -> str:
        """Name of the form."""
        ...

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """JSON schema of the answer; None for free text."""
        ...

    def read(self, text: str) -> FormValue_co:
        """Return the value of an answer, or raise `UnparsableReplyError`."""
        ...


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _one_of(values: list[Any]) -> dict[str, Any]:
    return _object({"answer": {"type": "integer" if isinstance(values[0], int) else "string", "enum": values}})


@dataclass(frozen=True, slots=True)
class YesNo:
    """Yes (True) or no (False)."""

    kind = "yes_no"

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON schema with the allowed words."""
        return _one_of(["yes", "no"])

    def read(self, text: str) -> bool:
        """Return True for yes."""
        return parse_word(text, ("yes", "no")) == "yes"


@dataclass(frozen=True, slots=True)
class Scale:
    """Integers from `low` to `high`."""

    low: int
    high: int

    kind = "scale"

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise BadInputError(f"A scale goes from a lower number to a higher one; got {self.low} to {self.high}.")

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON schema with an enumeration, which more endpoints support than bounds."""
        return _one_of(list(range(self.low, self.high + 1)))

    def read(self, text: str) -> int:
        """Return the number."""
        return parse_integer(text, self.low, self.high)


@dataclass(frozen=True, slots=True)
class PairwiseAnswer:
    """The better of two edits; `swapped` if the second was shown first."""

    swapped: bool = False

    kind = "pairwise"

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON schema with the allowed words."""
        return _one_of(["first", "second", "tie"])

    def read(self, text: str) -> Choice:
        """Return the better edit, independent of the order."""
        word = parse_word(text, ("first", "second", "tie"))
        if word == "tie":
            return "tie"
        return "one" if (word == "first") != self.swapped else "two"


@dataclass(frozen=True, slots=True)
class Ratings:
    """A number for each of several dimensions.

    Args:
        names: dimensions in order, each with aliases that models use.
        low: minimum.
        high: maximum.
        ends_only: allow only minimum and maximum.

    """

    names: tuple[tuple[str, tuple[str, ...]], ...]
    low: float
    high: float
    ends_only: bool = False

    kind = "ratings"

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON schema with reasoning and a number for each dimension."""
        values = [int(self.low), int(self.high)] if self.ends_only else list(range(int(self.low), int(self.high) + 1))
        numbers = {name: {"type": "integer", "enum": values} for name, _ in self.names}
        return _object({"reasoning": {"type": "string"}, **numbers})

    def read(self, text: str) -> Mapping[str, float]:
        """Return the number of each dimension."""
        ratings = parse_ratings(text, dict(self.names), self.low, self.high)
        if self.ends_only and not set(ratings.values()) <= {self.low, self.high}:
            raise UnparsableReplyError(f"{self.low:g} or {self.high:g}", text)
        return ratings


@dataclass(frozen=True, slots=True)
class FreeText:
    """Free text."""

    kind = "free_text"
    schema = None

    def read(self, text: str) -> str:
        """Return the text without reasoning."""
        reply = strip_reasoning(text)
        is_short = len(reply) < MAX_REFUSAL_CHARACTERS
        if not reply or len(text) > MAX_REPLY_CHARACTERS or (is_short and is_refusal(reply)):
            raise UnparsableReplyError("a text", text)
        return reply


@dataclass(frozen=True, slots=True)
class Structured(Generic[Structure]):
    """An object of a pydantic model; unknown fields are ignored."""

    model: type[Structure]

    kind = "structured"

    @property
    def schema(self) -> Mapping[str, Any]:
        """JSON schema of the model."""
        return self.model.model_json_schema()

    def read(self, text: str) -> Structure:
        """Return a validated object."""
        fields = parse_object(text)
        if fields is None:
            raise UnparsableReplyError(f"one JSON object for {self.model.__name__}", text)
        try:
            return self.model.model_validate_json(json.dumps(fit_to_schema(fields, self.model)), strict=True)
        except ValidationError as error:
            problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
            raise UnparsableReplyError(f"{self.model.__name__} ({problems})", text) from error


Value = TypeVar("Value")


IDENTITY_VERSION = 1
"""Increase it when questions are sent differently, so that recorded answers no longer match."""

MAX_REPAIR_CHARACTERS = 4_000
"""Length of an unparsable answer that is quoted in a repair question."""


@dataclass(frozen=True, eq=False, slots=True)
class LabeledImage:
    """An image with the label that precedes it."""

    label: str
    pixels: Pixels


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Question(Generic[Value]):
    """A question to a judge; `repetition` distinguishes repeated questions."""

    words: RenderedPrompt
    form: Form[Value]
    images: tuple[LabeledImage, ...] = ()
    repetition: int = 0
    repairs: str | None = None
    """Id of the call whose unparsable answer this question repairs."""

    def again(self, repetition: int) -> Question[Value]:
        """Return the question as a repetition, to measure self-consistency."""
        return dataclasses.replace(self, repetition=repetition)

    def repair(self, answer: str, call: str) -> Question[Value] | None:
        """Return a question that requests an unparsable answer in the right form; None for free text.

        It has no images, so that the model can only restate its answer.
        """
        if self.form.schema is None or self.repairs is not None:
            return None
        quoted = answer[:MAX_REPAIR_CHARACTERS]
        words = open_prompt("repair").render(schema=json.dumps(self.form.schema, sort_keys=True), answer=quoted)
        return dataclasses.replace(self, words=words, images=(), repairs=call)

    def swapped(self) -> Question[Value]:
        """Return the question with its images in reverse order, to measure position bias.

        Labels stay with their images. In a pairwise question the two edits are exchanged instead, and the answer still
        names the edit.
        """
        if not isinstance(self.form, PairwiseAnswer):
            return dataclasses.replace(self, images=self.images[::-1])
        *before, first, second = self.images
        exchanged = (LabeledImage(first.label, second.pixels), LabeledImage(second.label, first.pixels))
        form: Any = PairwiseAnswer(not self.form.swapped)
        return dataclasses.replace(self, form=form, images=(*before, *exchanged))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Sampling parameters and image encoding; all of them are part of the id of a call.

    Args:
        temperature: sampling temperature; None leaves it to the endpoint.
        max_tokens: maximum length of an answer.
        seed: seed for endpoints that take one; repetitions add to it.
        top_p: nucleus sampling threshold; None leaves it to the endpoint.
        most_side: images with a longer side are downscaled (Lanczos).
        encoding: `png` (lossless) or `jpeg` (quality 90).

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
            problems.append(f"temperature must be between 0 and 2, got {self.temperature}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            problems.append(f"top_p must be above 0 and at most 1, got {self.top_p}")
        if self.encoding not in ("png", "jpeg"):
            problems.append(f"encoding must be png or jpeg, got '{self.encoding}'")
        if problems:
            raise BadInputError("Invalid judge parameters.", problems)


def ask_yes_no(question: str, *images: LabeledImage, prompt: Prompt | None = None) -> Question[bool]:
    """Ask a yes-or-no question."""
    return Question(words=(prompt or open_prompt("yes_no")).render(question=question), form=YesNo(), images=images)


def ask_scale(
    question: str,
    low: int,
    high: int,
    low_means: str,
    high_means: str,
    *images: LabeledImage,
    prompt: Prompt | None = None,
) -> Question[int]:
    """Ask for an integer on a scale whose ends are explained."""
    ends = {"low": low, "high": high, "low_means": low_means, "high_means": high_means}
    words = (prompt or open_prompt("scale")).render(question=question, **ends)
    return Question(words=words, form=Scale(low, high), images=images)


def ask_text(question: str, *images: LabeledImage, prompt: Prompt | None = None) -> Question[str]:
    """Ask for free text."""
    return Question(words=(prompt or open_prompt("describe")).render(question=question), form=FreeText(), images=images)


def ask_pairwise(
    question: str, request: str, source: Pixels, one: Pixels, two: Pixels, *, prompt: Prompt | None = None
) -> Question[Choice]:
    """Ask for the better of two edits; `swapped()` gives the other order."""
    images = (
        LabeledImage("The picture as it was:", source),
        LabeledImage("The first edit:", one),
        LabeledImage("The second edit:", two),
    )
    words = (prompt or open_prompt("pairwise")).render(question=question, request=request)
    return Question(words=words, form=PairwiseAnswer(), images=images)


def ask_structured(
    question: str, model: type[Structure], *images: LabeledImage, prompt: Prompt | None = None
) -> Question[Structure]:
    """Ask for an object of a pydantic model."""
    form = Structured(model)
    schema = json.dumps(form.schema, sort_keys=True)
    words = (prompt or open_prompt("structured")).render(question=question, schema=schema)
    return Question(words=words, form=form, images=images)


def describe_question(model: str, question: Question[Any], parameters: Parameters) -> dict[str, Any]:
    """Return everything that determines an answer as JSON values; the endpoint is not part of it."""
    return {
        "version": IDENTITY_VERSION,
        "model": model,
        "prompt": f"{question.words.prompt}.v{question.words.version}",
        "text": question.words.text,
        "form": {"kind": question.form.kind, "schema": question.form.schema},
        "images": [[image.label, pixel_hash(image.pixels)] for image in question.images],
        "parameters": {name: value for name, value in dataclasses.asdict(parameters).items() if _is_sent(name, value)},
        "repetition": question.repetition,
        **({"repairs": question.repairs} if question.repairs else {}),
    }


def _is_sent(name: str, value: object) -> bool:
    """Omit unset parameters that were added later, so that older calls keep their ids."""
    return name != "top_p" or value is not None


def question_id(describe_question: Mapping[str, Any]) -> str:
    """Return the id of a described question."""
    return hashlib.sha256(json.dumps(describe_question, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
