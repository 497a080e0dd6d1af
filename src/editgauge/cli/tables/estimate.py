"""Tables of `estimate`, `accept` and `power` for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from editgauge.cli.tables.common import new_table, number, show
from editgauge.findings.power import CAUTION

if TYPE_CHECKING:
    from editgauge.findings.accept import Acceptance
    from editgauge.findings.estimate import HumanMean
    from editgauge.findings.power import Plan

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


def show_acceptance(found: Acceptance) -> None:
    """The threshold, what it promises, what was measured, and what passes."""
    name, threshold = f"{found.protocol}/{found.spec.name}", found.threshold
    many = f"{found.accepted} of {found.rated} rated outcomes are accepted (mean rating {found.level:g} or more)"
    show(Text(f"{name}: {many}; the {threshold.rejected} others come from {threshold.sources} source images."))
    if threshold.value is None:
        show(Text(f"No threshold: {threshold.note}."))
        return
    beyond = "above" if threshold.higher_is_better else "below"
    show(Text(f"An edit passes {beyond} {number(threshold.value, found.spec)}.", style="bold"))
    show(Text(f"Promised: of what people reject, at most {threshold.alpha:.0%} passes, on average over source images."))
    if found.measured:
        mean = _interval(found.measured.value, found.measured.low, found.measured.high)
        show(Text(f"Measured, each source image left out once: {mean}."))
    if threshold.passed is not None:
        show(Text(f"Of what people accept, {threshold.passed:.0%} passes."))
    table = new_table()
    for column in ("method", "scored", "pass", "share"):
        table.add_column(column, justify="left" if column in LEFT else "right")
    for method, each in found.passing.items():
        share = f"{each.passed / each.scored:.0%}" if each.scored else "-"
        table.add_row(method, str(each.scored), str(each.passed), share)
    show(table)
    show(Text("It does not promise that most of what passes is good: that depends on how much is bad.", style="dim"))


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
        who, many = " against ".join(plan.methods), f", one of {plan.comparisons} comparisons"
        goal = f"a difference of {plan.detect:g}, found in {plan.chance:.0%}"
        return f"{name}, {who}: {goal}{many if plan.comparisons > 1 else ''}"
    return f"{name}, mean of {plan.methods[0]}: known to ± {plan.detect:g} (95 % interval)"


def _interval(value: float, low: float | None, high: float | None) -> str:
    return f"{value:.3f}" if low is None or high is None else f"{value:.3f} ({low:.3f} … {high:.3f})"
