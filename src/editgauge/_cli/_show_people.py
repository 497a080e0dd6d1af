"""Print what depends on people: estimates, acceptance, sample sizes, calibration and studies."""

from __future__ import annotations

from collections.abc import Sequence
from shlex import quote
from typing import TYPE_CHECKING

import typer

from editgauge._cli._output import Options, as_json, format_of, suggest
from editgauge._render.tables import Column, EmptyCell, ResultTable, TableCell, ValueCell
from editgauge._render.terminal import make_columns, print_table, print_text
from editgauge._util.text import format_count
from editgauge.analysis.power import CAUTION_LEVEL
from editgauge.analysis.summary import ALL

if TYPE_CHECKING:
    from editgauge._stats.intervals import Mean
    from editgauge._stats.raters import Panel
    from editgauge._stats.resampling import Estimate
    from editgauge.analysis.accept import Acceptance
    from editgauge.analysis.estimate import HumanMeanEstimate
    from editgauge.analysis.feedback import Feedback
    from editgauge.analysis.power import PowerPlan
    from editgauge.analysis.study import QuestionFindings, SideFindings, StudyFindings, WeightAgreement
    from editgauge.builders.calibration import BuiltCalibration, Calibrated
    from editgauge.studies.raters import Invitation
    from editgauge.studies.records import ImportSummary
    from editgauge.studies.study import Study, StudyStatus
    from editgauge.studies.verbs import StudyAnalysis

CURVE_POINTS = (0.25, 0.5, 0.75)
"""Scores whose calibrated value is printed."""
MINUTE, HOUR, DAY = 60, 3600, 86_400  # seconds


def show_estimates(estimates: Sequence[HumanMeanEstimate]) -> None:
    """Print the mean rating with and without the help of the scores."""
    rows: list[list[TableCell]] = []
    for estimate in estimates:
        mean = estimate.mean
        if mean is None:
            rows.append([estimate.method, 0, *[EmptyCell()] * 5])
            continue
        ratio = EmptyCell() if mean.width_ratio is None else f"{mean.width_ratio:.0%}"
        weight = ValueCell(mean.weight, format=".2f")
        cells = (_mean_cell(mean.labels_alone), ValueCell(mean.value, mean.low, mean.high), ratio, weight)
        rows.append([estimate.method, mean.labels_alone.n, mean.n_unlabeled, *cells])
    headers = ["rated", "unrated", "ratings alone", "with scores", "width", "weight"]
    columns = [Column("method", "left"), *make_columns(numbers=headers, wrap=False)]
    title = f"Mean rating, 95% interval; score: {estimates[0].protocol}/{estimates[0].spec.name}"
    legend = "width: of the interval with scores, relative to that of the ratings alone."
    print_table(ResultTable(columns, rows, title, legend))
    for estimate in estimates:
        for note in estimate.notes:
            print_text(f"{estimate.method}: {note}.")


def show_acceptance(result: Acceptance) -> None:
    """Print the threshold, its guarantee, the measured rate, and the outcomes that pass."""
    name, threshold, number = f"{result.protocol}/{result.spec.name}", result.threshold, format_of(result.spec)
    accepted = f"{result.accepted} of {result.rated} rated outcomes are accepted (mean rating {result.level:g} or more)"
    print_text(f"{name}: {accepted}; the {threshold.rejected} others come from {threshold.sources} source images.")
    if result.warning:
        print_text(f"Warning: {result.warning}", "bold")
    if threshold.value is None:
        print_text(f"No threshold: {threshold.note}.")
        return
    side = "above" if threshold.higher_is_better else "below"
    print_text(f"An edit passes {side} {threshold.value:{number}}.", "bold")
    print_text(
        f"Guarantee: of what people reject, at most {threshold.alpha:.0%} passes, on average over source images."
    )
    sure = result.sure
    strict = f"{side} {sure.value:{number}}" if sure.value is not None else f"none: {sure.note}"
    print_text(f"With a probability of 90% instead of on average: {strict}.")
    if result.measured:
        print_text(f"Measured, leaving out one source image at a time: {_format_mean(result.measured)}.")
    if threshold.passed is not None:
        print_text(f"Of what people accept, {threshold.passed:.0%} passes.")
    rows: list[list[TableCell]] = [
        [method, counts.scored, counts.passed, f"{counts.passed / counts.scored:.0%}" if counts.scored else "-"]
        for method, counts in result.passing.items()
    ]
    legend = "This does not guarantee that most of what passes is good: that depends on how much is bad."
    print_table(ResultTable(make_columns(["method"], ["scored", "pass", "share"]), rows, legend=legend))


def show_power(plans: Sequence[PowerPlan]) -> int | None:
    """Print the sample size of each question; exit with 1 if none can be computed."""
    headers = ["edits per source", "sources", "edits", "cautious: sources", "edits"]
    for plan in plans:
        print_text(_power_question(plan))
        if plan.needs:
            rows = [
                [need.edits_per_source, need.sources, need.edits, need.cautious_sources, need.cautious_edits]
                for need in plan.needs
            ]
            print_table(ResultTable(make_columns(numbers=headers, wrap=False), rows))
        if plan.note:
            print_text(plan.note)
    if not any(plan.needs for plan in plans):
        return 1
    print_text(
        f"cautious: allows for a pilot with too little variance (enough for {CAUTION_LEVEL:.0%} of pilots if normal).",
        "dim",
    )
    return None


def _power_question(plan: PowerPlan) -> str:
    name = f"{plan.protocol}/{plan.spec.name}"
    if len(plan.methods) == 2:
        several = f", one of {plan.comparisons} comparisons" if plan.comparisons > 1 else ""
        goal = f"a difference of {plan.detect:g}, power {plan.chance:.0%}"
        return f"{name}, {' against '.join(plan.methods)}: {goal}{several}"
    return f"{name}, mean of {plan.methods[0]}: known to ± {plan.detect:g} (95% interval)"


# --- calibration ------------------------------------------------------------------------------------------------------


def show_calibration(built: BuiltCalibration) -> None:
    """Print the calibration error of every score before and after, and how to use the file."""
    for score in built.scores:
        print_text(_describe_curve(score))
        before, after = score.left_out.before, score.left_out.after
        rows: list[list[TableCell]] = [["expected error", before.expected_error, after.expected_error, ""]]
        for name, old, new, change in (
            ("Brier score", before.brier, after.brier, score.left_out.brier_change),
            ("log loss", before.log_loss, after.log_loss, score.left_out.log_loss_change),
        ):
            rows.append([name, _mean_cell(old), _mean_cell(new), _mean_cell(change, "+.3f")])
        columns = make_columns(["on source images left out"], ["before", "after", "change"], wrap=False)
        print_table(ResultTable(columns, rows))
        print_text(_describe_points(score))
    print_text(f"{built.file} and {built.plot} are written. Use it with --protocol '{built.protocol}'.")


def calibration_json(built: BuiltCalibration) -> str:
    """Serialize the files and scores of a calibration."""
    return as_json({"file": str(built.file), "plot": str(built.plot), "scores": built.scores})


def _describe_curve(score: Calibrated) -> str:
    raters = f" of {score.raters} raters" if score.raters else ""
    suffix = f" to '{score.question}'" if score.question else ""
    form = "a line in log-odds" if score.curve.low == score.curve.high else "a bent curve"
    missing = f"; without a score: {format_count(score.unscored, 'rated outcome')}" if score.unscored else ""
    basis = f"{score.answers} answers{raters}{suffix} on {score.outcomes} outcomes of {score.sources} source images"
    return f"editgauge/{score.score}: {form} from {basis}{missing}."


def _describe_points(score: Calibrated) -> str:
    parts = []
    for point in score.curve.points:
        if point.value in CURVE_POINTS:
            ends = "" if point.low is None else f" ({point.low:.2f} … {point.high:.2f})"
            parts.append(f"{point.value:g} becomes {point.calibrated:.2f}{ends}")
    return f"{'; '.join(parts)}."


# --- studies ----------------------------------------------------------------------------------------------------------


def show_created(study: Study, options: Options) -> None:
    """Print the size of a new study."""
    with study:
        manifest = study.manifest
    typer.echo(
        f"{options['out']}: {format_count(manifest.items, 'item')} with {format_count(manifest.raters, 'rater')} each, "
        f"and {format_count(manifest.gold, 'gold item')}."
    )
    suggest(f"study invite {quote(str(options['out']))} --count {manifest.raters}")


def show_invitations(invitations: Sequence[Invitation], options: Options) -> None:
    """Print the personal link of each new rater."""
    from editgauge.studies.verbs import served_url

    url = options["url"] or served_url(options["study"])
    for invitation in invitations:
        typer.echo(f"{invitation.name}  {invitation.link(url)}")


def show_exported(lines: int, options: Options) -> None:
    """Print how many lines were written."""
    typer.echo(f"{options['out']}: {format_count(lines, 'line')}.")


def show_imported(result: ImportSummary) -> None:
    """Print how the imported answers count."""
    typer.echo(
        f"{result.done} count, {result.surplus} are surplus, {result.void} void; "
        f"{result.changed} replace other answers, {result.unchanged} were there already."
    )


def show_excluded(answers: int, options: Options) -> None:
    """Print how many answers are void now."""
    typer.echo(f"{format_count(answers, 'answer')} of {options['rater']} are void; their items are open again.")


def show_included(counts: tuple[int, int], options: Options) -> None:
    """Print how many answers count again."""
    restored, surplus = counts
    answers = format_count(restored, "answer")
    typer.echo(f"{answers} of {options['rater']} count again; {surplus} are surplus, as other raters replaced them.")


def show_forgotten(options: Options) -> None:
    """Print which data of a rater were deleted."""
    answers = ", with all answers." if options["answers"] else "; the answers stay, without a person."
    typer.echo(f"{options['rater']} is forgotten{answers}")


def show_status(status: StudyStatus) -> None:
    """Print the progress of a study, and every rater."""
    share = f"{status.done} of {status.requested} answers, {status.complete} of {status.items} items complete"
    more = f"{status.claimed} being answered, {status.surplus} surplus"
    print_text(f"{share}; {more}; {_remaining_time(status.seconds_left)}.")
    if not status.raters:
        print_text("No raters are invited yet: `editgauge study invite`.")
        return
    rows: list[list[TableCell]] = [
        [
            *(rater.name, rater.label or "", rater.state, rater.done, rater.void, rater.surplus),
            *(f"{rater.gold_failed} of {rater.gold_seen}", rater.flagged, rater.reason),
        ]
        for rater in status.raters
    ]
    headers = ["answers", "void", "surplus", "gold failed", "flagged"]
    columns = [*make_columns(["name", "label", "state"], headers), Column("why", "left")]
    print_table(ResultTable(columns, rows, "raters"))


def _remaining_time(seconds: float | None) -> str:
    """Say how much time is left.

    >>> _remaining_time(7300), _remaining_time(None), _remaining_time(0)
    ('about 2 hours left at the pace of the last day', 'too few answers for an estimate', 'complete')
    """
    if seconds is None:
        return "too few answers for an estimate"
    if seconds <= 0:
        return "complete"
    units = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"))
    size, unit = next(((size, unit) for size, unit in units if seconds >= size), (1, "second"))
    return f"about {format_count(max(1, round(seconds / size)), unit)} left at the pace of the last day"


def show_analysis(result: StudyAnalysis) -> None:
    """Print the status of a study, its answers, and how well scores agree with them."""
    from editgauge._cli._show_agreement import show_agreement

    show_status(result.status)
    if result.findings:
        _show_findings(result.findings)
    if result.agreement:
        show_agreement(result.agreement)
    if result.weights:
        _show_weights(result.weights)
    for page in (result.page, result.forms):
        if page:
            typer.echo(f"{page}")


def _show_findings(findings: StudyFindings) -> None:
    for question in findings.questions:
        _show_question(question)
    for side in findings.sides:
        _show_side(side)
    show_feedback(findings.reasons)


def _show_weights(weights: Sequence[WeightAgreement]) -> None:
    """Print how well weights of attributes agree with people, as in AugCLIP's table 7."""
    rows: list[list[TableCell]] = []
    for weight in weights:
        r = weight.correlation
        rows.append([weight.protocol, weight.side, _mean_cell(r), _mean_cell(weight.choices), r.n, r.clusters])
    columns = make_columns(["protocol", "attributes"], ["Pearson's r", "choices", "pairs", "edits"])
    title = "Weights of attributes and people's answers: Pearson's r and share of choices, 95% intervals"
    print_table(ResultTable(columns, rows, title))


def _show_question(question: QuestionFindings) -> None:
    rows: list[list[TableCell]] = []
    for (method, edit_type), cell in question.cells.items():
        if method is not None:
            shares = (f"{share:.0%}" for share in cell.shares)
            n = str(cell.mean.n) if cell.mean else "-"
            rows.append([method, "all" if edit_type == ALL else edit_type, *shares, _mean_cell(cell.mean, ".2f"), n])
    headers = [*(level.label for level in question.question.levels), "mean", "outcomes"]
    title = f"{question.question.label} ({question.question.name}): share of answers, mean and 95% interval"
    print_table(ResultTable(make_columns(["method", "edit type"], headers), rows, title))
    print_text(_describe_panel(question.panel, question.alpha, question.scale))
    _show_majorities(question)
    for bias in question.bias:
        if bias.deviation and _excludes_zero(bias.deviation):
            print_text(f"{bias.rater} differs from the others by {_format_mean(bias.deviation, '.2f')} on average.")


def _show_majorities(question: QuestionFindings) -> None:
    """Print the share of outcomes with each level as the majority's answer, as in EditInspector's table 1."""
    rows: list[list[TableCell]] = []
    for (method, edit_type), cell in question.cells.items():
        if method is not None and edit_type == ALL and cell.outcomes:
            counts = (*cell.majority, cell.outcomes - sum(cell.majority))
            rows.append([method, *(f"{count / cell.outcomes:.1%}" for count in counts), cell.outcomes])
    if rows:
        headers = [*(level.label for level in question.question.levels), "no majority", "outcomes"]
        title = f"{question.question.label} ({question.question.name}): share of outcomes by the majority of raters"
        print_table(ResultTable(make_columns(["method"], headers), rows, title))


def _excludes_zero(mean: Mean) -> bool:
    return mean.low is not None and mean.high is not None and not mean.low <= 0 <= mean.high


def _show_side(side: SideFindings) -> None:
    result = side.pairwise
    rows: list[list[TableCell]] = []
    for method in sorted(result.methods, key=lambda name: -result.won[name].value):
        wins = (result.wins.get((method, opponent)) for opponent in result.methods)
        shares = ("" if share is None else f"{share.value:.0%} of {share.n}" for share in wins)
        rows.append([method, _mean_cell(result.strengths[method], ".2f"), f"{result.won[method].value:.0%}", *shares])
    columns = make_columns(["method"], ["strength", "won", *result.methods])
    title = f"{side.label} ({side.name}): strengths (Bradley and Terry), and shares won against each other"
    print_table(ResultTable(columns, rows, title))
    print_text(f"{result.comparisons} choices; {result.ties} ties count half for either. Strengths average to zero.")
    print_text(_describe_panel(side.panel, side.alpha, "nominal"))
    if side.left:
        print_text(f"The left one was chosen in {side.left.value:.0%} of the choices that are no ties.")


def _describe_panel(panel: Panel | None, alpha: Estimate, scale: str) -> str:
    if panel is None:
        return "No two raters answered about the same item, so their agreement is unknown."
    return (
        f"A majority on {panel.majority.value:.1%} of {panel.majority.n} ({panel.without_majority} without), "
        f"unanimous on {panel.full_agreement.value:.1%}, {panel.modal_share.value:.1%} on the most frequent "
        f"answer; Krippendorff's alpha ({scale}) {_format_mean(alpha, '.2f')}."
    )


def show_feedback(feedback: Sequence[Feedback]) -> None:
    """Print for each question the share of remarks about each kind of issue."""
    for question in feedback:
        rows: list[list[TableCell]] = [
            [label, ValueCell(share.value, share.low, share.high)] for label, share in question.kinds.items()
        ]
        columns = make_columns(["kind"], ["share and 95% interval"], number_format=".1%", wrap=False)
        title = f"{question.question}: kinds of issue in {question.remarks} remarks"
        legend = f"{question.unsorted} remarks match no kind; one remark may match several."
        print_table(ResultTable(columns, rows, title, legend))


def _mean_cell(mean: Mean | Estimate | None, number: str = ".3f") -> TableCell:
    if mean is None or mean.value is None:
        return EmptyCell(text=getattr(mean, "reason", "") or "")
    if mean.low == mean.high:  # all equal: no information on other items
        return ValueCell(mean.value, format=number)
    return ValueCell(mean.value, mean.low, mean.high, format=number)


def _format_mean(mean: Mean | Estimate, number: str = ".3f") -> str:
    if mean.value is None:
        return f"none: {getattr(mean, 'reason', '')}"
    if mean.low is None or mean.high is None or mean.low == mean.high:
        return f"{mean.value:{number}}"
    return f"{mean.value:{number}} ({mean.low:{number}} … {mean.high:{number}})"
