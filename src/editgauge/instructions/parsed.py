"""Readings as JSON: written by `editgauge understand`, corrected by hand, and read again as `--fields`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from editgauge.edit_types import EDIT_TYPES, UNSPECIFIED, read_edit_type
from editgauge.errors import BadInputError, EditGaugeError, UnscorableError
from editgauge.instructions._parse import parse_instruction as understand
from editgauge.types import Benchmark, Edit, ParsedInstruction, ParsedStep, Position, Relation

How = Literal["rules", "captions", "judge", "given"]
FIELDS = ("edit_type", "subject", "from", "to", "position", "count", "attributes", "sure", "also")


def parsed_from_json(entry: Mapping[str, Any], how: str | None = None) -> ParsedInstruction:
    """The reading that `reading_to_json` wrote, or a person or a judge; raises `BadInputError` for anything else."""
    steps = entry.get("steps")
    if not isinstance(steps, Sequence) or isinstance(steps, str) or not steps:
        raise BadInputError(f"'steps' must be a list with at least one step, got {steps!r}.")
    by = how or entry.get("how", "given")
    if by not in get_args(How):
        raise BadInputError(f"'how' must be rules, captions, judge or given, got {by!r}.")
    read = tuple(_step(number, step) for number, step in enumerate(steps, start=1))
    return ParsedInstruction(read, cast("How", by), str(entry.get("left") or ""))


def _step(number: int, entry: Any) -> ParsedStep:
    if not isinstance(entry, Mapping):
        raise BadInputError(f"Step {number} must be an object with {', '.join(FIELDS)}; got {entry!r}.")
    unknown = sorted(set(entry) - set(FIELDS))
    if unknown:
        raise BadInputError(f"Step {number} has '{unknown[0]}'; the fields are {', '.join(FIELDS)}.")
    texts = {name: entry.get(name) for name in ("subject", "from", "to")}
    for name, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise BadInputError(f"Step {number}: '{name}' must be a text or null, got {value!r}.")
    count = entry.get("count")
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 0):
        raise BadInputError(f"Step {number}: 'count' must be a whole number or null, got {count!r}.")
    attributes = entry.get("attributes") or []
    if not isinstance(attributes, Sequence) or isinstance(attributes, str):
        raise BadInputError(f"Step {number}: 'attributes' must be a list of words, got {attributes!r}.")
    return ParsedStep(
        type=read_edit_type(str(entry.get("edit_type"))),
        subject=texts["subject"] or None,
        from_=texts["from"] or None,
        to=texts["to"] or None,
        position=_position(number, entry.get("position")),
        count=count,
        attributes=tuple(map(str, attributes)),
        sure=bool(entry.get("sure", True)),
        also=tuple(_step(number, other) for other in entry.get("also") or ()),
    )


def _position(number: int, entry: Any) -> Position | None:
    if entry is None:
        return None
    relation = entry.get("relation") if isinstance(entry, Mapping) else None
    if relation not in get_args(Relation):
        known = ", ".join(get_args(Relation))
        raise BadInputError(f"Step {number}: 'position' must have a 'relation' of {known}; got {entry!r}.")
    anchor = entry.get("anchor")
    return Position(cast("Relation", relation), str(anchor) if anchor else None)


@dataclass(frozen=True, slots=True)
class SavedParses:
    """Readings of a file, by the id of an edit or by the text of its instruction."""

    by_key: Mapping[str, ParsedInstruction]
    sha256: str

    def of(self, edit: Edit) -> ParsedInstruction | None:
        """The reading kept for an edit; the id counts before the text."""
        return self.by_key.get(f"id {edit.id}") or self.by_key.get(f"text {edit.instruction}")


def load_parses(file: Path) -> SavedParses:
    """The readings of a file of JSON lines; raises `BadInputError` with every faulty line."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise BadInputError(f"The readings '{file}' cannot be read: {error.strerror}.") from error
    by_key: dict[str, ParsedInstruction] = {}
    problems = []
    for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            if not isinstance(entry, dict) or not (entry.get("id") or entry.get("text")):
                raise BadInputError("needs 'text' or 'id', and 'steps'")
            reading = parsed_from_json(entry)
        except (ValueError, EditGaugeError) as error:
            problems.append(f"line {number}: {error}")
            continue
        by_key |= {f"{key} {entry[key]}": reading for key in ("id", "text") if entry.get(key)}
    if problems:
        raise BadInputError(f"The readings '{file}' have problems.", problems[:20])
    return SavedParses(by_key, hashlib.sha256(raw).hexdigest())


def complete_edit(edit: Edit, kept: SavedParses | None = None, form: str | None = None) -> Edit:
    """The edit with what its instruction says where the benchmark or the user says nothing.

    What is given always wins: a step of another type than the given one, or one of that type that contradicts a given
    field, fills nothing in; without a given type, given fields take the place of those that were read. A kept reading
    wins over all, for someone wrote or checked it.
    """
    reading = kept.of(edit) if kept else None
    if reading is not None:
        return apply_step(edit, reading.steps[0], reading)
    read = _read(edit, form)
    return replace(read, count=edit.count) if edit.count else read


def _read(edit: Edit, form: str | None) -> Edit:
    if not edit.instruction.strip() or (edit.type != UNSPECIFIED and not _missing(edit)):
        return edit
    reading = understand(edit.instruction, edit.source_caption, edit.target_caption, form)
    if edit.type == UNSPECIFIED and (not _known_fields(edit) or len(reading.steps) == 1):
        step = _overridden(reading.steps[0], edit)
        return apply_step(edit, step, replace(reading, steps=(step, *reading.steps[1:])))
    same = _of_type(reading, edit.type)
    if same is None and edit.source_caption and edit.target_caption:
        reading = understand(edit.target_caption, edit.source_caption, form="caption")
        same = _of_type(reading, edit.type)
    if same is None or any(_plain(getattr(same, name)) != _plain(value) for name, value in _known_fields(edit).items()):
        return edit
    step = replace(same, **_known_fields(edit), sure=same.sure or edit.type != UNSPECIFIED)
    return apply_step(edit, step, replace(reading, steps=(step,)))


def _overridden(step: ParsedStep, edit: Edit) -> ParsedStep:
    """The step with the given fields; another name for the subject is one for what is replaced, too."""
    fields = _known_fields(edit)
    if edit.subject and step.from_ == step.subject:
        fields = {"from_": edit.subject, **fields}
    return replace(step, **fields)


def _of_type(reading: ParsedInstruction, edit_type: str) -> ParsedStep | None:
    """The first step of a type; of any, when the type is not known."""
    return next((step for step in reading.steps if edit_type in {step.type, UNSPECIFIED}), None)


def _known_fields(edit: Edit) -> dict[str, Any]:
    """The fields that the edit has."""
    values = {name: getattr(edit, name) for name in ("subject", "from_", "to", "position")}
    return {name: value for name, value in values.items() if value is not None}


def _missing(edit: Edit) -> bool:
    """Does it lack a field that rules for its type read?"""
    there = {name.rstrip("_") for name in _known_fields(edit)}
    return not set(EDIT_TYPES[edit.type].needs) <= there


def _plain(value: object) -> object:
    return " ".join(value.casefold().replace("_", " ").split()) if isinstance(value, str) else value


def apply_step(edit: Edit, step: ParsedStep, reading: ParsedInstruction | None = None) -> Edit:
    """The edit with the fields of a step, and the reading that the step comes from."""
    return replace(
        edit,
        type=step.type,
        subject=step.subject,
        from_=step.from_,
        to=step.to,
        position=step.position,
        count=step.count,
        attributes=step.attributes,
        reading=reading,
    )


def apply_parses(benchmark: Benchmark, kept: SavedParses) -> Benchmark:
    """The benchmark with the readings of a file; one that no edit has is a mistake worth telling."""
    edits = tuple(complete_edit(edit, kept) for edit in benchmark.edits)
    used = sum(kept.of(edit) is not None for edit in benchmark.edits)
    if not used:
        raise BadInputError(
            "None of the readings is of an edit of this benchmark: neither an 'id' nor a 'text' is the same."
        )
    about = f"{benchmark.about}; {used} of {len(edits)} readings from the file given"
    return replace(benchmark, edits=edits, about=about.removeprefix("; "))


def parse_summary(edits: Sequence[Edit]) -> str:
    """How many instructions were understood, in words."""
    read = [edit.reading for edit in edits if edit.reading]
    known = [reading for reading in read if all(step.type != UNSPECIFIED for step in reading.steps)]
    sure = sum(all(step.sure for step in reading.steps) for reading in known)
    return f"instructions understood: {len(known)} of {len(read)}, {sure} of them without doubt"


def parse_single_step(text: str) -> ParsedStep:
    """The one step that an instruction surely asks for, with all fields that its type needs; raises `UnscorableError`.

    >>> only_step("Could we add a cup to the left of the plate?").position
    Position(relation='left', anchor='plate')
    """
    if not text.strip():
        raise UnscorableError("unparsable", "the instruction is empty")
    reading = understand(text)
    step = reading.steps[0]
    lacking = {"subject": step.subject, "from": step.from_, "to": step.to, "position": step.position}
    missing = [name for name in EDIT_TYPES[step.type].needs if lacking[name] is None]
    if step.type == UNSPECIFIED or reading.left:
        raise UnscorableError("unparsable", f"'{text}' was not understood{f': {reading.left}' if reading.left else ''}")
    if len(reading.steps) > 1:
        raise UnscorableError("unparsable", f"'{text}' asks for {len(reading.steps)} changes")
    if missing or not step.sure:
        doubt = f"does not say {' and '.join(missing)}" if missing else f"may ask for another type than {step.type}"
        raise UnscorableError("unparsable", f"'{text}' {doubt}")
    return step


def edit_steps(edit: Edit) -> tuple[Edit, ...]:
    """One edit per step of the instruction; the edit itself when it has one step or was not read."""
    if edit.reading is None or len(edit.reading.steps) < 2:
        return (edit,)
    return tuple(apply_step(edit, step, replace(edit.reading, steps=(step,))) for step in edit.reading.steps)
