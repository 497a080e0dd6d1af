"""Attributes that a judge writes, with prompts of the user's own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from editgauge._util.images import ImageFile
from editgauge.judges.prompts import Prompt
from editgauge.protocols.augclip._attributes import AttributeList, AttributeRequest, ask_attributes
from editgauge.types import Edit


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of a judge: for tests only."""

    value: Any


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Of {caption}:", "Of {caption}, for {request}:", ["Of a cat:", "Of a cat, for make it black:"]),
        ("Of {caption}:", "For {request}:", ["Of a cat:", "For make it black:"]),
        ("List them.", "List the others.", ["List them.", "List the others."]),
    ],
)
def test_every_slot_of_a_prompt_is_optional(source: str, target: str, expected: list[str]) -> None:
    texts = {"augclip_caption": "Describe it.", "augclip_source": source, "augclip_target": target}
    rendered: list[str] = []

    async def ask(question: Any) -> Any:
        rendered.append(question.words.text)
        return Reply("a cat" if len(rendered) == 1 else AttributeList(attributes=["fur"]))

    edit = Edit(id="e", source=ImageFile("p", Path("/p")), type="color", instruction="make it black")
    image = np.zeros((8, 8, 3), np.uint8)
    attributes = asyncio.run(
        ask_attributes(edit, image, ask, lambda name: Prompt(name, 1, texts[name]), "judge", AttributeRequest())
    )
    assert rendered[1:] == expected
    assert attributes.caption == "a cat"
