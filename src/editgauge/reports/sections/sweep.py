"""A method under several values of an option, `imagic[eta=0.8]` and so on: each score drawn over the option."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from editgauge.analysis.summary import ALL
from editgauge.reports._figures import SweepLine, SweepPoint, plot_sweep
from editgauge.reports.sections import METHODS, TemplateSection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markupsafe import Markup

    from editgauge.reports._score_tables import ScoreTable
    from editgauge.reports.context import Context

VARIANT = re.compile(r"(?P<base>[^\[\]]+)\[(?P<options>[^\[\]]+)\]")


@dataclass(frozen=True, slots=True)
class Swept:
    """One numeric option of one method, and the variants that differ in it alone."""

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
