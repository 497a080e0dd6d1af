"""Summarize scores by group: benchmark divisions such as task or language, and turns of multi-turn edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from editgauge._stats.intervals import Mean, Numbers, clustered_mean
from editgauge._util.variants import base_name
from editgauge.analysis.summary import Cell, summarize
from editgauge.errors import BadInputError, UnknownNameError
from editgauge.results import LabelColumn, OutcomeKey, Rows, ScoreColumns

if TYPE_CHECKING:
    from editgauge.results import Run
    from editgauge.types import ScoreSpec

NO_GROUP = ""
"""Value of an edit outside a division."""
EDIT_SCORE = "edit"
"""Name of the score that tells whether an edit was done."""
MIN_SUCCESS_SCORE = 0.5
"""Smallest value of `edit` that counts as done."""
DRIFT_PROTOCOL = "drift"


@dataclass(frozen=True, slots=True)
class GroupCell:
    """The mean of one score over the edits of one group."""

    division: str
    """Name of the division, such as `task` or `language`."""
    value: str
    """Value of the division, such as `text_change`."""
    cell: Cell

    @property
    def label(self) -> str:
        """The group in the format of the `group` option: `task=text_change`."""
        return f"{self.division}={self.value}"


def divisions(run: Run) -> dict[str, list[str]]:
    """Return the divisions of the run's benchmark with their values, in order of appearance."""
    values: dict[str, dict[str, None]] = {}
    for edit in run.edits.values():
        for name, value in edit.get("groups", {}).items():
            values.setdefault(name, {})[value] = None
    return {name: list(division_values) for name, division_values in values.items()}


def values_of(run: Run, division: str) -> dict[str, str]:
    """Map edits to their value of a division; edits outside the division are left out."""
    groups_by_edit = {name: edit.get("groups", {}) for name, edit in run.edits.items()}
    return {name: groups[division] for name, groups in groups_by_edit.items() if division in groups}


def read_selection(texts: Sequence[str], run: Run) -> dict[str, str]:
    """Parse `NAME=VALUE` selections; raise with the available names or values when one is unknown."""
    available = divisions(run)
    selection: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            example = next((f"{division}={values[0]}" for division, values in available.items()), "language=en")
            raise BadInputError(f"`group` takes NAME=VALUE, such as {example}; got '{text}'.")
        if not available:
            raise BadInputError(
                f"The edits of '{run.manifest.benchmark}' have no groups, so `group` {text} selects nothing."
            )
        if name not in available:
            raise UnknownNameError("group of this run", name, available)
        if value not in available[name]:
            raise UnknownNameError(f"{name} in this run", value, available[name])
        if selection.get(name, value) != value:
            raise BadInputError(f"`group` has two values for {name}: {selection[name]} and {value}; an edit has one.")
        selection[name] = value
    return selection


def edits_in(run: Run, selection: Mapping[str, str]) -> list[str] | None:
    """Return the edits in all groups of the selection; None without a selection."""
    if not selection:
        return None
    return [name for name, edit in run.edits.items() if selection.items() <= edit.get("groups", {}).items()]


def columns_of(run: Run, selection: Mapping[str, str]) -> ScoreColumns:
    """Return the scores of the edits in all groups of the selection; all scores without one."""
    columns = run.score_columns
    if not selection:
        return columns
    selected_edits = set(edits_in(run, selection) or ())
    is_selected = np.array([edit in selected_edits for edit in columns.edit.labels], dtype=np.bool_)
    return columns.select(np.flatnonzero(is_selected[columns.edit.codes]))


def labels_of(run: Run, columns: ScoreColumns, division: str) -> LabelColumn:
    """Return the value of a division for every score; `NO_GROUP` where the edit has none."""
    values = values_of(run, division)
    labels = sorted({NO_GROUP, *values.values()})
    code_of = {value: code for code, value in enumerate(labels)}
    codes = np.array([code_of[values.get(edit, NO_GROUP)] for edit in columns.edit.labels], dtype=np.int64)
    return LabelColumn(codes[columns.edit.codes], labels)


def group_cells(run: Run, selection: Mapping[str, str] | None = None) -> list[GroupCell]:
    """Return the mean of every score in every group, over all edit types; empty without groups."""
    columns = columns_of(run, selection or {})
    cells = []
    for division, values in divisions(run).items():
        labels = labels_of(run, columns, division)
        for value in values:
            rows: Rows = np.flatnonzero(labels.equals(value))
            cells += [GroupCell(division, value, cell) for cell in summarize(run, columns.select(rows), by_type=False)]
    return cells


@dataclass(frozen=True, slots=True)
class TurnCell:
    """The mean of one quantity for one method at one turn."""

    mean: Mean | None
    """None when nothing is scored at this turn."""
    unknown: int
    """Number of unscored outcomes of the turn."""


@dataclass(frozen=True, slots=True)
class TurnTable:
    """One quantity by method and turn."""

    protocol: str
    name: str
    about: str
    spec: ScoreSpec
    cells: Mapping[str, Mapping[int, TurnCell]]
    """Cells by method, then by turn."""


def turn_tables(run: Run) -> list[TurnTable]:
    """Return success by turn, success of all turns so far, and drift; empty for single-turn runs."""
    turns = {name: int(edit.get("turn", 1)) for name, edit in run.edits.items()}
    if max(turns.values(), default=1) < 2:
        return []
    previous_turn = {name: edit["follows"] for name, edit in run.edits.items() if edit.get("follows")}
    columns = run.score_columns
    tables: list[TurnTable] = []
    for protocol, entry in run.manifest.protocols.items():
        for spec in entry.scores:
            if spec.name == EDIT_SCORE and spec.range == (0.0, 1.0):
                tables += _success_tables(run, protocol, spec, turns, previous_turn)
            elif base_name(protocol) == DRIFT_PROTOCOL:
                cells = _cells_by_turn(run, columns, columns.rows(protocol, spec.name), turns, spec)
                tables.append(TurnTable(protocol, spec.name, f"Against the first source: {spec.about}", spec, cells))
    return [table for table in tables if any(cell.mean for row in table.cells.values() for cell in row.values())]


def _success_tables(
    run: Run, protocol: str, spec: ScoreSpec, turns: Mapping[str, int], previous_turn: Mapping[str, str]
) -> list[TurnTable]:
    """Return success by turn and, if edits follow each other, success of all turns so far."""
    scores = run.score_columns.select(run.score_columns.rows(protocol, spec.name))
    done = np.where(np.isnan(scores.value), np.nan, (scores.value >= MIN_SUCCESS_SCORE).astype(np.float64))
    rows = np.arange(done.size)
    condition = f"{protocol}/edit >= {MIN_SUCCESS_SCORE:g}"
    tables = [
        TurnTable(
            protocol,
            "success",
            f"Share of outcomes whose own turn is done ({condition}).",
            spec,
            _cells_by_turn(run, replace(scores, value=done), rows, turns, spec),
        )
    ]
    if previous_turn:
        so_far = replace(scores, value=_all_done_so_far(scores, done, previous_turn))
        tables.append(
            TurnTable(
                protocol,
                "success_so_far",
                f"Share of outcomes of which this turn and all before it are done ({condition}).",
                spec,
                _cells_by_turn(run, so_far, rows, turns, spec),
            )
        )
    return tables


def _all_done_so_far(columns: ScoreColumns, done: Numbers, previous_turn: Mapping[str, str]) -> Numbers:
    """Return 1 where this and all previous turns are done, 0 where one is not, NaN where unknown."""
    outcomes = columns.keys(np.arange(done.size))
    done_by_outcome = dict(zip(outcomes, done.tolist(), strict=True))
    results = []
    for edit, method, seed in outcomes:
        chain: list[float] = []
        name: str | None = edit
        while name is not None:
            chain.append(done_by_outcome.get(OutcomeKey(name, method, seed), np.nan))
            name = previous_turn.get(name)
        if 0.0 in chain:
            results.append(0.0)
        else:
            results.append(np.nan if np.isnan(chain).any() else 1.0)
    return np.array(results, dtype=np.float64)


def _cells_by_turn(
    run: Run, columns: ScoreColumns, rows: Rows, turns: Mapping[str, int], spec: ScoreSpec
) -> dict[str, dict[int, TurnCell]]:
    turn_of_edit = np.array([turns.get(edit, 1) for edit in columns.edit.labels], dtype=np.int64)
    turn_of_rows = turn_of_edit[columns.edit.codes[rows]]
    cells: dict[str, dict[int, TurnCell]] = {}
    for method in run.manifest.methods:
        is_method = columns.method.equals(method)[rows]
        cells[method] = {
            int(turn): _turn_cell(columns, rows[is_method & (turn_of_rows == turn)], spec)
            for turn in np.unique(turn_of_rows[is_method])
        }
    return cells


def _turn_cell(columns: ScoreColumns, rows: Rows, spec: ScoreSpec) -> TurnCell:
    values = columns.value[rows]
    is_scored = ~np.isnan(values)
    if not is_scored.any():
        return TurnCell(None, int(rows.size))
    mean = clustered_mean(values[is_scored], columns.source.codes[rows][is_scored], scale=spec.range)
    return TurnCell(mean, int((~is_scored).sum()))
