"""Yes and no of scores compared with that of people, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from editgauge._cli.tables.common import named, new_table, show

if TYPE_CHECKING:
    from editgauge._stats.agreement import BinaryRates
    from editgauge._stats.intervals import Mean
    from editgauge._stats.resampling import Estimate
    from editgauge.analysis.binary_agreement import BinaryAgreement, BinaryScore, Dependence, Together

COLUMNS = ("balanced\naccuracy", "precision", "recall", "specificity", "NPV", "n")
EXPLAINED = (
    "Yes is what the score calls 1; people's answer is that of more than half. Balanced accuracy is the mean of recall "
    "and specificity: 0.5 is chance. NPV: of what is called no, the share that is."
)


def show_binary(result: BinaryAgreement) -> None:
    """A table per yes-or-no question, then what depends on what, then which scores err apart."""
    for question in dict.fromkeys(score.question for score in result.scores):
        _show_question([score for score in result.scores if score.question == question])
    if result.scores:
        show(Text(EXPLAINED))
    dependent = [(score, condition, each) for score in result.scores for condition, each in score.given.items()]
    if dependent:
        _show_dependence(dependent)
    if result.together:
        _show_together(result.together)


def _show_question(scores: Sequence[BinaryScore]) -> None:
    first = scores[0]
    good = f"people: good from {first.good_from:g} on"
    split = f", {first.without_majority} without a majority" if first.without_majority else ""
    table = new_table(f"yes or no to '{first.question}', with 95% intervals ({good}{split})", ["score"], COLUMNS)
    for score in scores:
        title = Text(f"{score.protocol}: {named(score.spec)}")
        if score.unscored:
            title.append(f"\nunscored: {_counts(score.unscored)}", style="dim italic")
        table.add_row(title, *_cells(score.verdicts), str(score.n))
        if len(score.by_action) > 1:
            for action, verdicts in score.by_action.items():
                table.add_row(Text(f"  {action}", style="dim"), *_cells(verdicts), str(verdicts.balanced_accuracy.n))
    show(table)


def _show_dependence(rows: Sequence[tuple[BinaryScore, str, Dependence]]) -> None:
    title = "share of right answers, given what people say to another question"
    table = new_table(title, ["score", "given"], ["where good", "where bad", "difference"])
    for score, condition, each in rows:
        suffix = "" if score.question == score.spec.name else f" to '{score.question}'"
        title = f"{score.protocol}: {score.spec.name}{suffix}"
        table.add_row(title, condition, _cell(each.where_good), _cell(each.where_bad), _cell(each.difference))
    show(table)


def _show_together(pairs: Sequence[Together]) -> None:
    title = "two scores on one question: the share of outcomes on which both, one or neither is right"
    columns = ["both", "only first", "only second", "neither", "oracle,\nbalanced"]
    table = new_table(title, ["first, second"], columns)
    for pair in pairs:
        shares = pair.shares
        means = (shares.both, shares.only_first, shares.only_second, shares.neither)
        cells = (*map(_cell, means), _cell(pair.oracle.balanced_accuracy))
        table.add_row(f"{shares.first}\n{shares.second}\n'{pair.question}'", *cells)
    show(table)
    show(Text("oracle: balanced accuracy as if one knew each time which of the two is right."))


def _cells(result: BinaryRates) -> list[Text]:
    rates = (
        result.balanced_accuracy,
        result.precision,
        result.recall,
        result.specificity,
        result.negative_predictive_value,
    )
    return [_cell(rate) for rate in rates]


def _cell(result: Estimate | Mean) -> Text:
    if result.value is None:
        return Text("-", style="dim")
    text = Text(f"{result.value:.3f}")
    if result.low is not None and result.high is not None and result.low < result.high:  # all alike: nothing of others
        text.append(f"\n{result.low:.2f}…{result.high:.2f}", style="dim")
    return text


def _counts(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in reasons.items())
