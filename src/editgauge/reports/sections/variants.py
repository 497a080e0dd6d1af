"""One protocol under several options, side by side: does the choice of an option change the picture?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from editgauge._render.svg import axis, scale_for, whisker
from editgauge._render.text import number
from editgauge._util.variants import base_name
from editgauge.reports.sections.standard import METHODS, TemplateSection

if TYPE_CHECKING:
    from markupsafe import Markup

    from editgauge.analysis.summary import Cell
    from editgauge.reports._score_tables import ScoreTable
    from editgauge.reports.context import Context

WIDTH = 150


@dataclass(frozen=True, slots=True)
class Sweep:
    """One score of one protocol under its options."""

    protocol: str
    score: str
    options: tuple[str, ...]
    rows: dict[str, dict[str, tuple[tuple[str, Markup] | None, ...]]]
    """Edit type, then method, to one number with its mark per option."""
    axis: Markup


def _content(context: Context) -> dict[str, Any] | None:
    """Every score that several variants of a protocol share; edit types on which all variants agree are left out."""
    groups: dict[tuple[str, str], list[ScoreTable]] = {}
    for table in context.tables:
        groups.setdefault((base_name(table.protocol), table.spec.name), []).append(table)
    made = [_sweep(*key, members, context.methods) for key, members in groups.items() if len(members) > 1]
    sweeps = [sweep for sweep in made if sweep.rows]
    return {"sweeps": sweeps} if sweeps else None


def _sweep(protocol: str, score: str, tables: Sequence[ScoreTable], methods: Sequence[str]) -> Sweep:
    kinds = [kind for kind in tables[0].rows if _differs(kind, tables)]
    means = [cell.mean for table in tables for kind in kinds for cell in _cells(table, kind) if cell and cell.mean]
    scale = scale_for(means, tables[0].spec.range)

    def shown(cell: Cell | None) -> tuple[str, Markup] | None:
        if cell is None or cell.mean is None:
            return None
        text = number(cell.mean.value, 2)
        return text, whisker(cell.mean, scale, WIDTH, text)

    rows = {
        kind: {
            method: tuple(shown(_cells(table, kind)[place]) for table in tables) for place, method in enumerate(methods)
        }
        for kind in kinds
    }
    options = tuple(table.protocol.removeprefix(protocol) or "as it is" for table in tables)
    return Sweep(protocol, score, options, rows, axis(scale, WIDTH))


def _cells(table: ScoreTable, kind: str) -> list[Cell | None]:
    """One per method."""
    return [shown.cell if shown else None for shown in table.rows[kind]]


def _differs(kind: str, tables: Sequence[ScoreTable]) -> bool:
    """Is there a method for which the options give different means?"""
    means = [tuple(cell.mean.value if cell and cell.mean else None for cell in _cells(table, kind)) for table in tables]
    return len(set(means)) > 1


section = TemplateSection("variants", "Options", 52, _content, METHODS)
