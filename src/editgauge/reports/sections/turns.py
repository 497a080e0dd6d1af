"""Several turns: a plot over turns for each quantity, a line for each method, and the numbers next to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from editgauge._render import text as words
from editgauge.analysis._groups import TurnCell, TurnTable, turn_tables
from editgauge.reports._figures import SweepLine, SweepPoint, plot_sweep
from editgauge.reports._score_tables import ScoreTable
from editgauge.reports.sections import TemplateSection

if TYPE_CHECKING:
    from editgauge.reports.context import Context


def _turn_table(table: TurnTable) -> dict[str, Any]:
    means = [cell.mean.value for row in table.cells.values() for cell in row.values() if cell.mean]
    decimals = words.decimals_for(means)
    turns = sorted({turn for row in table.cells.values() for turn in row})
    lines = [
        SweepLine(method, tuple(SweepPoint(turn, row[turn].mean if turn in row else None) for turn in turns))
        for method, row in table.cells.items()
    ]
    score = ScoreTable(table.protocol, table.spec, decimals, Markup(), {}, f"{table.protocol} {table.name}")
    rows = {method: [_turn_text(row.get(turn), decimals) for turn in turns] for method, row in table.cells.items()}
    return {
        "title": score.title,
        "about": table.about,
        "plot": plot_sweep(lines, "turn", score),
        "turns": turns,
        "rows": rows,
    }


def _turn_text(cell: TurnCell | None, decimals: int) -> tuple[str, str]:
    """Format the mean with its interval, and its number of outcomes."""
    if cell is None or cell.mean is None:
        return ("not known", f"{cell.unknown} outcomes") if cell else ("-", "")
    mean = cell.mean
    text = f"{words.number(mean.value, decimals)} {words.interval(mean.low, mean.high, decimals)}".rstrip()
    return text, f"n {mean.n}" + (f", {cell.unknown} not known" if cell.unknown else "")


def _turns_content(context: Context) -> dict[str, Any] | None:
    tables = turn_tables(context.run)
    return {"turn_tables": [_turn_table(table) for table in tables]} if tables else None


turns_section = TemplateSection("turns", "Turns", 53, _turns_content)
