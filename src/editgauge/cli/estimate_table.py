"""Tables of `estimate` and `power` for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from editgauge.analysis.power import CAUTION
from editgauge.cli.tables import new_table, show

if TYPE_CHECKING:
    from editgauge.analysis.estimate import HumanMean
    from editgauge.analysis.power import Plan

LEFT = {"method", "edits per source"}


def show_estimates(estimates: Sequence[HumanMean]) -> None:
    """The mean by ratings alone and with the scores, side by side, then what is to be said about it."""
    table = new_table(f"Mean rating, 95 % interval; score: {estimates[0].protocol}/{estimates[0].spec.name}")
    for column in ("method", "rated", "unrated", "ratings alone", "with scores", "width", "weight"):
        table.add_column(column, justify="left" if column in LEFT else "right", no_wrap=column not in LEFT)
    for each in estimates:
        mean = each.mean
        if mean is None:
            table.add_row(each.method, "0", "-", "-", "-", "-", "-")
            continue
        alone, ratio = mean.labels_alone, mean.width_ratio
        table.add_row(
            each.method,
            str(alone.n),
            str(mean.n_unlabelled),
            _interval(alone.value, alone.low, alone.high),
            _interval(mean.value, mean.low, mean.high),
            "-" if ratio is None else f"{ratio:.0%}",
            f"{mean.weight:.2f}",
        )
    show(table)
    show(Text("width: of the interval with scores, where that of the ratings alone is 100 %.", style="dim"))
    for each in estimates:
        for sentence in each.notes:
            show(Text(f"{each.method}: {sentence}."))


def show_plans(plans: Sequence[Plan]) -> None:
    """A table per question: how many source images and edits, by the number of edits per source image."""
    for plan in plans:
        show(Text(_question(plan)))
        if plan.needs:
            table = new_table()
            for column in ("edits per source", "sources", "edits", "cautious: sources", "edits"):
                table.add_column(column, justify="left" if column in LEFT else "right", no_wrap=True)
            for need in plan.needs:
                numbers = need.edits_per_source, need.sources, need.edits, need.cautious_sources, need.cautious_edits
                table.add_row(*map(str, numbers))
            show(table)
        if plan.note:
            show(Text(plan.note))
    show(Text(f"cautious: enough in {CAUTION:.0%} of pilots like this one; the others are a best guess.", style="dim"))


def _question(plan: Plan) -> str:
    name = f"{plan.protocol}/{plan.spec.name}"
    if len(plan.methods) == 2:
        return f"{name}, {' against '.join(plan.methods)}: a difference of {plan.detect:g}, found in {plan.chance:.0%}"
    return f"{name}, mean of {plan.methods[0]}: known to ± {plan.detect:g} (95 % interval)"


def _interval(value: float, low: float | None, high: float | None) -> str:
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} ({low:.3f} … {high:.3f})"
