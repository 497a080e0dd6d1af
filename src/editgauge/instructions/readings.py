"""Readings as JSON: written by `editgauge understand`, corrected by hand, and read again as `--fields`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from editgauge.core.edit_types import UNSPECIFIED, read_edit_type
from editgauge.core.errors import BadInput, EditGaugeError
from editgauge.core.types import Benchmark, Edit, Position, Reading, Relation, Step
from editgauge.instructions.understand import understand

FIELDS = ("edit_type", "subject", "from", "to", "position", "count", "attributes", "sure")


def to_json(reading: Reading) -> dict[str, Any]:
    """The reading in plain types.

    >>> to_json(Reading((Step(type="color", subject="car", to="red"),), "given"))["steps"][0]["edit_type"]
    'color'
    """
    return {"steps": [_step_to_json(step) for step in reading.steps], "how": reading.how, "left": reading.left}


def _step_to_json(step: Step) -> dict[str, Any]:
    place = step.position
    return {
        "edit_type": step.type,
        "subject": step.subject,
        "from": step.from_,
        "to": step.to,
        "position": {"relation": place.relation, "anchor": place.anchor} if place else None,
        "count": step.count,
        "attributes": list(step.attributes),
        "sure": step.sure,
    }


def from_json(told: Mapping[str, Any], how: str | None = None) -> Reading:
    """The reading that `to_json` wrote, or a person or a judge; raises `BadInput` for anything else."""
    steps = told.get("steps")
    if not isinstance(steps, Sequence) or isinstance(steps, str) or not steps:
        raise BadInput(f"'steps' must be a list with at least one step, got {steps!r}.")
    by = how or told.get("how", "given")
    if by not in {"rules", "captions", "judge", "given"}:
        raise BadInput(f"'how' must be rules, captions, judge or given, got {by!r}.")
    return Reading(
        tuple(_step(number, step) for number, step in enumerate(steps, start=1)), by, str(told.get("left") or "")
    )


def _step(number: int, told: Any) -> Step:
    if not isinstance(told, Mapping):
        raise BadInput(f"Step {number} must be an object with {', '.join(FIELDS)}; got {told!r}.")
    unknown = sorted(set(told) - set(FIELDS))
    if unknown:
        raise BadInput(f"Step {number} has '{unknown[0]}'; the fields are {', '.join(FIELDS)}.")
    texts = {name: told.get(name) for name in ("subject", "from", "to")}
    for name, value in texts.items():
        if value is not None and not isinstance(value, str):
            raise BadInput(f"Step {number}: '{name}' must be a text or null, got {value!r}.")
    count = told.get("count")
    if count is not None and (not isinstance(count, int) or isinstance(count, bool) or count < 0):
        raise BadInput(f"Step {number}: 'count' must be a whole number or null, got {count!r}.")
    attributes = told.get("attributes") or []
    if not isinstance(attributes, Sequence) or isinstance(attributes, str):
        raise BadInput(f"Step {number}: 'attributes' must be a list of words, got {attributes!r}.")
    return Step(
        type=read_edit_type(str(told.get("edit_type"))),
        subject=texts["subject"] or None,
        from_=texts["from"] or None,
        to=texts["to"] or None,
        position=_position(number, told.get("position")),
        count=count,
        attributes=tuple(map(str, attributes)),
        sure=bool(told.get("sure", True)),
    )


def _position(number: int, told: Any) -> Position | None:
    if told is None:
        return None
    relation = told.get("relation") if isinstance(told, Mapping) else None
    if relation not in get_args(Relation):
        known = ", ".join(get_args(Relation))
        raise BadInput(f"Step {number}: 'position' must have a 'relation' of {known}; got {told!r}.")
    anchor = told.get("anchor")
    return Position(relation, str(anchor) if anchor else None)


@dataclass(frozen=True, slots=True)
class KeptReadings:
    """Readings of a file, by the id of an edit or by the text of its instruction."""

    by_key: Mapping[str, Reading]
    sha256: str

    def of(self, edit: Edit) -> Reading | None:
        """The reading kept for an edit; the id counts before the text."""
        return self.by_key.get(f"id {edit.id}") or self.by_key.get(f"text {edit.instruction}")


def read_kept(file: Path) -> KeptReadings:
    """The readings of a file of JSON lines; raises `BadInput` with every faulty line."""
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise BadInput(f"The readings '{file}' cannot be read: {error.strerror}.") from error
    by_key: dict[str, Reading] = {}
    problems = []
    for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            told = json.loads(line)
            if not isinstance(told, dict) or not (told.get("id") or told.get("text")):
                raise BadInput("needs 'text' or 'id', and 'steps'")
            reading = from_json(told)
        except (ValueError, EditGaugeError) as error:
            problems.append(f"line {number}: {error}")
            continue
        by_key |= {f"{key} {told[key]}": reading for key in ("id", "text") if told.get(key)}
    if problems:
        raise BadInput(f"The readings '{file}' have problems.", problems[:20])
    return KeptReadings(by_key, hashlib.sha256(raw).hexdigest())


def complete(edit: Edit, kept: KeptReadings | None = None, form: str | None = None) -> Edit:
    """The edit with its reading; fields that it has already always win over the reading's.

    A type or a field that the benchmark gives decides: where the reading contradicts the given type, only the reading
    of the given type is used, and nothing else is filled in.
    """
    reading = kept.of(edit) if kept else None
    given = reading is not None
    if reading is None:
        if not edit.instruction.strip():
            return edit
        reading = understand(edit.instruction, edit.source_caption, edit.target_caption, form)
    first = reading.steps[0]
    if given:
        return _filled(edit, reading, first)
    has_fields = any(value is not None for value in (edit.subject, edit.from_, edit.to, edit.position))
    if edit.type == UNSPECIFIED and not has_fields:
        return _filled(edit, reading, first)
    same = next((step for step in reading.steps if step.type == edit.type), None)
    if has_fields or same is None or len(reading.steps) > 1:
        step = Step(
            type=edit.type,
            subject=edit.subject,
            from_=edit.from_,
            to=edit.to,
            position=edit.position,
            count=edit.count or (same.count if same else None),
            attributes=edit.attributes,
            sure=True,
        )
        return replace(edit, count=step.count, reading=Reading((step,), "given"))
    return _filled(edit, replace(reading, steps=(replace(same, sure=True),)), same)


def _filled(edit: Edit, reading: Reading, step: Step) -> Edit:
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


def complete_all(benchmark: Benchmark, kept: KeptReadings | None = None) -> Benchmark:
    """The benchmark with every edit read; `about` says how many were read, and how many not."""
    edits = tuple(edit if edit.reading and not kept else complete(edit, kept) for edit in benchmark.edits)
    return replace(benchmark, edits=edits)


def steps_of(edit: Edit) -> tuple[Edit, ...]:
    """One edit per step of the instruction; the edit itself when it has one step or was not read."""
    if edit.reading is None or len(edit.reading.steps) < 2:
        return (edit,)
    return tuple(_filled(edit, replace(edit.reading, steps=(step,)), step) for step in edit.reading.steps)
