"""One protocol under several options, side by side: does the choice of an option change the picture?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from editgauge._render.svg import axis, scale_for, whisker
from editgauge._render.text import number
from editgauge.reports.sections import METHODS, TemplateSection

if TYPE_CHECKING:
    from markupsafe import Markup

    from editgauge.analysis.summary import Cell
    from editgauge.reports._score_tables import ScoreTable
    from editgauge.reports.context import Context

VARIANT_MARK_WIDTH = 150


@dataclass(frozen=True, slots=True)
class VariantTable:
    """One score of one protocol under its options."""

    protocol: str
    score: str
    options: tuple[str, ...]
    rows: dict[str, dict[str, tuple[tuple[str, Markup] | None, ...]]]
    """Edit type, then method, to one number with its mark per option."""
    axis: Markup


def _variants_content(context: Context) -> dict[str, Any] | None:
    """Return every score that several variants of a protocol share, without edit types on which all agree."""
    groups: dict[tuple[str, str], list[ScoreTable]] = {}
    for table in context.tables:
        groups.setdefault((table.protocol.partition("[")[0], table.spec.name), []).append(table)
    made = [_variant_table(*key, members, context.methods) for key, members in groups.items() if len(members) > 1]
    sweeps = [sweep for sweep in made if sweep.rows]
    return {"sweeps": sweeps} if sweeps else None


def _variant_table(protocol: str, score: str, tables: Sequence[ScoreTable], methods: Sequence[str]) -> VariantTable:
    kinds = [kind for kind in tables[0].rows if _differs(kind, tables)]
    means = [cell.mean for table in tables for kind in kinds for cell in _row_cells(table, kind) if cell and cell.mean]
    scale = scale_for(means, tables[0].spec.range)

    def render(cell: Cell | None) -> tuple[str, Markup] | None:
        if cell is None or cell.mean is None:
            return None
        text = number(cell.mean.value, 2)
        return text, whisker(cell.mean, scale, VARIANT_MARK_WIDTH, text)

    rows = {
        kind: {
            method: tuple(render(_row_cells(table, kind)[column]) for table in tables)
            for column, method in enumerate(methods)
        }
        for kind in kinds
    }
    options = tuple(table.protocol.removeprefix(protocol) or "as it is" for table in tables)
    return VariantTable(protocol, score, options, rows, axis(scale, VARIANT_MARK_WIDTH))


def _row_cells(table: ScoreTable, kind: str) -> list[Cell | None]:
    """Return the cells of a row, one per method."""
    return [cell.cell if cell else None for cell in table.rows[kind]]


def _differs(kind: str, tables: Sequence[ScoreTable]) -> bool:
    """Return whether the means of some method depend on the options."""
    means = [
        tuple(cell.mean.value if cell and cell.mean else None for cell in _row_cells(table, kind)) for table in tables
    ]
    return len(set(means)) > 1


variants_section = TemplateSection("variants", "Options", 52, _variants_content, METHODS)
