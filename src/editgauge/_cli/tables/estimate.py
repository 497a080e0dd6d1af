"""Tables of `estimate`, `accept`, `power` and `build calibration`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from editgauge._cli.tables.common import new_table, number, show, with_interval
from editgauge._util.text import format_count
from editgauge.analysis.power import CAUTION_LEVEL

if TYPE_CHECKING:
    from editgauge._stats.intervals import Mean
    from editgauge.analysis.accept import Acceptance
    from editgauge.analysis.estimate import HumanMean
    from editgauge.analysis.power import Plan
    from editgauge.builders.calibration.build import BuiltCalibration, Calibrated


def show_estimates(estimates: Sequence[HumanMean]) -> None:
    """The mean by ratings alone and with the scores, side by side, then what is to be said about it."""
    title = f"Mean rating, 95% interval; score: {estimates[0].protocol}/{estimates[0].spec.name}"
    columns = ["rated", "unrated", "ratings alone", "with scores", "width", "weight"]
    table = new_table(title, ["method"], columns, wrap_numbers=False)
    for each in estimates:
        mean = each.mean
        if mean is None:
            table.add_row(each.method, "0", "-", "-", "-", "-", "-")
            continue
        alone, ratio = mean.labels_alone, mean.width_ratio
        table.add_row(
            each.method,
            str(alone.n),
            str(mean.n_unlabeled),
            with_interval(alone.value, alone.low, alone.high),
            with_interval(mean.value, mean.low, mean.high),
            "-" if ratio is None else f"{ratio:.0%}",
            f"{mean.weight:.2f}",
        )
    show(table)
    show(Text("width: of the interval with scores, where that of the ratings alone is 100%.", style="dim"))
    for each in estimates:
        for sentence in each.notes:
            show(Text(f"{each.method}: {sentence}."))


def show_acceptance(result: Acceptance) -> None:
    """The threshold, what it promises, what was measured, and what passes."""
    name, threshold = f"{result.protocol}/{result.spec.name}", result.threshold
    many = f"{result.accepted} of {result.rated} rated outcomes are accepted (mean rating {result.level:g} or more)"
    show(Text(f"{name}: {many}; the {threshold.rejected} others come from {threshold.sources} source images."))
    if result.warning:
        show(Text(f"Warning: {result.warning}", style="bold"))
    if threshold.value is None:
        show(Text(f"No threshold: {threshold.note}."))
        return
    beyond = "above" if threshold.higher_is_better else "below"
    show(Text(f"An edit passes {beyond} {number(threshold.value, result.spec)}.", style="bold"))
    show(Text(f"Promised: of what people reject, at most {threshold.alpha:.0%} passes, on average over source images."))
    sure = result.sure
    strict = f"{beyond} {number(sure.value, result.spec)}" if sure.value is not None else f"none: {sure.note}"
    show(Text(f"With a probability of 90% instead of on average: {strict}."))
    if result.measured:
        mean = with_interval(result.measured.value, result.measured.low, result.measured.high)
        show(Text(f"Measured, each source image left out once: {mean}."))
    if threshold.passed is not None:
        show(Text(f"Of what people accept, {threshold.passed:.0%} passes."))
    table = new_table(text=["method"], numbers=["scored", "pass", "share"])
    for method, each in result.passing.items():
        share = f"{each.passed / each.scored:.0%}" if each.scored else "-"
        table.add_row(method, str(each.scored), str(each.passed), share)
    show(table)
    show(Text("It does not promise that most of what passes is good: that depends on how much is bad.", style="dim"))


def show_plans(plans: Sequence[Plan]) -> None:
    """A table per question: how many source images and edits, by the number of edits per source image."""
    for plan in plans:
        show(Text(_question(plan)))
        if plan.needs:
            columns = ["sources", "edits", "cautious: sources", "edits"]
            table = new_table(text=["edits per source"], numbers=columns, wrap_text=False, wrap_numbers=False)
            for need in plan.needs:
                numbers = need.edits_per_source, need.sources, need.edits, need.cautious_sources, need.cautious_edits
                table.add_row(*map(str, numbers))
            show(table)
        if plan.note:
            show(Text(plan.note))
    if any(plan.needs for plan in plans):
        words = f"cautious: allows for a pilot with too little variance (enough for {CAUTION_LEVEL:.0%} of pilots if normal)."
        show(Text(words, style="dim"))


def _question(plan: Plan) -> str:
    name = f"{plan.protocol}/{plan.spec.name}"
    if len(plan.methods) == 2:
        who, many = " against ".join(plan.methods), f", one of {plan.comparisons} comparisons"
        goal = f"a difference of {plan.detect:g}, power {plan.chance:.0%}"
        return f"{name}, {who}: {goal}{many if plan.comparisons > 1 else ''}"
    return f"{name}, mean of {plan.methods[0]}: known to ± {plan.detect:g} (95% interval)"


SHOWN_AT = (0.25, 0.5, 0.75)


def show_calibration(built: BuiltCalibration) -> None:
    """How far off every score was and is, what the curves make of some numbers, and how to use them."""
    for each in built.scores:
        show(Text(_formatted(each)))
        columns = ["before", "after", "change"]
        table = new_table(text=["on source images left out"], numbers=columns, wrap_text=False, wrap_numbers=False)
        before, after = each.left_out.before, each.left_out.after
        table.add_row("expected error", f"{before.expected_error:.3f}", f"{after.expected_error:.3f}", "")
        for name, one, other, change in (
            ("Brier score", before.brier, after.brier, each.left_out.brier_change),
            ("log loss", before.log_loss, after.log_loss, each.left_out.log_loss_change),
        ):
            table.add_row(name, _mean_interval(one), _mean_interval(other), _mean_interval(change, "+"))
        show(table)
        show(Text(_made(each)))
    show(Text(f"{built.file} and {built.plot} are written. Use it with --protocol '{built.protocol}'."))


def _formatted(each: Calibrated) -> str:
    raters = f" of {each.raters} raters" if each.raters else ""
    suffix = f" to '{each.question}'" if each.question else ""
    form = "a line in log-odds" if each.curve.low == each.curve.high else "a bent curve"
    left = f"; without a score: {format_count(each.unscored, 'rated outcome')}" if each.unscored else ""
    many = f"{each.answers} answers{raters}{suffix} on {each.outcomes} outcomes of {each.sources} source images"
    return f"editgauge/{each.score}: {form} from {many}{left}."


def _made(each: Calibrated) -> str:
    """The calibrated value of some numbers; the curve's points hold them all."""
    parts = []
    for point in each.curve.points:
        if point.value in SHOWN_AT:
            ends = "" if point.low is None else f" ({point.low:.2f} … {point.high:.2f})"
            parts.append(f"{point.value:g} becomes {point.calibrated:.2f}{ends}")
    return f"{'; '.join(parts)}."


def _mean_interval(mean: Mean, sign: str = "") -> str:
    return with_interval(mean.value, mean.low, mean.high, sign)
