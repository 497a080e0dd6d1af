"""Edits as JSON lines: what a run keeps of its benchmark."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from editgauge._util.fields import EditFields
from editgauge._util.files import open_regular, open_text, read_bytes, write_json
from editgauge._util.masks import Mask, mask_files
from editgauge.errors import BadRunError
from editgauge.results._records import short_hash

if TYPE_CHECKING:
    from collections.abc import Iterable

    from editgauge.types import Edit, ParsedInstruction, ParsedStep


def describe(edit: Edit) -> dict[str, Any]:
    """The edit as a JSON value, without what it does not have."""
    fields = {
        "id": edit.id,
        "source": edit.source.name,
        "type": edit.type,
        "instruction": edit.instruction,
        "subject": edit.subject,
        "from": edit.from_,
        "to": edit.to,
        "position": asdict(edit.position) if edit.position else None,
        "count": edit.count,
        "attributes": list(edit.attributes) or None,
        "reading": parsed_to_json(edit.reading) if edit.reading else None,
        "source_caption": edit.source_caption,
        "target_caption": edit.target_caption,
        "mask": edit.mask.describe() if edit.mask else None,
        "mask_sha256": _content(edit.mask),
        "reference": edit.reference.name if edit.reference else None,
        "inputs": [{"image": each.picture.name, "role": each.role} for each in edit.inputs] or None,
        "inputs_sha256": [_sha256(each.picture.path) for each in edit.inputs] or None,
        "turn": edit.turn,
        "follows": edit.follows,
        "photograph": edit.photograph,
        "groups": dict(edit.groups),
        "extras": dict(edit.extras),
    }
    return {key: value for key, value in fields.items() if value not in (None, {}, "")}


def benchmark_entry(edit: Edit) -> dict[str, Any]:
    """The edit as an entry of a benchmark's `edits`, which `editgauge.benchmarks` reads back.

    What the format has no field for (how the instruction was read, checksums) is left out; reading finds it again.
    """
    known = {field.alias or name for name, field in EditFields.model_fields.items()}
    return {key: value for key, value in describe(edit).items() if key in known}


def parsed_to_json(reading: ParsedInstruction) -> dict[str, Any]:
    """How the instruction was read, in plain types."""
    return {"steps": list(map(_step_to_json, reading.steps)), "how": reading.how, "left": reading.left}


def _step_to_json(step: ParsedStep) -> dict[str, Any]:
    entry = {
        "edit_type": step.type,
        "subject": step.subject,
        "from": step.from_,
        "to": step.to,
        "position": asdict(step.position) if step.position else None,
        "count": step.count,
        "attributes": list(step.attributes),
        "sure": step.sure,
    }
    return {**entry, "also": list(map(_step_to_json, step.also))} if step.also else entry


def to_lines(edits: Iterable[Edit]) -> bytes:
    """One JSON line per edit; the same edits always give the same bytes."""
    return b"".join(each_line(edits))


def each_line(edits: Iterable[Edit]) -> Iterator[bytes]:
    """The same, line by line: those of a million edits are never in memory together."""
    for edit in edits:
        yield json.dumps(describe(edit), ensure_ascii=False, sort_keys=True).encode() + b"\n"


def edits_sha256(edits: Iterable[Edit]) -> str:
    """The hash by which a run knows its edits: that of all lines."""
    whole = hashlib.sha256()
    for line in each_line(edits):
        whole.update(line)
    return whole.hexdigest()


def _content(mask: Mask | None) -> list[str] | None:
    """The hashes of the files a mask is read from, so that a mask drawn again makes another edit."""
    return [_sha256(path) for path in mask_files(mask)] or None


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except OSError:
        return "missing"


IN_MEMORY = 20_000
"""This many are read at once: some thirty megabytes."""

INPUTS = "inputs.json"

EditJson = dict[str, Any]
"""An edit as `core.edits.describe` writes it."""


def read_edits(path: Path) -> Mapping[str, EditJson]:
    """The edits by id, in the benchmark's order."""
    few: dict[str, EditJson] = {}
    try:
        for edit in _each(path):
            few[edit["id"]] = edit
            if len(few) > IN_MEMORY:
                return ManyEdits(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadRunError(f"'{path}' cannot be read: {error}.") from error
    return few


def write_inputs(folder: Path, edits: Iterable[Edit]) -> None:
    """Keeps where the further pictures of edits lie, for those who show them; no file when no edit has any."""
    inputs = {
        edit.id: [{"path": str(each.picture.path.absolute()), "role": each.role} for each in edit.inputs]
        for edit in edits
        if edit.inputs
    }
    if inputs:
        write_json(folder / INPUTS, inputs)


def read_inputs(folder: Path) -> dict[str, list[dict[str, str]]]:
    """Edit to path and role of each further picture."""
    path = folder / INPUTS
    if not path.is_file():
        return {}
    try:
        inputs = json.loads(path.read_text("utf-8"))
        return {edit: [{"path": each["path"], "role": each["role"]} for each in some] for edit, some in inputs.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadRunError(f"'{path}' cannot be read: {error}.") from error


class ManyEdits(Mapping[str, EditJson]):
    """Edits that stay on disk: a million of them take sixteen megabytes of memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        marks, starts, start = array("Q"), array("q"), 0
        with open_regular(path) as lines:
            for line in lines:
                if line.strip():
                    marks.append(short_hash(json.loads(line)["id"]))
                    starts.append(start)
                start += len(line)
        order = np.argsort(np.asarray(marks), kind="stable")
        self._marks, self._starts = np.asarray(marks)[order], np.asarray(starts)[order]

    def __getitem__(self, name: str) -> EditJson:
        mark = np.uint64(short_hash(name))
        place = int(np.searchsorted(self._marks, mark))
        with open_regular(self._path) as lines:
            while place < len(self._marks) and self._marks[place] == mark:
                lines.seek(int(self._starts[place]))
                edit: EditJson = json.loads(lines.readline())
                if edit["id"] == name:
                    return edit
                place += 1
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (edit["id"] for edit in _each(self._path))

    def __len__(self) -> int:
        return len(self._marks)

    def values(self) -> ValuesView[EditJson]:
        """The edits in the benchmark's order, in one pass."""
        return _Values(self)

    def items(self) -> ItemsView[str, EditJson]:
        """The edits with their ids, in one pass."""
        return _Items(self)

    def each(self) -> Iterator[EditJson]:
        """One after the other, without looking any up."""
        return _each(self._path)


class _Values(ValuesView[EditJson]):
    _mapping: ManyEdits

    def __iter__(self) -> Iterator[EditJson]:
        return self._mapping.each()


class _Items(ItemsView[str, EditJson]):
    _mapping: ManyEdits

    def __iter__(self) -> Iterator[tuple[str, EditJson]]:
        return ((edit["id"], edit) for edit in self._mapping.each())


def _each(path: Path) -> Iterator[EditJson]:
    with open_text(path) as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)
