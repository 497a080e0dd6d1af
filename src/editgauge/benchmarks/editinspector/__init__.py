"""EditInspector: edits of MagicBrush's test set, each with what three people said about it (Yosef et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from editgauge._util.text import format_count
from editgauge.benchmarks.editinspector._labels import FILE, QUESTIONS, Inspected, majority, read_inspected
from editgauge.benchmarks.magicbrush import NEEDED, read_sessions
from editgauge.edit_types import EDIT_TYPES, UNSPECIFIED, vocabulary
from editgauge.errors import BadInputError
from editgauge.instructions.parsed import complete_edit
from editgauge.types import Benchmark, Edit

PUBLISHED = 783, 398
"""Edits and photographs of the whole set; a photograph is edited in up to three turns."""
LICENSE = "labels CC-BY-4.0, as the paper says; pictures as MagicBrush (CC-BY-4.0, not to be redistributed unpacked)"


def load(data: Path | None = None, images: Path | None = None) -> Benchmark:
    """EditInspector: 783 edits, each judged by three people; --data its CSV, --images MagicBrush's.

    Ids are those of `magicbrush`; the outcome that people judged is MagicBrush's own, the edit's `reference`. A change
    of attributes has the type that its instruction names beyond doubt, or is `unspecified`; `extras` keep the action.
    """
    inspected = read_inspected(data)
    path = images or _beside(data)
    turns, _ = read_sessions("editinspector", path)
    by_turn = {(edit.extras["img_id"], edit.turn): edit for edit in turns}
    absent = [f"{row.image}, turn {row.turn}" for row in inspected if (row.image, row.turn) not in by_turn]
    if absent:
        raise BadInputError(
            f"MagicBrush in '{path}' lacks {len(absent)} of {len(inspected)} turns of EditInspector. Is it `test`?",
            absent[:5],
        )
    pairs = [(row, by_turn[row.image, row.turn]) for row in inspected]
    edits = tuple(_edit(row, turn) for row, turn in pairs)
    return Benchmark("editinspector", edits, _about(pairs), LICENSE)


def _beside(data: Path | None) -> Path:
    """MagicBrush in the folder of the CSV file; raises `BadInputError` that says what to give."""
    folder = (data if data is not None and data.is_dir() else (data or Path()).parent).absolute()
    if (folder / "edit_sessions.json").is_file():
        return folder
    raise BadInputError(f"EditInspector has no pictures of its own. Give --images: {NEEDED}.")


def _edit(row: Inspected, turn: Edit) -> Edit:
    extras: dict[str, Any] = {
        **turn.extras,
        "original_id": row.original_id,
        "action": row.action,
        "rich_instruction": row.rich_instruction,
        "difference_caption": row.difference_caption,
        "short_caption": row.short_caption,
        "differences": list(row.differences),
        "feedback": {about: list(texts) for about, texts in row.feedback.items() if texts},
        "people": {question: list(answers) for question, answers in row.answers.items()},
        "majority": {question: majority(row.answers[question]) for question in QUESTIONS},
        "released_artifacts": list(row.released_artifacts),
    }
    present = {key: value for key, value in extras.items() if value is not None}
    edit = replace(turn, id=row.id, instruction=row.instruction, extras=present)
    if row.instruction != turn.instruction:
        edit = complete_edit(replace(edit, **NOTHING))
    edit_type = vocabulary("editinspector").get(row.action or "")
    agrees = edit.type == edit_type or (edit_type is None and (row.action is None or _changes_an_attribute(edit.type)))
    if agrees or (edit_type == "object_addition" and EDIT_TYPES[edit.type].effect == "adds"):
        return edit
    return (
        complete_edit(replace(edit, **{**NOTHING, "type": edit_type or UNSPECIFIED}))
        if edit_type
        else replace(edit, **NOTHING)
    )


NOTHING: dict[str, Any] = {
    **dict.fromkeys(("subject", "from_", "to", "position", "count", "reading")),
    "attributes": (),
    "type": UNSPECIFIED,
}
"""The fields of an edit that was not read."""


def _changes_an_attribute(edit_type: str) -> bool:
    """Return whether the edit changes an attribute; the data set does not name which."""
    kind = EDIT_TYPES[edit_type]
    return kind.value == "attribute" or kind.region == "background"


def _about(pairs: Sequence[tuple[Inspected, Edit]]) -> str:
    """How many there are, and whether MagicBrush asks for the same."""
    images = {row.image for row, _ in pairs}
    size = len(pairs), len(images)
    text = f"{format_count(size[0], 'edit')} of {format_count(size[1], 'photograph')}, judged by three people each"
    if size != PUBLISHED:
        text += f" ({FILE} has {PUBLISHED[0]} of {PUBLISHED[1]})"
    other = [row.id for row, turn in pairs if row.instruction.casefold() != turn.instruction.casefold()]
    return f"{text}; MagicBrush words {len(other)} otherwise, such as {other[0]}" if other else text
