"""EditVal's classes and operations (section 3.1, appendix H), by rules or by a judge, and which of them can be used.

Rules take them from a small table and from what the annotations themselves tell. A judge is asked once per edit type
for classes, then once per class for operations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import yaml
from pydantic import BaseModel

from editgauge._util.coco import Coco, CocoImage
from editgauge.benchmarks.editval import NAMES, SIDES, SIZES, TYPES
from editgauge.builders.built import OmittedTask, similar_classes
from editgauge.builders.editval.file import form_fault, overlap_fault
from editgauge.builders.judge_calls import Ask, OpenPrompt
from editgauge.edit_types import EDIT_TYPES
from editgauge.judges import Question
from editgauge.judges._questions import Structured

BY_RULES = "rules.v1"
ALL = "*"
PROMPTS = ("editval_classes", "editval_operations")
FIXED: dict[str, tuple[str, ...]] = {"size": SIZES, "position_replacement": tuple(SIDES)}
"""Types whose operations the benchmark itself fixes; no judge is asked."""
FORMS = {
    "positional_addition": "the thing and its side, one of: to left, to right, on top, below. 'ball to left'.",
    "alter_parts": "'add handle'.",
}
"""How an operation is written where it is not the plain value of `to`."""
Pair = tuple[str, str]
"""A class and an edit type."""


@dataclass
class Proposed:
    """What was proposed so far, and what could not be used."""

    classes: dict[str, list[str]] = field(default_factory=dict)
    """By edit type."""
    operations: dict[Pair, list[str]] = field(default_factory=dict)
    left_out: list[OmittedTask] = field(default_factory=list)

    def take_image(self, image: CocoImage) -> bool:
        """Will the benchmark find the image by its number? If not, it is noted."""
        names = [name.format(image.number) for name in NAMES]
        if image.file in names:
            return True
        self.left_out.append(OmittedTask(image.file, f"is not found by its number: call it {names[1]}"))
        return False

    def take_classes(self, edit_type: str, words: Sequence[str], class_names: Sequence[str]) -> None:
        """Those of the list; the others are noted."""
        self.classes[edit_type] = [word for word in words if word in class_names]
        self.left_out += [
            OmittedTask(f"{edit_type}: {word}", "is no class of the annotations with a fitting image")
            for word in words
            if word not in class_names
        ]

    def take_operations(self, pair: Pair, words: Sequence[str]) -> None:
        """Those that can be read and belong to no other type of the class (appendix E); the others are noted."""
        class_, edit_type = pair
        taken = [
            (kind, word)
            for (owner, kind), words_of_kind in self.operations.items()
            for word in words_of_kind
            if owner == class_
        ]
        fit: list[str] = []
        for word in words:
            earlier = [*taken, *((edit_type, item) for item in fit)]
            why = form_fault(edit_type, word) or overlap_fault(edit_type, word, earlier)
            if why is None and edit_type in {"object_addition", "object_replacement"} and word == class_:
                why = "is the class itself"
            if why:
                self.left_out.append(OmittedTask(f"{class_}, {edit_type}: {word}", why))
            else:
                fit.append(word)
        self.operations[pair] = fit


@cache
def table() -> dict[str, dict[str, Any]]:
    """Read the table `rule_proposals.yaml`."""
    text = (resources.files(__package__) / "rule_proposals.yaml").read_text(encoding="utf-8")
    rules: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return {kind: rules[kind] for kind in TYPES}


def classes_for(edit_type: str, coco: Coco, among: Iterable[str]) -> list[str]:
    """Return the classes for which an edit type makes sense."""
    suited = table()[edit_type]["classes"]
    return [item for item in among if ALL in suited or item in suited or coco.classes[item] in suited]


def operations_for(edit_type: str, class_: str, coco: Coco, number: int) -> list[str]:
    """Return at most `number` operations for a class."""
    rule = table()[edit_type]
    by: dict[str, list[str]] = rule.get("by", {})
    operations = [*rule.get("operations", []), *by.get(class_, by.get(coco.classes[class_], []))]
    if operations:
        return operations[:number]
    near, further = similar_classes(coco, class_, present=[class_])
    if edit_type == "object_replacement":
        return [*near, *further][:number]
    together: Mapping[str, int] = coco.together.get(class_, {})
    often = sorted(together, key=lambda word: (-together[word], word)) or [*near, *further]
    if edit_type == "positional_addition":
        positions: list[str] = rule["places"]
        return [f"{word} {positions[index % len(positions)]}" for index, word in enumerate(often[:number])]
    return often[:number]


class Classes(BaseModel, extra="forbid"):
    """What a judge is to answer."""

    classes: list[str]


class Operations(BaseModel, extra="forbid"):
    """What a judge is to answer."""

    operations: list[str]


async def ask_classes(edit_type: str, classes: Sequence[str], ask: Ask, prompt: OpenPrompt) -> list[str]:
    """Ask the judge for classes that suit an edit type; raise `NoAnswerError`."""
    words = prompt(PROMPTS[0]).render(
        edit_type=_spoken(edit_type), meaning=EDIT_TYPES[edit_type].meaning, classes=", ".join(classes)
    )
    answer: Classes = (await ask(Question(words=words, form=Structured(Classes)))).value
    return _distinct(answer.classes)


async def ask_operations(edit_type: str, class_: str, number: int, ask: Ask, prompt: OpenPrompt) -> list[str]:
    """Ask the judge for operations of a type for a class; raise `NoAnswerError`."""
    if edit_type in FIXED:
        return list(FIXED[edit_type])
    words = prompt(PROMPTS[1]).render(
        class_name=class_,
        edit_type=_spoken(edit_type),
        meaning=EDIT_TYPES[edit_type].meaning,
        number=number,
        form=FORMS.get(edit_type) or f"{', '.join(map(repr, EDIT_TYPES[edit_type].values))}.",
    )
    answer: Operations = (await ask(Question(words=words, form=Structured(Operations)))).value
    return _distinct(answer.operations)[:number]


def _spoken(edit_type: str) -> str:
    return edit_type.replace("_", " ")


def _distinct(words: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(" ".join(word.split()) for word in words if word.strip()))
