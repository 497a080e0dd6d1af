"""Several turns: a plot over turns for each quantity, a line for each method, and the numbers next to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from editgauge._render import text as words
from editgauge.analysis._groups import TurnCell, TurnTable, turn_tables
from editgauge.reports._figures import SweepLine, SweepPoint, plot_sweep
from editgauge.reports._score_tables import ScoreTable
from editgauge.reports.sections.standard import TemplateSection

if TYPE_CHECKING:
    from editgauge.reports.context import Context


def _drawn(table: TurnTable) -> dict[str, Any]:
    means = [cell.mean.value for row in table.cells.values() for cell in row.values() if cell.mean]
    decimals = words.decimals_for(means)
    turns = sorted({turn for row in table.cells.values() for turn in row})
    lines = [
        SweepLine(method, tuple(SweepPoint(turn, row[turn].mean if turn in row else None) for turn in turns))
        for method, row in table.cells.items()
    ]
    shown = ScoreTable(table.protocol, table.spec, decimals, Markup(), {}, f"{table.protocol} {table.name}")
    rows = {method: [_text(row.get(turn), decimals) for turn in turns] for method, row in table.cells.items()}
    return {
        "title": shown.title,
        "about": table.about,
        "plot": plot_sweep(lines, "turn", shown),
        "turns": turns,
        "rows": rows,
    }


def _text(cell: TurnCell | None, decimals: int) -> tuple[str, str]:
    """The mean with its interval, and how many outcomes it rests on."""
    if cell is None or cell.mean is None:
        return ("not known", f"{cell.unknown} outcomes") if cell else ("-", "")
    mean = cell.mean
    text = f"{words.number(mean.value, decimals)} {words.interval(mean.low, mean.high, decimals)}".rstrip()
    return text, f"n {mean.n}" + (f", {cell.unknown} not known" if cell.unknown else "")


def _content(context: Context) -> dict[str, Any] | None:
    tables = turn_tables(context.run)
    return {"turn_tables": [_drawn(table) for table in tables]} if tables else None


section = TemplateSection("turns", "Turns", 53, _content)
