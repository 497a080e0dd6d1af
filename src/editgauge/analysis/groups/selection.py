"""The groups of a run's edits: which there are, and the scores of those in one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from editgauge.analysis.columns import Columns, Rows, WordColumn
from editgauge.analysis.summary import Cell, summarize
from editgauge.errors import BadInputError, UnknownNameError

if TYPE_CHECKING:
    from editgauge.results import Run

NONE = ""
"""The value of an edit that does not belong to a division."""


@dataclass(frozen=True, slots=True)
class GroupCell:
    """The mean of one score over the edits of one group."""

    division: str
    """`task`, `language` …"""
    value: str
    cell: Cell

    @property
    def label(self) -> str:
        """The group as `--group` takes it: `task=text_change`."""
        return f"{self.division}={self.value}"


def divisions(run: Run) -> dict[str, list[str]]:
    """The divisions of the run's benchmark, each with its values, in the order in which they come first."""
    values: dict[str, dict[str, None]] = {}
    for edit in run.edits.values():
        for name, value in edit.get("groups", {}).items():
            values.setdefault(name, {})[value] = None
    return {name: list(known) for name, known in values.items()}


def values_of(run: Run, division: str) -> dict[str, str]:
    """Edit to its value of a division, for those that have one; read in one pass."""
    groups = ((name, edit.get("groups", {})) for name, edit in run.edits.items())
    return {name: of_edit[division] for name, of_edit in groups if division in of_edit}


def read_selection(texts: Sequence[str], run: Run) -> dict[str, str]:
    """What `--group NAME=VALUE` chooses; raises with all names or values there are when one is unknown."""
    known = divisions(run)
    selection: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            example = next((f"{each}={values[0]}" for each, values in known.items()), "language=en")
            raise BadInputError(f"--group takes NAME=VALUE, such as {example}; got '{text}'.")
        if not known:
            raise BadInputError(
                f"The edits of '{run.manifest.benchmark}' have no groups: --group {text} chooses nothing."
            )
        if name not in known:
            raise UnknownNameError("group of this run", name, known)
        if value not in known[name]:
            raise UnknownNameError(f"{name} in this run", value, known[name])
        if selection.get(name, value) != value:
            raise BadInputError(f"--group gives two values for {name}, {selection[name]} and {value}; an edit has one.")
        selection[name] = value
    return selection


def edits_in(run: Run, selection: Mapping[str, str]) -> list[str] | None:
    """The edits that are in all groups of the selection; None without one."""
    if not selection:
        return None
    return [name for name, edit in run.edits.items() if selection.items() <= edit.get("groups", {}).items()]


def columns_of(run: Run, selection: Mapping[str, str]) -> Columns:
    """The scores of the edits that are in all groups of the selection; all scores without one."""
    columns = Columns.of(run)
    if not selection:
        return columns
    inside = set(edits_in(run, selection) or ())
    is_inside = np.array([edit in inside for edit in columns.edit.words] or [False])
    return columns.only(np.flatnonzero(is_inside[columns.edit.codes]))


def labels_of(run: Run, columns: Columns, division: str) -> WordColumn:
    """The value of a division for every score; `NONE` where the edit has none."""
    known = values_of(run, division)
    words = sorted({NONE, *known.values()})
    places = {word: place for place, word in enumerate(words)}
    codes = np.array([places[known.get(edit, NONE)] for edit in columns.edit.words] or [0])
    return WordColumn(codes[columns.edit.codes], words)


def group_cells(run: Run, selection: Mapping[str, str] | None = None) -> list[GroupCell]:
    """Every mean within every group, over all edit types; nothing for a benchmark without groups."""
    columns = columns_of(run, selection or {})
    cells = []
    for division, values in divisions(run).items():
        labels = labels_of(run, columns, division)
        for value in values:
            rows: Rows = np.flatnonzero(labels.are(value))
            cells += [GroupCell(division, value, cell) for cell in summarize(run, columns.only(rows), by_type=False)]
    return cells
