"""Gold items: a JSON lines file of items of the run with their right answers.

`{"edit": "cat-black", "method": "mine", "answers": {"applied": [2, 3]}}`; a list holds all answers that are right. Of
a pair: `{"edit": "cat-black", "first": "mine", "second": "theirs", "answers": {"better": "first"}}`, of attributes the
same with the attributes as `first` and `second`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from editgauge._util.datasets import read_text
from editgauge._util.documents import Location, read_jsonl
from editgauge._util.fields import format_value
from editgauge.errors import BadInputError
from editgauge.studies.creation.candidates import PageCandidate
from editgauge.studies.design import Design, DesignQuestion
from editgauge.studies.design.fields import Value

SWAPPED = {"first": "second", "second": "first"}
Right = dict[str, list[Value]]


@dataclass(frozen=True, slots=True)
class GoldItem:
    """A candidate with its right answers."""

    candidate: PageCandidate
    right: Right


def read_gold(file: Path, design: Design, candidates: Sequence[PageCandidate]) -> list[GoldItem]:
    """Read gold items from a file; raise `BadInputError` that lists all problems by line."""
    document = read_jsonl(read_text(file), file.name)
    by_names: dict[tuple[str, ...], list[PageCandidate]] = {}
    for candidate in candidates:
        by_names.setdefault((candidate.edit, *_names(candidate)), []).append(candidate)
    gold_items: dict[str, GoldItem] = {}
    for location, values in document.entries():
        item = _gold_item(values, design, by_names, location)
        if item is not None and item.candidate.key in gold_items:
            location.report("this item was given before")
        elif item is not None:
            gold_items[item.candidate.key] = item
    if document.faults:
        raise BadInputError(f"The gold items in '{file}' have problems.", document.problems())
    if not gold_items:
        raise BadInputError(f"'{file}' holds no gold items.")
    return list(gold_items.values())


def _names(candidate: PageCandidate) -> list[str]:
    return [str(item.method if item.attribute is None else item.attribute) for item in candidate.compared]


def _gold_item(
    values: Any, design: Design, by_names: Mapping[tuple[str, ...], list[PageCandidate]], location: Location
) -> GoldItem | None:
    keys = ("edit", "method") if design.unit == "outcome" else ("edit", "first", "second")
    if not isinstance(values, dict) or any(not isinstance(values.get(name), str) for name in keys):
        location.report(
            f"must be a mapping with the texts {', '.join(keys)}, and 'answers', got {format_value(values)}"
        )
        return None
    right = _right_answers(values.get("answers"), design, location)
    names = tuple(values[name] for name in keys)
    swapped = (names[0], *reversed(names[1:]))
    is_swapped = names not in by_names and swapped in by_names
    gold_items = by_names.get(swapped if is_swapped else names, [])
    seed = values.get("seed")
    fitting = [one for one in gold_items if seed is None or any(item.seed == seed for item in one.compared)]
    if len(fitting) != 1:
        listed = ", ".join(map(format_value, names))
        location.report(
            f"the run has {len(fitting) or 'no'} such item{'s: say which seed' if fitting else ''} ({listed})"
        )
        return None
    return GoldItem(fitting[0], _swap(right, design) if is_swapped else right) if right else None


def _swap(right: Right, design: Design) -> Right:
    sided = {question.id for question in design.sided}
    return {
        name: [SWAPPED.get(str(value), value) for value in values] if name in sided else values
        for name, values in right.items()
    }


def _right_answers(answers: Any, design: Design, location: Location) -> Right:
    if not isinstance(answers, dict) or not answers:
        location.report("'answers' must be a mapping of questions to right answers")
        return {}
    right: Right = {}
    for name, answer in answers.items():
        question = design.question(name)
        values = answer if isinstance(answer, list) else [answer]
        if question is None or question.kind == "text":
            names = ", ".join(item.id for item in design.questions if item.kind != "text")
            location.report(f"{format_value(name)} is no question with options; there are: {names}")
        elif not values or any(isinstance(value, bool) or value not in _values(question) for value in values):
            location.report(
                f"{format_value(answer)} does not answer '{name}'; there are: {', '.join(map(str, _values(question)))}"
            )
        else:
            right[name] = values
    return right


def _values(question: DesignQuestion) -> tuple[Value, ...]:
    """Sides are named from the item, not from the page: which one is shown on the left is decided later."""
    if question.kind == "pick_side":
        return ("first", "second", "tie") if question.tie else ("first", "second")
    return question.values
