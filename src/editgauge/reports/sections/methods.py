"""The tab of methods: scores over a swept option, and protocols under several options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from editgauge._render.svg import axis, scale_for, whisker
from editgauge._render.text import number
from editgauge.analysis.summary import ALL
from editgauge.reports._figures import SweepLine, SweepPoint, plot_sweep
from editgauge.reports.sections import METHODS, TemplateSection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markupsafe import Markup

    from editgauge.analysis.summary import Cell
    from editgauge.reports._score_tables import ScoreTable
    from editgauge.reports.context import Context

VARIANT = re.compile(r"(?P<base>[^\[\]]+)\[(?P<options>[^\[\]]+)\]")


@dataclass(frozen=True, slots=True)
class Swept:
    """One numeric option of one method, with variants that differ only in it."""

    method: str
    option: str
    series: Mapping[str, Mapping[float, str]]
    """The other options, to the value of this option, to the method with its variant."""


def swept(methods: Sequence[str]) -> list[Swept]:
    """Return every option with at least two numeric values of one method, all other options being equal.

    >>> [(sweep.method, sweep.option, dict(sweep.series)) for sweep in swept(["a[n=1]", "a[n=2]", "b"])]
    [('a', 'n', {'': {1.0: 'a[n=1]', 2.0: 'a[n=2]'}})]
    """
    methods_of: dict[tuple[str, str], dict[str, dict[float, str]]] = {}
    for method in methods:
        base, options = read_variant(method)
        for name, text in options.items():
            value = _as_number(text)
            fixed = ", ".join(f"{key}={option}" for key, option in options.items() if key != name)
            if value is not None:
                methods_of.setdefault((base, name), {}).setdefault(fixed, {})[value] = method
    return [
        Swept(*key, {fixed: dict(sorted(values.items())) for fixed, values in series.items() if len(values) > 1})
        for key, series in methods_of.items()
        if any(len(values) > 1 for values in series.values())
    ]


def read_variant(method: str) -> tuple[str, dict[str, str]]:
    """Split a method into its name and the options of its variant.

    >>> read_variant("imagic[eta=0.8,steps=20]"), read_variant("mine")
    (('imagic', {'eta': '0.8', 'steps': '20'}), ('mine', {}))
    """
    read = VARIANT.fullmatch(method)
    if read is None:
        return method, {}
    pairs = (part.partition("=") for part in read["options"].split(","))
    return read["base"], {name.strip(): value.strip() for name, equals, value in pairs if equals}


def _as_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def plot_swept(sweep: Swept, table: ScoreTable, methods: Sequence[str]) -> Markup:
    """Plot the score over the option, one line per combination of the other options."""
    cells = dict(zip(methods, table.rows[ALL], strict=True))
    lines = [
        SweepLine(
            fixed,
            tuple(
                SweepPoint(value, cell.cell.mean if (cell := cells[method]) else None)
                for value, method in values.items()
            ),
        )
        for fixed, values in sweep.series.items()
    ]
    return plot_sweep(lines, sweep.option, table)


def _sweep_content(context: Context) -> dict[str, Any] | None:
    sweeps = swept(context.methods)
    if not sweeps or not context.tables:
        return None
    plots = [[plot_swept(sweep, table, context.methods) for table in context.tables] for sweep in sweeps]
    return {"swept": list(zip(sweeps, plots, strict=True))}


sweep_section = TemplateSection("sweep", "Swept options", 35, _sweep_content, METHODS)


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
