"""Attributes from a judge, as the paper takes them: a caption first, then what it holds, then what the edit brings."""

from __future__ import annotations

import ast
import json
import re
from asyncio import gather
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, StringConstraints

from editgauge._util.images import Pixels
from editgauge.benchmarks.attributes import Attributes
from editgauge.errors import UnscorableError
from editgauge.judges import Answer, Question, Shown
from editgauge.judges.forms import FreeText, Structured
from editgauge.judges.prompts import Prompt, RenderedPrompt
from editgauge.judges.reading import spoken
from editgauge.types import Edit

Length = Literal["short", "long"]
Ask = Callable[[Question[Any]], Awaitable[Answer[Any]]]
OpenPrompt = Callable[[str], Prompt]
PROMPTS = ("augclip_caption", "augclip_source", "augclip_target")
_FENCE = re.compile(r"^```\w*\s*\n|\n\s*```$")
MIDDLE = 5
"""Short attributes have fewer words, long ones more (table 10)."""
LENGTHS: dict[Length | None, str] = {
    None: f"Phrases are short: fewer than {MIDDLE} words wherever that is enough.",
    "short": f"Every phrase has fewer than {MIDDLE} words.",
    "long": f"Every phrase has more than {MIDDLE} words.",
}


class Listed(BaseModel, extra="forbid"):
    """What a judge is to answer."""

    attributes: list[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]]


class ListedAttributes(Structured[Listed]):
    """The attributes as an object, or as a bare list of texts, which is how the paper's own prompts are answered."""

    def read(self, text: str) -> Listed:
        """The attributes of the object or of the list."""
        listed = _read_list(text)
        return super().read(text) if listed is None else super().read(json.dumps({"attributes": listed}))


def _read_list(text: str) -> list[Any] | None:
    """The list that the answer is, written as JSON or Python, bare or fenced; None when it is something else.

    >>> _read_list("['black cat', 'grass']"), _read_list('```json\\n["red"]\\n```'), _read_list("red, green")
    (['black cat', 'grass'], ['red'], None)
    """
    bare = _FENCE.sub("", spoken(text)).strip()
    if not (bare.startswith("[") and bare.endswith("]")):
        return None
    try:
        literal = ast.literal_eval(bare)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return literal if isinstance(literal, list) else None


@dataclass(frozen=True, slots=True)
class Wanted:
    """How attributes should be: `short` or `long`, and how many; either is free when left out."""

    length: Length | None = None
    number: int | None = None

    @property
    def said(self) -> dict[str, str]:
        """The two rules as a prompt states them."""
        amount = f"Give exactly {self.number} phrases." if self.number else "Give as many as the scene needs, no more."
        return {"length": LENGTHS[self.length], "amount": amount}

    def of(self, phrases: tuple[str, ...]) -> tuple[str, ...]:
        """Those that are as they should be, the first ones where there are too many.

        >>> Wanted("short", 1).of(("a very long phrase about a cat", "black cat", "cat"))
        ('black cat',)
        """
        return tuple(phrase for phrase in phrases if self._fits(phrase))[: self.number]

    def _fits(self, phrase: str) -> bool:
        words = len(phrase.split())
        return {"short": words < MIDDLE, "long": words > MIDDLE}[self.length] if self.length else True


async def ask_attributes(
    edit: Edit, source: Pixels, ask: Ask, prompt: OpenPrompt, by: str, wanted: Wanted, repetition: int = 0
) -> Attributes:
    """The attributes that a judge names; raises `NoAnswer`, or `UnscorableError` when it names none of one side.

    Args:
        edit: what is asked for.
        source: the picture before.
        ask: puts one question to the judge.
        prompt: opens a prompt by its name.
        by: what the judge is called.
        wanted: how the attributes should be.
        repetition: which of several extractions this is.
    """
    request = " ".join((edit.instruction or edit.target_caption or "").split())
    if not request:
        raise UnscorableError("not_applicable", "the edit has neither an instruction nor a target caption to ask about")
    of_caption, of_source, of_target = (prompt(name) for name in PROMPTS)
    shown = Question(words=of_caption.render(), form=FreeText(), images=(Shown("The picture:", source),))
    caption = " ".join(str((await ask(shown.again(repetition))).value).split())
    rules = wanted.said
    words = (
        _filled(of_source, rules, caption=caption),
        _filled(of_target, rules, caption=caption, request=request),
    )
    questions = [Question(words=each, form=ListedAttributes(Listed)).again(repetition) for each in words]
    before, after = [tuple(answer.value.attributes) for answer in await gather(*map(ask, questions))]
    if not before or not after:
        raise UnscorableError("unparsable", f"{by} named no {'target' if before else 'source'} attribute")
    return Attributes(before, after, by, caption)


def _filled(prompt: Prompt, rules: Mapping[str, str], **slots: str) -> RenderedPrompt:
    """The prompt with its slots filled; one of your own may leave out how long and how many attributes should be."""
    return prompt.render(**slots, **{name: rule for name, rule in rules.items() if name in prompt.slots})


def written_by(judge: str, prompt: OpenPrompt, wanted: Wanted) -> str:
    """Who wrote the attributes: the judge, the versions of the prompts, and what it was asked for.

    'gpt-4o (augclip_caption.v1, augclip_source.v1, augclip_target.v1)'.
    """
    opened = [prompt(name) for name in PROMPTS]
    versions = [f"{each.name}.v{each.version}" for each in opened]
    options = [str(part) for part in (wanted.length, wanted.number) if part]
    return f"{judge} ({', '.join(versions + options)})"
