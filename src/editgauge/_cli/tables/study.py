"""Tables of studies: how far one is, what people said, what they complain about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from editgauge._cli.tables.common import new_table, show
from editgauge._util.text import format_count
from editgauge.analysis.summary import ALL

if TYPE_CHECKING:
    from editgauge._stats.intervals import Mean
    from editgauge._stats.raters import Panel
    from editgauge._stats.resampling import Estimate
    from editgauge.analysis.feedback import Feedback
    from editgauge.analysis.study import QuestionFindings, SideFindings, StudyFindings, WeightAgreement
    from editgauge.studies.analysis.status import Status


DAY, HOUR, MINUTE = 86400, 3600, 60


def show_status(status: Status) -> None:
    """The whole, then every rater."""
    share = f"{status.done} of {status.wanted} answers, {status.complete} of {status.items} items complete"
    more = f"{status.claimed} being answered, {status.surplus} surplus"
    show(Text(f"{share}; {more}; {_left(status.seconds_left)}."))
    columns = ["answers", "void", "surplus", "gold failed", "flagged"]
    table = new_table("raters", ["name", "label", "state"], columns)
    table.add_column("why")
    for rater in status.raters:
        gold = f"{rater.gold_failed} of {rater.gold_seen}"
        counts = (str(rater.done), str(rater.void), str(rater.surplus), gold, str(rater.flagged))
        table.add_row(rater.name, rater.label or "", rater.state, *counts, rater.reason)
    if status.raters:
        show(table)
    else:
        show(Text("No raters are invited yet: `editgauge study invite`."))


def _left(seconds: float | None) -> str:
    """The time left, in words.

    >>> _left(7300), _left(None), _left(0)
    ('about 2 hours to go at the pace of the last day', 'too few answers for an estimate', 'complete')
    """
    if seconds is None:
        return "too few answers for an estimate"
    if seconds <= 0:
        return "complete"
    units = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"))
    size, unit = next(((n, u) for n, u in units if seconds >= n), (1, "second"))
    return f"about {format_count(max(1, round(seconds / size)), unit)} to go at the pace of the last day"


def show_findings(result: StudyFindings) -> None:
    """Every question, then every choice of sides, then what the reasons are about."""
    for question in result.questions:
        _show_question(question)
    for side in result.sides:
        _show_side(side)
    show_feedback(result.reasons)


def show_weights(result: Sequence[WeightAgreement]) -> None:
    """How far weights of attributes agree with people, as in AugCLIP's table 7."""
    title = "Weights of attributes and people's answers: Pearson's r and share of choices, 95% intervals"
    table = new_table(title, ["protocol", "attributes"], ["Pearson's r", "choices", "pairs", "edits"])
    for row in result:
        r, choices = row.correlation, row.choices
        table.add_row(row.protocol, row.side, _estimated(r), _estimated(choices), str(r.n), str(r.clusters))
    show(table)


def _estimated(its: Estimate) -> str:
    if its.value is None:
        return its.reason or "-"
    interval = "" if its.low is None or its.high is None else f" ({its.low:.2f} to {its.high:.2f})"
    return f"{its.value:.3f}{interval}"


def _show_question(question: QuestionFindings) -> None:
    title = f"{question.asked.label} ({question.asked.name}): share of answers, mean and 95% interval"
    columns = [*(level.label for level in question.asked.levels), "mean", "outcomes"]
    table = new_table(title, ["method", "edit type"], columns)
    for (method, kind), cell in question.cells.items():
        if method is None:
            continue
        outcomes = str(cell.mean.n) if cell.mean else "-"
        shares = (f"{share:.0%}" for share in cell.shares)
        table.add_row(method, "all" if kind == ALL else kind, *shares, _formatted(cell.mean), outcomes)
    show(table)
    show(Text(_agreement(question.panel, question.alpha, question.scale)))
    for one in question.bias:
        if one.deviation and not _holds_zero(one.deviation):
            show(Text(f"{one.rater} differs from the others by {_formatted(one.deviation)} on average."))


def _holds_zero(mean: Mean) -> bool:
    return mean.low is None or mean.high is None or mean.low <= 0 <= mean.high


def _show_side(side: SideFindings) -> None:
    result = side.pairwise
    title = f"{side.label} ({side.name}): strengths (Bradley and Terry), and shares won against each other"
    table = new_table(title, ["method"], ["strength", "won", *result.methods])
    for method in sorted(result.methods, key=lambda name: -result.won[name].value):
        row = (result.wins.get((method, other)) for other in result.methods)
        shares = ("" if share is None else f"{share.value:.0%} of {share.n}" for share in row)
        table.add_row(method, _formatted(result.strengths[method]), f"{result.won[method].value:.0%}", *shares)
    show(table)
    show(Text(f"{result.comparisons} choices; {result.ties} ties count half for either. Strengths average to zero."))
    show(Text(_agreement(side.panel, side.alpha, "nominal")))
    if side.left:
        show(Text(f"What stood on the left was chosen in {side.left.value:.0%} of the choices that are no ties."))


def _agreement(panel: Panel | None, alpha: Estimate, scale: str) -> str:
    if panel is None:
        return "No two raters answered about the same item, so their agreement is unknown."
    sentence = f"A majority on {panel.majority.value:.1%} of {panel.majority.n} ({panel.without_majority} without), "
    sentence += f"all alike on {panel.full_agreement.value:.1%}, {panel.modal_share.value:.1%} on the commonest answer"
    return f"{sentence}; Krippendorff's alpha ({scale}) {_formatted(alpha)}."


def _formatted(result: Mean | Estimate | None) -> str:
    if result is None:
        return "-"
    if result.value is None:
        return f"none: {getattr(result, 'reason', '')}"
    if result.low is None or result.high is None or result.low == result.high:  # all alike: that says nothing of others
        return f"{result.value:.2f}"
    return f"{result.value:.2f} ({result.low:.2f} … {result.high:.2f})"


def show_feedback(result: Sequence[Feedback]) -> None:
    """For each question the share of remarks that speak of each kind of issue."""
    for each in result:
        title = f"{each.question}: kinds of issue in {each.remarks} remarks, share and 95% interval"
        table = new_table(title, ["kind"], ["share", "95% interval"], wrap_text=False, wrap_numbers=False)
        for label, share in each.kinds.items():
            between = "-" if share.low is None or share.high is None else f"{share.low:.1%}…{share.high:.1%}"
            table.add_row(label, f"{share.value:.1%}", between)
        show(table)
        show(Text(f"{each.unsorted} remarks have none of the words; one may speak of several kinds.", style="dim"))
