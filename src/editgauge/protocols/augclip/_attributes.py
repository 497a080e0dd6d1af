"""Attributes of an edit, extracted by rules from its text or written by a judge.

Rules know no more than the edit says, where a language model adds what a zebra looks like; the name of a protocol that
uses them contains `rules`.
"""

from __future__ import annotations

import ast
import json
import re
from asyncio import gather
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, StringConstraints

from editgauge._util.images import Pixels
from editgauge._util.phrases import without_article
from editgauge.benchmarks.attributes import Attributes
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import BadInputError, UnscorableError
from editgauge.instructions.parsed import parse_single_step
from editgauge.judges import Answer, LabeledImage, Question
from editgauge.judges._parsing import strip_reasoning
from editgauge.judges._questions import FreeText, Structured
from editgauge.judges.prompts import Prompt
from editgauge.methods.prompts import render
from editgauge.types import Edit

RULES_VERSION = "rules.v1"
"""Increased whenever the same edit would get other attributes."""
_OPENING = re.compile(
    r"^(?:(?:an? |the |this )?(?:photo|photograph|picture|image|close-up|closeup|view)(?: of|(?: that)? shows)"
    r"|there (?:is|are)|we see) "
)
_CLAUSES = re.compile(r"[.,;:!?]+(?:\s+(?:and|while|but)\s|\s|$)|\s(?:and|while|but)\s")
_LINK = re.compile(
    r"\s(in front of|on top of|next to|close to|in the middle of|surrounded by|covered (?:with|in|by)|made (?:of|from)|"
    r"with|without|wearing|holding|carrying|in|into|on|onto|at|near|beside|behind|under|below|above|over|inside|against|"
    r"between|among|along|across|around|through|by)\s"
)
_NEGATION = "without"
_NO_OBJECT = {"her", "him", "it", "them", "left", "right", "middle", "center", "centre", "top", "bottom", "side"}


def extract(edit: Edit) -> Attributes:
    """Extract attributes from the edit's text; raise `UnscorableError` if one side has none.

    A phrase of both sides describes what stays, and is a source attribute only.
    """
    completed = _completed(edit)
    source = _distinct(
        [*_phrases(_source_caption(completed)), *_phrases(completed.subject), *_phrases(_named_before(completed))]
    )
    candidates = _distinct([*_phrases(_target_caption(completed)), *_phrases(_named_after(completed))])
    target = tuple(phrase for phrase in candidates if phrase not in source) or _distinct([_plain(edit.instruction)])
    if not source or not target:
        lacking = "source" if not source else "target"
        raise UnscorableError("not_applicable", f"the edit's words tell the rules no {lacking} attribute; ask a judge")
    return Attributes(source, target, RULES_VERSION)


def _completed(edit: Edit) -> Edit:
    """Add the parsed instruction to an edit without parts of its own."""
    if edit.subject or edit.to or not edit.instruction.strip():
        return edit
    with suppress(UnscorableError):
        parts = parse_single_step(edit.instruction)
        return replace(
            edit, type=parts.type, subject=parts.subject, from_=parts.from_, to=parts.to, position=parts.position
        )
    return edit


def _source_caption(edit: Edit) -> str | None:
    with suppress(BadInputError):
        return render(edit, "captions").source
    return edit.source_caption


def _target_caption(edit: Edit) -> str | None:
    with suppress(BadInputError):
        return render(edit, "caption").text
    return edit.target_caption


def _named_before(edit: Edit) -> str | None:
    return edit.from_ if EDIT_TYPES[edit.type].effect == "replaces" else None


def _named_after(edit: Edit) -> str | None:
    """Return the new object; a color, position or size alone says nothing about an image."""
    return edit.to if EDIT_TYPES[edit.type].value == "thing" else None


def _phrases(caption: str | None) -> Iterator[str]:
    """Yield the objects in a sentence, and their relations.

    >>> list(_phrases("A photo of a brown horse standing in a grassy field, next to a fence"))
    ['brown horse standing', 'brown horse standing in grassy field', 'grassy field', 'fence']
    >>> list(_phrases("a scene without the dog"))
    ['scene', 'scene without dog']
    """
    text = _OPENING.sub("", " ".join((caption or "").lower().replace("_", " ").split()))
    for clause in _CLAUSES.split(text):
        head, *linked = _LINK.split(f" {clause.strip()}")
        subject = _plain(head)
        if subject:
            yield subject
        for link, phrase in zip(linked[::2], map(_plain, linked[1::2]), strict=True):
            if phrase and subject:
                yield f"{subject} {link} {phrase}"
            if phrase and phrase not in _NO_OBJECT and link != _NEGATION:
                yield phrase


def _plain(phrase: str) -> str:
    return without_article(phrase.strip(" .,;:!?\"'"))


def _distinct(phrases: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(phrase for phrase in phrases if phrase))


Length = Literal["short", "long"]
Ask = Callable[[Question[Any]], Awaitable[Answer[Any]]]
OpenPrompt = Callable[[str], Prompt]
PROMPTS = ("augclip_caption", "augclip_source", "augclip_target")
_FENCE = re.compile(r"^```\w*\s*\n|\n\s*```$")
SPLIT_LENGTH = 5
"""Short attributes have fewer words, long ones more (table 10)."""
LENGTHS: dict[Length | None, str] = {
    None: f"Phrases are short: fewer than {SPLIT_LENGTH} words wherever that is enough.",
    "short": f"Every phrase has fewer than {SPLIT_LENGTH} words.",
    "long": f"Every phrase has more than {SPLIT_LENGTH} words.",
}


class AttributeList(BaseModel, extra="forbid"):
    """The answer format of a judge."""

    attributes: list[Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]]


class AttributeListForm(Structured[AttributeList]):
    """Attributes as an object, or as a bare list of strings as with the paper's own prompts."""

    def read(self, text: str) -> AttributeList:
        """Parse the attributes from an object or a list."""
        listed = _read_list(text)
        return super().read(text) if listed is None else super().read(json.dumps({"attributes": listed}))


def _read_list(text: str) -> list[Any] | None:
    """Return the list in JSON or Python syntax, bare or fenced; None for anything else.

    >>> _read_list("['black cat', 'grass']"), _read_list("red, green")
    (['black cat', 'grass'], None)
    """
    bare = _FENCE.sub("", strip_reasoning(text)).strip()
    if not (bare.startswith("[") and bare.endswith("]")):
        return None
    try:
        literal = ast.literal_eval(bare)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return literal if isinstance(literal, list) else None


@dataclass(frozen=True, slots=True)
class AttributeRequest:
    """Requested length and number of attributes; both optional."""

    length: Length | None = None
    number: int | None = None

    @property
    def prompt_rules(self) -> dict[str, str]:
        """Both rules as a prompt states them."""
        amount = f"Give exactly {self.number} phrases." if self.number else "Give as many as the scene needs, no more."
        return {"length": LENGTHS[self.length], "amount": amount}

    def of(self, phrases: tuple[str, ...]) -> tuple[str, ...]:
        """Return the phrases of the requested length, up to the requested number.

        >>> AttributeRequest("short", 1).of(("a very long phrase about a cat", "black cat", "cat"))
        ('black cat',)
        """
        return tuple(phrase for phrase in phrases if self._fits(phrase))[: self.number]

    def _fits(self, phrase: str) -> bool:
        words = len(phrase.split())
        return {"short": words < SPLIT_LENGTH, "long": words > SPLIT_LENGTH}[self.length] if self.length else True


async def ask_attributes(  # noqa: PLR0917 - the builder passes them by position
    edit: Edit, source: Pixels, ask: Ask, prompt: OpenPrompt, by: str, requested: AttributeRequest, repetition: int = 0
) -> Attributes:
    """Ask a judge for attributes; raise `UnscorableError` if it names none of one side.

    Args:
        edit: the request
        source: the source image
        ask: sends one question to the judge
        prompt: returns a prompt by its name
        by: name of the judge
        requested: length and number of attributes
        repetition: index of the extraction

    """
    request = " ".join((edit.instruction or edit.target_caption or "").split())
    if not request:
        raise UnscorableError("not_applicable", "the edit has neither an instruction nor a target caption to ask about")
    of_caption, of_source, of_target = (prompt(name) for name in PROMPTS)
    caption_question = Question(
        words=of_caption.render(), form=FreeText(), images=(LabeledImage("The picture:", source),)
    )
    caption = " ".join(str((await ask(caption_question.again(repetition))).value).split())
    rules = requested.prompt_rules
    words = (
        of_source.render_known(caption=caption, **rules),
        of_target.render_known(caption=caption, request=request, **rules),
    )
    questions = [
        Question(words=rendered, form=AttributeListForm(AttributeList)).again(repetition) for rendered in words
    ]
    before, after = [tuple(answer.value.attributes) for answer in await gather(*map(ask, questions))]
    if not before or not after:
        raise UnscorableError("unparsable", f"{by} named no {'target' if before else 'source'} attribute")
    return Attributes(before, after, by, caption)


def written_by(judge: str, prompt: OpenPrompt, requested: AttributeRequest) -> str:
    """Return the author of attributes: judge, prompt versions and requested format.

    'gpt-4o (augclip_caption.v1, augclip_source.v1, augclip_target.v1)'.
    """
    opened = [prompt(name) for name in PROMPTS]
    versions = [f"{opened_prompt.name}.v{opened_prompt.version}" for opened_prompt in opened]
    options = [str(part) for part in (requested.length, requested.number) if part]
    return f"{judge} ({', '.join(versions + options)})"
