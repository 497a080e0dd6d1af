"""EditVal's classes and operations by a judge (section 3.1, appendix H): a question per type, then one per class."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic import BaseModel

from editgauge.benchmarks.editval import SIDES, SIZES
from editgauge.core.edit_types import EDIT_TYPES
from editgauge.judges import Answer, Question
from editgauge.judges.forms import Structured
from editgauge.judges.prompts import Prompt

Ask = Callable[[Question[Any]], Awaitable[Answer[Any]]]
OpenPrompt = Callable[[str], Prompt]
PROMPTS = ("editval_classes", "editval_operations")
FIXED: dict[str, tuple[str, ...]] = {"size": SIZES, "position_replacement": tuple(SIDES)}
"""Types whose operations the benchmark itself fixes; no judge is asked."""
FORMS = {
    "positional_addition": "the thing and its side, one of: to left, to right, on top, below. 'ball to left'.",
    "alter_parts": "'add handle'.",
}
"""How an operation is written where it is not the plain value of `to`."""


class Classes(BaseModel, extra="forbid"):
    """What a judge is to answer."""

    classes: list[str]


class Operations(BaseModel, extra="forbid"):
    """What a judge is to answer."""

    operations: list[str]


async def ask_classes(edit_type: str, classes: Sequence[str], ask: Ask, prompt: OpenPrompt) -> list[str]:
    """The classes that suit an edit type, as the judge says; raises `NoAnswer`."""
    words = prompt(PROMPTS[0]).render(
        edit_type=_spoken(edit_type), meaning=EDIT_TYPES[edit_type].meaning, classes=", ".join(classes)
    )
    answer: Classes = (await ask(Question(words=words, form=Structured(Classes)))).value
    return _distinct(answer.classes)


async def ask_operations(edit_type: str, class_: str, number: int, ask: Ask, prompt: OpenPrompt) -> list[str]:
    """The operations of a type for a class, as the judge says; raises `NoAnswer`."""
    if edit_type in FIXED:
        return list(FIXED[edit_type])
    words = prompt(PROMPTS[1]).render(
        class_name=class_,
        edit_type=_spoken(edit_type),
        meaning=EDIT_TYPES[edit_type].meaning,
        number=number,
        form=FORMS.get(edit_type) or _form(edit_type),
    )
    answer: Operations = (await ask(Question(words=words, form=Structured(Operations)))).value
    return _distinct(answer.operations)[:number]


def written_by(judge: str, prompt: OpenPrompt) -> str:
    """Who proposed: the judge and the versions of the prompts."""
    opened = [prompt(name) for name in PROMPTS]
    return f"{judge} ({', '.join(f'{each.name}.v{each.version}' for each in opened)})"


def _form(edit_type: str) -> str:
    return f"{', '.join(map(repr, EDIT_TYPES[edit_type].values))}."


def _spoken(edit_type: str) -> str:
    return edit_type.replace("_", " ")


def _distinct(words: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(" ".join(word.split()) for word in words if word.strip()))
