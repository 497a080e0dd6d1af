"""Edits in several turns: how often each turn succeeds, how often all so far do, and how far the picture drifts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from editgauge._stats.intervals import Mean, Numbers, clustered_mean
from editgauge.analysis.columns import Columns, Rows

if TYPE_CHECKING:
    from editgauge.results import Run
    from editgauge.types import ScoreSpec

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
