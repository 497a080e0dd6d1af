"""EditVal's public form as it follows from a review: `{class: {image: {edit type: {"from": […], "to": […]}}}}`."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from editgauge._util.fields import describe_unknown, format_value
from editgauge._util.files import write_json
from editgauge._util.phrases import read_placing
from editgauge._vision.geometry import middle, third
from editgauge.benchmarks.editval import SIDES, SIZES, TYPES
from editgauge.builders.review.file import LONGEST_VALUE, Review, ReviewCandidate, ReviewPicture
from editgauge.edit_types import EDIT_TYPES
from editgauge.errors import UnscorableError

Edits = dict[str, dict[str, dict[str, dict[str, list[str]]]]]


def operation_fault(candidate: ReviewCandidate, value: str, review: Review) -> str | None:
    """Why an operation cannot be used, or None when it can; it belongs to one edit type alone (appendix E)."""
    if not value.strip() or len(value) > LONGEST_VALUE:
        return f"an operation has 1 to {LONGEST_VALUE} signs, got {format_value(value)}"
    unreadable = form_fault(candidate.task, value)
    if unreadable:
        return unreadable
    operations = (
        element for element in review.of_group(candidate.group) if element.field == "operation" and element.is_kept
    )
    accepted = [(item.task, item.value) for item in operations if item.id != candidate.id]
    return overlap_fault(candidate.task, value, accepted)


def overlap_fault(edit_type: str, value: str, operations: Iterable[tuple[str, str]]) -> str | None:
    """Why an operation is not new, given the other operations of the class with their types.

    >>> overlap_fault("texture", "Golden", [("color", "golden")])
    "'Golden' is an operation of color already"
    >>> overlap_fault("object_replacement", "dog", [("object_addition", "dog")]) is None
    True
    """
    for kind, operation in operations:
        is_apart = kind != edit_type and (_names_new_object(kind) or _names_new_object(edit_type))
        if _plain(operation) == _plain(value) and not is_apart:
            return f"'{value}' is an operation of {kind} already"
    return None


def _names_new_object(edit_type: str) -> bool:
    """Adding a dog and replacing something by a dog are different operations with the same word."""
    return EDIT_TYPES[edit_type].effect in {"adds", "replaces"}


def form_fault(edit_type: str, value: str) -> str | None:
    """Why an operation's words cannot be read, or None when they can.

    >>> form_fault("size", "huge")
    "unknown wish 'huge'. There are: large, small."
    """
    words = " ".join(value.lower().split())
    if edit_type == "positional_addition":
        try:
            read_placing(words)
        except UnscorableError as unable:
            return unable.detail
    allowed: Mapping[str, Sequence[str]] = {"size": SIZES, "position_replacement": tuple(SIDES)}
    if edit_type in allowed and words not in allowed[edit_type]:
        return describe_unknown("wish", value, allowed[edit_type])
    return None


def edits_of(review: Review) -> Edits:
    """Return the edits: for every image and suitable type, a random sample of operations."""
    suits = {
        (candidate.group, candidate.task)
        for candidate in review.candidates
        if candidate.field == "suits" and candidate.is_kept
    }
    operations: dict[tuple[str, str], list[str]] = defaultdict(list)
    for item in review.candidates:
        if item.field == "operation" and item.is_kept and (item.group, item.task) in suits:
            normalized = {_plain(value) for value in operations[item.group, item.task]}
            operations[item.group, item.task] += [] if _plain(item.value) in normalized else [item.value]
    number, seed = int(review.settings.get("per_type", 1)), int(review.settings.get("seed", 0))
    edits: Edits = {}
    for group in review.groups:
        for picture in group.pictures:
            by_class: dict[str, dict[str, list[str]]] = {}
            for kind in TYPES:
                before, fitting = _fitting(kind, group.name, operations[group.name, kind], picture)
                drawn = _drawn(fitting, number, (seed, group.name, picture.number, kind))
                if drawn:
                    by_class[kind] = {"from": [before], "to": drawn}
            if by_class:
                edits.setdefault(group.name.replace(" ", "_"), {})[str(picture.number)] = by_class
    return edits


def write_editval(review: Review, file: Path) -> None:
    """Write the edits, or remove the file if none is left."""
    edits: Any = edits_of(review)
    if edits:
        write_json(file, edits)
    else:
        file.unlink(missing_ok=True)


def _fitting(kind: str, class_: str, operations: Sequence[str], picture: ReviewPicture) -> tuple[str, list[str]]:
    """Return the current state and the operations that would change it."""
    if kind == "position_replacement":
        instance = next((item for item in picture.instances if item.class_ == class_), None)
        side = (
            third(middle((instance.box[0], instance.box[1], instance.box[2], instance.box[3]))[0], picture.width)
            if instance
            else ""
        )
        return side, [operation for operation in operations if _plain(operation) != side]
    if kind in {"object_addition", "object_replacement"}:
        present = {_plain(instance.class_) for instance in picture.instances}
        return (class_ if kind == "object_replacement" else ""), [
            element for element in operations if _plain(element) not in present
        ]
    return "", list(operations)


def _drawn(operations: Sequence[str], number: int, key: tuple[object, ...]) -> list[str]:
    """At most that many, by a chance that depends on the key and the words alone, in their own order."""

    def chance(word: str) -> bytes:
        return hashlib.sha256("\0".join(map(str, (*key, word))).encode("utf-8", "surrogatepass")).digest()

    sampled = sorted(operations, key=chance)[:number]
    return [operation for operation in operations if operation in sampled]


def _plain(words: str) -> str:
    return " ".join(words.casefold().replace("_", " ").split())
