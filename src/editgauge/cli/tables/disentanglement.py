"""Table 3 of PixLens for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from editgauge.cli.tables.common import new_table, show
from editgauge.disentanglement.table import table_rows

if TYPE_CHECKING:
    from editgauge.disentanglement.scores import Beside, Disentanglement
    from editgauge.stats.resampling import Estimate


def show_disentanglement(models: Sequence[Disentanglement], beside: Sequence[Beside]) -> None:
    """A row per score, a column per model; rows in gray are computed as released."""
    table = new_table("disentanglement: value and 95 % interval, drawn by attribute")
    table.add_column("score", no_wrap=True)
    for model in models:
        table.add_column(model.model, justify="right", no_wrap=True)
    for group in table_rows(models):
        arrow = "↑" if group.higher_is_better else "↓"
        table.add_row(Text(f"{group.title} {arrow}", style="bold"), *("" for _ in models))
        for row in group.rows:
            style = "dim" if row.is_released else ""
            table.add_row(Text(f"  {row.name}", style=style), *(Text(_told(its), style=style) for its in row.estimates))
    show(table)
    ours = models[0].classified[0]
    show(Text(f"Unrelated latents: error 2, agreement 0, balanced accuracy {1 / len(ours.kinds):.2f}.", style="dim"))
    for each in beside:
        told = "too few to correlate" if each.pearson is None else f"Pearson's r {each.pearson:+.3f}"
        show(Text(f"{each.score} beside {each.protocol} on {each.benchmark}: {told}, n {len(each.models)}"))


def _told(its: Estimate) -> str:
    if its.value is None:
        return "cannot tell"
    interval = "" if its.low is None or its.high is None else f"  {its.low:.3f} … {its.high:.3f}"
    return f"{its.value:.3f}{interval}"
