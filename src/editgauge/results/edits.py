"""The edits of a run, read from its `edits.jsonl`: few are kept in memory, of many only where each one stands."""

from __future__ import annotations

import json
from array import array
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import TYPE_CHECKING, Any

import numpy as np

from editgauge._util.files import open_regular, open_text, write_json
from editgauge.errors import BadRunError
from editgauge.results.records import short_hash

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from editgauge.types import Edit

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
