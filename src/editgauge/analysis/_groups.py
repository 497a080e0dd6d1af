"""The groups of a run's edits: which there are, and the scores of those in one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from editgauge._stats.intervals import Mean, Numbers, clustered_mean
from editgauge.analysis.columns import Columns, Rows, WordColumn
from editgauge.analysis.summary import Cell, summarize
from editgauge.errors import BadInputError, UnknownNameError

if TYPE_CHECKING:
    from editgauge.results import Run
    from editgauge.types import ScoreSpec

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


EDIT = "edit"
SUCCESS = 0.5
"""From this value on, `edit` counts as done; yes-or-no protocols give 0 and 1."""
DRIFT = "drift"


@dataclass(frozen=True, slots=True)
class TurnCell:
    """One number of a method at one turn."""

    mean: Mean | None
    """None when nothing is known at this turn."""
    unknown: int
    """Outcomes of the turn for which it is not known."""


@dataclass(frozen=True, slots=True)
class TurnTable:
    """One quantity by method and turn."""

    protocol: str
    name: str
    about: str
    spec: ScoreSpec
    cells: Mapping[str, Mapping[int, TurnCell]]
    """Method to turn to the number."""


def turn_tables(run: Run) -> list[TurnTable]:
    """Success by turn, success of all turns so far, and drift; nothing for a run without a second turn."""
    turns = {name: int(edit.get("turn", 1)) for name, edit in run.edits.items()}
    if max(turns.values(), default=1) < 2:
        return []
    before = {name: edit["follows"] for name, edit in run.edits.items() if edit.get("follows")}
    columns = Columns.of(run)
    tables: list[TurnTable] = []
    for protocol, entry in run.manifest.protocols.items():
        for spec in entry.scores:
            if spec.name == EDIT and spec.range == (0.0, 1.0):
                tables += _success(run, columns, protocol, spec, turns, before)
            elif protocol.partition("[")[0] == DRIFT:
                cells = _by_turn(run, columns, columns.rows(protocol, spec.name), turns, spec)
                tables.append(TurnTable(protocol, spec.name, f"Against the first source: {spec.about}", spec, cells))
    return [table for table in tables if any(cell.mean for row in table.cells.values() for cell in row.values())]


def _success(
    run: Run, columns: Columns, protocol: str, spec: ScoreSpec, turns: Mapping[str, int], before: Mapping[str, str]
) -> list[TurnTable]:
    rows = columns.rows(protocol, spec.name)
    own = columns.only(rows)
    done = np.where(np.isnan(own.value), np.nan, (own.value >= SUCCESS).astype(np.float64))
    tables = [
        TurnTable(
            protocol,
            "success",
            f"Share of outcomes whose own turn is done ({protocol}/edit >= {SUCCESS:g}).",
            spec,
            _by_turn(run, replace(own, value=done), np.arange(done.size), turns, spec),
        )
    ]
    if before:
        so_far = replace(own, value=_all_so_far(own, done, before, run.scores["seed"].to_numpy()[rows].tolist()))
        tables.append(
            TurnTable(
                protocol,
                "success_so_far",
                f"Share of outcomes of which this turn and all before it are done ({protocol}/edit >= {SUCCESS:g}).",
                spec,
                _by_turn(run, so_far, np.arange(done.size), turns, spec),
            )
        )
    return tables


def _all_so_far(columns: Columns, done: Numbers, before: Mapping[str, str], seeds: list[int]) -> Numbers:
    """1 where this turn and all before it are done, 0 where one of them is not; NaN where that is not known."""
    edits = [columns.edit.words[code] for code in columns.edit.codes]
    outcomes = list(zip(edits, columns.method.codes.tolist(), seeds, strict=True))
    known = dict(zip(outcomes, done.tolist(), strict=True))
    results = []
    for edit, method, seed in outcomes:
        chain: list[float] = []
        name: str | None = edit
        while name is not None:
            chain.append(known.get((name, method, seed), np.nan))
            name = before.get(name)
        failed = any(value == 0 for value in chain)
        results.append(0.0 if failed else np.nan if any(np.isnan(chain)) else 1.0)
    return np.array(results, dtype=np.float64)


def _by_turn(
    run: Run, columns: Columns, rows: Rows, turns: Mapping[str, int], spec: ScoreSpec
) -> dict[str, dict[int, TurnCell]]:
    of_edits = np.array([turns.get(edit, 1) for edit in columns.edit.words] or [1])[columns.edit.codes[rows]]
    cells: dict[str, dict[int, TurnCell]] = {}
    for method in run.manifest.methods:
        own = columns.method.are(method)[rows]
        cells[method] = {
            int(turn): _cell(columns, rows[own & (of_edits == turn)], spec) for turn in np.unique(of_edits[own])
        }
    return cells


def _cell(columns: Columns, rows: Rows, spec: ScoreSpec) -> TurnCell:
    values = columns.value[rows]
    known = ~np.isnan(values)
    if not known.any():
        return TurnCell(None, int(rows.size))
    mean = clustered_mean(values[known], columns.source.codes[rows][known], scale=spec.range)
    return TurnCell(mean, int((~known).sum()))
