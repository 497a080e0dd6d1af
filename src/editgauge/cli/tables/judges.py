"""Tables of `editgauge judges` for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from editgauge.cli.tables.common import new_table, show

if TYPE_CHECKING:
    from editgauge.audits.judges.guess_cost import GuessCost


def show_guess_cost(found: Sequence[GuessCost]) -> None:
    """A row per dimension: how much was read, the mean of it, and what each rule makes of the rest."""
    for model in dict.fromkeys(each.model for each in found):
        mine = [each for each in found if each.model == model]
        table = new_table(f"{model}: means of the same answers, by what is done with those that cannot be read")
        peers = list(mine[0].means)
        counted = ("asked", "read", "repaired", "unreadable", "failed")
        for column in ("question", "dimension", *counted, "editgauge", *peers):
            table.add_column(column, justify="left" if column in ("question", "dimension") else "right")
        for each in mine:
            counts = each.asked, each.read, each.repaired, each.unreadable, each.failed
            means = [_mean(each.means[peer], each.spread.get(peer)) for peer in peers]
            table.add_row(each.question, each.dimension, *map(str, counts), _mean(each.mean), *means)
        show(table)
    show(Text("± : how far random guesses move a mean from run to run (two standard deviations).", style="dim"))


def _mean(value: float | None, spread: float | None = None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if not spread else f"{value:.3f} ± {spread:.3f}"
