"""EditVal's classes and operations by a judge (section 3.1, appendix H): a question per type, then one per class."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from pydantic import BaseModel

from editgauge.benchmarks.editval import SIDES, SIZES
from editgauge.judges import Answer, Question
from editgauge.judges.forms import Structured
from editgauge.judges.prompts import Prompt

Ask = Callable[[Question[Any]], Awaitable[Answer[Any]]]
OpenPrompt = Callable[[str], Prompt]
PROMPTS = ("editval_classes", "editval_operations")
FIXED: dict[str, tuple[str, ...]] = {"size": SIZES, "position_replacement": tuple(SIDES)}
"""Types whose operations the benchmark itself fixes; nobody need be asked."""
MEANINGS = {
    "object_addition": "something new is put into the picture beside the object",
    "positional_addition": "something new is put at a named side of the object",
    "object_replacement": "the object is replaced by another one",
    "size": "the object becomes smaller or larger",
    "position_replacement": "the object moves to another side of the picture",
    "alter_parts": "a part of the object is added or changed",
    "background": "what is behind the object becomes another place",
    "texture": "the surface of the object becomes another material or pattern",
    "style": "the whole picture is rendered in another manner",
    "color": "the object gets another colour",
    "shape": "the object gets another outline",
    "action": "the object does something else",
    "viewpoint": "the object is seen from another side",
}
FORMS = {
    "object_addition": "'ball', 'wine glass'.",
    "positional_addition": "the thing and its side, one of: to left, to right, on top, below. 'ball to left'.",
    "object_replacement": "'chair'.",
    "alter_parts": "'add handle'.",
    "background": "'snowy road'.",
    "texture": "'wooden'.",
    "style": "'oil painting'.",
    "color": "'red'.",
    "shape": "'square'.",
    "action": "'sleeping'.",
    "viewpoint": "'back'.",
}


class Classes(BaseModel, extra="forbid"):
    """What a judge is to answer."""

    classes: list[str]


class Operations(BaseModel, extra="forbid"):
    """What a judge is to answer."""

    operations: list[str]


async def ask_classes(edit_type: str, classes: Sequence[str], ask: Ask, prompt: OpenPrompt) -> list[str]:
    """The classes that suit an edit type, as the judge says; raises `NoAnswer`."""
    words = prompt(PROMPTS[0]).render(
        edit_type=_spoken(edit_type), meaning=MEANINGS[edit_type], classes=", ".join(classes)
    )
    found: Classes = (await ask(Question(words=words, form=Structured(Classes)))).value
    return _distinct(found.classes)


async def ask_operations(edit_type: str, class_: str, number: int, ask: Ask, prompt: OpenPrompt) -> list[str]:
    """The operations of a type for a class, as the judge says; raises `NoAnswer`."""
    if edit_type in FIXED:
        return list(FIXED[edit_type])
    words = prompt(PROMPTS[1]).render(
        class_name=class_,
        edit_type=_spoken(edit_type),
        meaning=MEANINGS[edit_type],
        number=number,
        form=FORMS[edit_type],
    )
    found: Operations = (await ask(Question(words=words, form=Structured(Operations)))).value
    return _distinct(found.operations)[:number]


def told_by(judge: str, prompt: OpenPrompt) -> str:
    """Who proposed: the judge and the versions of the prompts."""
    opened = [prompt(name) for name in PROMPTS]
    return f"{judge} ({', '.join(f'{each.name}.v{each.version}' for each in opened)})"


def _spoken(edit_type: str) -> str:
    return edit_type.replace("_", " ")


def _distinct(words: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(" ".join(word.split()) for word in words if word.strip()))
