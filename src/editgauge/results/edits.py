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
    """Return the edit as a JSON value without empty fields."""
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
        "inputs": [{"image": reference.picture.name, "role": reference.role} for reference in edit.inputs] or None,
        "inputs_sha256": [_sha256(reference.picture.path) for reference in edit.inputs] or None,
        "turn": edit.turn,
        "follows": edit.follows,
        "photograph": edit.photograph,
        "groups": dict(edit.groups),
        "extras": dict(edit.extras),
    }
    return {key: value for key, value in fields.items() if value not in (None, {}, "")}


def benchmark_entry(edit: Edit) -> dict[str, Any]:
    """Return the edit as an entry of a benchmark's `edits`, which `editgauge.benchmarks` can load.

    What the format has no field for (how the instruction was read, checksums) is left out; reading finds it again.
    """
    names = {field.alias or name for name, field in EditFields.model_fields.items()}
    return {key: value for key, value in describe(edit).items() if key in names}


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
    """Return one JSON line per edit; the same edits always give the same bytes."""
    return b"".join(iter_lines(edits))


def iter_lines(edits: Iterable[Edit]) -> Iterator[bytes]:
    """Yield the edits as JSON lines, one at a time to bound memory."""
    for edit in edits:
        yield json.dumps(describe(edit), ensure_ascii=False, sort_keys=True).encode() + b"\n"


def edits_sha256(edits: Iterable[Edit]) -> str:
    """Return the hash that identifies the edits of a run."""
    digest = hashlib.sha256()
    for line in iter_lines(edits):
        digest.update(line)
    return digest.hexdigest()


def _content(mask: Mask | None) -> list[str] | None:
    """Return the hashes of the files that a mask is read from, so that a redrawn mask makes a different edit."""
    return [_sha256(path) for path in mask_files(mask)] or None


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(read_bytes(path)).hexdigest()
    except OSError:
        return "missing"


MAX_EDITS_IN_MEMORY = 20_000
"""About thirty megabytes; larger files stay on disk."""

INPUTS_FILE = "inputs.json"

EditJson = dict[str, Any]
"""An edit as `describe` writes it."""


def read_edits(path: Path) -> Mapping[str, EditJson]:
    """Read the edits by id, in the benchmark's order."""
    edits: dict[str, EditJson] = {}
    try:
        for edit in _iter_edits(path):
            edits[edit["id"]] = edit
            if len(edits) > MAX_EDITS_IN_MEMORY:
                return ManyEdits(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadRunError(f"'{path}' cannot be read: {error}.") from error
    return edits


def write_inputs(folder: Path, edits: Iterable[Edit]) -> None:
    """Write the paths of the edits' reference images; no file if there are none."""
    inputs = {
        edit.id: [{"path": str(reference.picture.path.absolute()), "role": reference.role} for reference in edit.inputs]
        for edit in edits
        if edit.inputs
    }
    if inputs:
        write_json(folder / INPUTS_FILE, inputs)


def read_inputs(folder: Path) -> dict[str, list[dict[str, str]]]:
    """Read path and role of the reference images of each edit."""
    path = folder / INPUTS_FILE
    if not path.is_file():
        return {}
    try:
        inputs = json.loads(path.read_text("utf-8"))
        return {
            edit: [{"path": reference["path"], "role": reference["role"]} for reference in references]
            for edit, references in inputs.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadRunError(f"'{path}' cannot be read: {error}.") from error


class ManyEdits(Mapping[str, EditJson]):
    """Edits that stay on disk; their index takes 16 MB per million edits."""

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
        index = int(np.searchsorted(self._marks, mark))
        with open_regular(self._path) as lines:
            while index < len(self._marks) and self._marks[index] == mark:
                lines.seek(int(self._starts[index]))
                edit: EditJson = json.loads(lines.readline())
                if edit["id"] == name:
                    return edit
                index += 1
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (edit["id"] for edit in _iter_edits(self._path))

    def __len__(self) -> int:
        return len(self._marks)

    def values(self) -> ValuesView[EditJson]:
        """Return the edits in the benchmark's order, read in one pass."""
        return _Values(self)

    def items(self) -> ItemsView[str, EditJson]:
        """Return the edits with their ids, read in one pass."""
        return _Items(self)

    def iter_edits(self) -> Iterator[EditJson]:
        """Yield the edits in file order."""
        return _iter_edits(self._path)


class _Values(ValuesView[EditJson]):
    _mapping: ManyEdits

    def __iter__(self) -> Iterator[EditJson]:
        return self._mapping.iter_edits()


class _Items(ItemsView[str, EditJson]):
    _mapping: ManyEdits

    def __iter__(self) -> Iterator[tuple[str, EditJson]]:
        return ((edit["id"], edit) for edit in self._mapping.iter_edits())


def _iter_edits(path: Path) -> Iterator[EditJson]:
    with open_text(path) as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)
