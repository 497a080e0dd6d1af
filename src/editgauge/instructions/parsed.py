"""Parsed instructions in edits and in files: completing edits, saved parses, single steps."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from editgauge.edit_types import EDIT_TYPES, UNSPECIFIED, read_edit_type
from editgauge.errors import BadInputError, EditGaugeError, UnscorableError
from editgauge.instructions._parse import parse_instruction
from editgauge.types import Benchmark, Edit, ParsedInstruction, ParsedStep, Position, Relation

How = Literal["rules", "captions", "judge", "given"]
FIELDS = ("edit_type", "subject", "from", "to", "position", "count", "attributes", "sure", "also")
_EDIT_FIELDS = ("subject", "from_", "to", "position")
MAX_PROBLEMS = 20
"""Faulty lines that an error lists."""


def parsed_from_json(entry: Mapping[str, Any], how: str | None = None) -> ParsedInstruction:
    """Read a parsed instruction from JSON, as written by this package, a person or a judge.

    Raises:
        BadInputError: if a field is missing, unknown or of another type.
    """
    steps = entry.get("steps")
    if not isinstance(steps, Sequence) or isinstance(steps, str) or not steps:
        raise BadInputError(f"'steps' must be a list with at least one step, got {steps!r}.")
    source = how or entry.get("how", "given")
    if source not in get_args(How):
        raise BadInputError(f"'how' must be rules, captions, judge or given, got {source!r}.")
    parsed = tuple(_step(number, step) for number, step in enumerate(steps, start=1))
    return ParsedInstruction(parsed, cast("How", source), str(entry.get("left") or ""))


def _step(number: int, entry: Any) -> ParsedStep:
    if not isinstance(entry, Mapping):
        raise BadInputError(f"Step {number} must be an object with {', '.join(FIELDS)}; got {entry!r}.")
    if unknown := sorted(set(entry) - set(FIELDS)):
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
        also=tuple(_step(number, alternative) for alternative in entry.get("also") or ()),
    )


def _position(number: int, entry: Any) -> Position | None:
    if entry is None:
        return None
    relation = entry.get("relation") if isinstance(entry, Mapping) else None
    if relation not in get_args(Relation):
        relations = ", ".join(get_args(Relation))
        raise BadInputError(f"Step {number}: 'position' must have a 'relation' of {relations}; got {entry!r}.")
    anchor = entry.get("anchor")
    return Position(cast("Relation", relation), str(anchor) if anchor else None)


@dataclass(frozen=True, slots=True)
class SavedParses:
    """Parsed instructions of a file, by the id of an edit or by the text of its instruction."""

    by_key: Mapping[str, ParsedInstruction]
    sha256: str

    def of(self, edit: Edit) -> ParsedInstruction | None:
        """Return the parsed instruction of an edit, by its id or else by its text."""
        return self.by_key.get(f"id {edit.id}") or self.by_key.get(f"text {edit.instruction}")


def load_parses(file: Path) -> SavedParses:
    """Read parsed instructions from a file of JSON lines.

    Raises:
        BadInputError: if the file cannot be read or lines are faulty; it lists them.
    """
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
            parsed = parsed_from_json(entry)
        except (ValueError, EditGaugeError) as error:
            problems.append(f"line {number}: {error}")
            continue
        by_key |= {f"{key} {entry[key]}": parsed for key in ("id", "text") if entry.get(key)}
    if problems:
        raise BadInputError(f"The readings '{file}' have problems.", problems[:MAX_PROBLEMS])
    return SavedParses(by_key, hashlib.sha256(raw).hexdigest())


def complete_edit(edit: Edit, saved: SavedParses | None = None, form: str | None = None) -> Edit:
    """Fill in the fields of an edit that the benchmark or the user left open.

    Stated fields always win: a parsed step of another type, or one that contradicts a stated field, fills in nothing.
    Without a stated type, stated fields replace parsed ones. A saved parse wins over everything, since somebody wrote
    or checked it.
    """
    parsed = saved.of(edit) if saved else None
    if parsed is not None:
        return apply_step(edit, parsed.steps[0], parsed)
    completed = _parse_missing(edit, form)
    return replace(completed, count=edit.count) if edit.count else completed


def _parse_missing(edit: Edit, form: str | None) -> Edit:
    is_complete = edit.type != UNSPECIFIED and set(EDIT_TYPES[edit.type].needs) <= {
        name.rstrip("_") for name in _stated(edit)
    }
    if not edit.instruction.strip() or is_complete:
        return edit
    parsed = parse_instruction(edit.instruction, edit.source_caption, edit.target_caption, form)
    if edit.type == UNSPECIFIED and (not _stated(edit) or len(parsed.steps) == 1):
        step = _overridden(parsed.steps[0], edit)
        return apply_step(edit, step, replace(parsed, steps=(step, *parsed.steps[1:])))
    step_of_type = _first_of_type(parsed, edit.type)
    if step_of_type is None and edit.source_caption and edit.target_caption:
        parsed = parse_instruction(edit.target_caption, edit.source_caption, form="caption")
        step_of_type = _first_of_type(parsed, edit.type)
    if step_of_type is None or _contradicts(step_of_type, edit):
        return edit
    step = replace(step_of_type, **_stated(edit), sure=step_of_type.sure or edit.type != UNSPECIFIED)
    return apply_step(edit, step, replace(parsed, steps=(step,)))


def _overridden(step: ParsedStep, edit: Edit) -> ParsedStep:
    """Return the step with the stated fields; another name for the subject also names what is replaced."""
    fields = _stated(edit)
    if edit.subject and step.from_ == step.subject:
        fields = {"from_": edit.subject, **fields}
    return replace(step, **fields, also=() if fields else step.also)


def _first_of_type(parsed: ParsedInstruction, edit_type: str) -> ParsedStep | None:
    """Return the first step of a type, or the first of all if the type is unspecified."""
    return next((step for step in parsed.steps if edit_type in {step.type, UNSPECIFIED}), None)


def _stated(edit: Edit) -> dict[str, Any]:
    values = {name: getattr(edit, name) for name in _EDIT_FIELDS}
    return {name: value for name, value in values.items() if value is not None}


def _contradicts(step: ParsedStep, edit: Edit) -> bool:
    return any(_normalized(getattr(step, name)) != _normalized(value) for name, value in _stated(edit).items())


def _normalized(value: object) -> object:
    return " ".join(value.casefold().replace("_", " ").split()) if isinstance(value, str) else value


def apply_step(edit: Edit, step: ParsedStep, parsed: ParsedInstruction | None = None) -> Edit:
    """Return the edit with the fields of a step, and the parsed instruction that the step comes from."""
    return replace(
        edit,
        type=step.type,
        subject=step.subject,
        from_=step.from_,
        to=step.to,
        position=step.position,
        count=step.count,
        attributes=step.attributes,
        reading=parsed,
    )


def apply_parses(benchmark: Benchmark, saved: SavedParses) -> Benchmark:
    """Return the benchmark with saved parses in place of its own.

    Raises:
        BadInputError: if no edit of the benchmark has a saved parse.
    """
    edits = tuple(complete_edit(edit, saved) for edit in benchmark.edits)
    used = sum(saved.of(edit) is not None for edit in benchmark.edits)
    if not used:
        raise BadInputError(
            "None of the readings is of an edit of this benchmark: neither an 'id' nor a 'text' is the same."
        )
    about = f"{benchmark.about}; {used} of {len(edits)} readings from the file given"
    return replace(benchmark, edits=edits, about=about.removeprefix("; "))


def parse_summary(edits: Sequence[Edit]) -> str:
    """Say how many instructions were understood."""
    parsed = [edit.reading for edit in edits if edit.reading]
    understood = [reading for reading in parsed if all(step.type != UNSPECIFIED for step in reading.steps)]
    sure = sum(all(step.sure for step in reading.steps) for reading in understood)
    return f"instructions understood: {len(understood)} of {len(parsed)}, {sure} of them without doubt"


def parse_single_step(text: str) -> ParsedStep:
    """Parse an instruction that asks for exactly one change.

    Raises:
        UnscorableError: if it is not understood, asks for several changes, or leaves the type or a field open.

    Example:
        >>> parse_single_step("Could we add a cup to the left of the plate?").position
        Position(relation='left', anchor='plate')
    """
    if not text.strip():
        raise UnscorableError("unparsable", "the instruction is empty")
    parsed = parse_instruction(text)
    step = parsed.steps[0]
    fields = {"subject": step.subject, "from": step.from_, "to": step.to, "position": step.position}
    missing = [name for name in EDIT_TYPES[step.type].needs if fields[name] is None]
    if step.type == UNSPECIFIED or parsed.left:
        raise UnscorableError("unparsable", f"'{text}' was not understood{f': {parsed.left}' if parsed.left else ''}")
    if len(parsed.steps) > 1:
        raise UnscorableError("unparsable", f"'{text}' asks for {len(parsed.steps)} changes")
    if missing or not step.sure:
        doubt = f"does not say {' and '.join(missing)}" if missing else f"may ask for another type than {step.type}"
        raise UnscorableError("unparsable", f"'{text}' {doubt}")
    return step


def edit_steps(edit: Edit) -> tuple[Edit, ...]:
    """Return one edit per step of the instruction; the edit itself if it has one step or was not parsed."""
    if edit.reading is None or len(edit.reading.steps) < 2:
        return (edit,)
    return tuple(apply_step(edit, step, replace(edit.reading, steps=(step,))) for step in edit.reading.steps)


def alternative_edits(edit: Edit) -> tuple[Edit, ...]:
    """Return the edit by the neighboring readings of its only step, for protocols that try them."""
    if edit.reading is None or len(edit.reading.steps) != 1:
        return ()
    also = edit.reading.steps[0].also
    return tuple(apply_step(edit, step, replace(edit.reading, steps=(step,))) for step in also)
