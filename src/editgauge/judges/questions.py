"""What a judge is asked: words, pictures with labels, and the form that the answer must have."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from editgauge._util.images import Pixels, pixel_hash
from editgauge.errors import BadInputError
from editgauge.judges.forms import Choice, Form, FreeText, PairwiseAnswer, Scale, Structured, YesNo
from editgauge.judges.pictures import Encoding
from editgauge.judges.prompts import Prompt, RenderedPrompt, open_prompt

Value = TypeVar("Value")
Structure = TypeVar("Structure", bound=BaseModel)

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
