"""A method under several values of an option, `imagic[eta=0.8]` and so on: each score drawn over the option."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from editgauge.analysis.summary import ALL
from editgauge.reports._figures import SweepLine, SweepPoint, plot_sweep
from editgauge.reports.sections.standard import METHODS, TemplateSection

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
    """What else is chosen, to the value of the option, to the method with its variant."""


def swept(methods: Sequence[str]) -> list[Swept]:
    """Every option of which some method has at least two numeric values, all else the same.

    >>> [(each.method, each.option, dict(each.series)) for each in swept(["a[n=1]", "a[n=2]", "b"])]
    [('a', 'n', {'': {1.0: 'a[n=1]', 2.0: 'a[n=2]'}})]
    """
    methods_of: dict[tuple[str, str], dict[str, dict[float, str]]] = {}
    for method in methods:
        base, options = read_variant(method)
        for name, text in options.items():
            value = _number(text)
            others = ", ".join(f"{key}={other}" for key, other in options.items() if key != name)
            if value is not None:
                methods_of.setdefault((base, name), {}).setdefault(others, {})[value] = method
    return [
        Swept(*key, {others: dict(sorted(values.items())) for others, values in series.items() if len(values) > 1})
        for key, series in methods_of.items()
        if any(len(values) > 1 for values in series.values())
    ]


def read_variant(method: str) -> tuple[str, dict[str, str]]:
    """The method without its variant, and the options that the variant names.

    >>> read_variant("imagic[eta=0.8,steps=20]"), read_variant("mine")
    (('imagic', {'eta': '0.8', 'steps': '20'}), ('mine', {}))
    """
    read = VARIANT.fullmatch(method)
    if read is None:
        return method, {}
    pairs = (part.partition("=") for part in read["options"].split(","))
    return read["base"], {name.strip(): value.strip() for name, equals, value in pairs if equals}


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


def draw(each: Swept, table: ScoreTable, methods: Sequence[str]) -> Markup:
    """The score over the option: a line for everything else that is chosen, an interval at every value."""
    cells = dict(zip(methods, table.rows[ALL], strict=True))
    lines = [
        SweepLine(
            others,
            tuple(
                SweepPoint(value, shown.cell.mean if (shown := cells[method]) else None)
                for value, method in values.items()
            ),
        )
        for others, values in each.series.items()
    ]
    return plot_sweep(lines, each.option, table)


def _content(context: Context) -> dict[str, Any] | None:
    sweeps = swept(context.methods)
    if not sweeps or not context.tables:
        return None
    plots = [[draw(each, table, context.methods) for table in context.tables] for each in sweeps]
    return {"swept": list(zip(sweeps, plots, strict=True))}


section = TemplateSection("sweep", "Swept options", 35, _content, METHODS)
