"""Tables of `editgauge judges` for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from editgauge._cli.tables.common import new_table, show, with_interval

if TYPE_CHECKING:
    from editgauge._stats.intervals import Mean
    from editgauge._stats.resampling import Estimate
    from editgauge.audits.judges.guess_cost import GuessCost
    from editgauge.audits.judges.inspector_tables import InspectorTables
    from editgauge.audits.judges.ledger import Checked, Drift
    from editgauge.audits.judges.side_by_side import SideBySide


def show_guess_cost(result: Sequence[GuessCost]) -> None:
    """A row per dimension: how much was read, the mean of it, and what each rule makes of the rest."""
    for model in dict.fromkeys(each.model for each in result):
        mine = [each for each in result if each.model == model]
        title = f"{model}: means of the same answers, by what is done with those that cannot be read"
        peers = list(mine[0].means)
        columns = ["asked", "read", "repaired", "unreadable", "failed", "editgauge", *peers]
        table = new_table(title, ["question", "dimension"], columns)
        for each in mine:
            counts = each.asked, each.read, each.repaired, each.unreadable, each.failed
            means = [_mean(each.means[peer], each.spread.get(peer)) for peer in peers]
            table.add_row(each.question, each.dimension, *map(str, counts), _mean(each.mean), *means)
        show(table)
    show(Text("± : how far random guesses move a mean from run to run (two standard deviations).", style="dim"))


def show_check(result: Checked) -> None:
    """Who was asked what, and how far the answers are from earlier ones."""
    check = result.check
    answered = sum(value is not None for values in check.answers.values() for value in values)
    answers = sum(len(values) for values in check.answers.values())
    show(Text(f"{check.judge} ({check.model or 'unnamed'} at {check.endpoint}), {check.at}", style="bold"))
    show(Text(f"{answered} of {answers} answers to {len(check.answers)} anchors; kept in {result.folder}"))
    for fault, count in check.faults.items():
        show(Text(f"without an answer: {count} {fault}"))
    if result.since_first is None:
        show(Text("This is the first check; later checks are compared with it."))
        return
    show(Text(_drift("the first check", result.since_first)))
    if result.since_last and result.since_last.since != result.since_first.since:
        show(Text(_drift("the last check", result.since_last)))


def show_inspector_tables(result: InspectorTables) -> None:
    """Tables 3 and 4 of EditInspector, a column per judge."""
    for title, rows in (
        ("EditInspector, table 3: questions (balanced accuracy) and difference captions", result.table_3),
        ("EditInspector, table 4: difference captions by their words", result.table_4),
    ):
        table = new_table(f"{title}, 95% intervals, (n)")
        table.add_column("", no_wrap=True)
        for judge in result.judges:
            table.add_column(judge, justify="right")
        for row, values in rows.items():
            table.add_row(row, *(_cell(values[judge]) for judge in result.judges))
        show(table)
    missing: dict[str, list[str]] = {}
    for row, values in {**result.table_3, **result.table_4}.items():
        for reason in dict.fromkeys(each.reason for each in values.values() if each.value is None):
            missing.setdefault(reason, []).append(row)
    for reason, names in missing.items():
        show(Text(f"-: {', '.join(names)}: {reason or 'no value'}.", style="dim"))


def _cell(value: Estimate) -> str:
    if value.value is None:
        return "-"
    return f"{with_interval(value.value, value.low, value.high)} ({value.n})"


def show_side_by_side(result: SideBySide) -> None:
    """A row per score and judge, then who repeats themselves, then where they differ most."""
    if result.scores:
        columns = ["mean", "coverage", "agreement"]
        table = new_table("Judges side by side, 95% intervals", ["protocol", "score", "judge"], columns)
        for each in result.scores:
            alpha = each.agreement
            agreed = "-" if alpha.value is None else with_interval(alpha.value, alpha.low, alpha.high)
            for place, row in enumerate(each.rows):
                first = (each.protocol, each.score) if place == 0 else ("", "")
                table.add_row(*first, row.judge, _shown(row.mean), _shown(row.coverage), agreed if place == 0 else "")
        show(table)
        show(Text("agreement: Krippendorff's alpha among the judges, panels apart.", style="dim"))
        for each in result.scores:
            for apart in each.most_apart[:2]:
                show(Text(f"{each.protocol}/{each.score}: {apart}"))
    for retest in result.retests:
        show(
            Text(
                f"{retest.judge}: {retest.questions} questions asked again, {_shown(retest.same)} answered alike, "
                f"variance {_shown(retest.variance)}"
            )
        )
    if not result.scores and not result.retests:
        show(Text("Nothing to compare: one judge, asked once."))


def _shown(mean: Mean | None) -> str:
    return "-" if mean is None else with_interval(mean.value, mean.low, mean.high)


def _drift(what: str, drift: Drift) -> str:
    verdict = "MOVED" if drift.moved else "no movement to be seen"
    name = "; the endpoint calls the model by another name" if drift.other_model else ""
    excess = f"{drift.excess:+.3f} ({_number(drift.low)} … {_number(drift.high)}) beyond its own changes of mind"
    shift = f"{drift.shift:+.3f} ({_number(drift.shift_low)} … {_number(drift.shift_high)}) of the scale"
    return (
        f"since {what} ({drift.since}): {verdict}{name}. {drift.changed:.0%} of {drift.anchors} anchors answered "
        f"otherwise, {excess}; answers shifted by {shift}; 95% intervals"
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:+.3f}"


def _mean(value: float | None, spread: float | None = None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if not spread else f"{value:.3f} ± {spread:.3f}"
